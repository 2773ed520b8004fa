//! A bundle of evidence as values (EVID-12, EVID-13), read and packed by hand.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::hash;

/// The files of a bundle, and the fields of its manifest.
#[derive(Clone, Debug)]
pub(in crate::e3) struct Bundle {
    pub(in crate::e3) files: BTreeMap<String, Vec<u8>>,
    pub(in crate::e3) manifest: Value,
}

/// Returns the header of a file in a container; `kind` is `0` for a regular file.
pub(in crate::e3) fn header(name: &str, size: usize, kind: u8) -> Vec<u8> {
    let mut block = vec![0; 512];
    let mut put = |at: usize, text: &str| {
        block[at..at + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, name);
    put(100, "0000644\x000000000\x000000000\x00");
    put(124, &format!("{size:011o}\x0000000000000\x00        "));
    put(257, "ustar\x0000");
    put(329, "0000000\x000000000\x00");
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Returns a file with its header, and zeros to the end of its last block.
pub(in crate::e3) fn file(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = header(name, bytes.len(), b'0');
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

impl Bundle {
    /// Reads an exported bundle.
    pub(in crate::e3) fn read(bytes: &[u8]) -> Option<Self> {
        let (mut files, mut at) = (BTreeMap::new(), 0);
        while *bytes.get(at)? != 0 {
            let name = bytes[at..at + 100].split(|byte| *byte == 0).next()?;
            let size = std::str::from_utf8(&bytes[at + 124..at + 135]).ok()?;
            let size = usize::from_str_radix(size, 8).ok()?;
            let name = String::from_utf8(name.to_vec()).ok()?;
            files.insert(name, bytes.get(at + 512..at + 512 + size)?.to_vec());
            at += 512 + size.next_multiple_of(512);
        }
        let manifest = serde_json::from_slice(&files.remove("manifest.json")?).ok()?;
        Some(Self { files, manifest })
    }

    /// Returns the bytes of the bundle; the hash of the manifest is computed from its fields.
    pub(in crate::e3) fn packed(&self) -> Vec<u8> {
        let mut out: Vec<u8> = self.parts().concat();
        out.resize(out.len() + 1024, 0);
        out
    }

    /// Returns the files with their headers, in order.
    pub(in crate::e3) fn parts(&self) -> Vec<Vec<u8>> {
        let mut manifest = self.manifest.clone();
        if let Some(fields) = manifest.as_object_mut() {
            fields.remove("hash");
            let hash = hash::sha(hash::jcs(fields).as_bytes());
            fields.insert("hash".to_owned(), hash.into());
        }
        let mut files = self.files.clone();
        files.insert("manifest.json".to_owned(), hash::jcs(&manifest).into_bytes());
        files.iter().map(|(name, bytes)| file(name, bytes)).collect()
    }

    /// Returns the bytes of the bundle, with a manifest that lists the files as they are.
    pub(in crate::e3) fn listed(&mut self) -> Vec<u8> {
        let list = |(name, bytes): (&String, &Vec<u8>)| {
            let what = self.manifest["files"][name]["what"].as_str().unwrap_or_default();
            let listed = json!({"bytes": bytes.len(), "sha256": hash::sha(bytes), "what": what});
            (name.clone(), listed)
        };
        self.manifest["files"] = Value::Object(self.files.iter().map(list).collect());
        self.packed()
    }

    /// Returns the lines of one file.
    pub(in crate::e3) fn lines(&self, name: &str) -> Option<Vec<Value>> {
        let text = std::str::from_utf8(self.files.get(name)?).ok()?;
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()
    }

    /// Writes the lines of one file.
    pub(in crate::e3) fn set_lines(&mut self, name: &str, lines: &[Value]) {
        let text: String = lines.iter().map(|line| hash::jcs(line) + "\n").collect();
        self.files.insert(name.to_owned(), text.into_bytes());
    }

    /// Writes a file as one value.
    pub(in crate::e3) fn set(&mut self, name: &str, value: &Value) {
        self.files.insert(name.to_owned(), hash::jcs(value).into_bytes());
    }
}
