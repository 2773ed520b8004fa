//! Bundles whose maker hides that a text was published without a valid approval
//! (`spec/evidence.md`, EVID-31): both verifiers judge the approvals themselves.

use std::process::Command;

use contextnest::model::number::Version;
use contextnest::prove::evidence::bundle::verify::{Item, Kind, Verdict, verify};
use contextnest::record::chain::preimage::chain_hash;
use serde_json::{Value, json};

use crate::evidence::{failures, files, rebuilt};
use crate::forger::{Becomes, Forger};
use crate::harness::{Place, repository};
use crate::unapproved::{
    ANA, BO, EVE, FORGERIES, KIM, SECRET, STEWARDS, approved_at_once, by, governed,
    moved_unapproved, replaced,
};

/// Returns the bundle of a document, whatever the export reports.
fn exported(place: &Place, id: &str) -> Vec<u8> {
    let said = place.ctx(&format!("evidence export --document {id} -o ../b.tar --force"));
    assert!(said.exit < 2, "{}", said.whole());
    std::fs::read(place.home().join("b.tar")).unwrap()
}

/// Returns a bundle without its gaps and the pages that name them, with another change to its files
/// and manifest, and valid hashes.
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

/// Returns the items of the verifier in Python, each as kind, name, verdict and whether a proof is
/// missing; and its exit code.
pub(crate) fn of_python(
    place: &Place,
    bundle: &[u8],
) -> (Vec<(String, String, String, bool)>, i32) {
    let path = place.home().join("forged.tar");
    std::fs::write(&path, bundle).unwrap();
    let script = repository().join("fixtures/evidence/verify.py");
    let mut python = Command::new("python3");
    python.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(path).arg("--json");
    let said = python.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let items = serde_json::from_str(&text)
        .unwrap_or_else(|why| panic!("{why}: {text}{}", String::from_utf8_lossy(&said.stderr)));
    (items, said.status.code().unwrap())
}

/// Returns the approvals that `ctx` does not prove; the verifier in Python names the same.
fn unproved(place: &Place, bundle: &[u8]) -> Vec<(String, String)> {
    let items = verify(bundle, None).unwrap().items;
    let is_unproved = |item: &&Item| item.kind == Kind::Approval && item.verdict.is_failure();
    let of_ctx: Vec<(String, String)> = items
        .iter()
        .filter(is_unproved)
        .map(|item| (item.name.clone(), item.why.clone().unwrap_or_default()))
        .collect();
    let (items, exit) = of_python(place, bundle);
    assert_eq!(exit, i32::from(!failures(bundle).is_empty()));
    let of_python: Vec<String> = items
        .into_iter()
        .filter(|(kind, _, _, is_missing)| kind == "approval" && *is_missing)
        .map(|(_, name, ..)| name)
        .collect();
    let names: Vec<String> = of_ctx.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(of_python, names);
    of_ctx
}

/// Asserts that a bundle without its mark names `code` for a version, and nothing else is wrong.
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
    // An end of governance that was not approved is treated in the same way.
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

/// Returns a governed vault with a set, a move, a pack, a renewal, a rejection and an emergency;
/// each approved.
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
    // The origin of the moved document, and the history of the roles.
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

/// Returns a vault in which Kim's text was rejected, and Ana submits it for Kim; the fields that
/// say so are marked as erased.
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
    // The later part cannot pass as the whole history: its first hash names the version before.
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

/// Governs a vault of the reference implementation, approves and reads its documents. Returns the
/// vault and the ids.
fn adopted(fixture: &str) -> (Place, Vec<String>) {
    let place = Place::copy_of(&repository().join("fixtures/interop").join(fixture));
    let mut second = 0;
    let mut run = |line: &str| {
        second += 1;
        place.ctx(&format!("{line} --now 2026-11-27T08:00:{second:02}.000Z")).ok()
    };
    run("checkpoint adopt --as ana@x.com");
    place.write("stewards.yaml", STEWARDS);
    run("govern on --as ana@x.com");
    let ids = run("resolve type:document --ids");
    let ids: Vec<String> = ids.lines().into_iter().map(str::to_owned).collect();
    for id in &ids {
        let path = format!("{id}.md");
        place.write(&path, place.read(&path) + "More.\n");
        run(&format!("submit {id} --as ana@x.com"));
        run(&format!("approve {id} --as bo@x.com"));
        run(&format!("read {id} --session s"));
    }
    run("verify");
    (place, ids)
}

/// The reference implementation begins histories with version 2, begins another one if a document
/// is made again, and erases texts.
#[test]
fn a_bundle_of_an_adopted_vault_proves_every_approval() {
    for fixture in ["deleted", "forgotten"] {
        let (place, ids) = adopted(fixture);
        assert!(!ids.is_empty());
        // A checkpoint names a version of `nodes/again` that only an earlier history had.
        let whole = ids.iter().filter(|id| *id != "nodes/again");
        let scopes = whole.map(|id| format!("--document {id}"));
        for scope in scopes.chain(["--session s".to_owned()]) {
            let line = format!("evidence export {scope} --now 2026-11-27T09:00:00.000Z");
            let bundle = place.ctx(&line).ok().stdout.into_bytes();
            assert_eq!(failures(&bundle), Vec::<String>::new(), "{fixture} {scope}");
            assert_eq!(unproved(&place, &bundle), []);
            let items = verify(&bundle, None).unwrap().items;
            let is_it = |item: &&Item| item.kind == Kind::Approval;
            assert!(items.iter().filter(is_it).count() > 0, "{fixture} {scope}");
        }
    }
}

/// Returns the chain of the history of `nodes/a` with another submitter of its move, and
/// valid hashes.
fn submitted_by_kim(chain: &[u8]) -> Vec<u8> {
    let mut chain: Value = serde_json::from_slice(chain).unwrap();
    let entries = chain["entries"].as_array_mut().unwrap();
    assert_eq!(entries.len(), 3, "published, submitted, retired");
    entries[1]["edited_by"] = KIM.into();
    for n in 1..entries.len() {
        let previous = entries[n - 1]["chain_hash"].as_str().unwrap().parse().unwrap();
        let text = |key: &str| entries[n][key].as_str().unwrap();
        let content = text("content_hash").parse().unwrap();
        let at = text("edited_at").parse().unwrap();
        let version = Version(entries[n]["version"].as_u64().unwrap());
        let hash = chain_hash(Some(&previous), &content, version, text("edited_by"), at);
        entries[n]["chain_hash"] = hash.to_string().into();
    }
    serde_jcs::to_vec(&chain).unwrap()
}

/// Returns the index of the version of `nodes/a` in a bundle, and the number of its chain.
fn moved_away(manifest: &Value) -> (usize, u64) {
    let versions = manifest["versions"].as_array().unwrap();
    let of_a: Vec<_> = versions.iter().enumerate().filter(|(_, v)| v["id"] == "nodes/a").collect();
    let [(at, version)] = of_a[..] else { panic!("{versions:?}") };
    (at, version["chain"].as_u64().unwrap())
}

/// No checkpoint seals the steps of a move, until one seals the id again.
#[test]
fn a_later_seal_binds_the_steps_of_a_move_in_a_bundle() {
    let place = governed();
    by(&place, "ana", "mv nodes/a nodes/z").ok();
    by(&place, "bo", "approve nodes/a").ok();
    let before = exported(&place, "nodes/z");
    assert_eq!(failures(&before), Vec::<String>::new());
    let forged = stripped(&before, |files, manifest| {
        let (_, chain) = moved_away(manifest);
        let chain = files.get_mut(&format!("chains/{chain}.json")).unwrap();
        *chain = submitted_by_kim(chain);
    });
    // The threat model names this limit.
    assert_eq!(unproved(&place, &forged), []);

    place.write("nodes/a.md", "# Another\n\ntext\n");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "bo", "approve nodes/a").ok();
    let after = exported(&place, "nodes/z");
    assert_eq!(failures(&after), Vec::<String>::new());
    assert_eq!(unproved(&place, &after), []);
    let forged = stripped(&after, |files, manifest| {
        let old = crate::evidence::files(&before);
        let listed: Value = serde_json::from_slice(&old["manifest.json"]).unwrap();
        let ((at, chain), (old_at, old_chain)) = (moved_away(manifest), moved_away(&listed));
        manifest["versions"][at]["version"] = 3.into();
        let text = old[&format!("versions/{}.md", old_at + 1)].clone();
        files.insert(format!("versions/{}.md", at + 1), text);
        let steps = submitted_by_kim(&old[&format!("chains/{old_chain}.json")]);
        files.insert(format!("chains/{chain}.json"), steps);
    });
    let found = unproved(&place, &forged);
    let why = "approval not checked: the bundle does not have the whole history of nodes/a";
    assert_eq!(found, [("nodes/z v1".to_owned(), why.to_owned())]);
}

#[test]
fn a_verifier_compares_the_versions_of_an_event_of_two_editors() {
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", ANA, "fine\n");
    forger.submit("nodes/b", ANA, "fine\n");
    approved_at_once(&mut forger, [("nodes/a", BO), ("nodes/b", KIM)]);
    is_found(&place, "nodes/a", ("nodes/a v3", "approval-unauthorised"), "kim made the event");
}

/// Bo may read everything in the last checkpoint, but not what a narrower scope reserved before.
#[test]
fn export_is_refused_to_who_may_not_read_the_retired_source_of_a_move() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.write("nodes/two/c.md", format!("# C\n\n{SECRET}\n"));
    place.ctx("publish --all --as ana@x.com").ok();
    place.edit("nodes/two/c.md", SECRET, "fine");
    place.ctx("publish --all --as ana@x.com").ok();
    let narrower = "folders:\n  nodes/two/:\n    - {principal: kim@x.com, role: reviewer}\n    - \
        {principal: ana@x.com, role: editor}\n    - {principal: lee@x.com, role: reviewer}\n";
    place.write("stewards.yaml", STEWARDS.split("review:").next().unwrap().to_owned() + narrower);
    place.ctx("govern on --as ana@x.com").ok();
    by(&place, "ana", "mv nodes/two/c nodes/c").ok();
    by(&place, "kim", "approve nodes/two/c").ok();
    let said = by(&place, "kim", "evidence export --document nodes/c -o ../kim.tar").ok();
    let bundle = std::fs::read(place.home().join("kim.tar")).unwrap();
    assert_eq!(failures(&bundle), Vec::<String>::new(), "{}", said.whole());
    // The history of the source is needed, and its scope gives this reader no role.
    let refused = by(&place, "bo", "evidence export --document nodes/c -o ../bo.tar").exits(3);
    assert!(refused.stderr.starts_with("error[not-a-steward]"), "{}", refused.stderr);
    assert!(!refused.whole().contains(SECRET) && !place.home().join("bo.tar").exists());
}
