//! Selects entries by their rows, with the acts on them, and reads their lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use rayon::prelude::*;

use super::cache::Kept;
use super::chains::{Lines, OpenChain};
use super::row::{Key, ROW, Row, Says, writer_key};
use super::{KnownEntry, Sharing, Wanted};
use crate::files::vault::files::Files;
use crate::record::checkpoint::fault::Damaged;
use crate::record::staging::{Chain, MAX_CHAIN, SeenChain, StagedLine, chain_path};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;

/// Mark of an entry that an act other than a timely collection names.
const ACTED: u8 = 1;
/// Mark of an entry that was collected after its retention.
const COLLECTED: u8 = 2;
/// Mark of a wanted line.
const CHOSEN: u8 = 4;
/// If more than this fraction (1/8) of a chain's lines is wanted, its file is read as a whole.
const SHARE: usize = 8;

/// Open chains, from which entries are selected.
pub(super) struct Ledger<'l> {
    files: &'l Files,
    pub(super) chains: Vec<OpenChain>,
    /// Rows of the first lines of each chain.
    rows: Vec<&'l [[u8; ROW]]>,
    /// Writer of each chain, and the range of the chains of the same source.
    writers: Vec<(Key, Range<usize>)>,
}

/// Marks of the lines of each chain.
type Marks = Vec<Vec<u8>>;

/// Target of an act.
enum Target {
    /// Entry of a line that is in order: the chain, and the line in it.
    Line(usize, usize),
    /// Something in a damaged chain.
    Damaged,
    /// Nothing that exists.
    Nothing,
}

/// Kind of an act, and its time.
struct Done {
    collects: bool,
    at: i64,
}

impl<'l> Ledger<'l> {
    /// Makes a ledger of chains in the order of sources and writers.
    pub(super) fn new(
        files: &'l Files,
        kept: Option<&'l Kept>,
        chains: Vec<OpenChain>,
    ) -> Result<Self, Damaged> {
        let rows = |chain: &OpenChain| match (&chain.kept, kept) {
            (Some(known), Some(kept)) => kept.rows(known),
            _ => Ok(&[][..]),
        };
        let rows = chains.iter().map(rows).collect::<Result<_, _>>()?;
        let mut writers: Vec<(Key, Range<usize>)> = Vec::with_capacity(chains.len());
        let mut start = 0;
        while start < chains.len() {
            let of = chains[start..].iter().take_while(|one| one.source == chains[start].source);
            let end = start + of.count();
            writers.extend(chains[start..end].iter().map(|c| (writer_key(&c.writer), start..end)));
            start = end;
        }
        Ok(Self { files, chains, rows, writers })
    }

    /// Returns the view of the chains that shows damage.
    pub(super) fn seen(&self) -> Vec<SeenChain<'_>> {
        let chains = self.chains.iter().enumerate();
        let seen = chains.map(|(n, chain)| {
            let hash = move |seq: u64| match &chain.damaged {
                Some(whole) => (SeenChain::of(whole).hash)(seq),
                None => {
                    let at = seq.checked_sub(1).and_then(|at| usize::try_from(at).ok())?;
                    self.row(n, at).map(|row| Digest::from_bytes(row.hash))
                }
            };
            let (source, writer, is_damaged) =
                (&chain.source, &chain.writer, chain.damaged.is_some());
            SeenChain { source, writer, is_damaged, hash: Box::new(hash) }
        });
        seen.collect()
    }

    /// Returns the chains that a question needs, and the number of counted entries. Every entry of
    /// a source with a damaged chain is included.
    pub(super) fn answer(
        &mut self,
        wanted: &Wanted<'_>,
        damaged: &BTreeSet<DocumentId>,
    ) -> Result<(Vec<Chain>, BTreeMap<DocumentId, usize>), Damaged> {
        let mut marks: Marks = self.chains.iter().map(|chain| vec![0; chain.lines()]).collect();
        self.mark_acts(&mut marks);
        let (mut counted, mut contents) = (BTreeMap::new(), BTreeSet::new());
        for (n, chain) in self.chains.iter().enumerate() {
            let of = &mut marks[n];
            let is_damaged = damaged.contains(&chain.source);
            self.entries(n, |at, entry| {
                let flags = at.and_then(|at| of.get(at)).copied().unwrap_or_default();
                let entry = entry.marked(flags);
                if (wanted.entries)(&entry) {
                    contents.insert(entry.content);
                    choose(of, at);
                } else if is_damaged {
                    choose(of, at);
                } else if at.is_some() && entry.may_be_live() && (wanted.counted)(&entry) {
                    // The effect of acts is decided after the line of the entry is read.
                    match entry.is_acted {
                        true => choose(of, at),
                        false => *counted.entry(chain.source.clone()).or_default() += 1,
                    }
                }
            });
        }
        self.choose_sharing(&mut marks, contents, wanted.sharing);
        self.choose_acts(&mut marks);
        Ok((self.read(&marks)?, counted))
    }

    /// Marks the entries that acts name.
    fn mark_acts(&self, marks: &mut Marks) {
        let mut collections = Vec::new();
        for n in 0..self.chains.len() {
            self.acts(n, |_, target, done| {
                let Target::Line(chain, at) = target else { return };
                match done.collects {
                    true => collections.push((chain, at, done.at)),
                    false => marks[chain][at] |= ACTED,
                }
            });
        }
        for (chain, at, done) in collections {
            let is_timely = match self.row(chain, at).map(|row| row.says) {
                // Within one second the exact time in the line decides.
                Some(Says::Entry { until, .. }) => done.div_euclid(1000) > until.div_euclid(1000),
                _ => false,
            };
            marks[chain][at] |= if is_timely { COLLECTED } else { ACTED };
        }
    }

    /// Chooses entries with the same contents.
    fn choose_sharing(
        &self,
        marks: &mut Marks,
        mut contents: BTreeSet<[u8; 32]>,
        sharing: Sharing,
    ) {
        if sharing == Sharing::Unasked || contents.is_empty() {
            return;
        }
        if let Sharing::Claims(_) = sharing {
            // An entry without acts claims its content: one is enough for each content.
            for (n, of) in marks.iter_mut().enumerate() {
                self.entries(n, |at, entry| {
                    let is_plain = at.is_some_and(|at| of.get(at) == Some(&0));
                    if is_plain && contents.remove(&entry.content) {
                        choose(of, at);
                    }
                });
            }
        }
        for (n, of) in marks.iter_mut().enumerate() {
            self.entries(n, |at, entry| {
                let flags = at.and_then(|at| of.get(at)).copied().unwrap_or_default();
                let entry = entry.marked(flags);
                let may_claim = match sharing {
                    Sharing::Claims(now) => entry.may_be_live() || entry.until >= now.millis(),
                    Sharing::All | Sharing::Unasked => true,
                };
                if may_claim && contents.contains(&entry.content) {
                    choose(of, at);
                }
            });
        }
    }

    /// Chooses the acts on chosen entries, and those on anything in damaged chains.
    fn choose_acts(&self, marks: &mut Marks) {
        for n in 0..self.chains.len() {
            let mut chosen = Vec::new();
            self.acts(n, |place, target, _| {
                let is_wanted = match target {
                    Target::Line(chain, at) => marks[chain][at] & CHOSEN != 0,
                    Target::Damaged => true,
                    Target::Nothing => false,
                };
                chosen.extend(place.filter(|_| is_wanted));
            });
            chosen.into_iter().for_each(|at| choose(&mut marks[n], Some(at)));
        }
    }

    /// Passes the entries of a chain to `take`, each with its position if the chain is in order.
    fn entries(&self, n: usize, mut take: impl FnMut(Option<usize>, KnownEntry<'_>)) {
        self.each(n, Lines::Entries, |at, seq, row| {
            let Says::Entry { session, principal, content, until } = row.says else { return };
            let (source, writer) = (&self.chains[n].source, &self.chains[n].writer);
            let (place, is_collected, is_acted) = ((writer, seq), false, false);
            let known = KnownEntry {
                source,
                place,
                session,
                principal,
                content,
                until,
                is_collected,
                is_acted,
            };
            take(at, known);
        });
    }

    /// Passes the acts of a chain to `take`, with their position if the chain is in order, their
    /// target and their kind.
    fn acts(&self, n: usize, mut take: impl FnMut(Option<usize>, Target, Done)) {
        self.each(n, Lines::Acts, |place, _, row| {
            let Says::Act { collects, writer, seq, entry, at } = row.says else { return };
            take(place, self.target(n, &writer, (seq, &entry)), Done { collects, at });
        });
    }

    /// Passes rows of a chain to `take`, with their position if the chain is in order, and the
    /// number of the line.
    fn each(&self, n: usize, wanted: Lines, mut take: impl FnMut(Option<usize>, u64, Row)) {
        let chain = &self.chains[n];
        for line in chain.damaged.iter().flat_map(|chain| &chain.lines) {
            if let Some(row) = Row::of(line, (0, 0)) {
                take(None, line.seq, row);
            }
        }
        chain.each(self.rows[n], wanted, |at, row| take(Some(at), at as u64 + 1, row));
    }

    /// Returns the target of an act of a chain.
    fn target(&self, n: usize, writer: &Key, (seq, hash): (u64, &[u8; 32])) -> Target {
        let of_source = self.writers[n].1.clone();
        let found = self.writers[of_source.clone()].binary_search_by(|(key, _)| key.cmp(writer));
        let Ok(found) = found.map(|at| of_source.start + at) else { return Target::Nothing };
        if self.chains[found].damaged.is_some() {
            return Target::Damaged;
        }
        let at = seq.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let Some((at, row)) = at.and_then(|at| Some((at, self.row(found, at)?))) else {
            return Target::Nothing;
        };
        let is_it = matches!(row.says, Says::Entry { .. }) && row.hash == *hash;
        if is_it { Target::Line(found, at) } else { Target::Nothing }
    }

    /// Returns the row of a line that is in order.
    fn row(&self, n: usize, at: usize) -> Option<Row> {
        match at.checked_sub(self.rows[n].len()) {
            Some(at) => self.chains[n].tail.get(at).map(|(row, _)| *row),
            None => self.rows[n].get(at).map(Row::decode),
        }
    }

    /// Returns the chains with the chosen lines, each read and checked. Damaged chains are
    /// returned whole.
    fn read(&mut self, marks: &Marks) -> Result<Vec<Chain>, Damaged> {
        let mut chains = Vec::new();
        for (n, marks) in marks.iter().enumerate() {
            if let Some(damaged) = self.chains[n].damaged.take() {
                chains.push(damaged);
                continue;
            }
            let chain = &self.chains[n];
            let marks = marks.iter().enumerate();
            let chosen: Vec<usize> =
                marks.filter(|(_, marks)| **marks & CHOSEN != 0).map(|(at, _)| at).collect();
            if chosen.is_empty() {
                continue;
            }
            let (source, writer) = (chain.source.clone(), chain.writer.clone());
            let lines = self.lines((chain, self.rows[n]), &chosen)?;
            chains.push(Chain { source, writer, lines, faults: Vec::new() });
        }
        Ok(chains)
    }

    /// Returns the lines at these positions.
    fn lines(
        &self,
        (chain, rows): (&OpenChain, &[[u8; ROW]]),
        chosen: &[usize],
    ) -> Result<Vec<StagedLine>, Damaged> {
        let kept = rows.len();
        let (by_row, read) = chosen.split_at(chosen.partition_point(|at| *at < kept));
        let path = chain_path(&chain.source, &chain.writer);
        let is_large = by_row.len() > kept / SHARE;
        let read_now = match &chain.bytes {
            None if is_large => self.files.read_optional(&path, MAX_CHAIN).map_err(|_| Damaged)?,
            _ => None,
        };
        let bytes = chain.bytes.as_deref().or(read_now.as_deref());
        let file = match (bytes, by_row) {
            (None, [_, ..]) => self.files.open_optional(&path, MAX_CHAIN).map_err(|_| Damaged)?,
            _ => None,
        };
        let line = |at: &usize| {
            let row = rows.get(*at).map(Row::decode).ok_or(Damaged)?;
            let (start, length) = (row.start as usize, row.length as usize);
            let end = start.checked_add(length).ok_or(Damaged)?;
            // Invalid lengths are not allocated.
            if end as u64 > chain.end {
                return Err(Damaged);
            }
            let text = match (bytes, &file) {
                (Some(bytes), _) => bytes.get(start..end).ok_or(Damaged)?.to_vec(),
                (None, Some(file)) => {
                    let mut text = vec![0; length];
                    file.read_exact_at(&mut text, row.start.into()).map_err(|_| Damaged)?;
                    text
                }
                (None, None) => return Err(Damaged),
            };
            let line = StagedLine::read(&text, &chain.source).map_err(|_| Damaged)?;
            let hash = line.hash.map(|hash| *hash.bytes());
            let is_it = line.seq == *at as u64 + 1 && hash == Some(row.hash);
            if is_it { Ok(line) } else { Err(Damaged) }
        };
        let mut lines: Vec<StagedLine> =
            by_row.par_iter().map(line).collect::<Result<_, Damaged>>()?;
        lines.extend(read.iter().filter_map(|at| Some(chain.tail.get(at - kept)?.1.clone())));
        Ok(lines)
    }
}

impl KnownEntry<'_> {
    /// Adds the marks to the entry.
    fn marked(self, marks: u8) -> Self {
        Self { is_collected: marks & COLLECTED != 0, is_acted: marks & ACTED != 0, ..self }
    }
}

fn choose(marks: &mut [u8], at: Option<usize>) {
    if let Some(mark) = at.and_then(|at| marks.get_mut(at)) {
        *mark |= CHOSEN;
    }
}
