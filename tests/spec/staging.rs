//! Staged results: the record of a content, and the state of a chain (`spec/staging.md`).

use std::collections::BTreeMap;
use std::fs;

use contextnest::files::vault::Vault;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::record::audit::{FaultKind, Labels};
use contextnest::record::staging::{Chains, Hydrated, Staged, Standing, VoidAct, stage};
use serde::Deserialize;

use crate::vectors::root;

const WRITER: [u8; 16] = [
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
];
const CHAIN: &str = ".context/staging/chains/sources/prices/0123456789abcdef0123456789abcdef.jsonl";

#[derive(Deserialize)]
struct Vectors<C> {
    cases: Vec<C>,
}

#[derive(Deserialize)]
struct Content {
    name: String,
    payload: String,
    media_type: Option<String>,
    canonical: String,
    content_hash: String,
    raw_hash: String,
    line: String,
}

#[derive(Deserialize)]
struct ChainCase {
    name: String,
    file: String,
    states: BTreeMap<u64, String>,
    codes: Vec<String>,
}

fn read<C: for<'de> Deserialize<'de>>(name: &str) -> Vec<C> {
    let text = fs::read_to_string(root().join("spec/vectors").join(name)).unwrap();
    serde_json::from_str::<Vectors<C>>(&text).unwrap().cases
}

fn vault() -> (tempfile::TempDir, Vault) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".context")).unwrap();
    let vault = Vault::open(folder.path()).unwrap().without_sync();
    (folder, vault)
}

#[test]
fn contents_are_recorded_as_the_vectors_say() {
    let cases = read::<Content>("staging/contents.json");
    assert!(cases.len() > 10);
    for case in cases {
        let (folder, vault) = vault();
        let hydrated = Hydrated {
            source: "sources/prices".parse().unwrap(),
            checkpoint: CheckpointNumber(3),
            version: Version(2),
            principal: Some("ana@example.com".to_owned()),
            labels: Labels {
                agent: Some("scout".to_owned()),
                session: Some("s-42".to_owned()),
                ..Labels::default()
            },
            media_type: case.media_type,
            tools: vec!["list_prices".to_owned()],
            server: Some("shop".to_owned()),
            cache: Some("miss".to_owned()),
            ttl: Some(60),
            depends_on: vec!["0a1b2c3d-17".to_owned()],
            days: 30,
        };
        let (payload, at) = (case.payload.as_bytes(), "2026-11-21T10:00:00.000Z".parse().unwrap());
        let captured = stage((&vault, || WRITER), (hydrated, payload), at).unwrap();
        let entry = &captured.entry;
        assert_eq!(entry.canonical.as_str(), case.canonical, "{}", case.name);
        assert_eq!(entry.content_hash, case.content_hash, "{}", case.name);
        assert_eq!(entry.raw_hash, case.raw_hash, "{}", case.name);
        let line = fs::read_to_string(folder.path().join(CHAIN)).unwrap();
        assert_eq!(line, case.line + "\n", "{}", case.name);
        let name = captured.name.to_string();
        assert_eq!(name, "contextnest://staged/sources/prices/01234567-1", "{}", case.name);
        let hex = case.raw_hash.strip_prefix("sha256:").unwrap();
        let object = format!(".context/staging/objects/{}/{}", &hex[..2], &hex[2..]);
        assert_eq!(fs::read(folder.path().join(object)).unwrap(), payload, "{}", case.name);
    }
}

#[test]
fn chains_say_what_the_vectors_say() {
    let cases = read::<ChainCase>("staging/chains.json");
    assert!(cases.len() > 15);
    for case in cases {
        let (folder, vault) = vault();
        let path = folder.path().join(CHAIN);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &case.file).unwrap();
        let chains = Chains::read(vault.files()).unwrap();
        let staged = Staged::of(&chains);
        let states: BTreeMap<u64, String> =
            staged.entries.iter().map(|entry| (entry.seq, entry.state().to_string())).collect();
        assert_eq!(states, case.states, "{}", case.name);
        let word = |kind| match kind {
            FaultKind::Malformed => "malformed",
            FaultKind::Torn => "torn",
            _ => "mismatch",
        };
        let faults = chains.chains.iter().flat_map(|chain| &chain.faults);
        let mut codes: Vec<&str> = faults.map(|fault| word(fault.kind)).collect();
        codes.extend(staged.astray.iter().map(|_| "astray"));
        codes.extend(staged.disputed.iter().map(|act| match act.standing {
            Standing::Void(VoidAct::Early) => "early",
            other => panic!("a chain alone does not show {other:?}"),
        }));
        assert_eq!(codes, case.codes, "{}", case.name);
    }
}
