//! Bundles whose maker leaves out that a text was published without a valid approval
//! (`spec/evidence.md`, EVID-31): both verifiers judge the approvals themselves.

use std::process::Command;

use contextnest::evidence::bundle::verify::{Item, Kind, Verdict, verify};
use serde_json::{Value, json};

use crate::evidence::{failures, files, rebuilt};
use crate::forger::{Becomes, Forger};
use crate::harness::{Place, repository};
use crate::unapproved::{
    ANA, BO, EVE, FORGERIES, KIM, SECRET, STEWARDS, by, governed, moved_unapproved, replaced,
};

/// The bundle of a document, whatever the export says of it.
fn exported(place: &Place, id: &str) -> Vec<u8> {
    let said = place.ctx(&format!("evidence export --document {id} -o ../b.tar --force"));
    assert!(said.exit < 2, "{}", said.whole());
    std::fs::read(place.home().join("b.tar")).unwrap()
}

/// The same with all hashes of the bundle made again: without its gaps, without the pages that name
/// them, and with another change to its files and manifest.
fn stripped(
    bundle: &[u8],
    change: impl FnOnce(&mut std::collections::BTreeMap<String, Vec<u8>>, &mut Value),
) -> Vec<u8> {
    let mut files = files(bundle);
    files.remove("README.md");
    files.remove("index.html");
    let mut manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    manifest.as_object_mut().unwrap().remove("gaps");
    change(&mut files, &mut manifest);
    files.insert("manifest.json".to_owned(), serde_json::to_vec(&manifest).unwrap());
    rebuilt(files, |_| {})
}

/// The approvals that are not proved, by `ctx`; the verifier in Python names the same.
fn unproved(place: &Place, bundle: &[u8]) -> Vec<(String, String)> {
    let items = verify(bundle, None).unwrap().items;
    let is_unproved = |item: &&Item| item.kind == Kind::Approval && item.verdict.is_failure();
    let of_ctx: Vec<(String, String)> = items
        .iter()
        .filter(is_unproved)
        .map(|item| (item.name.clone(), item.why.clone().unwrap_or_default()))
        .collect();
    let path = place.home().join("forged.tar");
    std::fs::write(&path, bundle).unwrap();
    let script = repository().join("fixtures/evidence/verify.py");
    let mut python = Command::new("python3");
    python.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(path).arg("--json");
    let said = python.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let items: Vec<(String, String, String, bool)> = serde_json::from_str(&text)
        .unwrap_or_else(|why| panic!("{why}: {text}{}", String::from_utf8_lossy(&said.stderr)));
    let of_python: Vec<String> = items
        .into_iter()
        .filter(|(kind, _, _, is_missing)| kind == "approval" && *is_missing)
        .map(|(_, name, ..)| name)
        .collect();
    let names: Vec<String> = of_ctx.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(of_python, names);
    assert_eq!(said.status.code(), Some(i32::from(!failures(bundle).is_empty())));
    of_ctx
}

/// A bundle without its mark names `code` for a version, and nothing else is wrong.
fn is_found(place: &Place, id: &str, (version, code): (&str, &str), what: &str) {
    let bundle = stripped(&exported(place, id), |_, _| {});
    let found = unproved(place, &bundle);
    let is_it = |(name, why): &(String, String)| name == version && why.starts_with(code);
    assert!(found.iter().any(is_it), "{what}: {found:?}");
    let others: Vec<String> =
        failures(&bundle).into_iter().filter(|why| !why.starts_with("approval ")).collect();
    assert_eq!(others, Vec::<String>::new(), "{what}");
}

#[test]
fn a_verifier_finds_an_unapproved_text_in_a_bundle_without_its_mark() {
    for (id, code, what, forge) in FORGERIES {
        let place = governed();
        forge(&mut Forger::new(&place));
        let version = format!("{id} v{}", Forger::new(&place).last(id).0);
        is_found(&place, id, (&version, code), what);
    }
}

#[test]
fn a_verifier_judges_by_the_last_approved_rules_of_a_bundle() {
    let place = governed();
    let mut forger = Forger::new(&place);
    let (_, stewards) = forger.last("stewards.yaml");
    replaced(&mut forger, "stewards.yaml", EVE, &(stewards + "  # eve\n").replace(BO, EVE));
    forger.submit("nodes/a", ANA, SECRET);
    forger.approve("nodes/a", EVE, EVE);
    is_found(&place, "nodes/a", ("nodes/a v3", "approval-unauthorised"), "eve named herself");
    is_found(&place, "nodes/a", ("stewards.yaml v2", "approval-missing"), "eve named herself");
    // So it is with an end of governance that was not approved.
    let place = governed();
    let mut forger = Forger::new(&place);
    let (_, config) = forger.last(".context/config.yaml");
    let text = config.replace("governance: governed\n", "");
    replaced(&mut forger, ".context/config.yaml", BO, &text);
    let plain = forger.stamped("nodes/a", "published", &[]) + SECRET;
    forger.add("nodes/a", EVE, Becomes::Published, &plain);
    forger.seal(&["nodes/a"], &[]);
    is_found(&place, "nodes/a", ("nodes/a v2", "approval-missing"), "governance was ended");
    is_found(&place, "nodes/a", (".context/config.yaml v3", "approval-missing"), "ended");
}

#[test]
fn a_verifier_finds_the_target_of_an_unapproved_move() {
    let place = moved_unapproved();
    is_found(&place, "nodes/z", ("nodes/z v1", "approval-"), "an editor approved the move");
}

/// A governed vault with a set, a move, a pack, a renewal, a rejection and an emergency; each approved.
fn honest() -> Place {
    let place = governed();
    let more = |id: &str, text: &str| {
        let path = format!("{id}.md");
        place.write(&path, place.read(&path) + text);
    };
    more("nodes/a", "more\n");
    more("nodes/b", "more\n");
    by(&place, "ana", "submit nodes/a nodes/b --change one").ok();
    by(&place, "bo", "approve nodes/a nodes/b").ok();
    more("nodes/a", "rejected\n");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "reject nodes/a --reason no").ok();
    place.ctx("restore nodes/a --version 3 --force --as ana@x.com").ok();
    by(&place, "ana", "mv nodes/b nodes/c").ok();
    by(&place, "bo", "approve nodes/b").ok();
    by(&place, "ana", "mv nodes/c nodes/d").ok();
    by(&place, "kim", "approve nodes/c").ok();
    more("nodes/two/c", "more\n");
    by(&place, "ana", "submit nodes/two/c").ok();
    by(&place, "bo", "approve nodes/two/c").ok();
    by(&place, "kim", "approve nodes/two/c").ok();
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: nodes/\n");
    by(&place, "bo", "submit packs/p.yml").ok();
    by(&place, "kim", "approve packs/p.yml").ok();
    by(&place, "bo", "submit nodes/a --renew").ok();
    by(&place, "kim", "approve nodes/a").ok();
    let stewards = place.read("stewards.yaml").replace("required: 2", "required: 1");
    place.write("stewards.yaml", stewards);
    by(&place, "bo", "submit stewards.yaml").ok();
    by(&place, "kim", "approve stewards.yaml").ok();
    for line in ["read nodes/a", "read nodes/d", "resolve pack:p --bodies", "read nodes/two/c"] {
        place.ctx(&format!("{line} --session s")).ok();
    }
    place.ctx("verify").ok();
    place
}

#[test]
fn a_bundle_of_an_honest_governed_vault_proves_every_approval() {
    let place = honest();
    let ids = ["nodes/a", "nodes/b", "nodes/c", "nodes/d", "nodes/two/c", "packs/p.yml"];
    let scopes = ids.map(|id| format!("--document {id}"));
    for scope in scopes.into_iter().chain(["--session s".to_owned()]) {
        let bundle = place.ctx(&format!("evidence export {scope}")).ok().stdout.into_bytes();
        assert_eq!(failures(&bundle), Vec::<String>::new(), "{scope}");
        assert_eq!(unproved(&place, &bundle), []);
        let items = verify(&bundle, None).unwrap().items;
        let proved = |item: &&Item| item.kind == Kind::Approval && item.verdict == Verdict::Proved;
        assert!(items.iter().any(|item| proved(&item)), "{scope}");
    }
}

#[test]
fn an_approval_whose_histories_are_not_in_the_bundle_is_not_checked() {
    let place = honest();
    let whole = exported(&place, "nodes/d");
    assert_eq!(failures(&whole), Vec::<String>::new());
    // From where the document was moved, and who had which role.
    for id in ["nodes/b", "nodes/c", "stewards.yaml", ".context/config.yaml"] {
        let bundle = stripped(&whole, |files, manifest| {
            let versions = manifest["versions"].as_array().unwrap().clone();
            let (mut left, mut texts) = (Vec::new(), Vec::new());
            for (n, version) in versions.iter().enumerate().filter(|(_, v)| v["id"] != id) {
                left.push(version.clone());
                texts.push(files[&format!("versions/{}.md", n + 1)].clone());
            }
            assert!(left.len() < versions.len(), "{id}");
            files.retain(|name, _| !name.starts_with("versions/"));
            for (n, text) in texts.into_iter().enumerate() {
                files.insert(format!("versions/{}.md", n + 1), text);
            }
            let chains: Vec<String> =
                left.iter().map(|version| version["chain"].to_string()).collect();
            files.retain(|name, _| {
                let chain = name.strip_prefix("chains/").and_then(|rest| rest.split('.').next());
                chain.is_none_or(|chain| chains.iter().any(|left| left == chain))
            });
            manifest["versions"] = left.into();
            manifest["texts"] = json!([]);
        });
        let found = unproved(&place, &bundle);
        let is_it = |(name, why): &(String, String)| {
            name == "nodes/d v1" && why.starts_with("approval not checked: ")
        };
        assert!(found.iter().any(is_it), "{id}: {found:?}");
    }
}

#[test]
fn a_bundle_that_begins_later_hides_no_governance() {
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", BO, SECRET);
    forger.approve("nodes/a", BO, BO);
    let bundle = stripped(&exported(&place, "nodes/a"), |files, manifest| {
        let log = String::from_utf8(files["checkpoints.jsonl"].clone()).unwrap();
        let mut lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = lines.len() - 1;
        let mut maps = serde_json::Map::new();
        for line in &lines {
            maps.extend(line["set"].as_object().unwrap().clone());
        }
        manifest["previous"] = lines[last - 1]["checkpoint_hash"].clone();
        let mut line = lines.swap_remove(last);
        line["set"] = maps.into();
        let number = line["checkpoint"].as_u64().unwrap();
        files.insert(
            "checkpoints.jsonl".to_owned(),
            [serde_jcs::to_vec(&line).unwrap(), b"\n".to_vec()].concat(),
        );
        for version in manifest["versions"].as_array_mut().unwrap() {
            let checkpoints = version["checkpoints"].as_array_mut().unwrap();
            let is_sealed = !checkpoints.is_empty();
            checkpoints.retain(|at| at.as_u64() == Some(number));
            let is_latest = |id: &str, n: u64| version["id"] == id && version["version"] == n;
            if is_sealed
                && (is_latest(".context/config.yaml", 2)
                    || is_latest("stewards.yaml", 1)
                    || is_latest("CONTEXT.md", 1))
            {
                version["checkpoints"] = json!([number]);
            }
        }
    });
    let found = unproved(&place, &bundle);
    let is_it = |(name, why): &(String, String)| {
        name == "nodes/a v3" && why.starts_with("approval not checked: the checkpoints")
    };
    assert!(found.iter().any(is_it), "{found:?} {:?}", failures(&bundle));
}

/// Kim's text was rejected, and Ana submits it again for Kim. What says so is marked as erased.
fn erased_author() -> Place {
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/b", KIM, SECRET);
    let fields = [("review", "rejected"), ("rejected_by", BO), ("review_reason", "no")];
    let rejected = forger.stamped("nodes/b", "draft", &fields);
    forger.add("nodes/b", BO, Becomes::Step, &rejected);
    forger.later();
    let fields = [("review", "submitted"), ("review_base", "0")];
    let again = forger.stamped("nodes/b", "draft", &fields);
    forger.add_keyframe("nodes/b", ANA, Becomes::Step, &again);
    forger.later();
    forger.approve("nodes/b", KIM, KIM);
    let history = "nodes/.versions/b/history.yaml";
    let (before, after) = {
        let text = place.read(history);
        let (before, after) = text.split_once("  - version: 2\n").unwrap();
        (before.to_owned(), after.to_owned())
    };
    let erased = after.replacen("    content_hash", "    tombstone: true\n    content_hash", 1);
    place.write(history, format!("{before}  - version: 2\n{erased}"));
    place
}

#[test]
fn an_erased_text_hides_no_author() {
    let place = erased_author();
    let report = place.ctx("verify --json").exits(1).json("ctx.verify");
    assert!(report.to_string().contains("marked as forgotten"), "{report}");
    for line in ["read nodes/b", "resolve nodes/b --bodies"] {
        let withheld = place.ctx(line).exits(1);
        assert!(withheld.stderr.contains("marked as forgotten"), "{line}: {}", withheld.whole());
        assert!(!withheld.whole().contains(SECRET), "{line}: {}", withheld.whole());
    }
    let whole = exported(&place, "nodes/b");
    let unjudged = |bundle: &[u8]| {
        let found = unproved(&place, bundle);
        let is_it = |(name, why): &(String, String)| {
            name == "nodes/b v5" && why.starts_with("approval not checked: ")
        };
        assert!(found.iter().any(is_it), "{found:?}");
    };
    unjudged(&stripped(&whole, |_, _| {}));
    // The later part cannot be given as the whole history: its first hash names the version before.
    let bundle = stripped(&whole, |files, _| {
        let is_later = |text: &Value| text["id"] == "nodes/b" && text["entries"][0]["version"] == 4;
        let mut chains = files.values_mut().filter_map(|bytes| {
            let chain: Value = serde_json::from_slice(bytes).ok()?;
            is_later(&chain).then_some((bytes, chain))
        });
        let (bytes, mut chain) = chains.next().unwrap();
        chain.as_object_mut().unwrap().remove("previous").unwrap();
        *bytes = serde_jcs::to_vec(&chain).unwrap();
    });
    let found = failures(&bundle);
    assert!(
        found.iter().any(|why| why.starts_with("version nodes/b v5 contradicted: version 4")),
        "{found:?}"
    );
}

/// The reference implementation begins a history with version 2, and erased another document.
#[test]
fn a_bundle_of_an_adopted_vault_proves_every_approval() {
    let place = Place::copy_of(&repository().join("fixtures/interop/forgotten"));
    let mut second = 0;
    let mut run = |line: &str| {
        second += 1;
        place.ctx(&format!("{line} --now 2026-11-27T08:00:{second:02}.000Z")).ok()
    };
    run("checkpoint adopt --as ana@x.com");
    place.write("stewards.yaml", STEWARDS);
    run("govern on --as ana@x.com");
    place.write("nodes/returns.md", place.read("nodes/returns.md") + "More.\n");
    run("submit nodes/returns --as ana@x.com");
    run("approve nodes/returns --as bo@x.com");
    run("read nodes/returns --session s");
    run("verify");
    for scope in ["--session s", "--document nodes/returns"] {
        let bundle = run(&format!("evidence export {scope}")).stdout.into_bytes();
        assert_eq!(failures(&bundle), Vec::<String>::new(), "{scope}");
        assert_eq!(unproved(&place, &bundle), []);
        let items = verify(&bundle, None).unwrap().items;
        let is_it = |item: &Item| {
            item.kind == Kind::Approval
                && item.name == "nodes/returns v4"
                && item.verdict == Verdict::Proved
        };
        assert!(items.iter().any(is_it), "{scope}: {items:?}");
    }
}
