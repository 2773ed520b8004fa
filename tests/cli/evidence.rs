//! Evidence: bundles that prove accesses without the vault, and the list of publications.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use contextnest::prove::evidence::bundle::verify::{Item, Kind, Verdict, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Output, Place, files_in, repository, stride};
use crate::reference::undocumented;
use crate::unapproved_bundles::of_python;

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{digest}")
}

fn fees(place: &Place, percent: u32) {
    let before = if percent == 1 { String::new() } else { place.read("nodes/fees.md") };
    match before.is_empty() {
        true => place.write(
            "nodes/fees.md",
            "---\ntags: [money]\n---\n# Fees\n\nLate fees are 1 percent.\n\n## Waivers\n\nNone.\n",
        ),
        false => place.edit(
            "nodes/fees.md",
            &format!("are {} percent", percent - 1),
            &format!("are {percent} percent"),
        ),
    }
    place.ctx("publish --all").ok();
}

/// Returns a vault with two documents, one with two keyframes and one retired, and a session that
/// read them.
fn vault() -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "versions:\n  keyframe_interval: 4\nlayout:");
    place.write("nodes/old.md", "# Old\n\nRetired soon.\n");
    for percent in 1..=6 {
        fees(&place, percent);
    }
    for line in ["read nodes/old", "read nodes/fees#waivers", "resolve #money --bodies", "list"] {
        place.ctx(&format!("{line} --session s")).ok();
    }
    place.ctx("retire nodes/old").ok();
    place.ctx("read nodes/fees@3 --session s").ok();
    place.ctx("read nodes/old@2 --session s").ok();
    place
}

fn export(place: &Place, scope: &str) -> Vec<u8> {
    place.ctx(&format!("evidence export {scope}")).ok().stdout.into_bytes()
}

fn head(place: &Place) -> String {
    place.ctx("head").ok().stdout.trim().to_owned()
}

/// Returns the files of a bundle; the tests have their own USTAR reader.
pub(crate) fn files(bundle: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut at = 0;
    while bundle[at] != 0 {
        let name = bundle[at..at + 100].split(|byte| *byte == 0).next().unwrap();
        let size = std::str::from_utf8(&bundle[at + 124..at + 135]).unwrap();
        let size = usize::from_str_radix(size, 8).unwrap();
        let name = String::from_utf8(name.to_vec()).unwrap();
        files.insert(name, bundle[at + 512..at + 512 + size].to_vec());
        at += 512 + size.next_multiple_of(512);
    }
    files
}

fn header(name: &str, size: usize) -> Vec<u8> {
    let mut block = [0; 512];
    let fields: [(usize, String); 10] = [
        (0, name.to_owned()),
        (100, "0000644".to_owned()),
        (108, "0000000".to_owned()),
        (116, "0000000".to_owned()),
        (124, format!("{size:011o}")),
        (136, "00000000000".to_owned()),
        (148, "        0".to_owned()),
        (257, "ustar\x0000".to_owned()),
        (329, "0000000".to_owned()),
        (337, "0000000".to_owned()),
    ];
    for (at, text) in fields {
        block[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.to_vec()
}

fn packed(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.extend(header(name, bytes.len()));
        out.extend(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// Returns the kind that the manifest must state for a file of a bundle.
fn kind_of(name: &str) -> &'static str {
    match name {
        "lines.jsonl" => "lines of the access log",
        "checkpoints.jsonl" => "lines of the checkpoint log",
        "README.md" => "how to read this",
        "index.html" => "a page for people",
        "staged.jsonl" => "lines of staging chains",
        name if name.starts_with("contents/") => "what a source returned",
        name if name.starts_with("versions/") => "the text of a version",
        name if name.ends_with(".json") => "a part of a history",
        _ => "the full text that a part begins with",
    }
}

/// Returns a bundle of these files with a manifest that lists them as they are; `change` is applied
/// to the manifest before its hash is computed.
pub(crate) fn rebuilt(
    mut files: BTreeMap<String, Vec<u8>>,
    change: impl FnOnce(&mut Value),
) -> Vec<u8> {
    let manifest = files.remove("manifest.json").unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let of = |(name, bytes): (&String, &Vec<u8>)| {
        let what = kind_of(name);
        (name.clone(), json!({"bytes": bytes.len(), "sha256": sha256(bytes), "what": what}))
    };
    manifest["files"] = files.iter().map(of).collect();
    manifest.as_object_mut().unwrap().remove("hash");
    change(&mut manifest);
    manifest["hash"] = sha256(&serde_jcs::to_vec(&manifest).unwrap()).into();
    files.insert("manifest.json".to_owned(), serde_jcs::to_vec(&manifest).unwrap());
    packed(&files)
}

/// Returns the failed checks of a bundle, or why it is not one.
pub(crate) fn failures(bundle: &[u8]) -> Vec<String> {
    let told = |item: &Item| {
        let why = item.why.as_deref().unwrap_or_default();
        format!("{} {} {}: {why}", item.kind.as_str(), item.name, item.verdict.as_str())
    };
    match verify(bundle, None) {
        Ok(verified) => {
            verified.items.iter().filter(|item| item.verdict.is_failure()).map(told).collect()
        }
        Err(why) => vec![format!("no bundle: {why}")],
    }
}

/// A line of an access log in a bundle may only have values that writers record (AUDIT-36).
#[test]
fn a_line_with_a_value_that_no_writer_records_is_contradicted() {
    let place = vault();
    let bundle = export(&place, "--session s");
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 7] = [
        ("a reversed range", |line| line["documents"][0]["range"] = json!([9, 3])),
        ("a label", |line| line["labels"]["agent"] = "default".into()),
        ("a client", |line| line["client"] = "a\u{7}b".into()),
        ("a principal", |line| line["principal"] = "a: b".into()),
        ("a source", |line| line["principal_source"] = "none".into()),
        ("a cause", |line| line["cause"] = "00000000-1".into()),
        ("a class", |line| line["class"] = "all".into()),
    ];
    for (what, change) in changes {
        let mut files = files(&bundle);
        let lines = String::from_utf8(files["lines.jsonl"].clone()).unwrap();
        let (before, last) = lines.trim_end().rsplit_once('\n').unwrap();
        let mut line: Value = serde_json::from_str(last).unwrap();
        change(&mut line);
        line.as_object_mut().unwrap().remove("hash").unwrap();
        line["hash"] = sha256(&serde_jcs::to_vec(&line).unwrap()).into();
        let spelled = serde_jcs::to_string(&line).unwrap();
        files.insert("lines.jsonl".to_owned(), format!("{before}\n{spelled}\n").into_bytes());
        files.remove("README.md");
        files.remove("index.html");
        let forged = rebuilt(files, |_| {});
        let found = failures(&forged);
        assert!(found.iter().any(|why| why.starts_with("line ")), "{what}: {found:?}");
        let (items, exit) = of_python(&place, &forged);
        let is_it = |(kind, _, verdict, _): &(String, String, String, bool)| {
            kind == "line" && verdict == "contradicted"
        };
        assert_eq!((items.iter().any(is_it), exit), (true, 1), "{what}");
    }
}

#[test]
fn a_session_is_proved_without_its_vault() {
    let place = vault();
    place.ctx("evidence export --session s -o ../session.tar").ok();
    let noted = head(&place);
    fs::remove_dir_all(place.root()).unwrap();
    fs::create_dir(place.root()).unwrap();
    let report =
        place.ctx("evidence verify ../session.tar --json").ok().json("ctx.evidence.verify");
    assert_eq!((&report["scope"], &report["name"]), (&"session".into(), &"s".into()));
    assert_eq!((&report["contradicted"], &report["not_proved"]), (&0.into(), &0.into()));
    assert_eq!((&report["anchored"], &report["head"]["hash"]), (&false.into(), &noted.into()));
    let noted = report["head"]["hash"].as_str().unwrap();
    let line = format!("evidence verify ../session.tar --expect-head {noted}");
    let report = place.ctx(&format!("{line} --json")).ok().json("ctx.evidence.verify");
    assert_eq!(report["anchored"], true);
    insta::assert_snapshot!(place.ctx(&line).ok().stdout, @"
    session s
    exported at checkpoint 7 sha256:7462c9a4c7f755d79c5e37b0752b7344959c5b3d366327f877bec8d83c24258a
    54 items: 54 proved, 0 not proved, 0 contradicted
    limits of every bundle:
      principals and labels are stated by the caller
      the time of an access is that of its machine's clock
      the writer of an access log or a staging chain may have truncated it, or replaced its lines; so may every holder of the bundle, unless its SHA-256 is compared (`--expect-sha256`)
      the exporter may have left out a gap of the log, in the manifest and on the pages
      a head that is not recorded elsewhere is only a statement of the bundle
    ");
}

#[test]
fn a_head_that_the_bundle_does_not_lead_to_is_contradicted() {
    let place = vault();
    place.ctx("evidence export --session s -o ../session.tar").ok();
    let other = sha256(b"");
    let told = place.ctx(&format!("evidence verify ../session.tar --expect-head {other}")).exits(1);
    assert!(told.stdout.contains("contradicted: head: no checkpoint of the bundle has"));
    let log = place.exported(contextnest::files::vault::config::LogForm::Delta);
    let checkpoint: Value = serde_json::from_str(log.lines().nth(4).unwrap()).unwrap();
    let older = checkpoint["checkpoint_hash"].as_str().unwrap();
    let line = format!("evidence verify ../session.tar --expect-head {older} --json");
    let report = place.ctx(&line).exits(1).json("ctx.evidence.verify");
    let verdict = |name: &str| {
        let mut items = report["items"].as_array().unwrap().iter();
        items.find(|item| item["name"] == name).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("nodes/fees v3 at 3"), "proved");
    assert_eq!(verdict("nodes/fees v6 at 6"), "not proved");
    assert_eq!(place.ctx("evidence verify ../session.tar --expect-head x").exit, 2);
}

#[test]
fn a_bundle_with_another_hash_than_the_export_printed_is_contradicted() {
    let place = vault();
    let told = place.ctx("evidence export --session s -o ../s.tar").ok().stdout;
    let hash = told.split_whitespace().find(|word| word.starts_with("sha256:")).unwrap();
    let verify =
        |hash: &str| place.ctx(&format!("evidence verify ../s.tar --expect-sha256 {hash}"));
    for spelled in [hash, hash.trim_start_matches("sha256:")] {
        let verified = verify(spelled).ok().stdout;
        assert!(!verified.contains(": bundle:"), "{verified}");
    }
    let other = sha256(b"");
    let refused = verify(&other).exits(1).stdout;
    assert!(
        refused
            .contains(&format!("contradicted: bundle: it has hash {hash}, not the expected one")),
        "{refused}"
    );
    assert_eq!(verify("sha256:12").exit, 2);
}

#[test]
fn a_bundle_without_a_head_does_not_lead_to_one() {
    let place = Place::vault();
    place.ctx("list --session s").ok();
    place.ctx("evidence export --session s -o ../b.tar").ok();
    place.ctx("evidence verify ../b.tar").ok();
    let line = format!("evidence verify ../b.tar --expect-head {}", sha256(b""));
    let told = place.ctx(&line).exits(1).stdout;
    assert!(told.contains("contradicted: head: the manifest names no head"), "{told}");
}

#[test]
fn the_same_arguments_give_the_same_bytes() {
    let place = vault();
    let traces = place.ctx("trace list --session s --json").ok().json("ctx.trace.list");
    let trace = traces["traces"][1]["trace"].as_str().unwrap();
    for scope in ["--session s", trace] {
        let first = export(&place, scope);
        assert_eq!(first, export(&place, scope), "{scope}");
        let told = String::from_utf8(first).unwrap();
        assert!(!told.contains(&place.home().display().to_string()));
    }
    let one = files(&export(&place, trace));
    let lines = String::from_utf8(one["lines.jsonl"].clone()).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(lines.contains("#waivers"));
}

#[test]
fn a_bundle_has_the_lines_and_the_texts_byte_for_byte() {
    let place = vault();
    let files = files(&export(&place, "--session s"));
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let logs = files_in(&place.home().join(".local/state/contextnest/audit"));
    let log: String = logs.into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    let lines = String::from_utf8(files["lines.jsonl"].clone()).unwrap();
    for (line, listed) in lines.lines().zip(manifest["lines"].as_array().unwrap()) {
        let number = usize::try_from(listed["line"].as_u64().unwrap()).unwrap();
        assert_eq!(log.lines().nth(number - 1), Some(line));
    }
    let versions = manifest["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 5);
    for (n, version) in versions.iter().enumerate() {
        let (id, number) = (version["id"].as_str().unwrap(), &version["version"]);
        let text = place.ctx(&format!("show {id} {number}")).ok().stdout;
        assert_eq!(files[&format!("versions/{}.md", n + 1)], text.as_bytes(), "{id} {number}");
    }
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "manifest.json") {
        assert_eq!(manifest["files"][name]["sha256"], sha256(bytes), "{name}");
    }
}

#[test]
fn a_document_has_every_version_and_access_even_after_its_retirement() {
    let place = vault();
    let bundle = export(&place, "--document nodes/old");
    assert_eq!(failures(&bundle), Vec::<String>::new());
    let verified = verify(&bundle, None).unwrap();
    let of = |kind: Kind| -> Vec<String> {
        let items = verified.items.iter().filter(|item| item.kind == kind);
        items.map(|item| item.name.clone()).filter(|name| !name.contains(['.', 'C'])).collect()
    };
    assert_eq!(of(Kind::Version), ["nodes/old v1"]);
    assert_eq!(of(Kind::Sealed), ["nodes/old v1 at 1", "nodes/old v1 at 2", "nodes/old v1 at 6"]);
    assert_eq!(of(Kind::Text).len(), 2);
    let fees = verify(&export(&place, "--document nodes/fees"), None).unwrap();
    let versions = fees.items.iter().filter(|item| item.kind == Kind::Version);
    let versions = versions.filter(|item| item.name.starts_with("nodes/fees"));
    assert_eq!(versions.count(), 6, "two keyframes, and the diffs after them");
}

#[test]
fn an_export_is_an_access_of_its_own() {
    let place = vault();
    export(&place, "--session s");
    let traces = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let last = traces["traces"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["verb"], &last["query"]), (&"evidence export".into(), &"session s".into()));
    assert_ne!(last["session"], "s", "the session is exported, and does not export");
    let show = format!("trace show {} --json", last["trace"].as_str().unwrap());
    let line = place.ctx(&show).ok().json("ctx.trace.show");
    let texts = line["lines"][0]["documents"].as_array().unwrap();
    let names: Vec<String> = texts
        .iter()
        .map(|text| format!("{} {} {}", text["uri"], text["version"], text["part"]))
        .collect();
    assert!(names.contains(&"\"contextnest://nodes/fees@3\" 3 null".to_owned()), "{names:?}");
    // The keyframe and the diffs before that version are in the bundle too.
    assert!(
        names.contains(&"null 1 null".to_owned()) && names.contains(&"null 2 \"diff\"".to_owned())
    );
}

#[test]
fn every_flipped_byte_is_detected() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --session s").ok();
    let bundle = export(&place, "--session s");
    assert_eq!(failures(&bundle), Vec::<String>::new());
    // A brief run also covers each bit of a byte.
    for at in (0..bundle.len()).step_by(stride(23)) {
        let mut flipped = bundle.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(!failures(&flipped).is_empty(), "byte {at}");
    }
    for end in (0..bundle.len()).step_by(97) {
        assert!(failures(&bundle[..end])[0].starts_with("no bundle"), "{end}");
    }
}

/// Returns the failures except those of the pages for people, which follow from every alteration.
fn without_pages(mut told: Vec<String>) -> Vec<String> {
    told.retain(|why| {
        !["file README.md", "file index.html"].iter().any(|page| why.starts_with(page))
    });
    told
}

#[test]
fn a_manifest_that_fits_hides_no_altered_file() {
    let place = vault();
    let files = files(&export(&place, "--session s"));
    assert_eq!(failures(&rebuilt(files.clone(), |_| ())), Vec::<String>::new());
    for name in files.keys().filter(|name| *name != "manifest.json") {
        let length = files[name].len();
        let step = (length / 60).max(1) * stride(4);
        for at in (0..length).step_by(step).chain([length - 1]) {
            let mut altered = files.clone();
            altered.get_mut(name).unwrap()[at] ^= 1;
            assert!(!failures(&rebuilt(altered, |_| ())).is_empty(), "{name}, byte {at}");
        }
        let mut without = files.clone();
        without.remove(name);
        // A page for people proves nothing.
        let is_page = ["README.md", "index.html"].contains(&name.as_str());
        assert_eq!(failures(&rebuilt(without, |_| ())).is_empty(), is_page, "without {name}");
    }
    let lines = String::from_utf8(files["lines.jsonl"].clone()).unwrap();
    let mut lines: Vec<&str> = lines.split_inclusive('\n').collect();
    lines.swap(0, 1);
    let swapped = [("lines.jsonl".to_owned(), lines.concat().into_bytes())];
    let swapped: BTreeMap<_, _> = files.clone().into_iter().chain(swapped).collect();
    let told = without_pages(failures(&rebuilt(swapped, |manifest| {
        manifest["lines"].as_array_mut().unwrap().swap(0, 1);
    })));
    assert!(told[0].ends_with("contradicted: the lines are not in order"), "{told:?}");
}

#[test]
fn a_manifest_cannot_give_a_text_to_another_version() {
    let place = vault();
    let files = files(&export(&place, "--session s"));
    let told = |change: fn(&mut Value)| without_pages(failures(&rebuilt(files.clone(), change)));
    let text = told(|manifest| {
        let piece = &mut manifest["texts"][1]["pieces"][0];
        piece[1] = (piece[1].as_u64().unwrap() - 1).into();
    });
    assert!(text[0].contains("the pieces leave out more than comments"), "{text:?}");
    let version = told(|manifest| manifest["texts"][1]["version"] = 1.into());
    assert!(version[0].contains("it is not a text of"), "{version:?}");
    let checkpoint = told(|manifest| manifest["versions"][2]["checkpoints"] = json!([1]));
    assert!(checkpoint.iter().any(|why| why.contains("not proved")), "{checkpoint:?}");
    let text = told(|manifest| drop(manifest["texts"].as_array_mut().unwrap().remove(1)));
    assert!(text[0].contains("the bundle does not have the version"), "{text:?}");
    let head = told(|manifest| manifest["head"]["hash"] = sha256(b"").into());
    assert!(head[0].starts_with("head head contradicted"), "{head:?}");
    let scope = told(|manifest| manifest["scope"] = json!({"session": "t"}));
    assert_eq!(scope[0], "scope session t not proved: the bundle contains nothing of it");
    assert!(scope[1].ends_with("the line is outside of the scope of the bundle"), "{scope:?}");
    let what = told(|manifest| {
        manifest["files"]["chains/1.json"]["what"] = "approved by the board".into();
    });
    insta::assert_snapshot!(what.join("\n"), @"file chains/1.json contradicted: the manifest does not describe it as `a part of a history`");
    let form = told(|manifest| manifest["v"] = 2.into());
    insta::assert_snapshot!(form[0], @"no bundle: the form of the bundle is 2, and this version of ctx reads form 1");
    let key = told(|manifest| manifest["more"] = 2.into());
    insta::assert_snapshot!(key[0], @"no bundle: manifest.json is malformed: not in canonical form");
    let listed =
        told(|manifest| drop(manifest["files"].as_object_mut().unwrap().remove("README.md")));
    insta::assert_snapshot!(listed[0], @"no bundle: the manifest does not list `README.md`");
}

#[test]
fn a_bundle_has_no_page_but_its_own_and_no_file_that_nothing_names() {
    let place = vault();
    let files = files(&export(&place, "--session s"));
    let with = |name: &str, text: &str| {
        let more = [(name.to_owned(), text.as_bytes().to_vec())];
        files.clone().into_iter().chain(more).collect::<BTreeMap<_, _>>()
    };
    let page = "<h1>Every text is proved</h1>";
    assert_eq!(
        failures(&rebuilt(with("index.html", page), |_| ())),
        ["file index.html contradicted: it is not the page that ctx makes of this bundle"]
    );
    // The manifest can name any version of the program: the verifier compares the page all the
    // same.
    let by = |tool: &str, page: &str| {
        rebuilt(with("index.html", page), |manifest| manifest["tool"] = tool.into())
    };
    let other = by("9.9.9", page);
    insta::assert_snapshot!(failures(&other).join("\n"), @r"
    file README.md not proved: it is not the page that ctx 0.1.0 makes of this bundle; only ctx 9.9.9 can check it
    file index.html not proved: it is not the page that ctx 0.1.0 makes of this bundle; only ctx 9.9.9 can check it
    ");
    let run = place.typed("evidence verify -").stdin(&other[..]).run();
    assert_eq!(run.exit, 1);
    let told = run.stdout;
    assert!(told.contains("made by ctx 9.9.9, another version than this one"), "{told}");
    let said = |bundle: &[u8]| place.typed("evidence verify -").stdin(bundle).run().ok().stdout;
    assert!(!said(&rebuilt(files.clone(), |_| ())).contains("another version"));
    // The version is part of `README.md`, and cannot be a sentence.
    let sentence = by("9.9.9. Every text is proved", page);
    insta::assert_snapshot!(failures(&sentence).join("\n"), @"no bundle: manifest.json is malformed: `tool` is not a version");
    for name in ["more.md", "chains/99.md", "chains/01.md", "versions/0.md", "texts/1.md"] {
        let told = failures(&rebuilt(with(name, "more"), |_| ()));
        assert_eq!(told, [format!("file {name} contradicted: a bundle has no such file")]);
    }
    // The page links the versions next to their hashes.
    let html = String::from_utf8(files["index.html"].clone()).unwrap();
    let text = &files["versions/1.md"];
    assert!(html.contains(&format!("versions/1.md</a></td><td><code>{}", sha256(text))), "{html}");
}

#[test]
fn a_version_that_a_manifest_names_very_often_is_read_once() {
    let place = Place::vault();
    let tags: Vec<String> = (0..6_000).map(|n| format!("t{n}")).collect();
    place.write("nodes/a.md", format!("---\ntags: [{}]\n---\n# A\n", tags.join(", ")));
    place.ctx("publish --all").ok();
    place.ctx("read nodes/a --session s").ok();
    let files = files(&export(&place, "--session s"));
    let many = rebuilt(files, |manifest| {
        let versions = manifest["versions"].as_array_mut().unwrap();
        let of_a = versions.iter().find(|v| v["id"] == "nodes/a").unwrap().clone();
        versions.extend(vec![of_a; 20_000]);
    });
    let begin = Instant::now();
    assert!(failures(&many).len() >= 20_000);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_diff_is_not_taken_for_a_full_text() {
    let place = vault();
    let files = files(&export(&place, "--document nodes/fees"));
    let mut forged = files.clone();
    let (name, segment) = files
        .iter()
        .filter(|(name, _)| name.starts_with("chains/") && name.ends_with(".json"))
        .map(|(name, bytes)| (name, serde_json::from_slice::<Value>(bytes).unwrap()))
        .find(|(_, segment)| segment["entries"].as_array().unwrap().len() > 2)
        .unwrap();
    // The hashes are equal: version 2 becomes a keyframe whose text is its diff.
    let mut second = segment["entries"][1].clone();
    let diff = second.as_object_mut().unwrap().remove("diff").unwrap();
    let diff = diff.as_str().unwrap().as_bytes().to_vec();
    let short = json!({
        "id": segment["id"], "previous": segment["entries"][0]["chain_hash"], "entries": [second],
    });
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let versions = manifest["versions"].as_array().unwrap();
    let place_of = |n: u64| {
        let is_it = |v: &Value| v["id"] == "nodes/fees" && v["version"] == n;
        versions.iter().position(is_it).unwrap() + 1
    };
    forged.insert(name.clone(), serde_jcs::to_vec(&short).unwrap());
    forged.insert(name.replace("json", "md"), diff.clone());
    forged.insert(format!("versions/{}.md", place_of(2)), diff);
    let told = failures(&rebuilt(forged, |_| ()));
    let wanted = "version nodes/fees v2 contradicted: version 2: it is not the text of a document";
    assert!(told.contains(&wanted.to_owned()), "{told:#?}");
}

#[test]
fn hostile_names_stay_text() {
    let id = "nodes/a <b> & 'c' \"d\"";
    let place = Place::published(&[(id, "# <script>alert(1)</script>\n")]);
    let agent = "<script>alert(\"x\")</script>";
    place.args(&["read", id, "--session", "../../s", "--agent", agent]).run().ok();
    let bundle = place.args(&["evidence", "export", "--session", "../../s"]).run().ok().stdout;
    assert_eq!(failures(bundle.as_bytes()), Vec::<String>::new());
    let files = files(bundle.as_bytes());
    let is_plain =
        |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"./".contains(&b));
    assert!(files.keys().all(is_plain), "{:?}", files.keys());
    let page = String::from_utf8(files["index.html"].clone()).unwrap();
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    assert!(page.contains("nodes/a &lt;b&gt; &amp; &#39;c&#39; &quot;d&quot;"), "{page}");
}

#[test]
fn instructions_and_texts_without_comments_are_pieces_of_a_version() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "structured", "obsidian");
    place.write("nodes/a.md", "---\ntags: [x]\n---\n# A\n\nSeen %%not seen%% text %%nor this%%.\n");
    place.write(
        "packs/p.yml",
        "id: p\nlabel: P\nquery: '#x'\nagent_instructions: |\n  Read all.\n  Then answer.\n",
    );
    place.ctx("publish --all").ok();
    place.ctx("resolve pack:p --bodies --session s").ok();
    let bundle = export(&place, "--session s");
    let verified = verify(&bundle, None).unwrap();
    let texts: Vec<&Item> = verified.items.iter().filter(|i| i.kind == Kind::Text).collect();
    assert!(texts.len() > 1 && texts.iter().all(|i| i.verdict == Verdict::Proved), "{texts:?}");
    let manifest: Value = serde_json::from_slice(&files(&bundle)["manifest.json"]).unwrap();
    let pieces = manifest["texts"].as_array().unwrap().iter();
    assert!(pieces.map(|text| text["pieces"].as_array().unwrap().len()).max() >= Some(2));
}

#[test]
fn a_version_that_does_not_verify_is_named_and_left_out() {
    let place = vault();
    let path = "nodes/.versions/fees/v1.md";
    place.edit(path, "percent", "per cent");
    let output = place.ctx("evidence export --session s -o ../session.tar").exits(1);
    assert!(
        output.stderr.contains("warning: the bundle does not prove nodes/fees v3"),
        "{}",
        output.stderr
    );
    let told = place.ctx("evidence verify ../session.tar").exits(1).stdout;
    assert!(told.contains("the bundle does not have the version"), "{told}");
    let rest = fs::read(place.home().join("session.tar")).unwrap();
    assert!(failures(&rest).iter().all(|why| why.contains("not proved")));
}

#[test]
fn a_file_is_replaced_only_on_request_and_as_a_whole() {
    let place = vault();
    let target = place.home().join("out/b.tar");
    fs::create_dir(target.parent().unwrap()).unwrap();
    fs::write(&target, "mine").unwrap();
    let refused = place.ctx("evidence export --session s -o ../out/b.tar").exits(1);
    assert!(refused.stderr.starts_with("error[exists]"), "{}", refused.stderr);
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    place.ctx("evidence export --session s -o ../out/b.tar --force").ok();
    assert_eq!(fs::read(&target).unwrap(), export(&place, "--session s"));
    place.ctx("evidence export --session s -o ../out/missing/b.tar").exits(5);
    // A pipe or a device is never replaced.
    place.typed("").shell("mkfifo ../out/pipe").ok();
    let refused = place.ctx("evidence export --session s -o ../out/pipe --force").exits(5);
    assert!(refused.stderr.contains("is not a file, and is not replaced"), "{}", refused.stderr);
    fs::remove_file(place.home().join("out/pipe")).unwrap();
    fs::create_dir(place.home().join("out/folder")).unwrap();
    place.ctx("evidence export --session s -o ../out/folder --force").exits(5);
    fs::remove_dir(place.home().join("out/folder")).unwrap();
    let left: Vec<PathBuf> =
        fs::read_dir(place.home().join("out")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, [target]);
}

#[test]
fn a_vault_of_the_reference_implementation_is_proved() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    let ids = place.ctx("list --json").ok().json("ctx.list");
    let ids = ids["documents"].as_array().unwrap().iter().map(|d| d["id"].as_str().unwrap());
    for id in ids {
        place.args(&["read", id, "--session", "s"]).run().ok();
        let bundle = place.args(&["evidence", "export", "--document", id]).run().ok().stdout;
        assert_eq!(failures(bundle.as_bytes()), Vec::<String>::new(), "{id}");
    }
    assert_eq!(failures(&export(&place, "--session s")), Vec::<String>::new());
    place.ctx("evidence report").ok();
}

#[test]
fn export_refuses_a_document_that_was_never_published() {
    let place = vault();
    place.write("nodes/draft.md", "---\nstatus: draft\n---\n# Draft\n");
    let told = place.ctx("evidence export --document nodes/draft").exits(1).stderr;
    assert!(told.contains("`nodes/draft` was never published"), "{told}");
}

#[test]
fn export_refuses_ambiguous_arguments() {
    let place = vault();
    for line in ["", "--session s --document nodes/fees", "0a1b2c3d-1 --session s", "nodes/fees"] {
        assert_eq!(place.ctx(&format!("evidence export {line}")).exit, 2, "{line}");
    }
    assert_eq!(place.ctx("evidence export --session t").exit, 1);
    assert_eq!(place.ctx("evidence export 0a1b2c3d-1").exit, 1);
    assert_eq!(place.ctx("evidence export --session s --json").exit, 2);
    assert_eq!(place.typed("evidence export --session s").on_terminal().exit, 2);
    assert_eq!(place.ctx("evidence verify ../none.tar").exit, 5);
}

#[test]
fn a_full_log_is_proved_in_delta_form() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    place.ctx("read nodes/b --session s").ok();
    let bundle = export(&place, "--session s");
    assert_eq!(failures(&bundle), Vec::<String>::new());
    let log = String::from_utf8(files(&bundle)["checkpoints.jsonl"].clone()).unwrap();
    assert_eq!(log.lines().count(), 1, "the maps of the second checkpoint are complete");
    assert!(log.contains("nodes/a"));
}

#[test]
fn publications_of_a_period_are_listed_with_what_verifies() {
    let place = vault();
    let all = place.ctx("evidence report --format json").ok().json("ctx.evidence.report");
    let rows = all["publications"].as_array().unwrap();
    let short = |row: &Value| {
        format!("{} {} {} v{}", row["checkpoint"], row["action"], row["id"], row["version"])
            .replace('"', "")
    };
    let told: Vec<String> = rows.iter().map(short).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    1 published .context/config.yaml v1
    1 published CONTEXT.md v1
    1 published nodes/fees v1
    1 published nodes/old v1
    2 published nodes/fees v2
    3 published nodes/fees v3
    4 published nodes/fees v4
    5 published nodes/fees v5
    6 published nodes/fees v6
    7 retired nodes/old v2
    ");
    assert!(rows.iter().all(|row| row["complete"] == true));
    // The period includes its first instant and excludes its last.
    let at = |n: usize| rows[n]["at"].as_str().unwrap();
    let line = format!("evidence report --from {} --to {}", at(4), at(6));
    let report = place.ctx(&format!("{line} --json")).ok().json("ctx.evidence.report");
    let some: Vec<String> = report["publications"].as_array().unwrap().iter().map(short).collect();
    assert_eq!(some, told[4..6]);
    let csv = place.ctx(&line).ok().stdout;
    assert_eq!(csv.matches("\r\n").count(), 3);
    let traces = place.ctx("trace list --json").ok().json("ctx.trace.list");
    let last = traces["traces"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["event"], &last["count"]), (&"listing".into(), &2.into()));

    place.edit("nodes/.versions/fees/v1.md", "percent", "per cent");
    let output = place.ctx("evidence report --json").exits(1);
    let report = output.json("ctx.evidence.report");
    let rows = report["publications"].as_array().unwrap();
    let incomplete = rows.iter().filter(|row| row["complete"] == false);
    let fees: Vec<&Value> = rows.iter().filter(|row| row["id"] == "nodes/fees").collect();
    assert_eq!(incomplete.count(), fees.len());
    insta::assert_snapshot!(fees[1]["why"].as_str().unwrap(), @"version 1: the stored text has hash sha256:2b28f6a258e8401efb19f765b3a20923b0171fdc2f4325791f6267781386b5ce, but the history records sha256:1401784b22a67e078fb9c45b28d591f68b278aae19f33639b6a323a740b2ab44");
}

#[test]
fn hostile_cells_of_the_list_are_text() {
    let place = Place::published(&[(
        "nodes/a",
        "---\nauthor: \"=HYPERLINK(\\\"http://x\\\",1)<script>\"\n---\n# A\n",
    )]);
    let csv = place.ctx("evidence report").ok().stdout;
    assert!(csv.contains(",\"'=HYPERLINK(\"\"http://x\"\",1)<script>\","), "{csv}");
    let html = place.ctx("evidence report --format html").ok().stdout;
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script"), "{html}");
    assert!(html.contains("default-src 'none'"));
}

/// Returns the path of the only file of the access log.
fn log_of(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    let files: Vec<String> =
        files_in(&audit).into_keys().filter(|p| p.ends_with(".jsonl")).collect();
    let [file] = files.as_slice() else { panic!("one writer: {files:?}") };
    audit.join(file)
}

/// Returns a vault with four accesses in sessions `a` and `b`, and a log with these lines only.
fn with_lines(change: impl FnOnce(Vec<String>) -> Vec<String>) -> Place {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for session in ["a", "b", "a", "b"] {
        place.ctx(&format!("read nodes/a --session {session}")).ok();
    }
    let path = log_of(&place);
    let text = fs::read_to_string(&path).unwrap();
    let lines = change(text.split_inclusive('\n').map(str::to_owned).collect());
    fs::write(path, lines.concat()).unwrap();
    place
}

/// Returns the report and the output of an export to a file, and the bundle.
fn exported(place: &Place, scope: &str, exit: i32) -> (Value, Output, Vec<u8>) {
    let line = format!("evidence export {scope} -o ../b.tar --force --json");
    let output = place.ctx(&line).exits(exit);
    let bundle = fs::read(place.home().join("b.tar")).unwrap();
    (output.json("ctx.evidence.export"), output, bundle)
}

fn codes_of(report: &Value) -> Vec<String> {
    let gaps = report["gaps"].as_array().unwrap().iter();
    gaps.map(|gap| format!("{}:{}", gap["code"].as_str().unwrap(), gap["line"])).collect()
}

#[test]
fn an_export_from_a_log_with_a_gap_says_so_everywhere() {
    let place = with_lines(|mut lines| {
        lines.remove(1);
        lines
    });
    let (report, output, bundle) = exported(&place, "--session a", 1);
    assert_eq!(codes_of(&report), ["audit-gap:2"]);
    assert_eq!(report["gaps"][0]["is_damage"], true);
    let told = "warning: the log is not whole, so accesses may be missing: audit-gap: ";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    let files = files(&bundle);
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    assert!(text("manifest.json").contains("\"gaps\":[{\"code\":\"audit-gap\""));
    let readme = text("README.md");
    assert!(readme.contains("is not whole") && readme.contains("- `audit-gap`: `"), "{readme}");
    assert!(text("index.html").contains("<h2>Gaps of the log</h2>"));
    // The bundle is not called complete, though all that it contains is proved.
    let report = place.ctx("evidence verify ../b.tar --json").exits(1).json("ctx.evidence.verify");
    let items = report["items"].as_array().unwrap().iter();
    let wrong: Vec<&Value> = items.filter(|item| item["missing"] == true).collect();
    assert!(wrong.len() == 1 && wrong[0]["kind"] == "gap", "{wrong:?}");
    let told = place.ctx("evidence verify ../b.tar").exits(1).stdout;
    assert!(told.contains("not proved: gap ") && told.contains("line 2 is missing"), "{told}");
    // A bundle whose manifest omits the gap has other pages.
    let without = rebuilt(files, |manifest| {
        manifest.as_object_mut().unwrap().remove("gaps");
    });
    let told = failures(&without);
    assert!(told.iter().any(|why| why.starts_with("file README.md contradicted")), "{told:?}");
    // The same log and arguments produce the same bytes.
    assert_eq!(exported(&place, "--session a", 1).2, bundle);
}

#[test]
fn each_kind_of_gap_is_named_and_a_whole_log_has_none() {
    let gaps = |exit: i32, change: fn(Vec<String>) -> Vec<String>| {
        let place = with_lines(change);
        let report = exported(&place, "--session a", exit).0;
        assert_eq!(codes_of(&exported(&place, "--document nodes/a", exit).0), codes_of(&report));
        codes_of(&report)
    };
    assert!(gaps(0, |lines| lines).is_empty());
    let edited = |mut lines: Vec<String>| {
        lines[1] = lines[1].replace("\"b\"", "\"c\"");
        lines
    };
    assert_eq!(gaps(1, edited), ["audit-chain-mismatch:2", "audit-gap:3"]);
    let spelled = |mut lines: Vec<String>| {
        lines[3] = "{}\n".to_owned();
        lines
    };
    assert_eq!(gaps(1, spelled), ["audit-malformed:4"]);
    // The text of a torn last line was never returned, or was returned without waiting for the
    // disk.
    let torn = |mut lines: Vec<String>| {
        lines[3] = lines[3][..9].to_owned();
        lines
    };
    let place = with_lines(torn);
    let (report, output, _) = exported(&place, "--session a", 0);
    assert_eq!(codes_of(&report), ["audit-torn:4"]);
    assert!(output.stderr.contains("note: the log is not whole"), "{}", output.stderr);
    place.ctx("evidence verify ../b.tar").ok();
}

#[test]
fn of_one_access_only_the_log_of_its_writer_counts() {
    let place = with_lines(|lines| lines);
    let other = with_lines(|mut lines| {
        lines.remove(1);
        lines
    });
    let (path, theirs) = (log_of(&place), log_of(&other));
    fs::copy(&theirs, path.with_file_name(theirs.file_name().unwrap())).unwrap();
    let first: Value =
        serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    let trace = format!("{}-1", &first["writer"].as_str().unwrap()[..8]);
    assert!(codes_of(&exported(&place, &trace, 0).0).is_empty());
    assert_eq!(codes_of(&exported(&place, "--session a", 1).0), ["audit-gap:2"]);
}

#[test]
fn damage_of_the_change_log_is_a_gap_and_pruned_lines_are_named() {
    let place = with_lines(|lines| lines);
    let audit = files_in(&place.path(".context/audit")).into_iter();
    let (name, log) = audit.into_iter().find(|(name, _)| name.ends_with(".jsonl")).unwrap();
    let path = format!(".context/audit/{name}");
    place.write(&path, [&log[..], b"{}\n"].concat());
    let report = exported(&place, "--session a", 1).0;
    assert_eq!(codes_of(&report), ["audit-malformed:2"]);
    assert_eq!(report["gaps"][0]["file"], path.as_str());
    place.write(&path, log);
    place.typed("read nodes/a --session a").var("CTX_NOW", "2028-01-01T00:00:00.000Z").run().ok();
    place.typed("trace prune").var("CTX_NOW", "2028-01-02T00:00:00.000Z").run().ok();
    let (report, output, bundle) = exported(&place, "--session a", 0);
    assert_eq!(codes_of(&report), ["pruned:1"]);
    assert!(output.stderr.contains("were pruned (`ctx trace show"), "{}", output.stderr);
    assert!(failures(&bundle).is_empty());
    let told = place.ctx("evidence verify ../b.tar").ok().stdout;
    assert!(told.contains("not proved: gap ") && told.contains("pruned: lines 1 to "), "{told}");
}

#[test]
fn the_reference_names_every_key_of_the_reports_and_every_kind_of_item() {
    let reference = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/json.md"));
    let reference = reference.unwrap();
    let is_there = |word: &str| reference.contains(&format!("`{word}`"));
    for kind in Kind::ALL {
        assert!(is_there(kind.as_str()), "{kind:?}");
    }
    for verdict in
        [Verdict::Proved, Verdict::NotAnchored, Verdict::NotProved, Verdict::Contradicted]
    {
        assert!(is_there(verdict.as_str()), "{verdict:?}");
    }
    let place = with_lines(|mut lines| {
        lines.remove(1);
        lines
    });
    let exported = exported(&place, "--session a", 1).0;
    let verified = place.ctx("evidence verify ../b.tar --json").exits(1);
    let verified = verified.json("ctx.evidence.verify");
    let report = place.ctx("evidence report --json").ok().json("ctx.evidence.report");
    let all = format!("{exported}{verified}{report}");
    for key in ["is_damage", "missing", "unprotected_note"] {
        assert!(all.contains(&format!("\"{key}\":")), "{key}");
    }
    for report in [exported, verified, report] {
        assert_eq!(undocumented(report["schema"].as_str().unwrap(), &report), [""; 0]);
    }
}

#[test]
fn the_bundle_of_a_document_proves_that_it_has_the_first_version() {
    let place = Place::published(&[("nodes/z", "# Z\n")]);
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n",
    );
    place.ctx("govern on").ok();
    place.write("nodes/a.md", "# A\n");
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: '#x'\n");
    for id in ["nodes/a", "packs/p.yml"] {
        place.ctx(&format!("submit {id} --as bo@x.com")).ok();
        place.ctx(&format!("approve {id} --as kim@x.com")).ok();
    }
    place.ctx("read nodes/a").ok();
    let ungoverned = Place::published(&[("nodes/z", "# Z\n")]);
    ungoverned.write("nodes/a.md", "# A\n");
    ungoverned.ctx("publish nodes/a").ok();
    ungoverned.ctx("read nodes/a").ok();
    // The text of a pack does not say whether an entry was published, and the approvals of a
    // governed vault are judged from the first checkpoint on: then all checkpoints are in the
    // bundle.
    let cases = [
        (&ungoverned, "nodes/a", 2, true),
        (&place, "nodes/a", 1, false),
        (&place, "packs/p.yml", 1, false),
    ];
    for (place, id, first, is_there) in cases {
        let bundle = export(place, &format!("--document {id}"));
        let files = files(&bundle);
        let log = String::from_utf8_lossy(&files["checkpoints.jsonl"]);
        let begins: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        assert_eq!(begins["checkpoint"], first, "{id}");
        let items = verify(&bundle, None).unwrap().items;
        let history: Vec<&Item> = items.iter().filter(|item| item.kind == Kind::History).collect();
        let is_proved = |item: &&Item| item.name == id && item.verdict == Verdict::Proved;
        assert_eq!(history.iter().filter(|item| is_proved(item)).count(), usize::from(is_there));
        assert_eq!(history.len(), usize::from(is_there), "{id}");
        assert!(failures(&bundle).is_empty(), "{id}");
    }
}
