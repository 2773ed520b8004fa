//! Selecting entries by their rows, with the acts upon them, and reading their lines.

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

/// An act other than a timely collection names the entry.
const ACTED: u8 = 1;
/// It was collected after its retention.
const COLLECTED: u8 = 2;
/// The line is wanted.
const CHOSEN: u8 = 4;
/// From this share of a chain's lines on, its file is read as a whole.
const SHARE: usize = 8;

/// The chains with a mark for each line that is in order.
pub(super) struct Ledger<'l> {
    files: &'l Files,
    pub(super) chains: Vec<OpenChain>,
    /// Of each chain the rows of its first lines.
    rows: Vec<&'l [[u8; ROW]]>,
    /// The writer of each chain, and the chains of the same source.
    writers: Vec<(Key, Range<usize>)>,
}

/// The marks of the lines of each chain.
type Marks = Vec<Vec<u8>>;

/// What an act names.
enum Target {
    /// The entry of a line that is in order: the chain, and its place.
    Line(usize, usize),
    /// Something in a chain that is damaged.
    Damaged,
    /// Nothing that is there.
    Nothing,
}

/// A timely collection that was found, or another act.
struct Done {
    collects: bool,
    at: i64,
}

impl<'l> Ledger<'l> {
    /// Of chains in the order of sources and writers.
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

    /// What is looked at to find damage.
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

    /// The chains that a question needs, and the entries that are counted. Of sources with `damaged`
    /// chains it has every entry.
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
                    // What acts made of it is decided once its line is read.
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
                // Within a second the spelling of a time decides, which the line has.
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
            // An entry to which nothing was done claims its content: of each content one is enough.
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

    /// Chooses the acts upon entries that were chosen, and those upon what is in damaged chains.
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

    /// Hands over the entries of a chain, each with its place if the chain is in order.
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

    /// Hands over the acts of a chain: the place if the chain is in order, what it names, and it.
    fn acts(&self, n: usize, mut take: impl FnMut(Option<usize>, Target, Done)) {
        self.each(n, Lines::Acts, |place, _, row| {
            let Says::Act { collects, writer, seq, entry, at } = row.says else { return };
            take(place, self.target(n, &writer, (seq, &entry)), Done { collects, at });
        });
    }

    /// Hands over rows of a chain: the place if the chain is in order, and the number of the line.
    fn each(&self, n: usize, wanted: Lines, mut take: impl FnMut(Option<usize>, u64, Row)) {
        let chain = &self.chains[n];
        for line in chain.damaged.iter().flat_map(|chain| &chain.lines) {
            if let Some(row) = Row::of(line, (0, 0)) {
                take(None, line.seq, row);
            }
        }
        chain.each(self.rows[n], wanted, |at, row| take(Some(at), at as u64 + 1, row));
    }

    /// What an act of a chain names.
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

    /// The row of a line that is in order.
    fn row(&self, n: usize, at: usize) -> Option<Row> {
        match at.checked_sub(self.rows[n].len()) {
            Some(at) => self.chains[n].tail.get(at).map(|(row, _)| *row),
            None => self.rows[n].get(at).map(Row::decode),
        }
    }

    /// The chains with the lines that were chosen, each read and checked; damaged ones as they are.
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

    /// The lines of these places.
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
            // What cannot be there is not allocated.
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
    /// The same with what acts did.
    fn marked(self, marks: u8) -> Self {
        Self { is_collected: marks & COLLECTED != 0, is_acted: marks & ACTED != 0, ..self }
    }
}

fn choose(marks: &mut [u8], at: Option<usize>) {
    if let Some(mark) = at.and_then(|at| marks.get_mut(at)) {
        *mark |= CHOSEN;
    }
}
