//! Properties of every governed vault after any commands of several principals: only texts that the
//! model publishes are published, no pending submission is served, `verify` finds nothing wrong
//! after honest commands, the histories reproduce the log, and no file is lost.
//!
//! `CTX_REVIEW_CASES` draws more cases, `CTX_REVIEW_SEED` begins with another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use contextnest::files::vault::Vault;
use contextnest::model::id::DocumentId;
use contextnest::record::chain::{replay, vouched};
use serde_json::Value;

use crate::harness::{Output, Place};
use crate::review_model::{About, Action, CONFIG, Model, Role, STEWARDS, Stewards, Text, Who};

const CASES: u64 = 4;
const STEPS: usize = 45;
const PEOPLE: [Who; 5] =
    ["ana@example.com", "bo@example.com", "kim@example.com", "lee@example.com", "max@example.com"];
const PACK: &str = "packs/p.yml";
/// Number of steps after which the log is derived from the histories.
const REBUILD: usize = 15;

/// A random generator (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.below(from.len())].clone())
    }

    fn stewards(&mut self) -> Stewards {
        let mut stewards = Stewards::default();
        for (scope, part) in stewards.scopes.iter_mut().zip([3, 3, 1]) {
            if !self.one_in(part) && part > 1 {
                continue;
            }
            for who in PEOPLE {
                let roles = [None, Some(Role::Viewer), Some(Role::Editor), Some(Role::Reviewer)];
                let role = self.of(&[&roles[..], &[Some(Role::Reviewer); 3]].concat()).flatten();
                scope.extend(role.map(|role| (who, role)));
            }
        }
        for (n, required) in stewards.required.iter_mut().enumerate() {
            *required = if self.one_in(3) { 1 + self.below(if n == 2 { 2 } else { 3 }) } else { 0 };
        }
        let vault = &mut stewards.scopes[2];
        if vault.is_empty() {
            vault.insert(PEOPLE[0], Role::Reviewer);
        }
        stewards
    }
}

fn path_of(id: &str) -> String {
    match id {
        STEWARDS | CONFIG | PACK => id.to_owned(),
        _ => format!("{id}.md"),
    }
}

/// A vault, its model, and the commands so far.
struct World {
    place: Place,
    model: Model,
    draw: Draw,
    /// The live files before the last command.
    before: BTreeMap<String, Option<Text>>,
    seconds: i64,
    words: usize,
    script: String,
    done: usize,
    refused: usize,
    published: usize,
}

/// Refusals because of a file, which the model does not cover: the version that it was edited from.
const OF_FILES: [&str; 3] = ["stale", "unpublished-changes", "was changed by hand"];

impl World {
    fn new(seed: u64) -> Self {
        let place = Place::in_memory();
        place.typed("init --name Test").here().ok();
        let mut world = Self {
            place,
            model: Model::default(),
            draw: Draw(seed),
            before: BTreeMap::new(),
            seconds: 0,
            words: 0,
            script: String::new(),
            done: 0,
            refused: 0,
            published: 0,
        };
        for id in ["nodes/x/d0", "nodes/x/d1", "nodes/y/d0", "nodes/y/d1"] {
            world.write_new(id);
        }
        world.place.write(&path_of(PACK), "id: p\nlabel: P\nquery: '#red'\n");
        world.ctx(PEOPLE[0], &["publish", "--all"]).ok();
        for id in ["nodes/x/d0", "nodes/x/d1", "nodes/y/d0", "nodes/y/d1", PACK] {
            let text = world.live(id).unwrap();
            world.model.publish(id, text);
        }
        let both = [(PEOPLE[1], Role::Reviewer), (PEOPLE[2], Role::Reviewer)];
        let vault = both.into_iter().chain([(PEOPLE[0], Role::Editor)]).collect();
        let stewards =
            Stewards { scopes: [<_>::default(), <_>::default(), vault], required: [0; 3] };
        world.write_stewards(stewards);
        world.govern_on(PEOPLE[0]);
        assert!(world.model.is_governed);
        world
    }

    /// Runs a command as a principal, one second later or sometimes at an earlier time.
    fn ctx(&mut self, who: &str, args: &[&str]) -> Output {
        let late = match self.draw.below(20) {
            0 => 0,
            1 => -7,
            _ => {
                self.seconds += 1;
                0
            }
        };
        self.before = self.ids().into_iter().map(|id| (id.clone(), self.live(&id))).collect();
        self.look_at(who, self.seconds + late, args)
    }

    fn look_at(&self, who: &str, second: i64, args: &[&str]) -> Output {
        let n = 36_000 + second;
        let (h, m, s) = (n / 3600, n / 60 % 60, n % 60);
        let now = format!("2026-11-21T{h:02}:{m:02}:{s:02}.000Z");
        self.place.args(args).var("CTX_PRINCIPAL", who).var("CTX_NOW", &now).here()
    }

    fn look(&self, who: &str, args: &[&str]) -> Output {
        self.look_at(who, self.seconds, args)
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(self.script, "{line}");
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("tok{:06}", self.words)
    }

    /// Returns the text of a live file.
    fn live(&self, id: &str) -> Option<Text> {
        let path = path_of(id);
        let text = self.place.has(&path).then(|| self.place.read(&path))?;
        Some(match id.starts_with("nodes/") {
            false => Text::File(text),
            true => document(&text),
        })
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.model.artifacts.keys().cloned().collect();
        ids.retain(|id| id.starts_with("nodes/"));
        ids
    }

    fn published(&self) -> Vec<String> {
        let mut ids = self.ids();
        ids.retain(|id| self.model.artifacts[id].published.is_some());
        ids
    }

    fn awaited(&self) -> Vec<String> {
        let awaits = |(_, a): &(&String, &crate::review_model::Artifact)| {
            a.pending.is_some() || a.emergency.is_some()
        };
        self.model.artifacts.iter().filter(awaits).map(|(id, _)| id.clone()).collect()
    }

    fn fresh(&mut self) -> String {
        self.words += 1;
        format!("nodes/{}/n{}", ["x", "y"][self.draw.below(2)], self.words)
    }

    fn write_new(&mut self, id: &str) {
        let word = self.word();
        let tags = if self.draw.one_in(3) { "tags: [red]\n" } else { "" };
        let text = format!("---\ntitle: A text\n{tags}---\n# A text\n\n{word}\n");
        self.place.write(&path_of(id), text);
        self.note(&format!("write {id} {word} {tags:?}"));
        self.model.artifacts.entry(id.to_owned()).or_default();
    }

    fn write_stewards(&mut self, stewards: Stewards) {
        let text = stewards.text();
        self.place.write(STEWARDS, &text);
        self.note(&format!("write stewards\n{text}"));
        self.model.known.insert(text, stewards);
    }

    /// Edits a live file as a person does.
    fn edit(&mut self) {
        match self.draw.below(14) {
            0 => {
                let stewards = self.draw.stewards();
                return self.write_stewards(stewards);
            }
            1 => {
                let text = self.place.read(CONFIG);
                let bar = "review: {bar_author: true}\n";
                let new = match text.contains(bar) {
                    true => text.replace(bar, ""),
                    false => text + bar,
                };
                self.note("toggle bar_author");
                return self.place.write(CONFIG, new);
            }
            2 => {
                let word = self.word();
                let path = path_of(PACK);
                self.note("edit or delete the pack");
                return match self.draw.one_in(3) && self.place.has(&path) {
                    true => self.place.remove(&path),
                    false => {
                        self.place.write(&path, format!("id: p\nlabel: {word}\nquery: '#red'\n"));
                    }
                };
            }
            3 => {
                let id = self.fresh();
                return self.write_new(&id);
            }
            _ => {}
        }
        let ids = self.ids();
        let id = self.draw.of(&ids).unwrap();
        let path = path_of(&id);
        if !self.place.has(&path) {
            if self.model.artifacts[&id].published.is_none() {
                self.write_new(&id);
            }
            return;
        }
        let text = self.place.read(&path);
        let Some(Text::Document { word, is_red, .. }) = self.live(&id) else { return };
        let new = match self.draw.below(12) {
            0 => match is_red {
                true => without(&text, "tags:"),
                false => with(&text, "tags: [red]"),
            },
            1 => with(&text, &format!("author: {}", self.draw.of(&PEOPLE).unwrap())),
            2 => with(&text, "# a remark"),
            3 => {
                let odd = [
                    "review: approved",
                    "review: submitted",
                    "approved_by: kim@example.com",
                    "status: published",
                    "status: \"draft\"",
                    "review_base: 0",
                    "change: one",
                    "more: {a: [1, 'x']}",
                ];
                with(&text, self.draw.of(&odd).unwrap())
            }
            4 => {
                // A copy of another document, with all fields of its review.
                let other = self.draw.of(&ids).unwrap();
                let new = if self.draw.one_in(2) { other } else { self.fresh() };
                self.note(&format!("copy {id} to {new}"));
                self.model.artifacts.entry(new.clone()).or_default();
                return self.place.write(&path_of(&new), text);
            }
            5 => {
                self.note(&format!("restore {id}"));
                let (second, who) = (self.seconds, PEOPLE[0]);
                let _ = self.look_at(who, second, &["restore", &id, "--force"]);
                return;
            }
            _ => {
                let next = self.word();
                text.replace(&word, &next)
            }
        };
        self.note(&format!("edit {id}: {:?}", document(&new)));
        self.place.write(&path, new);
    }

    /// Runs one action of a principal, and compares its outcome with the model.
    fn step(&mut self) {
        self.before.clear();
        let n = self.draw.below(PEOPLE.len());
        let who = PEOPLE[n];
        // Another spelling of the same person.
        let spelled = if self.draw.one_in(8) { who.to_uppercase() } else { who.to_owned() };
        let change = self.draw.one_in(4).then(|| ["one", "two"][self.draw.below(2)]);
        match self.draw.below(20) {
            0..=5 => self.submit(who, &spelled, change),
            6..=11 => self.decide(who, &spelled),
            12 => self.leave(who, &spelled, change),
            13 => self.mv(who, &spelled),
            14 => self.emergency(who, &spelled),
            15 => self.mode(who),
            16 => self.publish(who, &spelled),
            _ => self.edit_and_submit(who, &spelled, change),
        }
        self.kept();
    }

    fn edit_and_submit(&mut self, who: Who, spelled: &str, change: Option<&str>) {
        let ids = self.published();
        let Some(id) = self.draw.of(&ids) else { return };
        let (path, word) = (path_of(&id), self.word());
        let Some(Text::Document { word: old, .. }) = self.live(&id) else { return };
        self.note(&format!("edit {id} {word}"));
        self.place.write(&path, self.place.read(&path).replace(&old, &word));
        self.submit_these(who, spelled, &[id], change, false);
    }

    fn submit(&mut self, who: Who, spelled: &str, change: Option<&str>) {
        let mut ids = self.ids();
        ids.extend([STEWARDS, CONFIG, PACK].map(str::to_owned));
        ids.retain(|id| self.place.has(&path_of(id)) || id == PACK);
        let one = self.draw.of(&ids).unwrap();
        let is_plain = one.starts_with("nodes/");
        let mut chosen = vec![one];
        if is_plain && self.draw.one_in(3) {
            ids.retain(|id| id.starts_with("nodes/"));
            chosen.extend(self.draw.of(&ids));
            chosen.sort();
            chosen.dedup();
        }
        let supersedes = chosen.len() == 1 && self.draw.one_in(4);
        // Governance files cannot join a set.
        let change = change.filter(|_| is_plain);
        self.submit_these(who, spelled, &chosen, change, supersedes);
    }

    fn submit_these(
        &mut self,
        who: Who,
        spelled: &str,
        ids: &[String],
        change: Option<&str>,
        supersedes: bool,
    ) {
        if !self.place.has(&path_of(PACK))
            && ids.iter().any(|id| id == PACK)
            && self.model.artifacts[PACK].published.is_none()
        {
            return;
        }
        let mut args = vec!["submit"];
        args.extend(ids.iter().map(String::as_str));
        args.extend(change.into_iter().flat_map(|name| ["--change", name]));
        args.extend(supersedes.then_some("--supersede"));
        // The published text is not a change.
        let text =
            |world: &Self, id: &String| world.live(id).unwrap_or_else(|| Text::File(String::new()));
        let files = ids.iter().map(|id| (id.clone(), text(self, id)));
        let is_new = |(id, text): &(String, Text)| {
            let published = self.model.artifacts.get(id).and_then(|a| a.published.as_ref());
            !published.is_some_and(|last| text.is_source_of(last))
        };
        let files: Vec<(String, Text)> = files.filter(is_new).collect();
        // Only its bytes show whether a file with the published words is the published text.
        let doubtful: Vec<&String> =
            ids.iter().filter(|id| !files.iter().any(|f| f.0 == **id)).collect();
        let said = self.ctx(spelled, &[&args[..], &["--json"]].concat());
        let json: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
        let mut files = files;
        for id in doubtful.into_iter().filter(|id| self.place.has(&path_of(id))) {
            let versions = json["versions"].as_array().into_iter().flatten();
            if said.exit != 0 || versions.clone().any(|version| version["id"] == id.as_str()) {
                files.push((id.clone(), self.live(id).unwrap()));
            }
        }
        let mut next = self.model.clone();
        let mut expected = next.governed();
        if expected.is_ok() && supersedes && files.iter().any(|(id, _)| *id == ids[0]) {
            expected = next.supersede(who, &ids[0], change);
        }
        let expected = expected.and_then(|()| next.submit((who, spelled), &files, change));
        if self.agree(who, &args, &said, expected) {
            self.model = next;
        }
    }

    fn decide(&mut self, who: Who, spelled: &str) {
        let awaited = self.awaited();
        let Some(id) = self.draw.of(&awaited) else { return };
        let change = self.model.artifacts[&id].pending.as_ref().and_then(|p| p.change.clone());
        let about = match change {
            Some(name) if self.draw.one_in(2) => About::Change(name),
            _ => About::Id(id),
        };
        let named: [&str; 2] = match &about {
            About::Id(id) => [id, "--json"],
            About::Change(name) => ["--change", name],
        };
        let mut next = self.model.clone();
        match self.draw.below(9) {
            0 => {
                let args = [&["reject"], &named[..], &["--reason", "no"]].concat();
                let said = self.ctx(spelled, &args);
                let expected = next.refuse(who, &about, false);
                if self.agree(who, &args, &said, expected) {
                    self.model = next;
                }
            }
            1 => {
                let args = [&["withdraw"], &named[..]].concat();
                let said = self.ctx(spelled, &args);
                let expected = next.refuse(who, &about, true);
                if self.agree(who, &args, &said, expected) {
                    self.model = next;
                }
            }
            _ => {
                let args = [&["approve"], &named[..]].concat();
                let submitted: BTreeMap<String, Vec<String>> =
                    awaited.iter().map(|id| (id.clone(), self.last_text(id))).collect();
                let said = self.ctx(spelled, &args);
                let expected = next.approve(who, &about);
                if self.agree(who, &args, &said, expected.clone().map(drop)) {
                    self.model = next;
                    for id in expected.unwrap_or_default() {
                        self.published += 1;
                        assert_eq!(
                            self.last_text(&id),
                            submitted[&id],
                            "{id} is what was submitted"
                        );
                    }
                }
            }
        }
    }

    /// Returns the lines of the last version of an artifact, without those that a step writes.
    fn last_text(&self, id: &str) -> Vec<String> {
        // No verb shows a text that was not approved.
        let vault = Vault::open(self.place.root()).unwrap();
        let id: DocumentId = id.parse().unwrap();
        let Ok(history) = replay::load(vault.files(), &id) else { return Vec::new() };
        let last = history.last_version().unwrap();
        let shown = vouched::vouched(vault.files(), &id, &history, last).unwrap();
        let fields = [
            "status:",
            "version:",
            "updated_at:",
            "review",
            "change:",
            "approved_",
            "rejected_by:",
        ];
        let is_stepped = |line: &&str| fields.iter().any(|field| line.starts_with(field));
        shown.lines().filter(|line| !is_stepped(line)).map(str::to_owned).collect()
    }

    fn leave(&mut self, who: Who, spelled: &str, change: Option<&str>) {
        let ids = self.ids();
        let id = self.draw.of(&ids).unwrap();
        let artifact = &self.model.artifacts[&id];
        if !self.model.is_governed && artifact.published.is_none() && artifact.has_history {
            // The document is already retired.
            return;
        }
        let mut args = vec!["retire", &id];
        if self.model.is_governed {
            args.extend(change.into_iter().flat_map(|name| ["--change", name]));
        }
        let said = self.ctx(spelled, &args);
        let mut next = self.model.clone();
        let expected = match self.model.is_governed {
            true => {
                let ids = std::slice::from_ref(&id);
                next.propose_leaving(who, ids, &Action::Retire, change)
            }
            false if next.artifacts[&id].published.is_none() => Err("not published"),
            false => {
                next.retire(&id);
                Ok(())
            }
        };
        if self.agree(who, &args, &said, expected) {
            self.model = next;
        }
    }

    fn mv(&mut self, who: Who, spelled: &str) {
        let ids = self.ids();
        let id = self.draw.of(&ids).unwrap();
        let new = if self.draw.one_in(3) { self.draw.of(&ids).unwrap() } else { self.fresh() };
        if self.place.has(&path_of(&new)) && !self.model.artifacts[&new].has_history {
            return;
        }
        let args = ["mv", &id, &new];
        let said = self.ctx(spelled, &args);
        let mut next = self.model.clone();
        let expected = match self.model.is_governed {
            true => {
                let ids = std::slice::from_ref(&id);
                next.propose_leaving(who, ids, &Action::Move(new.clone()), None)
            }
            false => match next.artifacts[&id].published.clone() {
                Some(text) if next.artifacts.get(&new).is_none_or(|a| !a.has_history) => {
                    next.publish(&new, text);
                    next.retire(&id);
                    Ok(())
                }
                _ => Err("it cannot be moved"),
            },
        };
        if self.agree(who, &args, &said, expected) {
            self.model = next;
        }
    }

    fn emergency(&mut self, who: Who, spelled: &str) {
        let ids = self.ids();
        let id = self.draw.of(&ids).unwrap();
        let args = ["retire", &id, "--emergency", "--reason", "wrong"];
        let said = self.ctx(spelled, &args);
        let mut next = self.model.clone();
        let expected = next.emergency(who, &id);
        if self.agree(who, &args, &said, expected) {
            self.model = next;
        }
    }

    fn mode(&mut self, who: Who) {
        if !self.model.is_governed {
            return self.govern_on(who);
        }
        let config = self.place.read(CONFIG);
        let said = self.ctx(who, &["govern", "off"]);
        let mut next = self.model.clone();
        // The command edits the file and submits it.
        let text = config.replace("governance: governed", "governance: ungoverned");
        let waits = self.model.artifacts.get(CONFIG).is_some_and(|a| a.pending.is_some());
        let expected = match self.model.waiting() - usize::from(waits) {
            0 => next.submit((who, who), &[(CONFIG.to_owned(), Text::File(text))], None),
            _ => Err("others await"),
        };
        if self.agree(who, &["govern", "off"], &said, expected) {
            self.model = next;
        }
    }

    fn govern_on(&mut self, who: Who) {
        let said = self.ctx(who, &["govern", "on"]);
        let mut next = self.model.clone();
        let stewards = self.live(STEWARDS).unwrap();
        let found = &next.known[stewards.body()];
        let expected = match found.vault_reviewers() > 1 && found.is_changeable() {
            false => Err("too few reviewers"),
            true => {
                next.publish(STEWARDS, stewards);
                next.publish(CONFIG, self.live(CONFIG).unwrap());
                Ok(())
            }
        };
        if self.agree(who, &["govern", "on"], &said, expected) {
            self.model = next;
        }
    }

    /// Publishes directly, which a governed vault refuses.
    fn publish(&mut self, who: Who, spelled: &str) {
        let mut ids = self.ids();
        ids.retain(|id| self.place.has(&path_of(id)));
        let Some(id) = self.draw.of(&ids) else { return };
        let args = ["publish", &id];
        let said = self.ctx(spelled, &args);
        let mut next = self.model.clone();
        let expected = match self.model.is_governed {
            true => Err("governed"),
            false => {
                let mut text = self.live(&id).unwrap();
                if let Text::Document { author: author @ None, .. } = &mut text {
                    *author = Some(spelled.to_owned());
                }
                next.publish(&id, text);
                Ok(())
            }
        };
        if self.agree(who, &args, &said, expected) {
            self.model = next;
        }
    }

    /// Returns true if a command succeeded; panics if the model disagrees.
    fn agree(
        &mut self,
        who: Who,
        args: &[&str],
        said: &Output,
        expected: Result<(), &'static str>,
    ) -> bool {
        self.note(&format!("{who}: {} => {} ({expected:?})", args.join(" "), said.exit));
        self.done += 1;
        let is_of_a_file = OF_FILES.iter().any(|code| said.stderr.contains(code));
        if expected.is_ok() && said.exit != 0 && is_of_a_file {
            return false;
        }
        self.refused += usize::from(said.exit != 0);
        assert_eq!(said.exit == 0, expected.is_ok(), "{expected:?}\n{}", said.whole());
        said.exit == 0
    }

    /// Asserts that no file was lost: every replaced text is in a version.
    fn kept(&self) {
        for (id, old) in &self.before {
            let Some(old) = old else { continue };
            let now = self.live(id);
            let recorded = &self.model.artifacts[id].recorded;
            let is_there = now.is_some_and(|now| now.body() == old.body());
            assert!(is_there || recorded.contains(old.body()), "{id}: {old:?} is nowhere");
        }
    }

    /// Compares the view of every reader with the model.
    fn check(&self, n: usize) {
        let verify = self.look(PEOPLE[0], &["verify", "--json", "--allow-drift"]).ok();
        let report = verify.json("ctx.verify");
        assert!(report["verdict"].as_str().unwrap().starts_with("intact"), "{report:#}");
        let served = self.look(PEOPLE[0], &["resolve", "type:document", "--json", "--bodies"]).ok();
        let documents = served.json("ctx.resolve")["documents"].as_array().unwrap().clone();
        let found: BTreeMap<String, String> = documents
            .iter()
            .map(|d| (text_of(d, "id"), word_in(&text_of(d, "body")).unwrap_or_default()))
            .collect();
        let published = self.model.artifacts.iter().filter_map(|(id, artifact)| {
            let text = artifact.published.as_ref()?;
            id.starts_with("nodes/").then(|| (id.clone(), text.body().to_owned()))
        });
        let published: BTreeMap<String, String> = published.collect();
        assert_eq!(found, published);
        if self.model.is_governed {
            let who = PEOPLE[n % PEOPLE.len()];
            let ids = |args: &[&str]| -> BTreeSet<String> {
                let listed = self.look(who, args).ok().json("ctx.review");
                listed["waiting"].as_array().unwrap().iter().map(|w| text_of(w, "id")).collect()
            };
            let awaited: BTreeSet<String> = self.awaited().into_iter().collect();
            assert_eq!(ids(&["review", "--all", "--json"]), awaited);
            assert_eq!(ids(&["review", "--json"]), self.model.asked(who), "asked of {who}");
        }
        self.nothing_is_served_early(n, &published);
        if n.is_multiple_of(REBUILD) {
            self.rebuilds();
        }
    }

    fn nothing_is_served_early(&self, n: usize, published: &BTreeMap<String, String>) {
        let awaited = self.awaited();
        let Some(id) = awaited.get(n % awaited.len().max(1)) else { return };
        let Some(pending) = &self.model.artifacts[id].pending else { return };
        let word = pending.text.body();
        if !id.starts_with("nodes/") || published.values().any(|other| other == word) {
            return;
        }
        for args in [&["list", "--json"][..], &["context"], &["read", id], &["list", "--at", "1"]] {
            let said = self.look(PEOPLE[0], args);
            assert!(!said.stdout.contains(word), "{args:?}\n{}", said.whole());
        }
        let hits = self.look(PEOPLE[0], &["search", word, "--json"]).ok().json("ctx.search");
        assert_eq!(hits["hits"].as_array().unwrap().len(), 0, "{hits:#}");
    }

    /// Asserts that the histories alone produce the same log, hash for hash.
    fn rebuilds(&self) {
        let args = ["checkpoint", "rebuild", "--from-scratch", "--dry-run", "--json"];
        let rebuilt = self.look(PEOPLE[0], &args).ok().json("ctx.checkpoint.rebuild");
        assert_eq!(rebuilt["same"], true, "{rebuilt:#}");
    }
}

fn text_of(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn word_in(text: &str) -> Option<String> {
    text.find("tok").map(|at| text[at..at + 9].to_owned())
}

fn document(text: &str) -> Text {
    let head = text.split("---\n").nth(1).unwrap_or_default();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let author = field("author: ").map(|author| author.trim_matches(['"', '\'']).to_owned());
    let is_red = field("tags: ").is_some_and(|tags| tags.contains("red"));
    Text::Document { word: word_in(text).unwrap_or_default(), is_red, author }
}

/// Returns a frontmatter in which the line replaces one with the same key.
fn with(text: &str, line: &str) -> String {
    let key = line.split(':').next().unwrap_or(line);
    let text = without(text, &format!("{key}:"));
    text.replacen("---\n", &format!("---\n{line}\n"), 1)
}

/// Returns a frontmatter without a key, and without the list below it.
fn without(text: &str, key: &str) -> String {
    let (mut out, mut is_in_list) = (String::new(), false);
    for line in text.lines() {
        is_in_list = line.starts_with(key)
            || is_in_list && line.starts_with([' ', '-']) && !line.starts_with("---");
        if !is_in_list {
            out += &format!("{line}\n");
        }
    }
    out
}

/// Plays one case; returns the numbers of commands, of refusals, and of approvals that
/// published something.
fn play(seed: u64) -> [usize; 3] {
    let mut world = World::new(seed);
    let played = catch_unwind(AssertUnwindSafe(|| {
        world.check(0);
        for n in 1..=STEPS {
            if world.draw.one_in(2) {
                world.edit();
            }
            world.step();
            world.check(n);
        }
        world.rebuilds();
    }));
    if let Err(why) = played {
        eprintln!("case {seed}:\n{}", world.script);
        resume_unwind(why);
    }
    [world.done, world.refused, world.published]
}

#[test]
fn nothing_is_published_but_what_enough_others_approved() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (first, cases) = (variable("CTX_REVIEW_SEED"), variable("CTX_REVIEW_CASES"));
    let (first, cases) = (first.unwrap_or(0), cases.unwrap_or(CASES));
    let mut sum = [0; 3];
    for seed in first..first + cases {
        for (sum, n) in sum.iter_mut().zip(play(seed)) {
            *sum += n;
        }
    }
    let [done, refused, published] = sum;
    let is_rich = done > refused && published * 40 > done;
    assert!(is_rich || cases < CASES, "{done} commands, {refused} refused, {published} published");
}
