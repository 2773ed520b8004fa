//! The index agrees with the chains after any changes of chains and caches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::cache::Kept;
use super::chains::OpenChain;
use super::{Answering, KnownEntry, Sharing, Wanted, answering_after, principal_key, session_key};
use crate::files::vault::Vault;
use crate::files::vault::outside::{self, StateFolder};
use crate::record::audit::Labels;
use crate::record::staging::{
    self, Act, ActKind, Chains, EntryRef, Hydrated, JudgedAct, Staged, StagedEntry, Standing,
    VoidAct,
};
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::STAGING_CHAINS;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::principal::PrincipalKey;
use crate::values::model::timestamp::Timestamp;

const WHO: [&str; 3] = ["ana@example.com", "Bo@example.com", "eve@example.com"];
const SOURCES: [&str; 2] = ["sources/a", "sources/a/b"];
const KINDS: [ActKind; 6] = [
    ActKind::Pin,
    ActKind::Unpin,
    ActKind::Promote,
    ActKind::Discard,
    ActKind::Collect,
    ActKind::Erase,
];
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Time for which files are unchanged in these tests before their stamps are trusted.
const SETTLED: Duration = Duration::from_millis(40);
const BEGUN: i64 = 1_790_000_000_000;

/// A vault, two users of it, and their state outside of it.
pub(super) struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
    cache: PathBuf,
    users: [Vault; 2],
    at: i64,
}

/// One step of a random test.
#[derive(Clone, Debug)]
enum Step {
    /// Stages results: user, source, session, content and days.
    Stage {
        user: usize,
        who: usize,
        source: usize,
        session: usize,
        word: usize,
        days: u64,
        n: usize,
    },
    Act {
        user: usize,
        who: usize,
        kind: usize,
        entry: usize,
        wrong: bool,
    },
    /// Asks a question, so that the index is built or updated.
    Ask,
    /// Waits for a while, and asks the question again.
    Wait,
    /// Truncates a chain, or replaces bytes of it by as many others.
    Cut {
        chain: usize,
        bytes: usize,
    },
    Replace {
        chain: usize,
        at: usize,
    },
    /// Removes or duplicates a line of a chain.
    Drop {
        chain: usize,
        line: usize,
    },
    Twice {
        chain: usize,
    },
    /// Leaves an incomplete line, as a crash does.
    Tear {
        chain: usize,
    },
    /// Adds a chain of another clone.
    Merge {
        chain: usize,
        writer: u8,
    },
    Remove {
        chain: usize,
    },
    /// Deletes or damages the cache, or restores an older one.
    NoCache,
    Damage {
        file: usize,
        at: usize,
    },
    Older,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..2_usize, 0..3_usize, 0..2_usize, 0..3_usize, 0..4_usize, 0..3_u64, 1..6_usize).prop_map(
            |(user, who, source, session, word, days, n)| Step::Stage { user, who, source, session, word, days, n }
        ),
        8 => (0..2_usize, 0..3_usize, 0..6_usize, any::<usize>(), any::<u8>()).prop_map(
            |(user, who, kind, entry, wrong)| Step::Act { user, who, kind, entry, wrong: wrong < 20 }
        ),
        4 => Just(Step::Ask),
        3 => Just(Step::Wait),
        1 => (any::<usize>(), 1..900_usize).prop_map(|(chain, bytes)| Step::Cut { chain, bytes }),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(chain, at)| Step::Replace { chain, at }),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(chain, line)| Step::Drop { chain, line }),
        1 => any::<usize>().prop_map(|chain| Step::Twice { chain }),
        1 => any::<usize>().prop_map(|chain| Step::Tear { chain }),
        2 => (any::<usize>(), 0..3_u8).prop_map(|(chain, writer)| Step::Merge { chain, writer }),
        1 => any::<usize>().prop_map(|chain| Step::Remove { chain }),
        1 => Just(Step::NoCache),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(file, at)| Step::Damage { file, at }),
        1 => Just(Step::Older),
    ];
    prop::collection::vec(step, 1..24)
}

fn id(source: usize) -> DocumentId {
    SOURCES[source].parse().unwrap()
}

/// Some acts are not valid, and for some this is not known.
fn standing(act: &JudgedAct<'_>) -> Standing {
    match (act.kind, act.act.principal.as_deref()) {
        (ActKind::Collect | ActKind::Promote, _) | (_, None) => Standing::Sound,
        (_, Some(who)) if who == WHO[1] => Standing::Doubtful,
        (_, Some(who)) if who == WHO[2] => Standing::Void(VoidAct::NoRole),
        _ => Standing::Sound,
    }
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (root, cache) = (dir.path().join("vault"), dir.path().join("cache"));
        fs::create_dir_all(root.join(".context")).unwrap();
        fs::write(root.join(".context/config.yaml"), "name: Test\n").unwrap();
        let user = |name: &str| {
            let home = dir.path().join(name);
            let state =
                StateFolder { dir: home.join("vault"), home, checked_out: None, repository: None };
            let vault = Vault::open(&root).unwrap().with_state(Some(state)).without_sync();
            vault.with_cache(Some(cache.clone()))
        };
        let users = [user("ana"), user("bo")];
        Self { _dir: dir, root, cache, users, at: BEGUN }
    }

    fn now(&mut self) -> Timestamp {
        self.at += 1000;
        Timestamp::from_millis(self.at)
    }

    fn stage(&mut self, user: usize, of: (usize, usize, usize, usize), days: u64) {
        let (who, source, session, word) = of;
        let session = (session > 0).then(|| format!("s-{session}"));
        let hydrated = Hydrated {
            source: id(source),
            checkpoint: CheckpointNumber(1),
            version: Version(1),
            principal: Some(WHO[who].to_owned()),
            labels: Labels { session, ..Labels::default() },
            media_type: None,
            tools: Vec::new(),
            server: None,
            cache: None,
            ttl: None,
            depends_on: Vec::new(),
            days,
        };
        let (at, content) = (self.now(), format!("content {word}"));
        let place = (&self.users[user], outside::random as fn() -> [u8; 16]);
        staging::stage(place, (hydrated, content.as_bytes()), at).unwrap();
    }

    fn act(&mut self, user: usize, who: usize, kind: ActKind, of: &StagedEntry, wrong: bool) {
        let hash = if wrong { Digest::of(b"another").to_string() } else { of.hash.to_string() };
        let act = Act {
            entry: EntryRef { writer: of.writer.to_string(), seq: of.seq, hash },
            principal: Some(WHO[who].to_owned()),
            document: (kind == ActKind::Promote).then(|| "nodes/a".to_owned()),
            version: (kind == ActKind::Promote).then_some(1),
            reason: (kind == ActKind::Erase).then(|| "x".to_owned()),
        };
        let at = self.now();
        let place = (&self.users[user], outside::random as fn() -> [u8; 16]);
        let _ = staging::append(place, &of.source, at, vec![kind.line(act)]);
    }

    fn chains(&self) -> Vec<PathBuf> {
        let mut found = files_below(&self.root.join(STAGING_CHAINS));
        found.retain(|path| path.extension().is_some());
        found
    }

    fn all(&self) -> Staged {
        Staged::judged(&Chains::read(self.users[0].files()).unwrap(), &standing)
    }

    fn happens(&mut self, step: &Step, older: &mut Vec<(PathBuf, Vec<u8>)>) {
        let chain = |n: usize| {
            let chains = self.chains();
            (!chains.is_empty()).then(|| chains[n % chains.len()].clone())
        };
        let edit = |n: usize, edit: &dyn Fn(&mut Vec<u8>)| {
            if let Some(path) = chain(n) {
                let mut bytes = fs::read(&path).unwrap();
                edit(&mut bytes);
                fs::write(path, bytes).unwrap();
            }
        };
        match *step {
            Step::Stage { user, who, source, session, word, days, n } => {
                (0..n).for_each(|_| self.stage(user, (who, source, session, word), days));
            }
            Step::Act { user, who, kind, entry, wrong } => {
                let all = self.all().entries;
                if !all.is_empty() {
                    self.act(user, who, KINDS[kind], &all[entry % all.len()], wrong);
                }
            }
            Step::Ask => {
                self.ask(&|_| true, Sharing::Unasked);
                let saved = files_below(&self.cache).into_iter();
                *older = saved.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
            }
            Step::Wait => {
                std::thread::sleep(2 * SETTLED);
                self.ask(&|_| true, Sharing::Unasked);
            }
            Step::Cut { chain, bytes } => edit(chain, &|found| {
                found.truncate(found.len().saturating_sub(bytes));
            }),
            Step::Replace { chain, at } => edit(chain, &|found| {
                if !found.is_empty() {
                    let at = at % found.len();
                    found[at] = if found[at] == b'1' { b'2' } else { b'1' };
                }
            }),
            Step::Drop { chain, line } => edit(chain, &|found| {
                let lines: Vec<&[u8]> = found.split_inclusive(|byte| *byte == b'\n').collect();
                if !lines.is_empty() {
                    let gone = line % lines.len();
                    let left = lines.iter().enumerate().filter(|(n, _)| *n != gone);
                    *found = left.flat_map(|(_, line)| line.to_vec()).collect();
                }
            }),
            Step::Twice { chain } => edit(chain, &|found| {
                let last = found.split_inclusive(|byte| *byte == b'\n').next_back();
                let last = last.unwrap_or_default().to_vec();
                found.extend(last);
            }),
            Step::Tear { chain } => edit(chain, &|found| found.extend(b"{\"at\":")),
            Step::Merge { chain: n, writer } => {
                if let Some(path) = chain(n) {
                    let name = format!("{writer:032x}.jsonl");
                    let there = path.with_file_name(name);
                    if path != there {
                        fs::copy(path, there).unwrap();
                    }
                }
            }
            Step::Remove { chain: n } => {
                chain(n).into_iter().for_each(|path| fs::remove_file(path).unwrap());
            }
            Step::NoCache => {
                let _ = fs::remove_dir_all(&self.cache);
            }
            Step::Damage { file, at } => {
                let files = files_below(&self.cache);
                if !files.is_empty() {
                    let path = &files[file % files.len()];
                    let mut bytes = fs::read(path).unwrap();
                    if !bytes.is_empty() {
                        let at = at % bytes.len();
                        bytes[at] ^= 1 << (at % 8);
                        fs::write(path, bytes).unwrap();
                    }
                }
            }
            Step::Older => {
                let _ = fs::remove_dir_all(&self.cache);
                for (path, bytes) in older.iter() {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, bytes).unwrap();
                }
            }
        }
    }

    fn ask(&self, entries: &dyn Fn(&KnownEntry<'_>) -> bool, sharing: Sharing) -> Staged {
        let counted = &|_: &KnownEntry<'_>| false;
        let bound = &BTreeMap::new();
        let wanted = Wanted { source: None, entries, sharing, counted, bound };
        let found = answering_after(&self.users[0], &wanted, SETTLED).unwrap();
        Staged::judged(&found.chains, &standing)
    }

    pub(super) fn vault(&self) -> &Vault {
        &self.users[0]
    }

    /// Returns the number of entries that the index finds.
    pub(super) fn all_by_the_index(&self) -> usize {
        self.ask(&|_| true, Sharing::Unasked).entries.len()
    }

    /// Compares the answers of the index with the chains.
    pub(super) fn agrees(&self) {
        let all = self.all();
        let same = |what: &str, found: &Staged, is: &dyn Fn(&StagedEntry) -> bool| {
            let of = |staged: &Staged| -> Vec<String> {
                staged.entries.iter().filter(|one| is(one)).map(|one| format!("{one:?}")).collect()
            };
            assert_eq!(of(found), of(&all), "{what}");
        };
        same("all", &self.ask(&|_| true, Sharing::Unasked), &|_| true);
        same("live", &self.ask(&|e| e.may_be_live(), Sharing::Unasked), &StagedEntry::is_live);
        same("left", &self.ask(&|e| !e.is_only_collected(), Sharing::Unasked), &|one| {
            one.is_live() || one.is_promoted() || one.pinned
        });
        let session = session_key(Some("s-1"));
        same("session", &self.ask(&|e| e.session == session, Sharing::Unasked), &|one| {
            one.entry.session.as_deref() == Some("s-1")
        });
        let me = principal_key(Some(&PrincipalKey::of("bo@example.com")));
        same("own", &self.ask(&|e| e.principal == me, Sharing::Unasked), &|one| {
            one.entry.principal.as_deref() == Some(WHO[1])
        });
        if let Some(one) = all.entries.iter().max_by_key(|one| one.seq) {
            let name = one.name();
            let found = self.ask(&|e| e.is_named(&name), Sharing::All);
            same("sharing", &found, &|other| other.entry.raw() == one.entry.raw());
            let found = self.ask(&|e| e.is_named(&name), Sharing::Unasked);
            same("named", &found, &|other| other.is_named(&name));
            let source = &one.source;
            let (entries, counted) = (&|_: &KnownEntry<'_>| true, &|_: &KnownEntry<'_>| false);
            let (sharing, bound) = (Sharing::Unasked, &BTreeMap::new());
            let wanted = Wanted { source: Some(source), entries, sharing, counted, bound };
            let found = answering_after(&self.users[1], &wanted, SETTLED).unwrap();
            let found = Staged::judged(&found.chains, &standing);
            let of = |staged: &Staged| -> Vec<String> {
                let of = staged.entries.iter().filter(|one| one.source == *source);
                of.map(|one| format!("{one:?}")).collect()
            };
            assert_eq!((of(&found), found.entries.len()), (of(&all), of(&all).len()));
        }
        for days in 0..4 {
            self.agrees_about_collection(&all, Timestamp::from_millis(BEGUN + days * DAY));
        }
        self.agrees_about_others(&all);
    }

    fn agrees_about_collection(&self, all: &Staged, now: Timestamp) {
        let found = self.ask(&|e| e.may_be_due(now), Sharing::Claims(now));
        let is_due = |one: &&StagedEntry| {
            let until: Timestamp = one.entry.retention_until.parse().unwrap();
            one.is_live() && !one.pinned && !one.is_promoted() && until < now
        };
        let due = |staged: &Staged| -> Vec<String> {
            staged.entries.iter().filter(is_due).map(|one| one.name().to_string()).collect()
        };
        assert_eq!(due(&found), due(all));
        let gone = |staged: &Staged| -> BTreeSet<Digest> {
            let left = staged.entries.iter().filter(|one| !is_due(one));
            let claimed: BTreeSet<_> =
                left.filter(|one| one.claims(now)).map(|one| one.entry.raw().unwrap()).collect();
            let due = staged.entries.iter().filter(is_due).map(|one| one.entry.raw().unwrap());
            due.filter(|raw| !claimed.contains(raw)).collect()
        };
        assert_eq!(gone(&found), gone(all), "{now}");
    }

    /// Compares the number of live entries of a principal in other sessions.
    fn agrees_about_others(&self, all: &Staged) {
        let (mine, here) = (PrincipalKey::of(WHO[0]), session_key(Some("s-2")));
        let me = principal_key(Some(&mine));
        let counted = |e: &KnownEntry<'_>| e.principal == me && e.session != here;
        let (entries, sharing) = (&|e: &KnownEntry<'_>| e.session == here, Sharing::Unasked);
        let bound = &BTreeMap::new();
        let wanted = Wanted { source: None, entries, sharing, counted: &counted, bound };
        let Answering { chains, counted, .. } =
            answering_after(&self.users[0], &wanted, SETTLED).unwrap();
        let read = Staged::judged(&chains, &standing);
        for source in SOURCES {
            let is_it = |one: &&StagedEntry| {
                one.source.as_str() == source
                    && one.is_live()
                    && one.entry.principal.as_deref() == Some(WHO[0])
                    && one.entry.session.as_deref() != Some("s-2")
            };
            let of = |staged: &Staged| staged.entries.iter().filter(is_it).count();
            let more =
                counted.get(&source.parse::<DocumentId>().unwrap()).copied().unwrap_or_default();
            assert_eq!(of(&read) + more, of(all), "{source}");
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn staged_index_agrees_with_the_chains_after_any_change(steps in steps()) {
        let (mut world, mut older) = (World::new(), Vec::new());
        for step in &steps {
            world.happens(step, &mut older);
            world.agrees();
        }
    }
}

/// A world in which rows were made from a chain, and its lines.
pub(super) fn kept() -> (World, PathBuf, Vec<u8>) {
    let mut world = World::new();
    (0..6).for_each(|word| world.stage(0, (0, 0, 1, word), 1));
    world.ask(&|_| true, Sharing::Unasked);
    let chain = world.chains().remove(0);
    let bytes = fs::read(&chain).unwrap();
    (world, chain, bytes)
}

fn kept_lines(world: &World) -> u32 {
    let kept = Kept::open(&world.users[0], SETTLED).unwrap();
    let writer = world.chains()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    kept.chain(SOURCES[0], writer).map_or(0, |chain| chain.lines)
}

#[test]
fn staged_index_makes_rows_once_and_reads_later_lines() {
    let (mut world, _, _) = kept();
    assert_eq!(kept_lines(&world), 6);
    world.stage(0, (0, 0, 2, 1), 1);
    world.agrees();
    assert_eq!(kept_lines(&world), 7);
    let caches = files_below(&world.cache);
    assert_eq!(caches.iter().filter(|path| path.extension().is_some()).count(), 1, "{caches:?}");
}

/// Returns true if a chain is opened without reading its bytes.
fn is_relied_on(world: &World) -> bool {
    let kept = Kept::open(&world.users[0], SETTLED).unwrap();
    let files = world.users[0].files();
    let (chains, _) = super::chains::open(files, Some(&kept), None).unwrap();
    chains.iter().all(|chain: &OpenChain| chain.bytes.is_none() && chain.kept.is_some())
}

#[test]
fn staged_index_trusts_a_settled_file_until_it_changes() {
    let (world, chain, bytes) = kept();
    // The file was written a moment ago.
    assert!(!is_relied_on(&world));
    std::thread::sleep(2 * SETTLED);
    assert!(!is_relied_on(&world));
    world.agrees();
    assert!(is_relied_on(&world));
    world.agrees();
    // Same length and same time of modification.
    let modified = fs::metadata(&chain).unwrap().modified().unwrap();
    let mut altered = bytes.clone();
    let at = bytes.windows(4).position(|part| part == b"\"s-1").unwrap() + 3;
    altered[at] = b'2';
    fs::write(&chain, &altered).unwrap();
    fs::File::options().write(true).open(&chain).unwrap().set_modified(modified).unwrap();
    assert!(!is_relied_on(&world));
    world.agrees();
    fs::write(&chain, bytes).unwrap();
    world.agrees();
}

#[test]
fn staged_index_reads_an_altered_chain_again() {
    let (mut world, chain, bytes) = kept();
    // The file is longer, and its last line with a row is unchanged.
    world.stage(0, (0, 0, 2, 1), 1);
    let mut longer = fs::read(&chain).unwrap();
    let at = bytes.windows(4).position(|part| part == b"\"s-1").unwrap() + 3;
    longer[at] = b'2';
    fs::write(&chain, longer).unwrap();
    world.agrees();
    let all = world.ask(&|_| true, Sharing::Unasked);
    assert_eq!(all.entries.len(), 6);
}

#[test]
fn staged_index_ignores_the_cache_of_another_vault() {
    let (world, ..) = kept();
    let (other, ..) = kept();
    fs::remove_dir_all(&world.cache).unwrap();
    for path in files_below(&other.cache) {
        let to = world.cache.join(path.strip_prefix(&other.cache).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(path, to).unwrap();
    }
    assert_eq!(kept_lines(&world), 0);
    world.agrees();
}

#[test]
fn staged_cache_contains_no_content_and_no_label() {
    let (world, ..) = kept();
    for path in files_below(&world.cache) {
        let bytes = fs::read(&path).unwrap();
        let has = |part: &[u8]| bytes.windows(part.len()).any(|found| found == part);
        assert!(!has(b"content 1") && !has(b"ana@") && !has(b"s-1"), "{path:?}");
    }
}

#[test]
fn staged_index_finds_one_entry_that_claims_a_shared_content() {
    let mut world = World::new();
    (0..40).for_each(|n| world.stage(0, (0, 0, 1, 7), if n == 0 { 1 } else { 30 }));
    let now = Timestamp::from_millis(BEGUN + 2 * DAY);
    let wanted = Sharing::Claims(now);
    let found = world.ask(&|entry| entry.may_be_due(now), wanted);
    assert_eq!(found.entries.len(), 2);
    world.agrees();
}
