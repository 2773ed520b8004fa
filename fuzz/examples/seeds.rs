//! Writes the seeds of every target into `fuzz/corpus`, from fixtures, vectors and a small vault
//! that the library makes. Each file is named by a hash of its bytes, as libFuzzer names its own.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use contextnest::files::vault::config::LogForm;
use contextnest::model::number::Version;
use contextnest::record::chain::diff;
use contextnest_fuzz::bundle::{container, good};
use contextnest_fuzz::vault::{Good, folder};
use serde_json::Value;

fn main() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let main = fuzz.parent().expect("it lies in the main package");
    let seeds = Seeds { corpus: fuzz.join("corpus") };
    let vectors = main.join("spec/vectors");
    for (target, file) in [("uri", "uri"), ("selector", "selector")] {
        for text in texts(&vectors.join(file).join("cases.json")) {
            seeds.add(target, text.as_bytes());
        }
    }
    for file in
        ["document/cases.json", "normalise/cases.json", "yaml/cases.json", "links/cases.json"]
    {
        for (n, text) in texts(&vectors.join(file)).iter().enumerate() {
            // Every edit has a turn.
            seeds.document(n, text);
        }
    }
    for file in ["apply.json", "print.json"] {
        let cases = read(&vectors.join("diff").join(file));
        for case in cases.as_array().expect("a list of cases") {
            for second in ["patch", "new"] {
                if let (Some(old), Some(second)) = (case["old"].as_str(), case[second].as_str()) {
                    seeds.add("diff", format!("{old}\0{second}").as_bytes());
                }
            }
        }
    }
    for path in files(&main.join("fixtures/mcp")) {
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        for exchange in read(&path).as_array().into_iter().flatten() {
            // One of each kind is enough.
            let request = &exchange["request"];
            if request["method"].is_string() && request["id"].as_u64().is_some_and(|id| id < 6) {
                seeds.add("message", request.to_string().as_bytes());
            }
        }
    }
    let logs = read(&vectors.join("audit/cases.json"));
    for case in logs.as_array().expect("a list of cases") {
        let files = case["files"].as_object().expect("files by name").values();
        for line in files.flat_map(|text| text.as_str().expect("a text").lines()) {
            seeds.add("audit", line.as_bytes());
        }
    }
    seeds.add("evidence", &[&[0], &container(&good())[..]].concat());
    for (first, kind, file) in (0..16 * 9).map(|n| (1 + n % 3, n / 9, n % 9)) {
        seeds.add("evidence", &[first, kind, file, 3, 40, 0, 7, 1, b'x']);
    }
    let lines = read(&vectors.join("checkpoint/lines.json"));
    for case in lines.as_array().expect("a list of cases") {
        seeds.add("log_delta", format!("{}\n", case["line"].as_str().expect("a text")).as_bytes());
    }
    for (n, path) in files(&main.join("fixtures")).into_iter().enumerate() {
        let bytes = fs::read(&path).expect("it can be read");
        match path.file_name().and_then(|name| name.to_str()) {
            Some("history.yaml") => seeds.add("history", &bytes),
            Some("context_history.yaml") => seeds.add("log_full", &bytes),
            Some(name) if name.ends_with(".md") => {
                seeds.document(n, &String::from_utf8(bytes).expect("it is UTF-8"));
            }
            _ => {}
        }
    }
    for (first, form) in [(0, LogForm::Delta), (1, LogForm::Full)] {
        let root = folder().join("seeds").join(if first == 0 { "delta" } else { "full" });
        fs::create_dir_all(&root).expect("a folder can be made");
        seeds.vault(first, &Good::make(root, form));
    }
    fs::remove_dir_all(folder()).expect("it can be removed");
}

struct Seeds {
    corpus: PathBuf,
}

impl Seeds {
    fn add(&self, target: &str, bytes: &[u8]) {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let folder = self.corpus.join(target);
        fs::create_dir_all(&folder).expect("it can be made");
        let path = folder.join(format!("{:016x}", hasher.finish()));
        fs::write(path, bytes).expect("it can be written");
    }

    fn document(&self, number: usize, text: &str) {
        let edits = u8::try_from(number % 16).expect("it is below 16");
        self.add("document", &[&[edits], text.as_bytes()].concat());
    }

    fn vault(&self, first: u8, good: &Good) {
        for (path, bytes) in &good.files {
            match path.rsplit('/').next() {
                Some("history.yaml") => self.add("history", bytes),
                Some("checkpoints.jsonl") => self.add("log_delta", bytes),
                Some("context_history.yaml") => self.add("log_full", bytes),
                Some(name) if name.ends_with(".md") => {
                    self.document(15, &String::from_utf8(bytes.clone()).expect("it is UTF-8"));
                }
                _ => {}
            }
        }
        let texts: Vec<&String> = good.texts.values().collect();
        for pair in texts.windows(2) {
            self.add("diff", format!("{}\0{}", pair[0], pair[1]).as_bytes());
            let patch = diff::print(pair[0], pair[1], Version(1), Version(2));
            self.add("diff", format!("{}\0{patch}", pair[0]).as_bytes());
        }
        self.add("verify", &[first]);
        // Covers every kind of alteration of every file.
        for kind in 0..16_u8 {
            for file in 0..u8::try_from(good.files.len()).expect("there are few") {
                self.add("verify", &[first, kind, file, 7, 0, 3, 1, 2, b'a', b'\n', b'b']);
            }
        }
    }
}

fn read(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Returns the values of `input` and `text` anywhere in a file of cases.
fn texts(path: &Path) -> Vec<String> {
    fn gather(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "input" || key == "text" => {
                            found.push(text.clone());
                        }
                        value => gather(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    gather(&read(path), &mut found);
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
