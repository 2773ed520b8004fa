//! The commands of the README work when they are pasted, in order, into one shell.

use std::fs;
use std::path::Path;

use crate::harness::{Place, repository};

/// Returns the lines of all `sh` blocks.
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

/// Runs the commands of these texts in one shell, with `ctx` instead of `cargo run`.
fn paste(place: &Place, texts: &[&str]) {
    let lines = texts.iter().flat_map(|text| commands(text));
    // Building and testing are skipped, because this test has been built already.
    let script: Vec<String> = lines
        .filter(|line| *line != "cargo test" && !line.starts_with("cargo install"))
        .map(|line| line.replace("cargo run --release -- ", "ctx "))
        .collect();
    assert!(script.iter().all(|line| !line.contains("cargo ")), "{script:?}");
    let bin = Path::new(env!("CARGO_BIN_EXE_ctx")).parent().unwrap();
    let script = format!("set -e; PATH={}:$PATH\n{}", bin.display(), script.join("\n"));
    place.args::<&str>(&[]).shell(&script).exits(0);
}

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn every_command_of_the_readme_and_the_guides_works_when_pasted() {
    let pages = [
        "README.md",
        "docs/author.md",
        "docs/operator.md",
        "docs/reviewer.md",
        "docs/auditor.md",
        "docs/json.md",
    ]
    .map(text);
    let readme = &pages[0];
    let place = Place::new();
    paste(&place, &pages.iter().map(String::as_str).collect::<Vec<&str>>());
    assert!(place.has("my-vault/.versions/checkpoints.jsonl"));
    assert!(place.has("handbook/nodes/policies/.versions/returns/history.yaml"));
    assert!(commands(readme).contains(&"cargo test"), "CI reads the test command from here");
    assert!(readme.lines().count() <= 200);
}

/// Every link to a file of the repository must lead to an existing one.
#[test]
fn links_of_the_documentation_lead_somewhere() {
    let pages = [
        "README.md",
        "docs/guide.md",
        "docs/author.md",
        "docs/operator.md",
        "docs/reviewer.md",
        "docs/auditor.md",
        "docs/json.md",
        "docs/ci.md",
        "docs/git.md",
        "docs/hooks.md",
        "docs/walkthrough.md",
        "docs/compliance.md",
        "docs/deploy.md",
        "spec/README.md",
    ];
    for page in pages {
        let folder = repository().join(page);
        let prose: Vec<String> =
            text(page).split("```").step_by(2).map(ToOwned::to_owned).collect();
        for target in prose.join("").split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            let is_file = !path.is_empty() && !path.contains("://");
            assert!(!is_file || folder.parent().unwrap().join(path).exists(), "{page}: {target}");
        }
    }
}
