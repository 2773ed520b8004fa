//! A vault that another implementation wrote has the expected values, hash by hash.

use std::collections::BTreeMap;
use std::fs;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::digest::Digest;
use contextnest::model::id::DocumentId;
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::record::chain::history::TextStorage;
use contextnest::record::chain::preimage::chain_hash;
use contextnest::record::chain::replay::{Replay, load, reconstruct};
use contextnest::record::chain::vouched::sealed;
use contextnest::record::checkpoint::log::Log;
use serde::Deserialize;

use crate::vectors::root;

#[derive(Deserialize)]
struct Expected {
    documents: BTreeMap<String, Vec<ExpectedVersion>>,
    checkpoints: Vec<Checkpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedVersion {
    version: Version,
    keyframe: bool,
    edited_by: String,
    edited_at: String,
    content_hash: String,
    chain_hash: String,
    reconstructed_sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    checkpoint: CheckpointNumber,
    at: String,
    triggered_by: String,
    documents: usize,
    checkpoint_hash: String,
}

fn vault() -> (Vault, Expected) {
    let folder = root().join("fixtures/interop");
    let text = fs::read_to_string(folder.join("procurement.expected.json")).unwrap();
    let vault = Vault::open(&folder.join("procurement")).unwrap();
    (vault, serde_json::from_str(&text).unwrap())
}

#[test]
fn every_version_is_reconstructed_and_every_hash_recomputed() {
    let (vault, expected) = vault();
    for (id, versions) in &expected.documents {
        let id: DocumentId = id.parse().unwrap();
        let history = load(vault.files(), &id).unwrap();
        assert_eq!(history.slots.len(), versions.len(), "{id}");
        let mut replay = Replay::new(vault.files(), &id, None);
        let mut previous = None;
        for (slot, version) in history.slots.iter().zip(versions) {
            let entry = slot.entry.as_ref().unwrap();
            assert_eq!(entry.version, version.version, "{id}");
            assert_eq!(entry.stored == TextStorage::Keyframe, version.keyframe, "{id}");
            assert_eq!(entry.edited_by, version.edited_by, "{id}");
            assert_eq!(entry.edited_at.to_string(), version.edited_at, "{id}");
            assert_eq!(entry.content_hash.to_string(), version.content_hash, "{id}");
            let chain = chain_hash(
                previous.as_ref(),
                &version.content_hash.parse().unwrap(),
                version.version,
                &version.edited_by,
                version.edited_at.parse().unwrap(),
            );
            assert_eq!(chain.to_string(), version.chain_hash, "{id}");
            previous = Some(chain);
            // Recomputes the content hash from the stored diff or keyframe.
            let wrong = replay.step(entry);
            assert!(wrong.is_empty(), "{id} {}: {wrong:?}", version.version);
            let text = reconstruct(vault.files(), &id, &history, version.version).unwrap();
            let hash = Digest::of(text.as_bytes()).to_string();
            assert_eq!(hash, version.reconstructed_sha256, "{id} {}", version.version);
        }
    }
}

#[test]
fn every_checkpoint_is_recomputed_and_every_sealed_text_had_back() {
    let (vault, expected) = vault();
    let log = Log::read(&vault).unwrap();
    assert_eq!(log.form, LogForm::Full);
    let chronicle = log.sound().unwrap();
    assert_eq!(chronicle.checkpoints().len(), expected.checkpoints.len());
    for (checkpoint, wanted) in chronicle.checkpoints().iter().zip(&expected.checkpoints) {
        assert_eq!(checkpoint.number, wanted.checkpoint);
        assert_eq!(checkpoint.at.to_string(), wanted.at);
        assert_eq!(checkpoint.triggered_by.as_str(), wanted.triggered_by);
        assert_eq!(checkpoint.hash.to_string(), wanted.checkpoint_hash);
        // Recomputes the hash from the maps.
        let state = chronicle.state_at(wanted.checkpoint).unwrap();
        assert_eq!(state.len(), wanted.documents, "{}", wanted.checkpoint);
        for (id, mark) in state.iter() {
            let (version, hash) = mark.sealed().unwrap();
            let history = load(vault.files(), id).unwrap();
            let found = sealed(vault.files(), id, &history, version, &hash);
            assert!(found.is_ok(), "{id} {version}: {found:?}");
        }
    }
}

#[test]
fn the_log_is_spelled_again_byte_for_byte_and_survives_the_other_form() {
    let (vault, _) = vault();
    let log = Log::read(&vault).unwrap();
    let full = fs::read(vault.root().join(log.path())).unwrap();
    let chronicle = log.sound().unwrap();
    assert!(chronicle.export(LogForm::Full) == full);

    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".versions")).unwrap();
    let delta = chronicle.export(LogForm::Delta);
    fs::write(dir.path().join(".versions/checkpoints.jsonl"), delta).unwrap();
    let again = Log::read(&Vault::open(dir.path()).unwrap()).unwrap();
    let converted = again.sound().unwrap();
    for number in CheckpointNumber::sequence().take(chronicle.checkpoints().len()) {
        assert!(converted.state_at(number).is_ok(), "checkpoint {number}");
    }
    assert!(converted.export(LogForm::Full) == full);
}
