//! Reads the vectors, and checks that a test reads each file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

/// Reads one file of `spec/vectors`. Types that deny unknown fields prevent that a case is checked
/// only in part.
pub(crate) fn load<T: DeserializeOwned>(path: &str) -> T {
    let file = root().join("spec/vectors").join(path);
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Returns a text of a vector with a static lifetime, for the names of fields.
pub(crate) fn fixed(text: &str) -> &'static str {
    text.to_owned().leak()
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let path = path.strip_prefix(root()).unwrap();
            found.insert(path.to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn every_vector_has_a_runner() {
    let (mut vectors, mut sources) = (BTreeSet::new(), BTreeSet::new());
    files(&root().join("spec/vectors"), &mut vectors);
    for folder in ["src", "tests/spec"] {
        files(&root().join(folder), &mut sources);
    }
    let sources: String = sources
        .iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| fs::read_to_string(root().join(path)).unwrap())
        .collect();
    let forgotten: Vec<&String> = vectors
        .iter()
        .filter(|path| !path.ends_with("README.md"))
        .filter(|path| {
            let name = path.strip_prefix("spec/vectors/").unwrap();
            !sources.contains(&format!("{name}\""))
        })
        .collect();
    assert_eq!(forgotten, Vec::<&String>::new(), "no test reads these");
}
