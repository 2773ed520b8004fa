//! Alters the files of a vault as an input describes.

use super::input::Input;
use super::vault::Tree;

/// Maximum number of alterations of one input.
const MOST: usize = 4;
/// Maximum size of a vault: a larger one is slow and not a better test.
const MOST_BYTES: usize = 1 << 18;

/// Meaningful names for new files.
const NAMES: [&str; 18] = [
    ".versions/checkpoints.jsonl",
    ".versions/context_history.yaml",
    ".context/config.yaml",
    "CONTEXT.md",
    "stewards.yaml",
    "packs/x.yml",
    "nodes/x.md",
    "nodes/A.md",
    "nodes/.versions/x/history.yaml",
    "nodes/.versions/x/v1.md",
    "nodes/.versions/A/history.yaml",
    "nodes/.versions/a/v2.md",
    "nodes/.versions/a/v2.diff",
    "nodes/.versions/a/v6.md",
    "nodes/.context/config.yaml",
    "nodes/legal/.versions/checkpoints.jsonl",
    ".versions/CONTEXT.md/v2.diff",
    "nodes/.versions/d/v9.md",
];

/// Returns the files of a vault after the alterations that an input names.
pub fn altered(good: &Tree, mut input: Input<'_>) -> Tree {
    let mut tree = good.clone();
    for _ in 0..MOST {
        if input.is_empty() || tree.values().map(Vec::len).sum::<usize>() > MOST_BYTES {
            break;
        }
        alter(&mut tree, &mut input);
    }
    tree
}

fn alter(tree: &mut Tree, input: &mut Input<'_>) {
    let kind = input.byte() % 16;
    if kind == 0 {
        let name = match NAMES.get(usize::from(input.byte())) {
            Some(name) => (*name).to_owned(),
            None => match std::str::from_utf8(input.bytes()) {
                Ok(name) => name.to_owned(),
                Err(_) => return,
            },
        };
        if may_stand(tree, &name) {
            tree.insert(name, input.bytes().to_vec());
        }
        return;
    }
    let Some(path) = path_of(tree, input) else { return };
    if kind == 1 {
        tree.remove(&path);
        return;
    }
    if kind == 2 || kind == 3 {
        // A file replaces another, or two are exchanged.
        let Some(other) = path_of(tree, input) else { return };
        let (a, b) = (tree[&path].clone(), tree[&other].clone());
        tree.insert(other, a);
        if kind == 3 {
            tree.insert(path, b);
        }
        return;
    }
    let Some(bytes) = tree.get_mut(&path) else { return };
    if (4..=8).contains(&kind) {
        change_lines(bytes, kind, input);
    } else {
        change_bytes(bytes, kind, input);
    }
}

fn path_of(tree: &Tree, input: &mut Input<'_>) -> Option<String> {
    let number = input.below(tree.len());
    tree.keys().nth(number).cloned()
}

/// Returns true if a file can have this name: plain names, and no file in place of a folder.
fn may_stand(tree: &Tree, name: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && part.len() < 100;
    name.len() < 300
        && !name.contains('\0')
        && name.split('/').all(plain)
        && !name.starts_with(".context/local")
        && !tree.keys().any(|path| {
            let within = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|r| r.starts_with('/'));
            within(path, name) || within(name, path)
        })
}

fn change_lines(bytes: &mut Vec<u8>, kind: u8, input: &mut Input<'_>) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let (at, other) = (input.below(lines.len()), input.below(lines.len()));
    if lines.is_empty() {
        return;
    }
    let (first, last) = (at.min(other), at.max(other));
    match kind {
        4 => lines.swap(at, other),
        5 => {
            lines.drain(first..=last);
        }
        6 => {
            // The same lines are repeated.
            let again = lines[first..=last].to_vec();
            lines.splice(last..last, again);
        }
        7 => {
            let line = lines.remove(at);
            lines.insert(other, line);
        }
        _ => {
            let new = input.bytes();
            lines[at] = new;
        }
    }
    *bytes = lines.concat();
}

fn change_bytes(bytes: &mut Vec<u8>, kind: u8, input: &mut Input<'_>) {
    let at = input.below(bytes.len() + 1);
    match kind {
        9 => bytes.truncate(at),
        10 => {
            let bit = input.byte() % 8;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        11 => {
            let end = (at + input.number()).min(bytes.len());
            bytes.drain(at..end);
        }
        12 => {
            let end = (at + input.number()).min(bytes.len());
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        13 => {
            bytes.splice(at..at, input.bytes().iter().copied());
        }
        14 => {
            let new = input.bytes();
            let end = (at + new.len()).min(bytes.len());
            bytes.splice(at..end, new.iter().copied());
        }
        _ => *bytes = input.bytes().to_vec(),
    }
}
