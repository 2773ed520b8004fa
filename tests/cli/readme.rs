//! The commands of the README work when they are pasted, in order, into one shell.

use std::fs;
use std::path::Path;

use crate::harness::{Place, repository};

/// The lines of all `sh` blocks.
fn commands(markdown: &str) -> Vec<&str> {
    let (mut found, mut inside) = (Vec::new(), false);
    for line in markdown.lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = language == "sh",
            None if inside && !line.trim().is_empty() => found.push(line),
            None => {}
        }
    }
    found
}

#[test]
fn every_command_of_the_readme_works_when_pasted() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let lines = commands(&readme);
    assert_eq!(
        lines[..3],
        ["cargo run --release -- demo my-vault", "cargo test", "cargo install --path . --locked",]
    );
    // The two that build from the source are what runs this test.
    let script: Vec<String> = lines
        .iter()
        .filter(|line| **line != "cargo test" && !line.starts_with("cargo install"))
        .map(|line| line.replace("cargo run --release -- ", "ctx "))
        .collect();
    assert!(script.iter().all(|line| !line.contains("cargo ")), "{script:?}");
    let bin = Path::new(env!("CARGO_BIN_EXE_ctx")).parent().unwrap();
    let script = format!("set -e; PATH={}:$PATH\n{}", bin.display(), script.join("\n"));
    let place = Place::new();
    place.args::<&str>(&[]).shell(&script).exits(0);
    assert!(place.has("my-vault/.versions/checkpoints.jsonl"));
    assert!(place.has("handbook/nodes/policies/.versions/returns/history.yaml"));
}
