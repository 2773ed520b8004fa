//! The order of the groups and of their modules: each imports from lower ones only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The groups of `src/` with their modules, the lowest first.
const GROUPS: &[(&str, &[&str])] = &[
    ("values", &["model", "yaml", "text_util", "codes"]),
    ("files", &["vault", "process", "cache"]),
    ("text", &["uri", "document", "selector", "pack"]),
    (
        "record",
        &["torn_tail", "chain", "checkpoint", "trusted_head", "journal", "audit", "staging"],
    ),
    ("policy", &["stewards", "rules", "in_force", "viewer"]),
    ("read", &["graph", "index", "working", "snapshot", "status", "search", "derived", "source"]),
    ("write", &["commit", "publish"]),
    ("prove", &["verify", "evidence", "recover"]),
    ("exchange", &["convert", "merge"]),
    ("service", &["report", "starter", "workspace"]),
    ("front", &["http", "mcp", "cli"]),
];

/// Maximum number of files of a module that import each other in a circle. A number may only fall.
const IN_CIRCLES: &[(&str, usize)] = &[
    ("files/vault", 10),
    ("front/cli", 2),
    ("front/mcp", 8),
    ("policy/rules", 3),
    ("prove/evidence", 7),
    ("prove/verify", 6),
    ("read/index", 2),
    ("read/search", 2),
    ("record/checkpoint", 3),
    ("record/trusted_head", 3),
    ("service/report", 4),
    ("service/workspace", 8),
    ("text/document", 10),
    ("text/selector", 2),
    ("values/model", 3),
    ("write/publish", 12),
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

/// Returns the paths in the code without tests and comments, as `["crate", "values", "model"]`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.flat_map(|line| [line, " "]).collect();
    let mut found = Vec::new();
    // Both the imports of a `use` and names with their whole path.
    for rest in code.split(" use ").skip(1).chain(code.strip_prefix("use ")) {
        let imported = rest.split(';').next().unwrap_or_default();
        expand(&imported.replace(' ', ""), &[], &mut found);
    }
    for rest in code.split("crate::").skip(1) {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let names = rest[..end.unwrap_or(rest.len())].split("::").map(str::to_owned);
        found.push(["crate".to_owned()].into_iter().chain(names).collect());
    }
    found
}

/// Collects the paths of `a::{b, c::{d, e}}`.
fn expand(tree: &str, above: &[String], found: &mut Vec<Vec<String>>) {
    let (names, inner) = match tree.split_once('{') {
        Some((names, inner)) => (names, Some(inner.strip_suffix('}').unwrap_or(inner))),
        None => (tree, None),
    };
    let names = names.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
    let path: Vec<String> = above.iter().cloned().chain(names).collect();
    let Some(inner) = inner else { return found.push(path) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&inner[start..at], &path, found);
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the files of `src/` with their texts, each as `["values", "model", "id"]`; a `mod.rs` is
/// named as its folder. Files with nothing but tests are omitted.
fn modules() -> BTreeMap<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.retain(|path| !path.ends_with("tests.rs"));
    let name = |path: &Path| {
        let path = path.strip_prefix(&root).unwrap().with_extension("");
        let names = path.iter().map(|name| name.to_str().unwrap().to_owned());
        names.filter(|name| name != "mod").collect()
    };
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn a_module_imports_from_lower_modules_only() {
    let order: Vec<[&str; 2]> = GROUPS
        .iter()
        .flat_map(|(group, modules)| modules.iter().map(move |module| [*group, *module]))
        .collect();
    let rank =
        |path: &[String]| order.iter().position(|at| path.starts_with(&at.map(String::from)));
    let mut higher = BTreeSet::new();
    for (file, text) in modules() {
        // The list of the groups, the list of the modules of each, and `main.rs`.
        if file.len() < 2 {
            assert!(["lib", "main"].contains(&&*file[0]) || GROUPS.iter().any(|g| g.0 == file[0]));
            continue;
        }
        let own = rank(&file).unwrap_or_else(|| panic!("{file:?} is missing in the order"));
        for path in paths(&text).iter().filter(|path| path[0] == "crate") {
            if rank(&path[1..]).is_some_and(|other| other > own) {
                higher.insert((file.join("/"), path[1..].join("::")));
            }
        }
    }
    assert!(higher.is_empty(), "imports from higher modules: {higher:#?}");
}

#[test]
fn the_library_shows_the_groups_and_modules_in_their_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let text = fs::read_to_string(root).unwrap();
    let shown = text.split("```text").nth(1).unwrap().split("```").next().unwrap();
    let known: Vec<&str> =
        GROUPS.iter().rev().flat_map(|(group, modules)| [&[*group], *modules].concat()).collect();
    let words = shown.lines().flat_map(|line| {
        // Names come first, and their descriptions after three spaces.
        let names = line.trim_start_matches("//! ");
        let (first, rest) = names.split_at(names.len().min(11));
        let rest = rest.split("   ").next().unwrap_or_default();
        format!("{first} {rest}").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(words.filter(|word| word != "//!").collect::<Vec<_>>(), known);
}

#[test]
fn files_of_a_module_import_each_other_in_no_new_circle() {
    let all = modules();
    let mut found = BTreeMap::new();
    for module in all.keys().filter(|file| file.len() == 2) {
        // A file with a folder of its own lists its modules, and has its name.
        let is_above =
            |file: &[String]| all.keys().any(|f| f.len() > file.len() && f.starts_with(file));
        let inside =
            |file: &&Vec<String>| file.len() > 2 && file.starts_with(module) && !is_above(file);
        let mut left: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
        for file in all.keys().filter(inside) {
            // The longest file that a path leads to.
            let target = |path: Vec<String>| {
                let whole = match path.first().map(String::as_str) {
                    Some("crate") => path[1..].to_vec(),
                    Some("super" | "self") => {
                        let ups = path.iter().filter(|name| *name == "super").count();
                        let names =
                            path.iter().filter(|name| !["super", "self"].contains(&&***name));
                        let is_folder =
                            all.keys().any(|f| f.len() > file.len() && f.starts_with(file));
                        let _ = is_folder;
                        file[..file.len().saturating_sub(ups)]
                            .iter()
                            .chain(names)
                            .cloned()
                            .collect()
                    }
                    _ => [file.clone(), path].concat(),
                };
                let found = (3..=whole.len()).rev().find_map(|n| all.get_key_value(&whole[..n]))?;
                (found.0 != file && inside(&found.0)).then(|| &found.0[..])
            };
            left.insert(file, paths(&all[file]).into_iter().filter_map(target).collect());
        }
        // A file that imports none of the others, or that none of them imports, is in no circle.
        loop {
            let named: BTreeSet<&[String]> = left.values().flatten().copied().collect();
            let before = left.len();
            left.retain(|file, imported| !imported.is_empty() && named.contains(file));
            let files: BTreeSet<&[String]> = left.keys().copied().collect();
            left.values_mut().for_each(|imported| imported.retain(|name| files.contains(name)));
            if left.len() == before {
                break;
            }
        }
        if !left.is_empty() {
            found.insert(module.join("/"), left.len());
        }
    }
    let allowed: BTreeMap<String, usize> =
        IN_CIRCLES.iter().map(|(module, count)| ((*module).to_owned(), *count)).collect();
    assert_eq!(found, allowed, "files in circles; where there are fewer, lower the number");
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

/// Functions that open a text of a document, make a record of an access, or read a text that is not
/// traced: the compiler keeps them from a front end.
const BELOW_FRONT: &[(&str, &[&str])] = &[
    ("record/audit/text.rs", &["new(value: T", "release(", "map<U>("]),
    ("read/snapshot/portion.rs", &["alone("]),
    ("service/workspace/recording.rs", &["begin("]),
    ("service/workspace/staging/view.rs", &["lines_of(", "handed_out("]),
    ("service/workspace/version.rs", &["text_of(", "any_text_of(", "unapproved_text("]),
];

#[test]
fn a_front_end_does_not_see_what_opens_a_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = fs::read_to_string(root.join("lib.rs")).unwrap();
    let library = text.split("mod library {").nth(1).unwrap().split("\n}").next().unwrap();
    for (group, _) in GROUPS {
        let is_inside = library.contains(&format!(" mod {group};"));
        assert_eq!(is_inside, *group != "front", "{group}");
    }
    for (file, functions) in BELOW_FRONT {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for name in *functions {
            let declared = lines.iter().find(|line| line.contains(&format!(" fn {name}")));
            let declared = declared.unwrap_or_else(|| panic!("{file}: {name}"));
            let is_below = ["pub(in crate::library", "pub(super) fn"];
            assert!(is_below.iter().any(|start| declared.starts_with(start)), "{file}: {declared}");
        }
    }
}
