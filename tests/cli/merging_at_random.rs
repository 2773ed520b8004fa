//! Random histories of clones that publish, merge and rebase through real git.

use std::collections::BTreeSet;

use crate::anchored::git;
use crate::harness::{Output, Place};

/// A generator of small numbers, the same for each seed.
struct Random(u64);

impl Random {
    /// Returns a number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// A clone, with the hashes of the checkpoints that its commands acknowledged.
struct Clone {
    place: Place,
    name: String,
    acknowledged: BTreeSet<String>,
    made: usize,
}

const LOG: &str = ".versions/checkpoints.jsonl";

impl Clone {
    fn new(bare: &str, n: usize, has_driver: bool) -> Self {
        let place = Place::new();
        git(&place, &format!("clone -q {bare} ."));
        if has_driver {
            let ctx = env!("CARGO_BIN_EXE_ctx");
            let line = format!("git config merge.ctx.driver '{ctx} merge-driver %O %A %B %P'");
            place.typed("").shell(&line).ok();
        }
        Self { place, name: format!("c{n}"), acknowledged: BTreeSet::new(), made: 0 }
    }

    fn hashes(&self) -> BTreeSet<String> {
        let log = self.place.read(LOG);
        let hashes = log.split("\"checkpoint_hash\":\"").skip(1);
        hashes.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }

    fn git(&self, line: &str) -> Output {
        let who =
            format!("-c user.name={0} -c user.email={0}@x.com -c core.editor=true", self.name);
        self.place.typed("").shell(&format!("git {who} {line} 2>&1 || true"))
    }

    fn commit(&mut self) {
        self.acknowledged.extend(self.hashes());
        self.git("add -A");
        self.git("commit -q --allow-empty -m step");
    }

    fn ids(&self) -> Vec<String> {
        let listed = self.place.ctx("list --json").ok().json("ctx.list");
        let documents = listed["documents"].as_array().unwrap();
        documents.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Does one thing that a person does.
    fn act(&mut self, random: &mut Random) {
        let by = format!("--as {}@x.com", self.name);
        let ids = self.ids();
        let id = ids[random.below(ids.len())].clone();
        let path = format!("{id}.md");
        let exists = self.place.path(&path).exists();
        let edited = |place: &Place, word: &str| {
            place.write(&path, format!("{}\n{word}\n", place.read(&path)));
        };
        self.made += 1;
        let word = format!("{}-{}", self.name, self.made);
        match random.below(6) {
            0 => {
                self.place.write(&format!("nodes/{word}.md"), format!("# {word}\n\n{word}\n"));
                self.place.ctx(&format!("publish nodes/{word} {by}")).ok();
            }
            1 | 2 if exists => {
                edited(&self.place, &word);
                self.place.ctx(&format!("publish {id} {by}")).ok();
            }
            3 if exists && ids.len() > 3 => {
                self.place.ctx(&format!("restore --force {id}")).ok();
                self.place.ctx(&format!("retire {id} {by}")).ok();
            }
            4 if exists && ids.len() > 3 => {
                self.place.ctx(&format!("restore --force {id}")).ok();
                self.place.ctx(&format!("mv {id} nodes/moved-{word} {by}")).ok();
            }
            _ if exists => edited(&self.place, &word),
            _ => {}
        }
        self.commit();
    }

    /// Pulls what others pushed, settles conflicts, and pushes.
    fn pull(&mut self, random: &mut Random) {
        let rebases = random.below(3) == 0;
        let how = if rebases { "--rebase" } else { "--no-rebase --no-edit" };
        self.git(&format!("pull -q {how} origin main"));
        for _ in 0..64 {
            let waits = ["MERGE_HEAD", "rebase-merge"];
            if !waits.iter().any(|name| self.place.path(&format!(".git/{name}")).exists()) {
                break;
            }
            self.settle(random);
            self.git("add -A");
            match rebases {
                true => drop(self.git("rebase --continue")),
                false => drop(self.git("commit -q -m merged")),
            }
        }
        assert!(!self.place.path(".git/MERGE_HEAD").exists());
        assert!(!self.place.path(".git/rebase-merge").exists());
        self.git("push -q origin HEAD:main");
    }

    fn settle(&self, random: &mut Random) {
        let log = self.git("diff --name-only --diff-filter=U").stdout;
        let merged = self.place.ctx("merge --json");
        assert!(merged.exit <= 1, "{log}\n{}", merged.whole());
        if !merged.stdout.is_empty() {
            let report = merged.json("ctx.merge");
            for one in report["conflicts"].as_array().unwrap() {
                let side = ["trunk", "branch", "both"][random.below(3)];
                let id = one["id"].as_str().unwrap();
                let taken = self.place.ctx(&format!("merge --take {side} {id}"));
                assert!(taken.exit <= 1, "{}", taken.whole());
            }
        }
        // What is left are edits on both sides.
        for path in self.git("diff --name-only --diff-filter=U").stdout.lines() {
            let has_markers = || self.place.read(path).contains("<<<<<<<");
            if self.place.path(path).exists() && has_markers() {
                self.git(&format!("checkout --ours -- {path}"));
            }
        }
    }

    fn check(&self, seed: u64, others: &BTreeSet<String>) {
        let verified = self.place.ctx("verify --allow-drift");
        assert_eq!(verified.exit, 0, "seed {seed}: {}", verified.whole());
        let held = self.hashes();
        let lost: Vec<_> =
            self.acknowledged.union(others).filter(|one| !held.contains(*one)).collect();
        assert!(lost.is_empty(), "seed {seed}: {lost:?}");
    }
}

#[test]
fn random_histories_of_clones_lose_nothing_and_raise_no_alarm() {
    let seeds = if std::env::var_os("CTX_BRIEF_TESTS").is_some() { 1 } else { 40 };
    for seed in 0..seeds {
        let mut random = Random(seed * 7_919 + 1);
        let first = Place::published(&[
            ("nodes/a", "# A\n\none\n"),
            ("nodes/b", "# B\n\none\n"),
            ("nodes/c", "# C\n\none\n"),
            ("nodes/d", "# D\n\none\n"),
        ]);
        git(&first, "init -q -b main");
        git(&first, "add -A");
        git(&first, "commit -q -m first");
        git(&first, "clone -q --bare . .git/shared.git");
        let bare = first.path(".git/shared.git").display().to_string();
        let count = 2 + random.below(2);
        let mut clones: Vec<Clone> =
            (0..count).map(|n| Clone::new(&bare, n, random.below(2) == 0)).collect();
        let mut shared = BTreeSet::new();
        for _ in 0..14 {
            let n = random.below(count);
            match random.below(3) {
                0 => {
                    clones[n].pull(&mut random);
                    clones[n].check(seed, &shared);
                    shared.extend(clones[n].hashes());
                }
                _ => clones[n].act(&mut random),
            }
        }
        for clone in &mut clones {
            clone.pull(&mut random);
            clone.check(seed, &shared);
            shared.extend(clone.hashes());
        }
    }
}
