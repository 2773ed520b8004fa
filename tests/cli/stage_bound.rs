//! `staging: {bind: true}`: checkpoints bind the ends of staging chains, so that every user of them
//! detects a truncated or replaced chain (STAGE-21, STAGE-22).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::files::vault::disk::Disk;
use contextnest::files::vault::outside;
use contextnest::record::staging::stage as stage_into;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::anchored::git;
use crate::changes::{Fails, both, lines, only};
use crate::harness::{Place, files_in};
use crate::stage::{ANA, BO, EVE, KIM, governed, hydrated, shop, stage, staged_at};

const CONFIG: &str = ".context/config.yaml";
const LOG: &str = ".versions/checkpoints.jsonl";
const SAME: &str = "the histories produce the same log";

/// Returns a vault with a source, whose checkpoints bind staging chains; checkpoint 1 is its head.
fn binding(form: &str) -> Place {
    let place = Place::vault();
    let settings =
        format!("versions:\n  checkpoint_log: {form}\nstaging: {{bind: true}}\naudit:\n");
    place.edit(CONFIG, "audit:\n", &settings);
    shop(place)
}

/// Returns the paths of the chains of a vault, in byte order.
fn chains(place: &Place) -> Vec<String> {
    let all = files_in(place.root()).into_keys();
    let is_chain =
        |path: &String| path.starts_with(".context/staging/chains/") && path.ends_with(".jsonl");
    all.filter(is_chain).collect()
}

/// Returns the lines of a chain.
fn chain(place: &Place, path: &str) -> Vec<Value> {
    place.read(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Publishes a change.
fn publish(place: &Place) {
    let text = place.read("nodes/rules.md");
    place.write("nodes/rules.md", format!("{text}\nMore.\n"));
    place.ctx("publish nodes/rules").ok();
}

/// Returns the field `set` of the last checkpoint.
fn last_set(place: &Place) -> Value {
    let log = place.exported(LogForm::Delta);
    serde_json::from_str::<Value>(log.lines().last().unwrap()).unwrap()["set"].clone()
}

/// Returns the value that binds a chain with these lines in a checkpoint.
fn end(lines: &[Value]) -> Value {
    let last = lines.last().unwrap();
    json!([last["seq"], last["hash"]])
}

/// Returns the last line `bind` of the change logs.
fn bind_line(place: &Place) -> Value {
    let is_bind = |line: &Value| line["action"] == "bind";
    lines(place).into_iter().rfind(is_bind).unwrap()
}

#[test]
fn a_checkpoint_binds_the_ends_of_staging_chains() {
    for form in ["delta", "full"] {
        let place = binding(form);
        // Without a chain, the lines are those of `audit.bind`.
        assert_eq!(bind_line(&place)["staged"], Value::Null);
        for payload in ["one", "two"] {
            stage(&place, ANA, "s1", payload.as_bytes());
        }
        publish(&place);
        let path = chains(&place).remove(0);
        let all = chain(&place, &path);
        assert_eq!(last_set(&place)[&path], end(&all));
        let staged = json!([{"chain": path, "seq": 2, "hash": all[1]["hash"]}]);
        assert_eq!(bind_line(&place)["staged"], staged);
        // A chain without changes keeps its bound line.
        publish(&place);
        assert_eq!(last_set(&place)[&path], Value::Null);
        assert_eq!(bind_line(&place)["staged"], Value::Null);
        stage(&place, BO, "s2", b"three");
        publish(&place);
        assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)));
        assert_eq!(codes(&place), BTreeSet::new());
        // No command treats it as a published artifact.
        for command in [
            "list",
            "history",
            "resolve contextnest://sources/",
            "status",
            "checkpoint list",
            "checkpoint show 4",
            "graph",
            "diff 3 4",
            "index --dry-run",
        ] {
            let told = place.ctx(command);
            let told = told.stdout + &told.stderr;
            assert!(!told.contains(".context/staging"), "{command}: {told}");
        }
        let out = place.home().join("out").display().to_string();
        place.ctx(&format!("checkout 4 {out}")).ok();
        assert!(!place.home().join("out/.context/staging").exists());
        // The histories and change logs alone produce the same log.
        let before = place.tree();
        let told = place.ctx("checkpoint rebuild --from-scratch").ok().stdout;
        assert_eq!(told, format!("{SAME}: 4 checkpoints\n"));
        assert_eq!(place.tree(), before);
        let other = if form == "delta" { "full" } else { "delta" };
        place.ctx(&format!("checkpoint convert --to {other}")).ok();
        assert_eq!(codes(&place), BTreeSet::new());
    }
}

#[test]
fn a_live_configuration_can_ask_for_it_and_not_take_it_back() {
    let place = shop(Place::vault());
    stage(&place, ANA, "s1", b"one");
    let config = place.read(CONFIG);
    place.write(CONFIG, format!("{config}staging: {{bind: true}}\n"));
    publish(&place);
    let path = chains(&place).remove(0);
    assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)));
    // Checkpoints bind nothing once neither setting is on.
    place.write(CONFIG, &config);
    publish(&place);
    assert_eq!(last_set(&place).as_object().unwrap().len(), 1);
    place.write(CONFIG, format!("{config}staging: {{bind: true}}\n"));
    place.ctx(&format!("publish {CONFIG}")).ok();
    place.write(CONFIG, &config);
    stage(&place, ANA, "s1", b"two");
    publish(&place);
    assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)));
    place.ctx("verify --allow-drift").ok();
}

/// Returns a vault whose last checkpoint binds a chain of three lines, after one that bound two;
/// the chain has a fourth line.
fn bound(form: &str) -> (Place, String) {
    let place = binding(form);
    for payload in ["one", "two"] {
        stage(&place, ANA, "s1", payload.as_bytes());
    }
    publish(&place);
    stage(&place, ANA, "s1", b"three");
    publish(&place);
    stage(&place, ANA, "s1", b"four");
    let path = chains(&place).remove(0);
    (place, path)
}

/// Returns the findings in a changed copy, for a user who wrote none of it.
fn found(origin: &Place, change: impl FnOnce(&Place)) -> BTreeSet<String> {
    let place = origin.duplicate();
    change(&place);
    let mut found = codes(&place);
    found.remove("staged-unclaimed");
    found
}

/// Returns lines with valid numbers, links and hashes.
fn spelled(source: &str, writer: &str, lines: &[Value]) -> String {
    let mut prev = format!("contextnest:staging:v1:{source}:{writer}");
    let mut text = String::new();
    for (n, line) in lines.iter().enumerate() {
        let mut line = line.clone();
        line["seq"] = (n + 1).into();
        line["prev"] = prev.into();
        line.as_object_mut().unwrap().remove("hash");
        let hash = Sha256::digest(serde_jcs::to_vec(&line).unwrap());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        prev = format!("sha256:{hex}");
        line["hash"] = prev.as_str().into();
        text += &(serde_jcs::to_string(&line).unwrap() + "\n");
    }
    text
}

fn writer_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap().strip_suffix(".jsonl").unwrap()
}

#[test]
fn a_chain_that_was_truncated_or_replaced_before_a_bound_line_is_found_by_everyone() {
    for form in ["delta", "full"] {
        let (origin, path) = bound(form);
        let text = origin.read(&path);
        let all: Vec<&str> = text.lines().collect();
        let kept = |n: usize| {
            let text: String = all[..n].iter().map(|line| format!("{line}\n")).collect();
            found(&origin, |place| place.write(&path, text))
        };
        // After the last bound line, nothing proves that there was more.
        assert_eq!(kept(4), BTreeSet::new());
        assert_eq!(kept(3), BTreeSet::new());
        for n in 0..3 {
            assert_eq!(kept(n), only("staged-rollback"), "{n}");
        }
        assert_eq!(found(&origin, |place| place.remove(&path)), only("staged-rollback"));
        assert_eq!(
            found(&origin, |place| place.remove(".context/staging")),
            only("staged-rollback")
        );
        let mut values = chain(&origin, &path);
        values[0]["principal"] = EVE.into();
        let replaced = spelled("sources/prices", writer_of(&path), &values);
        assert_eq!(found(&origin, |place| place.write(&path, &replaced)), only("staged-rollback"));
        // The finding names the chain, once for each, and that the user cannot give it up.
        let place = origin.duplicate();
        place.write(&path, "");
        place.ctx("head trust").ok();
        let told = place.ctx("verify").exits(1).stdout;
        let line = format!(
            "[staged-rollback] {path}, checkpoint 2: checkpoint 2 binds line 2, which the chain does not have, nor 1 later bound line"
        );
        assert!(told.contains(&line), "{told}");
        assert!(
            told.contains("A line that a checkpoint binds or a revision has cannot be given up."),
            "{told}"
        );
        // No later event binds the lost lines, and they stay lost.
        publish(&place);
        assert_eq!(last_set(&place)[&path], Value::Null);
        assert_eq!(found(&place, |_| ()), only("staged-rollback"));
    }
}

#[test]
fn readers_are_told_of_a_chain_that_lacks_its_bound_line() {
    let (origin, path) = bound("delta");
    let warning = "warning: a staging chain of `sources/prices` is damaged";
    let uri = contextnest::record::staging::StagedName::of(
        &"sources/prices".parse().unwrap(),
        &writer_of(&path).parse().unwrap(),
        1,
    );
    let contents = |place: &Place| {
        let all = files_in(place.root()).into_keys();
        all.filter(|path| path.starts_with(".context/staging/objects/")).count()
    };
    let first: String =
        origin.read(&path).lines().take(1).map(|line| format!("{line}\n")).collect();
    for left in [Some(&first), None] {
        let place = origin.duplicate();
        match left {
            Some(text) => place.write(&path, text),
            None => place.remove(&path),
        }
        let list = place.ctx("stage list").exits(1);
        assert!(list.stderr.contains(warning), "{}", list.stderr);
        let answer = place.ctx(&format!("resolve status:staged --as {BO}"));
        assert!(answer.stderr.contains(warning), "{}", answer.stderr);
        if left.is_some() {
            let shown = place.ctx(&format!("stage show {uri}")).exits(1);
            assert!(shown.stderr.contains(warning), "{}", shown.stderr);
        }
        // Contents of missing entries are not treated as unclaimed.
        let collected = place.ctx("stage gc --unclaimed");
        assert!([0, 1].contains(&collected.exit), "{}", collected.stderr);
        assert_eq!(contents(&place), 4);
    }
    let list = origin.ctx("stage list").ok();
    assert_eq!(list.stderr, "");
    // The same is true if no chain is left.
    origin.remove(".context/staging");
    let answer = origin.ctx(&format!("resolve status:staged --as {BO}"));
    assert!(answer.stderr.contains(warning), "{}", answer.stderr);
}

/// Changes the checkpoints of a delta log; hashes stay as they were.
fn relogged(place: &Place, change: impl FnOnce(&mut Vec<Value>)) {
    let mut checkpoints: Vec<Value> =
        place.read(LOG).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    change(&mut checkpoints);
    let spelled = |line: &Value| serde_jcs::to_string(line).unwrap() + "\n";
    place.write(LOG, checkpoints.iter().map(spelled).collect::<String>());
}

#[test]
fn maps_and_lines_of_change_logs_bind_the_same_chains() {
    let (origin, path) = bound("delta");
    let all = chain(&origin, &path);
    let told = |change: &dyn Fn(&mut Value)| {
        let mut found = found(&origin, |place| {
            relogged(place, |checkpoints| change(checkpoints.last_mut().unwrap()));
        });
        // Its hash changes then, but the fault of the maps is reported, too.
        assert!(found.remove("checkpoint-hash-mismatch"));
        found
    };
    let remove = |last: &mut Value| drop(last["set"].as_object_mut().unwrap().remove(&path));
    assert_eq!(told(&remove), only("audit-contradicts"));
    let raise = |last: &mut Value| last["set"][&path] = end(&all);
    assert_eq!(told(&raise), only("audit-contradicts"));
    let other = |last: &mut Value| last["set"][&path][1] = all[0]["hash"].clone();
    assert_eq!(told(&other), both("audit-contradicts", "staged-rollback"));
    let back = |last: &mut Value| last["set"][&path] = end(&all[..1]);
    assert_eq!(told(&back), both("audit-contradicts", "version-regression"));
    let same = |last: &mut Value| last["set"][&path] = end(&all[..2]);
    assert_eq!(told(&same), both("audit-contradicts", "field-malformed"));
    let invented = path.replace("prices", "other");
    let invent = |last: &mut Value| last["set"][&invented] = end(&all);
    assert_eq!(told(&invent), both("audit-contradicts", "staged-rollback"));
    let drop_all = |last: &mut Value| {
        remove(last);
        last["removed"] = json!([path]);
    };
    assert_eq!(told(&drop_all), both("audit-contradicts", "field-malformed"));
    // If the line of the event is missing, its contents are not reported as well.
    let gone = |last: &mut Value| {
        let set = last["set"].as_object_mut().unwrap();
        set.retain(|id, _| !id.starts_with(".context/audit"));
    };
    assert_eq!(told(&gone), both("audit-contradicts", "audit-missing"));
    let log = lines(&origin);
    let truncated = found(&origin, |place| {
        let writer = log[0]["writer"].as_str().unwrap();
        let path = format!(".context/audit/{writer}.jsonl");
        let kept: String = place.read(&path).lines().take(2).map(|l| l.to_owned() + "\n").collect();
        place.write(&path, kept);
    });
    assert_eq!(truncated, both("audit-missing", "audit-rollback"));
}

#[test]
fn only_a_chain_whose_end_is_sound_is_bound() {
    let (origin, path) = bound("delta");
    let text = origin.read(&path);
    // `None` if the next checkpoint does not change the bound line.
    let number = |text: &[u8]| {
        let place = origin.duplicate();
        place.write(&path, text);
        publish(&place);
        place.ctx("checkpoint rebuild --from-scratch --dry-run").ok();
        last_set(&place)[&path][0].as_u64()
    };
    assert_eq!(number(text.as_bytes()), Some(4));
    // A crash left an incomplete line.
    assert_eq!(number(&[text.as_bytes(), b"{\"at\""].concat()), Some(4));
    assert_eq!(number(&[text.as_bytes(), &[0; 40], b"\n"].concat()), Some(4));
    // Other junk.
    let line = text.lines().last().unwrap();
    for odd in [
        [&text, "{}\n"].concat(),
        [&text, "\n"].concat(),
        [&text, &line.replace("\"seq\":4", "\"seq\":5"), "\n"].concat(),
        [&text, line, "\n"].concat(),
        [&text[..text.len() - line.len() - 1], "\0\0\n", line, "\n"].concat(),
        text.lines().take(2).map(|line| format!("{line}\n")).collect(),
        String::new(),
    ] {
        assert_eq!(number(odd.as_bytes()), None, "{odd}");
    }
    // A chain of the right length does not continue the bound one.
    let mut values = chain(&origin, &path);
    values[0]["principal"] = EVE.into();
    let replaced = spelled("sources/prices", writer_of(&path), &values);
    assert_eq!(number(replaced.as_bytes()), None);
    // A line is missing between the bound one and the end.
    stage(&origin, ANA, "s1", b"five");
    stage(&origin, ANA, "s1", b"six");
    let text = origin.read(&path);
    let without = |n: usize| -> String {
        let kept = text.lines().enumerate().filter(|(at, _)| *at != n);
        kept.map(|(_, line)| format!("{line}\n")).collect()
    };
    assert_eq!(number(text.as_bytes()), Some(6));
    assert_eq!(number(without(4).as_bytes()), None);
    assert_eq!(number(without(2).as_bytes()), None);
    // Lines before the bound one are not read.
    assert_eq!(number(without(0).as_bytes()), Some(6));
}

#[test]
fn odd_folders_and_links_stop_no_publication() {
    let place = binding("delta");
    stage(&place, ANA, "s1", b"one");
    let path = chains(&place).remove(0);
    let text = place.read(&path);
    let in_folder = |name: &str| {
        let (_, file) = path.rsplit_once('/').unwrap();
        format!(".context/staging/chains/{name}/{file}")
    };
    // A chain of another source, and of names that no artifact has.
    for name in ["sources/other", "sources/invisible\u{ad}", "a/../b", "x.yaml", "INDEX"] {
        place.write(&in_folder(name), &text);
    }
    let renamed = text.replace("sources/prices", "x.yaml");
    place.write(&in_folder("y.yaml"), renamed);
    let outside = place.home().join("chain");
    fs::write(&outside, &text).unwrap();
    let linked = in_folder("sources/linked");
    fs::create_dir_all(place.path(&linked).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, place.path(&linked)).unwrap();
    fs::create_dir_all(place.path(&in_folder("sources/folder"))).unwrap();
    place.write(".context/staging/chains/sources/prices/notes.txt", "x");
    let deep = "d/".repeat(300);
    place.write(&in_folder(&format!("{deep}e")), &text);
    publish(&place);
    let set = last_set(&place);
    let bound: Vec<&String> =
        set.as_object().unwrap().keys().filter(|id| id.contains("staging")).collect();
    assert_eq!(bound, [&path]);
    // The folder itself is a link.
    let (elsewhere, own) = (place.home().join("chains"), place.path(".context/staging/chains"));
    fs::rename(&own, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &own).unwrap();
    publish(&place);
    assert!(codes(&place).contains("staged-malformed"));
}

#[test]
fn a_source_with_the_longest_id_has_a_chain_that_is_bound() {
    let place = binding("delta");
    let names = ["n".repeat(250), "m".repeat(250), "x".repeat(10)].join("/");
    let source = &names[..512];
    let vault = Vault::open(place.root()).unwrap();
    let mut what = hydrated(ANA, "s1");
    what.source = source.parse().unwrap();
    let at = "2026-11-21T10:01:00.000Z".parse().unwrap();
    stage_into((&vault, outside::random), (what, b"one"), at).unwrap();
    publish(&place);
    let path = chains(&place).remove(0);
    assert!(path.contains(source) && path.len() > 512);
    assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)));
    // No checkpoint seals the source, which is noted of its entry.
    let noted = BTreeSet::from(["staged-unproved".to_owned()]);
    assert_eq!(codes(&place), noted);
    place.ctx("checkpoint convert --to full").ok();
    assert_eq!(codes(&place), noted);
}

#[test]
fn many_chains_are_named_by_several_lines() {
    let place = binding("delta");
    // Without a state directory, each result begins a chain.
    let vault = Vault::open(place.root()).unwrap().without_sync();
    let at = "2026-11-21T10:01:00.000Z".parse().unwrap();
    for n in 0..2100 {
        let payload = format!("result {n}");
        let what = (hydrated(ANA, "s1"), payload.as_bytes());
        stage_into((&vault, outside::random), what, at).unwrap();
    }
    publish(&place);
    let all = chains(&place);
    let set = last_set(&place);
    assert!(all.iter().all(|path| set[path][0] == 1) && all.len() == 2100);
    let binds: Vec<Value> =
        lines(&place).into_iter().filter(|line| line["staged"].is_array()).collect();
    let counts: Vec<usize> =
        binds.iter().map(|line| line["staged"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [1000, 1000, 100]);
    let trace = format!("{}-{}", &binds[0]["writer"].as_str().unwrap()[..8], binds[0]["seq"]);
    assert_eq!([&binds[1]["cause"], &binds[2]["cause"]], [&json!(trace), &json!(trace)]);
    // The last of them is bound.
    let log = format!(".context/audit/{}.jsonl", binds[0]["writer"].as_str().unwrap());
    assert_eq!(set[&log], json!([binds[2]["seq"], binds[2]["hash"]]));
    assert_eq!(codes(&place), BTreeSet::new());
    let told = place.ctx("checkpoint rebuild --from-scratch --dry-run").ok().stdout;
    assert_eq!(told, format!("{SAME}: 2 checkpoints\n"));
    place.remove(&all[1500]);
    assert_eq!(found(&place, |_| ()), only("staged-rollback"));
}

#[test]
fn acts_upon_entries_never_break_a_binding() {
    let place = binding("delta");
    let old = |payload: &[u8]| stage(&place, ANA, "s1", payload);
    let uris = [old(b"pinned"), old(b"discarded"), old(b"erased"), old(b"promoted"), old(b"old")];
    publish(&place);
    let path = chains(&place).remove(0);
    for (line, now) in [
        (format!("stage pin {}", uris[0]), "2026-11-21T10:02:00.000Z"),
        (format!("stage discard {}", uris[1]), "2026-11-21T10:03:00.000Z"),
        (format!("stage erase {} --reason personal", uris[2]), "2026-11-21T10:04:00.000Z"),
        (format!("stage promote {} --to nodes/promoted", uris[3]), "2026-11-21T10:05:00.000Z"),
        (format!("stage unpin {}", uris[0]), "2026-11-21T10:06:00.000Z"),
        ("stage gc".to_owned(), "2027-01-24T10:00:00.000Z"),
    ] {
        place.ctx(&format!("{line} --now {now}")).ok();
        assert_eq!(codes_at(&place, now), BTreeSet::new(), "{line}");
        let text = place.read("nodes/rules.md");
        place.write("nodes/rules.md", format!("{text}\nMore.\n"));
        let later = now.replace(":00.000Z", ":30.000Z");
        place.ctx(&format!("publish nodes/rules --now {later}")).ok();
        assert_eq!(codes_at(&place, &later), BTreeSet::new(), "{line}");
        assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)));
    }
    assert_eq!(chain(&place, &path).len(), 12);
}

/// Returns the codes of the findings at the end of the day, because results are staged after the
/// time of other commands.
fn codes(place: &Place) -> BTreeSet<String> {
    codes_at(place, "2026-11-21T23:00:00.000Z")
}

fn codes_at(place: &Place, now: &str) -> BTreeSet<String> {
    let report = place.ctx(&format!("verify --json --now {now}")).json("ctx.verify");
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_clones_with_chains_merge_without_a_finding() {
    let ours = binding("delta");
    stage(&ours, ANA, "s1", b"of both");
    publish(&ours);
    git(&ours, "init -q -b main");
    git(&ours, "add -A");
    git(&ours, "commit -q -m one");
    let theirs = Place::new();
    git(&theirs, &format!("clone -q {} .", ours.root().display()));
    // The other clone has a chain of its own, and publishes nothing.
    stage(&theirs, BO, "s2", b"theirs");
    git(&theirs, "add -A");
    git(&theirs, "commit -q -m theirs");
    stage(&ours, ANA, "s1", b"ours");
    publish(&ours);
    git(&ours, "add -A");
    git(&ours, "commit -q -m ours");
    git(&ours, &format!("pull -q --no-rebase --no-edit {} main", theirs.root().display()));
    assert_eq!(chains(&ours).len(), 2);
    assert_eq!(codes(&ours), BTreeSet::new());
    publish(&ours);
    let set = last_set(&ours);
    let bound: Vec<String> =
        chains(&ours).into_iter().filter(|path| set[path].is_array()).collect();
    assert_eq!(bound.len(), 1);
    assert_eq!(chain(&ours, &bound[0])[0]["principal"], BO);
    // The other clone pulls, continues its chain, and publishes.
    git(&ours, "add -A");
    git(&ours, "commit -q -m merged");
    git(&theirs, &format!("pull -q --ff-only {} main", ours.root().display()));
    stage(&theirs, BO, "s2", b"more");
    publish(&theirs);
    assert_eq!(codes_at(&theirs, "2026-11-21T10:30:00.000Z"), BTreeSet::new());
    let told = theirs.ctx("checkpoint rebuild --from-scratch --dry-run").ok().stdout;
    assert_eq!(told, format!("{SAME}: 5 checkpoints\n"));
}

#[test]
fn two_branches_that_both_bound_a_chain_give_a_log_that_does_not_go_back() {
    let place = binding("delta");
    place.write("nodes/b.md", "# B\n\nOne.\n");
    place.ctx("publish nodes/b").ok();
    stage(&place, ANA, "s1", b"one");
    git(&place, "init -q -b main");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    git(&place, "checkout -q -b ours");
    stage(&place, ANA, "s1", b"two");
    publish(&place);
    git(&place, "add -A");
    git(&place, "commit -q -m ours");
    // The later event, on the other branch, has fewer lines of the chain.
    git(&place, "checkout -q -b theirs main");
    place.edit("nodes/b.md", "One.", "Two.");
    place.ctx("publish nodes/b").ok();
    let path = chains(&place).remove(0);
    assert_eq!(last_set(&place)[&path][0], 1);
    git(&place, "add -A");
    git(&place, "commit -q -m theirs");
    git(&place, "checkout -q ours");
    git(&place, "merge -q -X ours theirs");
    place.ctx("checkpoint rebuild --force").ok();
    let lines: Vec<Value> =
        place.read(LOG).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[2]["set"][&path][0]), (4, &json!(2)));
    assert_eq!(lines[3]["set"][&path], Value::Null);
    // The event of the other branch now has another hash, which no line names.
    assert_eq!(found(&place, |_| ()), both("audit-missing", "audit-replaced"));
}

#[test]
fn a_reader_who_may_not_read_everything_sees_no_line_that_names_a_chain() {
    let place = governed();
    place.edit(CONFIG, "governance: governed", "governance: governed\nreads: stewards");
    let config = place.read(CONFIG);
    place.write(CONFIG, format!("{config}staging: {{bind: true}}\n"));
    place.ctx(&format!("submit {CONFIG} --as {KIM}")).ok();
    stage(&place, ANA, "s1", b"one");
    place.ctx(&format!("approve {CONFIG} --as {BO}")).ok();
    assert!(bind_line(&place)["staged"].is_array());
    let seen = |who: &str| place.ctx(&format!("trace list --json --as {who}")).stdout;
    assert!(seen(KIM).contains("\"bind\""));
    let shown = place.ctx(&format!("trace list --json --as {EVE}"));
    let shown = shown.stdout + &shown.stderr;
    assert!(!shown.contains("\"bind\"") && !shown.contains("sources/prices"), "{shown}");
}

#[test]
fn an_event_that_binds_chains_and_whose_write_or_sync_fails_is_old_or_new() {
    let mut outcomes = BTreeSet::new();
    let mut run = |for_good, at| {
        let place = Place::in_memory();
        place.ctx("init --name Test").ok();
        place.edit(CONFIG, "audit:\n", "staging: {bind: true}\naudit:\n");
        let place = shop(place);
        stage(&place, ANA, "s1", b"one");
        publish(&place);
        stage(&place, ANA, "s1", b"two");
        place.edit("nodes/rules.md", "More.", "Less.");
        let disk = Arc::new(Fails::new(at, for_good));
        outcomes.insert(place.typed("publish --changed").on(disk.clone()).exit);
        // In every case, the next command of the user repairs the vault.
        place.ctx("recover").ok();
        place.ctx("publish --changed").ok();
        assert_eq!(codes(&place), BTreeSet::new(), "{for_good} {at}");
        let told = place.ctx("checkpoint rebuild --from-scratch --dry-run").ok().stdout;
        assert_eq!(told, format!("{SAME}: 3 checkpoints\n"), "{for_good} {at}");
        let path = chains(&place).remove(0);
        assert_eq!(last_set(&place)[&path], end(&chain(&place, &path)), "{for_good} {at}");
        disk.reached()
    };
    for for_good in [false, true] {
        let changes = (1..).take_while(|at| run(for_good, *at)).count();
        assert!(changes > 20, "{changes}");
    }
    assert_eq!(outcomes, BTreeSet::from([0, 5]));
}

#[test]
fn bundles_of_a_vault_that_binds_chains_hold() {
    let place = binding("delta");
    let config = place.read(CONFIG);
    place.write(CONFIG, config.replace("{bind: true}", "{bind: true, enabled: true}"));
    place.ctx(&format!("publish {CONFIG}")).ok();
    let uri = crate::staged_evidence::recorded(&place, "s", b"{\"eur\": 1.50}");
    publish(&place);
    place.args(&["read", "nodes/rules", "--session", "s"]).run().ok();
    place.args(&["stage", "show", &uri, "--session", "s"]).run().ok();
    publish(&place);
    let out = place.home().join("bundle.tar").display().to_string();
    place.ctx(&format!("evidence export --session s --output {out}")).ok();
    let told = place.ctx(&format!("evidence verify {out}")).ok().stdout;
    assert!(told.contains(" 0 not proved, 0 contradicted"), "{told}");
    let script = crate::harness::repository().join("fixtures/evidence/verify.py");
    let told = place.typed("").shell(&format!("python3 {} {out}", script.display()));
    assert_eq!(told.exit, 0, "{}", told.whole());
}

/// The next action in one of two clones.
#[derive(Clone, Debug)]
enum Step {
    Stage { clone: usize, word: usize },
    Act { clone: usize, verb: usize, entry: usize },
    Publish,
    Merge,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize, 0..3_usize).prop_map(|(clone, word)| Step::Stage { clone, word }),
        2 => (0..2_usize, 0..4_usize, any::<usize>())
            .prop_map(|(clone, verb, entry)| Step::Act { clone, verb, entry }),
        2 => Just(Step::Publish),
        1 => Just(Step::Merge),
    ]
}

/// Two clones of a vault that binds chains.
struct Clones([Place; 2]);

impl Clones {
    fn new() -> Self {
        let one = binding("delta");
        git(&one, "init -q -b main");
        git(&one, "add -A");
        git(&one, "commit -q -m begin");
        let other = Place::new();
        git(&other, &format!("clone -q {} .", one.root().display()));
        Self([one, other])
    }

    fn merge(&self) {
        for place in &self.0 {
            git(place, "add -A");
            git(place, "commit -q --allow-empty -m more");
        }
        let [one, other] = &self.0;
        git(one, &format!("pull -q --no-rebase --no-edit {} main", other.root().display()));
        git(other, &format!("pull -q --ff-only {} main", one.root().display()));
    }

    fn take(&self, n: usize, step: &Step) {
        let at = format!("2026-11-21T11:{n:02}:00.000Z");
        match step {
            Step::Stage { clone, word } => {
                let (place, by) = (&self.0[*clone], [ANA, BO][*clone]);
                let what = format!("content {word}");
                let of = (what.as_bytes(), at.as_str());
                staged_at(place, Disk::default(), (by, "s1"), of).unwrap();
            }
            Step::Act { clone, verb, entry } => {
                let place = &self.0[*clone];
                let list = ["stage", "list", "--all", "--every-session", "--json", "--now", &at];
                let listed = place.args(&list).here().ok().json("ctx.stage.list");
                let staged = listed["staged"].as_array().unwrap();
                let uris: Vec<&str> = staged.iter().filter_map(|one| one["uri"].as_str()).collect();
                if let Some(uri) = uris.get(entry % uris.len().max(1)) {
                    let verb = ["pin", "unpin", "discard", "erase"][*verb];
                    let reason = if verb == "erase" { "--reason x" } else { "" };
                    let said =
                        place.typed(&format!("stage {verb} {uri} {reason} --now {at}")).here();
                    assert!([0, 1].contains(&said.exit), "{}", said.whole());
                }
            }
            Step::Publish => {
                let place = &self.0[0];
                let text = place.read("nodes/rules.md");
                place.write("nodes/rules.md", format!("{text}\nMore.\n"));
                place.args(&["publish", "nodes/rules", "--now", &at]).here().ok();
            }
            Step::Merge => self.merge(),
        }
    }
}

/// Returns the findings at the end of the day, except notes.
fn wrong(place: &Place) -> BTreeSet<String> {
    let line = ["verify", "--json", "--now", "2026-11-21T23:00:00.000Z"];
    let report = place.args(&line).here().json("ctx.verify");
    let found = report["findings"].as_array().unwrap().iter();
    let found = found.filter(|f| f["class"] != "note");
    found.map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

/// Returns the last line of each chain in the maps of the head.
fn held(place: &Place) -> BTreeMap<String, u64> {
    let log = place.exported(LogForm::Delta);
    let sets = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["set"].clone());
    let all = sets.flat_map(|set| set.as_object().unwrap().clone());
    let chains = all.filter(|(id, _)| id.contains("/staging/"));
    chains.map(|(id, mark)| (id, mark[0].as_u64().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn whatever_two_clones_do_bindings_hold_and_a_cut_is_found(
        steps in prop::collection::vec(step(), 4..14),
        (which, kept) in (any::<usize>(), any::<usize>()),
    ) {
        let clones = Clones::new();
        for (n, step) in steps.iter().enumerate() {
            clones.take(n, step);
        }
        clones.merge();
        clones.take(steps.len(), &Step::Publish);
        for place in &clones.0 {
            prop_assert_eq!(wrong(place), BTreeSet::new());
        }
        let place = &clones.0[0];
        let told = place.ctx("checkpoint rebuild --from-scratch --dry-run").ok().stdout;
        prop_assert!(told.starts_with(SAME), "{}", told);
        // The last event bound every chain completely.
        let held = held(place);
        let all = chains(place);
        for path in &all {
            let count = chain(place, path).len() as u64;
            prop_assert_eq!(held.get(path), Some(&count), "{}", path);
        }
        if let Some(path) = all.get(which % all.len().max(1)) {
            let text = place.read(path);
            let lines: Vec<&str> = text.lines().collect();
            let cut: String = lines[..kept % lines.len()].iter().map(|l| format!("{l}\n")).collect();
            let copy = place.duplicate();
            copy.write(path, cut);
            prop_assert!(wrong(&copy).contains("staged-rollback"));
        }
    }
}
