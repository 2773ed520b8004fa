//! The order of the modules: each imports from lower ones only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers of `src/` with their modules, the lowest first.
const LAYERS: &[(&str, &[&str])] = &[
    ("values and their spelling", &["model", "yaml", "words", "torn", "codes"]),
    ("bytes on disk, and programs of the user", &["vault", "program"]),
    ("one text", &["uri", "document"]),
    ("what is recorded", &["chain", "checkpoint", "trust", "journal", "audit", "staging"]),
    (
        "what can be asked for, and the transaction that writes",
        &["store", "graph", "selector", "pack", "stewards", "review", "policy", "txn", "index"],
    ),
    ("what is read", &["live", "resolve", "status", "search", "derived", "starter"]),
    ("what acts", &["verify", "govern", "recover", "convert", "source", "evidence"]),
    ("what every front end shares", &["report", "workspace"]),
    ("front ends", &["mcp", "cli", "main"]),
];

/// The folders of `src/` that hold modules.
const GROUPS: &[&str] = &[
    "values", "files", "text", "record", "policy", "read", "write", "prove", "exchange", "service",
    "front",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The modules that the code of a file names, without its tests and comments.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let after = lines.flat_map(|line| line.split("crate::").skip(1));
    let name = |rest: &str| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned)
    };
    let named = after.filter_map(|rest| {
        let first = name(rest)?;
        let inner = rest[first.len()..].strip_prefix("::").and_then(name);
        Some(module_of(&first, inner.as_deref().unwrap_or_default()))
    });
    named.collect()
}

/// The module of a path: its second part if that is a module in a group.
fn module_of(first: &str, second: &str) -> String {
    let is_module = LAYERS.iter().any(|(_, modules)| modules.contains(&second));
    if GROUPS.contains(&first) && is_module { second } else { first }.to_owned()
}

#[test]
fn a_module_imports_from_lower_modules_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order: Vec<&str> = LAYERS.iter().flat_map(|(_, modules)| modules.iter().copied()).collect();
    let rank = |module: &str| order.iter().position(|name| *name == module);
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut higher = BTreeSet::new();
    for file in &files {
        let path = file.strip_prefix(&root).unwrap();
        let mut parts = path.iter().map(|part| part.to_str().unwrap().trim_end_matches(".rs"));
        let (first, second) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let module = &*module_of(first, second);
        let text = fs::read_to_string(file).unwrap();
        // A file of nothing but tests, and the lists of groups and modules.
        if path.ends_with("tests.rs") || module == "lib" || named(&text).is_empty() {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("`{module}` has no place in the order"));
        let above = named(&text).into_iter().filter(|name| rank(name).is_some_and(|r| r > own));
        higher.extend(above.map(|name| (module.to_owned(), name)));
    }
    assert!(higher.is_empty(), "imports from higher modules: {higher:?}");
}

/// The modules whose files import each other in one order.
const WITHOUT_CIRCLES: &[&str] = &["audit", "journal", "staging"];

/// The files of a module that a file of it imports from; each is named as in `chain/block`.
fn imports(file: &str, text: &str, files: &BTreeSet<String>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for line in code.lines() {
        let line = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) ")).unwrap_or(line);
        let Some(mut path) = line.strip_prefix("use ") else { continue };
        let mut above: Vec<&str> = file.split('/').collect();
        while let Some(rest) = path.strip_prefix("super::") {
            above.pop();
            path = rest;
        }
        // One name, or several at once.
        let names = path.trim_start_matches('{').trim_end_matches([';', '}']).split(", ");
        let names = names.map(|name| name.split("::").next().unwrap_or_default());
        let files_named = names.map(|name| [&above[..], &[name]].concat().join("/"));
        found.extend(files_named.filter(|name| files.contains(name)));
    }
    found
}

#[test]
fn files_of_the_record_import_each_other_in_no_circle() {
    for module in WITHOUT_CIRCLES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let in_group = root.join("record").join(module);
        let root = if in_group.exists() { in_group } else { root.join(module) };
        let mut paths = Vec::new();
        sources(&root, &mut paths);
        let name = |path: &Path| {
            path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_owned()
        };
        let files: BTreeSet<String> = paths.iter().map(|path| name(path)).collect();
        let mut left: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in paths.iter().filter(|path| !path.ends_with("mod.rs")) {
            let text = fs::read_to_string(path).unwrap();
            left.insert(name(path), imports(&name(path), &text, &files));
        }
        assert!(left.values().any(|imported| !imported.is_empty()), "{module}");
        // Takes away the files that import from none of the others, until none is left.
        while let Some(lowest) = left.iter().find(|(_, imported)| imported.is_empty()) {
            let lowest = lowest.0.clone();
            left.remove(&lowest);
            left.values_mut().for_each(|imported| imported.retain(|name| *name != lowest));
        }
        assert!(left.is_empty(), "{module}: files in or above a circle: {left:#?}");
    }
}

#[test]
fn every_source_file_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let mut left_over = Vec::new();
    for file in &files {
        let (name, folder) = (file.file_stem().unwrap().to_str().unwrap(), file.parent().unwrap());
        let module = match name {
            "lib" | "main" => continue,
            "mod" => folder.file_name().unwrap().to_str().unwrap(),
            name => name,
        };
        let parents = if name == "mod" { folder.parent().unwrap() } else { folder };
        let declaring = ["mod.rs", "lib.rs", "main.rs"].map(|name| parents.join(name));
        let declared = [format!("mod {module};"), format!("path = \"{name}.rs\"")];
        let names_it = |path: &Path| declared.iter().any(|words| read(path).contains(words));
        let beside = parents.with_extension("rs");
        if !declaring.iter().chain([&beside]).any(|path| names_it(path)) {
            left_over.push(file.strip_prefix(&root).unwrap());
        }
    }
    assert!(left_over.is_empty(), "no module declares these files: {left_over:?}");
}
