//! Every text for people uses the terms of `spec/glossary.md`, and none of the retired words.

use std::fs;
use std::path::{Path, PathBuf};

/// Retired words and phrases, in lower case, each with its replacement.
const RETIRED: &[(&str, &str)] = &[
    ("remembered head", "trusted head"),
    ("is remembered", "is trusted, is recorded"),
    ("remembered here", "trusted on this machine"),
    ("leftover", "uncommitted files"),
    ("leave word", "intent record"),
    ("left word", "intent record"),
    ("the other tool", "the reference implementation"),
    ("whoever", "name the actor"),
    ("somebody", "name the actor"),
    ("nobody", "name the actor"),
    ("everybody", "name the actors"),
    ("told apart", "distinguished"),
    ("by halves", "incomplete"),
    ("cannot be had", "is lost, cannot be read"),
    ("be had any more", "is lost"),
    ("taken along", "included"),
    ("take along", "include"),
    ("takes along", "includes"),
    ("cut off", "truncated"),
    ("robbed", "truncated"),
    ("rewritten anew", "replaced"),
    ("writer that died", "interrupted command"),
    ("dead command", "interrupted command"),
    ("stands to", "compares with"),
    ("lies beside", "is next to"),
    ("lies in", "is in"),
    ("lies there", "is there"),
    ("its other form", "converted"),
    ("makes a document true", "approves publication"),
    ("what is what", "name the things"),
    ("knows of no", "name what is missing"),
    ("whole picture", "full report"),
];

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
}

/// Returns the strings of a source file, and the doc comments that become help, without tests.
fn user_facing(source: &str, is_command: bool) -> Vec<(usize, String)> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for (n, line) in code.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("///") {
            if is_command {
                found.push((n + 1, trimmed.to_owned()));
            }
        } else if !trimmed.starts_with("//") {
            let strings = line.split('"').skip(1).step_by(2).filter(|text| text.contains(' '));
            found.extend(strings.map(|text| (n + 1, text.to_owned())));
        }
    }
    found
}

#[test]
fn no_text_for_people_uses_a_retired_word() {
    let root = repository();
    let mut texts: Vec<(String, usize, String)> = Vec::new();
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    files(&root.join("docs"), "md", &mut pages);
    files(&root.join("spec"), "md", &mut pages);
    for page in pages {
        let name = page.strip_prefix(&root).unwrap().display().to_string();
        let lines = fs::read_to_string(&page).unwrap();
        texts.extend(lines.lines().enumerate().map(|(n, l)| (name.clone(), n + 1, l.to_owned())));
    }
    let mut sources = Vec::new();
    files(&root.join("src"), "rs", &mut sources);
    sources.retain(|source| source.file_name().is_some_and(|name| name != "tests.rs"));
    for source in sources {
        let name = source.strip_prefix(&root).unwrap().display().to_string();
        let is_command = name.starts_with("src/front/cli/");
        let text = fs::read_to_string(&source).unwrap();
        let found = user_facing(&text, is_command).into_iter();
        texts.extend(found.map(|(n, text)| (name.clone(), n, text)));
    }
    let mut hits = Vec::new();
    for (name, line, text) in &texts {
        let lower = text.to_lowercase();
        // This code of an attack is in the table that the experiments read.
        let lower = lower.replace("leftover-planted", "");
        for (word, instead) in RETIRED.iter().filter(|(word, _)| lower.contains(word)) {
            hits.push(format!("{name}:{line}: `{word}`, write: {instead}"));
        }
    }
    assert!(texts.len() > 3_000, "{}", texts.len());
    assert!(hits.is_empty(), "{} hits\n{}", hits.len(), hits.join("\n"));
}
