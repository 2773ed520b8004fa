//! `fixtures/interop/governed`: a vault as it was written in governed mode. This test repeats its
//! steps under a fixed clock.
//!
//! Later versions of `ctx` may write other files; the fixture stays as it is then, and the result
//! of its steps is no longer compared. With `CTX_WRITE_FIXTURE` the test writes the fixture. The
//! change log is not compared: its lines name the version of `ctx`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use contextnest::files::vault::Vault;
use contextnest::front::cli::{Streams, World};
use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::record::chain::replay::{load, reconstruct};
use contextnest::workspace::Environment;
use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::{Place, files_in, repository, words};

const STEWARDS: &str = "\
version: 1
vault:
  - {principal: bo@example.com, role: reviewer}
  - {principal: kim@example.com, role: reviewer}
  - {principal: ana@example.com, role: editor}
review:
  folders:
    nodes/legal/: {required: 2}
";

/// A vault in the making.
struct Maker {
    place: Place,
    seconds: u32,
}

impl Maker {
    /// Runs a command of a principal, one second after the one before.
    fn by(&mut self, who: &str, line: &str) {
        self.seconds += 1;
        let (minutes, seconds) = (self.seconds / 60, self.seconds % 60);
        let now = format!("2026-11-23T09:{minutes:02}:{seconds:02}.000Z");
        let vars = [
            ("HOME", self.place.home().display().to_string()),
            ("CTX_PRINCIPAL", format!("{who}@example.com")),
            ("CTX_NOW", now),
        ];
        let environment = Environment {
            vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            random: || *b"a governed vault",
            ..Environment::new(self.place.path(""), || 0)
        };
        let world =
            World { environment, input_terminal: false, terminal: false, error_terminal: false };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let stdin = &mut std::io::empty();
        let streams = Streams { stdin, stdout: &mut out, stderr: &mut err };
        let args = std::iter::once("ctx".to_owned()).chain(words(line));
        let exit = contextnest::front::cli::run(args.map(Into::into).collect(), &world, streams);
        assert_eq!(exit, 0, "{line}: {}", String::from_utf8_lossy(&err));
    }

    fn write(&self, path: &str, text: &str) {
        self.place.write(path, text);
    }
}

/// Makes the vault.
fn made() -> Place {
    let mut vault = Maker { place: Place::in_memory(), seconds: 0 };
    vault.by("ana", "init --name Shop --layout structured");
    let config = vault.place.read(".context/config.yaml");
    let versions = "versions:\n  keyframe_interval: 3\n  checkpoint_log: full\n";
    vault.write(".context/config.yaml", &(config + versions));
    for (id, title) in [
        ("nodes/pricing", "Pricing"),
        ("nodes/returns", "Returns"),
        ("nodes/legal/terms", "Terms"),
        ("nodes/leaflet", "Leaflet"),
        ("nodes/glossary", "Glossary"),
        ("nodes/recall", "Recall"),
    ] {
        vault.write(&format!("{id}.md"), &format!("# {title}\n\nThe first text.\n"));
    }
    vault.by("ana", "publish --all");
    vault.write("stewards.yaml", STEWARDS);
    vault.by("ana", "govern on");
    // The text is rejected once, then approved.
    vault.place.edit("nodes/pricing.md", "first text", "price is 10");
    vault.by("ana", "submit nodes/pricing -m 'Price of 2027'");
    vault.by("bo", "reject nodes/pricing --reason 'no source'");
    vault.place.edit("nodes/pricing.md", "price is 10", "price is 10, by the board's decision");
    vault.by("ana", "submit nodes/pricing");
    vault.by("kim", "approve nodes/pricing");
    // A change has two documents; one needs two reviewers.
    vault.place.edit("nodes/returns.md", "first text", "period is 30 days");
    vault.place.edit("nodes/legal/terms.md", "first text", "period is 30 days");
    vault.by("ana", "submit nodes/returns nodes/legal/terms --change 'thirty days'");
    vault.by("bo", "approve --change 'thirty days'");
    vault.by("kim", "approve --change 'thirty days' -m 'As agreed'");
    // A retirement and a move.
    vault.by("ana", "retire nodes/leaflet");
    vault.by("bo", "approve nodes/leaflet");
    vault.by("ana", "mv nodes/glossary nodes/words");
    vault.by("kim", "approve nodes/glossary");
    // The stewards change; the new one retires at once, and another ratifies it.
    let lee = "vault:\n  - {principal: lee@example.com, role: reviewer}\n";
    vault.place.edit("stewards.yaml", "vault:\n", lee);
    vault.by("ana", "submit stewards.yaml");
    vault.by("bo", "approve stewards.yaml");
    vault.by("lee", "retire nodes/recall --emergency --reason 'the product is recalled'");
    vault.by("kim", "approve nodes/recall");
    // A withdrawn submission, and a pending one.
    vault.place.edit("nodes/pricing.md", "is 10", "is 11");
    vault.by("ana", "submit nodes/pricing");
    vault.by("ana", "withdraw nodes/pricing -m 'too early'");
    vault.place.edit("nodes/pricing.md", "is 11", "is 10");
    vault.place.edit("nodes/legal/terms.md", "30 days", "31 days");
    vault.by("ana", "submit nodes/legal/terms");
    vault.by("bo", "approve nodes/legal/terms");
    vault.place
}

fn folder() -> PathBuf {
    repository().join("fixtures/interop/governed")
}

/// Returns the files, without the change log and those that no command trusts.
fn compared(root: &Path) -> BTreeMap<String, String> {
    let mut files = files_in(root);
    files.retain(|path, _| {
        !path.starts_with(".context/audit/") && !path.starts_with(".context/local")
    });
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    files.into_iter().map(|(path, bytes)| (path, text(bytes))).collect()
}

#[test]
fn the_fixture_is_what_its_steps_make() {
    let place = made();
    if std::env::var_os("CTX_WRITE_FIXTURE").is_some() {
        let _ = fs::remove_dir_all(folder());
        for (path, bytes) in place.tree() {
            let path = folder().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let (found, expected) = (compared(&place.path("")), compared(&folder()));
    for (path, text) in &expected {
        assert_eq!(found.get(path), Some(text), "{path}");
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
}

#[test]
fn the_fixture_is_intact_and_one_submission_awaits_a_decision() {
    let place = Place::copy_of(&folder());
    assert_snapshot!(place.ctx("verify --now 2026-11-24T08:00:00.000Z").whole(), @"
    exit: 0
    -- stdout
    intact, not anchored
      8 checkpoints, 10 artifacts, 33 versions recomputed
      head: checkpoint 8, sha256:fd2ab2aee9df8c01bbd54831c80812be34e9ca08933952b0fa892de10d96de0a
      covered by no hash: the notes of 4 versions
      covered by no hash: who retired 3 documents
      no finding: 1 edited live file, drafts or awaiting a decision; `ctx status` lists them
    -- stderr
    hint: store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite
    ");
    assert_snapshot!(place.ctx("review --all --as kim@example.com").ok().whole(), @"
    exit: 0
    -- stdout
    nodes/legal/terms  v5  publish  2026-11-23T09:00:21.000Z  ana@example.com  +1 -1  1 of 2
    -- stderr
    ");
    assert_snapshot!(place.ctx("list").ok().whole(), @"
    exit: 0
    -- stdout
    nodes/legal/terms  v4  document  Terms
    nodes/pricing      v5  document  Pricing
    nodes/returns      v4  document  Returns
    nodes/words        v1  document  Glossary
    -- stderr
    ");
    assert_snapshot!(place.ctx("read nodes/legal/terms").ok().stdout, @"
    ---
    title: Terms
    type: document
    status: published
    version: 4
    author: ana@example.com
    created_at: '2026-11-23T09:00:02.000Z'
    updated_at: '2026-11-23T09:00:10.000Z'
    checksum: sha256:dce773eb997ef3a3878d6fd50fcd714cd0a8eef39f0874a394cd1a9f255a431f
    review: approved
    approved_by: [bo@example.com, kim@example.com]
    approved_at: '2026-11-23T09:00:10.000Z'
    ---
    # Terms

    The period is 30 days.
    ");
}

/// The report of the reference implementation was recorded once (`fixtures/README.md`): it
/// recomputes the same hashes and texts.
#[test]
fn the_reference_implementation_recomputes_the_same_hashes() {
    let text = fs::read_to_string(repository().join("fixtures/interop/governed.reference.json"));
    let reported: Value = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(reported["verify"], serde_json::json!({"valid": true, "errors": []}));
    let place = Place::copy_of(&folder());
    let vault = Vault::open(&place.path("")).unwrap();
    let mut compared = 0;
    for (id, versions) in reported["histories"].as_object().unwrap() {
        let ours = place.ctx(&format!("history {id} --json")).ok().json("ctx.history");
        let ours = ours["versions"].as_array().unwrap();
        let name: DocumentId = id.parse().unwrap();
        let history = load(vault.files(), &name).unwrap();
        let versions = versions.as_array().unwrap();
        assert_eq!(versions.len(), ours.len(), "{id}");
        for version in versions {
            let number = version["version"].as_u64().unwrap();
            let ours = ours.iter().find(|one| one["version"] == number).unwrap();
            assert_eq!(version["chain_hash"], ours["chain_hash"], "{id} {number}");
            let text = reconstruct(vault.files(), &name, &history, Version(number)).unwrap();
            let hash = Digest::of(text.as_bytes()).to_string();
            assert_eq!(version["reconstructed_sha256"], hash, "{id} {number}");
            compared += 1;
        }
    }
    assert_eq!(compared, 33);
    let ours = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    let hashes = |list: &Value| -> Vec<Value> {
        let hash = |one: &Value| one["checkpoint_hash"].clone();
        list.as_array().unwrap().iter().map(hash).collect()
    };
    let mut ours = hashes(&ours["checkpoints"]);
    let reported = hashes(&reported["checkpoints"]);
    if ours.first() != reported.first() {
        ours.reverse();
    }
    assert_eq!(ours, reported);
}
