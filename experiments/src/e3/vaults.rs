//! Random small vaults, made by honest commands.
//!
//! Each has a document with more versions than an interval of keyframes, events of several
//! documents, a document that was retired and one that came back, notes, texts without a line end,
//! ids beyond ASCII, a pack, and governance files that changed. Half of those with the log of ctx
//! record their changes from some event on.

use super::draw::Draw;
use super::script::{Event, Script, Start, Step};

/// The writer of the log of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `ctx`, with its own log.
    Delta,
    /// `ctx`, with the log of the reference implementation.
    Full,
    /// The reference implementation, and after it `ctx`.
    Interop,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Delta, Self::Full, Self::Interop];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Full => "full",
            Self::Interop => "interop",
        }
    }
}

const PRINCIPALS: [&str; 3] = ["ana@example.com", "bo@example.com", "Chloé Duval"];

/// 2026-11-22T08:00:00Z, after everything that the reference implementation wrote.
const BEGIN: i64 = 1_795_334_400_000;

/// Returns the script of a vault of this kind.
pub(super) fn script(kind: Kind, seed: u64) -> Script {
    let mut maker = Maker {
        seed,
        draw: Draw::new(seed, kind.name()),
        at: BEGIN,
        words: 0,
        script: Script { start: Start::Empty, events: Vec::new() },
    };
    if kind == Kind::Interop {
        maker.script.start = Start::Interop;
        // One in three stays as the reference implementation left it.
        if seed % 3 != 1 {
            maker.continued();
        }
    } else {
        maker.ours(kind);
    }
    maker.script
}

struct Maker {
    seed: u64,
    draw: Draw,
    at: i64,
    /// Number of unique words, so that one can be exchanged for another.
    words: usize,
    script: Script,
}

impl Maker {
    fn ours(&mut self, kind: Kind) {
        self.event(Vec::new(), &["init", ".", "--name", "Random"]);
        // A change log would find more than the table says of a log alone; half of the vaults of
        // kind *delta* begin one later.
        let unrecorded = "version: 1\nname: Random\nlayout: structured\n".to_owned();
        let mut steps = vec![Step::Write(".context/config.yaml".to_owned(), unrecorded)];
        if kind == Kind::Full {
            let form = "versions:\n  checkpoint_log: full\n".to_owned();
            steps.push(Step::Append(".context/config.yaml".to_owned(), form));
        }
        let folder = self.draw.of(&["legal", "Ops", "ventes"]);
        let mut ids: Vec<String> =
            ["many", "gone", "back", "größe", "Über 😀 x"].map(|n| format!("nodes/{n}")).into();
        ids.extend((0..2 + self.draw.below(3)).map(|n| format!("nodes/{folder}/d{n}")));
        for id in &ids {
            let text = self.document(id == "nodes/gone");
            steps.push(Step::Write(format!("{id}.md"), text));
        }
        let pack = "id: basic\nlabel: Basic\nquery: '#red'\n".to_owned();
        steps.push(Step::Write("packs/basic.yml".to_owned(), pack));
        self.event(steps, &["publish", "--all", "--no-sync", "-m", "first: all"]);
        // The second event supersedes a version of the first.
        let others: Vec<String> = ids.iter().filter(|id| plain(id)).cloned().collect();
        self.edited(&["nodes/many", &others[0]]);
        let mut rest: Vec<Doing> = vec![
            Doing::Policy("CONTEXT.md"),
            Doing::Policy(".context/config.yaml"),
            Doing::Policy("packs/basic.yml"),
            Doing::Retire,
            Doing::Retire,
            Doing::New,
        ];
        rest.extend((0..9 + self.draw.below(3)).map(|_| Doing::Edit));
        rest.extend((0..2).map(|_| Doing::EditSeveral));
        // In a log of whole maps, a change log would find attacks that otherwise need an anchor.
        if kind == Kind::Delta && Draw::new(self.seed, "change log").below(2) == 0 {
            rest.push(Doing::Audit);
        }
        self.draw.shuffle(&mut rest);
        let mut leaving = vec!["nodes/gone", "nodes/back"];
        for doing in rest {
            match doing {
                Doing::Edit => self.edited(&["nodes/many"]),
                Doing::EditSeveral => {
                    let other = self.draw.pick(&others).cloned().unwrap_or_default();
                    self.edited(&["nodes/many", &other]);
                }
                Doing::Policy(path) => {
                    let line = format!("# {}\n", self.word());
                    let steps = vec![Step::Append(path.to_owned(), line)];
                    self.event(steps, &["publish", "--all", "--no-sync"]);
                }
                Doing::New => {
                    let text = self.document(false);
                    let path = format!("nodes/{folder}/new.md");
                    self.event(vec![Step::Write(path, text)], &["publish", "--all", "--no-sync"]);
                }
                Doing::Audit => self.event(Vec::new(), &["audit", "begin"]),
                Doing::Retire => {
                    let id = leaving.pop().unwrap_or_default();
                    self.event(Vec::new(), &["retire", id, "-m", "over"]);
                    if id == "nodes/back" {
                        self.edited(&["nodes/many"]);
                        self.event(Vec::new(), &["publish", id, "--no-sync"]);
                    }
                }
            }
        }
    }

    /// Adds publications by `ctx` in the vault of the reference implementation.
    fn continued(&mut self) {
        let text = self.document(false);
        let more = self.document(true);
        let steps = vec![
            Step::Write("nodes/legal/terms.md".to_owned(), text),
            Step::Write("nodes/many.md".to_owned(), more),
        ];
        let names = ["publish", "nodes/legal/terms", "nodes/many", "--no-sync", "-m", "new"];
        self.event(steps, &names);
        for _ in 0..2 + self.draw.below(3) {
            self.edited_by_name(&["nodes/many"]);
            self.edited_by_name(&["nodes/vendor-risk"]);
            self.edited_by_name(&["nodes/legal/terms", "nodes/many"]);
        }
        if self.draw.below(2) == 0 {
            self.event(Vec::new(), &["retire", "nodes/legal/terms"]);
        }
        self.edited_by_name(&["nodes/many"]);
    }

    fn edited(&mut self, ids: &[&str]) {
        let steps = ids.iter().map(|id| self.append(id)).collect();
        self.event(steps, &["publish", "--all", "--no-sync"]);
    }

    fn edited_by_name(&mut self, ids: &[&str]) {
        let steps = ids.iter().map(|id| self.append(id)).collect();
        let mut args = vec!["publish"];
        args.extend(ids);
        args.push("--no-sync");
        self.event(steps, &args);
    }

    fn append(&mut self, id: &str) -> Step {
        let text = format!("\nThe limit is {} here.\n", self.word());
        Step::Append(format!("{id}.md"), text)
    }

    fn event(&mut self, steps: Vec<Step>, args: &[&str]) {
        self.at += 1_000 + i64::try_from(self.draw.below(100_000)).unwrap_or(0);
        let by = self.draw.of(&PRINCIPALS).to_owned();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.script.events.push(Event { at: self.at, by, steps, args });
    }

    fn document(&mut self, ends_without_line: bool) -> String {
        let tags = self.draw.of(&["['#red']", "['#red', '#blue']", "['#green']"]);
        let (one, two) = (self.word(), self.word());
        let end = if ends_without_line { "" } else { "\n" };
        format!(
            "---\ntitle: About {one}\ntype: document\ntags: {tags}\nauthor: team\n---\n\
             # About {one}\n\nFirst line.\n\nSecond line of {two}.\n\n## Part\n\nLast line.{end}"
        )
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("measure{:03}", self.words)
    }
}

enum Doing {
    Edit,
    EditSeveral,
    Policy(&'static str),
    New,
    Retire,
    Audit,
}

/// Returns true if a document may be edited at any time: neither retired nor the one of
/// many versions.
fn plain(id: &str) -> bool {
    !["nodes/many", "nodes/gone", "nodes/back"].contains(&id)
}
