//! The bundle of `spec/vectors/bundle`, packed by hand.

use contextnest::model::digest::Digest;
use serde_json::{Value, json};

use super::vault::Tree;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";

const CASES: &str = include_str!("../../spec/vectors/bundle/cases.json");

/// Returns the files of a bundle that is proved.
pub fn good() -> Tree {
    let cases: Value = serde_json::from_str(CASES).expect("the vectors are JSON");
    let files = cases["files"].as_object().expect("the vectors have files").iter();
    let text = |text: &Value| text.as_str().unwrap_or_default().as_bytes().to_vec();
    files.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Packs files into a container (EVID-12).
pub fn container(files: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        let mut block = [0; 512];
        let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
        put(0, &name.as_bytes()[..name.len().min(100)]);
        put(100, b"0000644\x000000000\x000000000\x00");
        put(124, format!("{:011o}\x0000000000000\x00        0", bytes.len()).as_bytes());
        put(257, b"ustar\x0000");
        put(329, b"0000000\x000000000\x00");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend_from_slice(&block);
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// Returns the manifest, listing these files as they are, with a valid hash.
pub fn listed(manifest: &[u8], files: &Tree) -> Vec<u8> {
    let mut manifest: Value = serde_json::from_slice(manifest).expect("the manifest is JSON");
    let list = |(name, bytes): (&String, &Vec<u8>)| {
        let sha256 = Digest::of(bytes).to_string();
        (name.clone(), json!({"bytes": bytes.len(), "sha256": sha256, "what": ""}))
    };
    manifest["files"] = Value::Object(files.iter().map(list).collect());
    let fields = manifest.as_object_mut().expect("the manifest is an object");
    fields.remove("hash");
    let hash = Digest::of(&serde_jcs::to_vec(fields).expect("it can be spelled")).to_string();
    fields.insert("hash".to_owned(), hash.into());
    serde_jcs::to_vec(fields).expect("it can be spelled")
}
