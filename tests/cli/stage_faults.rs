//! Staging a result, and each act on one entry, happens completely or not at all. Wherever the
//! command dies, a change of the disk is refused or a write is torn, nothing is damaged, and
//! running the command again completes it.
//!
//! By default every third change is tested; with `CTX_STAGE_FAULTS`, every one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use contextnest::files::vault::disk::Disk;
use serde_json::Value;

use crate::harness::{Place, Run, files_in};
use crate::review_faults::{Fault, Watch};
use crate::stage::{ANA, BO, shop, staged_at};

/// An upper bound of the changes of the disk that each of these commands makes.
const MOST: usize = 200;
const RECORD: &str =
    "source record sources/prices --session s1 --tools list_prices --server shop --json";

/// A vault with three staged entries that is restored before each case.
struct World {
    place: Place,
    before: BTreeMap<String, Vec<u8>>,
    /// An old entry, one with equal content, and another one.
    uris: [String; 3],
}

impl World {
    fn new() -> Self {
        let place = Place::in_memory();
        place.ctx("init --name Test").ok();
        let config = place.read(".context/config.yaml");
        place.write(".context/config.yaml", format!("{config}staging: {{enabled: true}}\n"));
        let place = shop(place);
        let old = |session: &str, payload: &[u8]| {
            let at = (payload, "2026-11-21T10:01:00.000Z");
            staged_at(&place, Disk::default(), (ANA, session), at).unwrap().name.to_string()
        };
        let uris = [old("s1", b"equal"), old("s2", b"equal"), old("s1", b"other")];
        let before = files_in(place.home());
        Self { place, before, uris }
    }

    fn run(&self, line: &str) -> Run<'_> {
        let run = self.place.typed(line).var("CTX_NOW", "2026-12-24T10:00:00.000Z");
        run.stdin("a result")
    }

    fn put_back(&self) {
        for entry in fs::read_dir(self.place.home()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        for (path, bytes) in &self.before {
            let path = self.place.home().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Returns the state of each entry that existed before.
    fn states(&self) -> Vec<String> {
        let list = self.run("stage list --all --json").here().ok().json("ctx.stage.list");
        let staged = list["staged"].as_array().unwrap();
        let state = |uri: &String| {
            let one = staged.iter().find(|one| one["uri"] == *uri).unwrap();
            format!("{} {}", one["state"], one["promoted"])
        };
        self.uris.iter().map(state).collect()
    }

    /// Asserts that no content of a live entry is missing.
    fn is_whole(&self, when: &str) {
        let said = self.run("verify --json --allow-drift").here();
        let report = said.json("ctx.verify");
        let findings = report["findings"].as_array().unwrap().iter();
        let is_wrong = |f: &&Value| {
            let class = f["class"].as_str().unwrap();
            ["damage", "unsettled"].contains(&class)
        };
        let wrong: Vec<&Value> = findings.filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{when}: {wrong:#?}");
    }

    /// Returns the acts in the chains and those in the change log, each with its entry, in order.
    fn acts(&self) -> [Vec<String>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        for (path, bytes) in self.place.tree() {
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let last = |uri: &Value| uri.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            for line in lines {
                if path.starts_with(".context/staging/chains/") && line["kind"] != "stage" {
                    let (kind, entry) = (line["kind"].as_str().unwrap(), &line["entry"]);
                    let writer = &entry["writer"].as_str().unwrap()[..8];
                    found[0].push(format!("{kind} {writer}-{}", entry["seq"]));
                } else if path.starts_with(".context/audit/") && line["staged"].is_array() {
                    let staged = line["staged"].as_array().unwrap().iter();
                    let action = line["action"].as_str().unwrap();
                    found[1].extend(staged.map(|uri| format!("{action} {}", last(uri))));
                }
            }
        }
        found.iter_mut().for_each(|acts| acts.sort());
        found
    }

    /// Asserts that each act has one line in the change log, and each line an act.
    fn has_a_line_for_each_act(&self, when: &str) {
        let [acts, lines] = self.acts();
        assert_eq!(acts, lines, "{when}");
    }

    /// Injects a fault at every change that a command makes. `again` is the exit code of the
    /// command that completes it.
    fn suffers(&self, line: &str, again: i32) {
        let old = self.states();
        self.run(line).here().ok();
        let new = self.states();
        let stride = if std::env::var_os("CTX_STAGE_FAULTS").is_some() { 1 } else { 3 };
        let mut seen = BTreeSet::new();
        for fault in [Fault::Fails, Fault::Dies, Fault::Tears] {
            for n in (fault as usize % stride..MOST).step_by(stride) {
                self.put_back();
                let watch = Watch::new(n, fault);
                let said = self.run(line).on(watch.clone());
                if !watch.struck() {
                    break;
                }
                let what = format!("`{line}`, {fault:?} at {n}: {}\n{}", said.exit, said.stderr);
                self.is_whole(&what);
                let found = self.states();
                // Of several lines, the whole ones stay, each for one entry.
                let is_one = |n: usize| found[n] == old[n] || found[n] == new[n];
                assert!((0..found.len()).all(is_one), "{what}: {found:#?}");
                assert!(found == new || said.exit != 0, "{what}: it is gone");
                seen.insert(found == new);
                let said = self.run(line).here();
                assert!([0, again].contains(&said.exit), "{what}: {}", said.whole());
                assert_eq!(self.states(), new, "{what}");
                self.has_a_line_for_each_act(&what);
                self.run("stage gc --now 2026-11-02T00:00:00.000Z").here().ok();
                self.is_whole(&what);
                let verify = self.run("verify --json").here().stdout;
                assert!(!verify.contains("\"staged-"), "{what}: {verify}");
            }
        }
        assert!(new == old || seen.len() == 2, "`{line}` was never seen before, or after it");
        self.put_back();
    }
}

#[test]
fn recording_a_result_happens_whole_or_not_at_all() {
    let world = World::new();
    world.suffers(RECORD, 0);
    // A result that is reported as staged can be read.
    for n in 0..MOST {
        world.put_back();
        let watch = Watch::new(n, Fault::Fails);
        let said = world.run(RECORD).on(watch.clone());
        if said.exit == 0 {
            let uri = said.json("ctx.source.record")["staged"].as_str().unwrap().to_owned();
            let raw = world.place.args(&["stage", "show", &uri, "--raw"]).here().ok();
            assert_eq!(raw.stdout, "a result", "{n}");
        }
        if !watch.struck() {
            break;
        }
    }
}

#[test]
fn pinning_happens_whole_or_not_at_all() {
    let world = World::new();
    world.suffers(&format!("stage pin {}", world.uris[0]), 0);
}

#[test]
fn discarding_happens_whole_or_not_at_all() {
    let world = World::new();
    world.suffers(&format!("stage discard {}", world.uris[2]), 1);
}

#[test]
fn collecting_happens_whole_or_not_at_all() {
    World::new().suffers("stage gc", 0);
}

#[test]
fn erasing_happens_whole_or_not_at_all() {
    let world = World::new();
    let line = format!("stage erase {} --reason x --as {BO}", world.uris[0]);
    world.suffers(&line, 0);
    // In every case, the completed command leaves no byte of the content.
    for fault in [Fault::Dies, Fault::Tears] {
        for n in (0..MOST).step_by(2) {
            world.put_back();
            let watch = Watch::new(n, fault);
            let _ = world.run(&line).on(watch.clone());
            world.run(&line).here().ok();
            let files = files_in(world.place.home());
            let held =
                files.iter().find(|(_, bytes)| bytes.windows(5).any(|five| five == b"equal"));
            assert!(held.is_none(), "{fault:?} at {n}: {:?}", held.map(|(path, _)| path));
            if !watch.struck() {
                break;
            }
        }
    }
}

#[test]
fn recover_completes_an_interrupted_erasure() {
    let world = World::new();
    let line = format!("stage erase {} --reason x --as {BO}", world.uris[0]);
    let mut seen = BTreeSet::new();
    for fault in [Fault::Dies, Fault::Tears] {
        for n in 0..MOST {
            world.put_back();
            let before = world.states();
            let watch = Watch::new(n, fault);
            let _ = world.run(&line).on(watch.clone());
            let listed = world
                .run(&format!("recover --dry-run --json --as {BO}"))
                .here()
                .ok()
                .json("ctx.recover");
            let made =
                world.run(&format!("recover --json --as {BO}")).here().ok().json("ctx.recover");
            assert_eq!(listed["removed_contents"], made["removed_contents"], "{fault:?} at {n}");
            let is_over = world.states() != before;
            let files = files_in(world.place.home());
            let has_it = |bytes: &[u8]| bytes.windows(5).any(|five| five == b"equal");
            let held = files.values().any(|bytes| has_it(bytes));
            assert_eq!(held, !is_over, "{fault:?} at {n}");
            let verify = world.run("verify --json").here().stdout;
            assert!(!verify.contains("\"staged-"), "{fault:?} at {n}: {verify}");
            seen.insert(!made["removed_contents"].as_array().unwrap().is_empty());
            if !watch.struck() {
                break;
            }
        }
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn recover_adds_the_line_of_an_interrupted_act() {
    let mut world = World::new();
    let other = world.uris[2].clone();
    let pinned = format!("stage pin {other}");
    let ready = |world: &mut World, lines: &[&String]| {
        world.put_back();
        lines.iter().for_each(|line| drop(world.run(line).here().ok()));
        std::mem::replace(&mut world.before, files_in(world.place.home()))
    };
    let unpinned = format!("stage unpin {other}");
    let cases: [(&str, &[&String], String); 6] = [
        ("pin", &[], pinned.clone()),
        // An older line of the same action and entry does not belong to the interrupted act.
        ("pin", &[&pinned, &unpinned], pinned.clone()),
        ("unpin", &[&pinned], unpinned.clone()),
        ("discard", &[], format!("stage discard {other}")),
        ("collect", &[], "stage gc".to_owned()),
        ("erase", &[], format!("stage erase {} --reason x --as {BO}", world.uris[0])),
    ];
    for (action, prepare, line) in cases {
        let first = ready(&mut world, prepare);
        let stride = if std::env::var_os("CTX_STAGE_FAULTS").is_some() { 1 } else { 2 };
        let mut seen = BTreeSet::new();
        for fault in [Fault::Fails, Fault::Dies, Fault::Tears] {
            for n in (fault as usize % stride..MOST).step_by(stride) {
                world.put_back();
                let watch = Watch::new(n, fault);
                let _ = world.run(&line).on(watch.clone());
                let what = format!("`{line}`, {fault:?} at {n}");
                let recover = |more: &str| {
                    let run = world.run(&format!("recover --json --as {BO} {more}")).here().ok();
                    run.json("ctx.recover")["completed_acts"].clone()
                };
                let listed = recover("--dry-run");
                let made = recover("");
                assert_eq!(listed, made, "{what}");
                assert_eq!(recover("").as_array().unwrap().len(), 0, "{what}");
                world.has_a_line_for_each_act(&what);
                world.is_whole(&what);
                let mark = world.place.has(".context/local/staging-act");
                assert!(!mark, "{what}: the mark is left");
                for act in made.as_array().unwrap() {
                    assert_eq!(act["action"], action, "{what}");
                }
                seen.insert(made.as_array().unwrap().len());
                if !watch.struck() {
                    break;
                }
            }
        }
        assert_eq!(seen.len(), 2, "`{line}`");
        world.before = first;
    }
}

#[test]
fn the_line_of_an_interrupted_act_names_its_principal() {
    let world = World::new();
    let pin = format!("stage pin {}", world.uris[2]);
    let log = |world: &World| {
        let tree = world.place.tree();
        let logs = tree.iter().filter(|(path, _)| path.starts_with(".context/audit/"));
        let logs = logs.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
        logs.collect::<String>()
    };
    let n = (0..MOST).find(|n| {
        world.put_back();
        let _ = world.run(&pin).on(Watch::new(*n, Fault::Dies));
        let [acts, lines] = world.acts();
        acts.len() > lines.len()
    });
    assert!(n.is_some(), "the command never dies between its two lines");
    let report = world.run("verify --json").here().ok().json("ctx.verify");
    let mut findings = report["findings"].as_array().unwrap().iter();
    let is_mark = |finding: &&Value| finding["path"] == ".context/local/staging-act";
    assert_eq!(findings.find(is_mark).unwrap()["code"], "unfinished");
    let text = world.run(&format!("recover --as {BO}")).here().ok().stdout;
    assert!(text.starts_with("pin of 1 staged entry added to the change log\n"), "{text}");
    let verify = world.run("verify --json").here().ok().stdout;
    assert!(!verify.contains("unfinished"), "{verify}");
    let log = log(&world);
    let line = log.lines().find(|line| line.contains("\"action\":\"pin\"")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["principal"], ANA);
    assert_eq!(line["principal_source"], "history");
}

#[test]
fn the_next_act_completes_an_interrupted_one() {
    let world = World::new();
    let pin = format!("stage pin {}", world.uris[2]);
    for n in 0..MOST {
        world.put_back();
        let watch = Watch::new(n, Fault::Dies);
        let _ = world.run(&pin).on(watch.clone());
        world.run(&format!("stage pin {} --as {BO}", world.uris[0])).here().ok();
        world.has_a_line_for_each_act(&format!("{n}"));
        if !watch.struck() {
            break;
        }
    }
}

#[test]
fn a_mark_that_names_no_act_adds_no_line() {
    let world = World::new();
    let uri = &world.uris[2];
    world.run(&format!("stage pin {uri}")).here().ok();
    let before = world.acts();
    let path = ".context/local/staging-act";
    let (at, ahead) = ("2026-12-24T10:00:00.000Z", "2099-01-01T00:00:00.000Z");
    let mark = |act: &str, at: &str, staged: &str| {
        format!(
            "{{\"act\":\"{act}\",\"at\":\"{at}\",\"began\":\"{at}\",\"after\":null,\"staged\":{staged}}}"
        )
    };
    for text in [
        String::new(),
        "[".repeat(100_000),
        "x".repeat(9 << 20),
        "{}".to_owned(),
        mark("pin", at, &format!("[\"{uri}\"]")),
        mark("discard", at, &format!("[\"{uri}\"]")),
        mark("pin", ahead, &format!("[\"{uri}\"]")),
        mark("stage", at, &format!("[\"{uri}\"]")),
        mark("pin", at, "[\"../../x\",\"contextnest://staged/sources/none/0a1b2c3d-1\"]"),
        mark("pin", at, "[]"),
    ] {
        world.place.write(path, &text);
        let said = world.run("recover --json").here().ok().json("ctx.recover");
        let shown = &text[..text.len().min(200)];
        assert_eq!(said["completed_acts"].as_array().unwrap().len(), 0, "{shown}");
        assert!(!world.place.has(path), "{shown}");
        assert_eq!(world.acts(), before, "{shown}");
        world.place.write(path, &text);
        world.run(&format!("stage unpin {uri}")).here().ok();
        world.run(&format!("stage pin {uri}")).here().ok();
        assert!(!world.place.has(path), "{shown}");
        world.has_a_line_for_each_act(shown);
        world.put_back();
        world.run(&format!("stage pin {uri}")).here().ok();
    }
}

#[test]
fn promoting_happens_whole_or_not_at_all() {
    let world = World::new();
    world.suffers(&format!("stage promote {} --to nodes/p", world.uris[2]), 0);
}

#[test]
fn recover_completes_or_withdraws_an_interrupted_promotion() {
    for governed in [false, true] {
        let mut world = World::new();
        if governed {
            let stewards = format!(
                "version: 1\nvault:\n  - {{principal: {ANA}, role: reviewer}}\n  - {{principal: {BO}, \
                 role: reviewer}}\n"
            );
            world.place.write("stewards.yaml", stewards);
            world.run("govern on").here().ok();
            world.before = files_in(world.place.home());
        }
        let line = format!("stage promote {} --to nodes/p", world.uris[2]);
        let recover = |more: &str| {
            let run = world.run(&format!("recover --json --as {BO} {more}"));
            let mut report = run.here().ok().json("ctx.recover");
            for key in ["dry_run", "folder"] {
                report.as_object_mut().unwrap().remove(key);
            }
            report
        };
        let stride = if std::env::var_os("CTX_STAGE_FAULTS").is_some() { 1 } else { 3 };
        let mut seen = BTreeSet::new();
        for fault in [Fault::Dies, Fault::Tears] {
            for n in (fault as usize % stride..MOST).step_by(stride) {
                world.put_back();
                let watch = Watch::new(n, fault);
                let said = world.run(&line).on(watch.clone()).stderr;
                let what = format!("governed {governed}, {fault:?} at {n}");
                let listed = recover("--dry-run");
                let made = recover("");
                assert_eq!(listed, made, "{what}");
                let completed = made["completed_promotions"].as_array().unwrap().len();
                assert!(recover("")["completed_promotions"].as_array().unwrap().is_empty());
                let verify = world.run("verify --json --allow-drift").here().ok().stdout;
                assert!(!verify.contains("\"staged-"), "{what}: {verify}");
                assert!(!verify.contains("unfinished"), "{what}: {verify}");
                // The entry is promoted if and only if the document was made.
                let is_made = world.place.has("nodes/.versions/p/history.yaml");
                let shown = world.run(&format!("stage show {} --json", world.uris[2])).here().ok();
                let shown = shown.json("ctx.stage.show");
                let promoted = shown["promoted"].as_array().unwrap();
                assert_eq!(promoted.len(), usize::from(is_made), "{what}: {shown}");
                // The act names the principal who made the document, and has its line.
                assert!(promoted.iter().all(|one| one["by"] == ANA), "{what}: {shown}");
                let tree = world.place.tree();
                let logs = tree.iter().filter(|(path, _)| path.starts_with(".context/audit/"));
                let logs = logs.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
                let lines = logs.map(|log| log.matches("\"action\":\"promote\"").count());
                let lines: usize = lines.sum();
                assert_eq!(lines, usize::from(is_made), "{what}: {said}");
                let marks = files_in(world.place.home());
                let mark = marks.keys().find(|path| path.contains("/.context/local/promoting-"));
                assert!(mark.is_none(), "{what}: {mark:?}");
                seen.insert(completed);
                if !watch.struck() {
                    break;
                }
            }
        }
        assert_eq!(seen.len(), 2, "governed {governed}");
    }
}
