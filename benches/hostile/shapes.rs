//! The shapes of `benches/hostile.rs`: files of an attacker, and commands of a victim.

use std::fs;
use std::path::Path;

use crate::planted;
use crate::process::{Result, ctx};

/// A vault that is slow to answer over, and the commands.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Writes the files into an empty folder. The bench then makes it a vault and publishes it,
    /// unless the folder `.context` exists.
    pub(crate) build: fn(&Path, usize) -> Result<()>,
    pub(crate) commands: fn(usize) -> Vec<Asked>,
}

/// A command and its limit in seconds.
pub(crate) struct Asked {
    pub(crate) args: Vec<String>,
    pub(crate) bound: u64,
}

/// Every shape. The second argument of its functions divides the counts.
pub(crate) const SHAPES: [Shape; 13] = [
    Shape { name: "ambiguous-links", build: ambiguous_links, commands: of_ambiguous_links },
    Shape { name: "repeated-links", build: repeated_links, commands: of_repeated_links },
    Shape { name: "phrases", build: phrases, commands: of_phrases },
    Shape { name: "unknown-tags", build: unknown_tags, commands: of_unknown_tags },
    Shape { name: "packs", build: packs, commands: of_packs },
    Shape { name: "pack-anchors", build: pack_anchors, commands: of_pack_anchors },
    Shape { name: "headings", build: headings, commands: of_headings },
    Shape { name: "sources", build: sources, commands: of_sources },
    Shape { name: "colliding-ids", build: colliding_ids, commands: of_colliding_ids },
    Shape { name: "letters", build: planted::letters, commands: planted::of_letters },
    Shape {
        name: "tagged-history",
        build: planted::tagged_history,
        commands: planted::of_tagged_history,
    },
    Shape { name: "large-texts", build: planted::large_texts, commands: planted::of_large_texts },
    Shape { name: "planted-log", build: planted::planted_log, commands: planted::of_planted_log },
];

/// Returns a command of words that are separated by blanks.
pub(crate) fn ask(line: &str, bound: u64) -> Asked {
    with(line, &[], bound)
}

/// Returns a command of words that are separated by blanks, and of further arguments.
fn with(line: &str, more: &[&str], bound: u64) -> Asked {
    let args = line.split(' ').chain(more.iter().copied()).map(str::to_owned).collect();
    Asked { args, bound }
}

pub(crate) fn letter(n: usize) -> char {
    char::from(b"abcdefghijklmnopqrstuvwxyz"[n % 26])
}

pub(crate) fn write(root: &Path, path: &str, text: &str) -> Result<()> {
    let path = root.join(path);
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    Ok(fs::write(path, text)?)
}

pub(crate) fn document(root: &Path, id: &str, fields: &str, body: &str) -> Result<()> {
    let text = format!("---\ntitle: T\ntype: document\n{fields}---\n\n{body}");
    write(root, &format!("{id}.md"), &text)
}

/// Each of 1,000 documents has the same last name, and links to each of them by three names: by its
/// folder, by one in capitals that fits all of them, and by one that fits none.
fn ambiguous_links(root: &Path, scale: usize) -> Result<()> {
    let count = 1_000 / scale;
    let spelled = (0..16_usize).map(|bits| {
        let letter = |(n, c): (usize, char)| match bits >> n & 1 {
            1 => c.to_ascii_uppercase(),
            _ => c,
        };
        format!("[[{}]]\n", "note".chars().enumerate().map(letter).collect::<String>())
    });
    let spelled: String = spelled.collect();
    let named = (0..count).map(|n| format!("[[D{n:x}/note]]\n[[e{n:x}/note]]\n"));
    let body = spelled + &named.collect::<String>();
    let body = &body[..body.len().min(14_000)];
    (0..count).try_for_each(|n| document(root, &format!("nodes/d{n:x}/note"), "", body))
}

fn of_ambiguous_links(_: usize) -> Vec<Asked> {
    let mut all: Vec<Asked> = [
        "neighbors nodes/d1/note",
        "neighbors nodes/d1/note --hops 3",
        "neighbors nodes/d1/note --hops 3 --direction in --json",
        "graph",
        "graph --json",
        "list",
        "status",
        "context",
    ]
    .map(|line| ask(line, 5))
    .into();
    all.push(ask("validate", 5));
    all
}

/// 600,000 links by a name that fits 1,000 documents.
fn repeated_links(root: &Path, scale: usize) -> Result<()> {
    let body = "[[NOTE]]\n".repeat(10_000);
    let hosts = (60 / scale).max(1);
    (0..1_000 / scale).try_for_each(|n| document(root, &format!("nodes/d{n}/note"), "", "A.\n"))?;
    (0..hosts).try_for_each(|n| document(root, &format!("nodes/h{n}"), "", &body))
}

fn of_repeated_links(_: usize) -> Vec<Asked> {
    let mut all: Vec<Asked> = ["graph", "neighbors nodes/h0", "neighbors nodes/d0/note", "status"]
        .map(|line| ask(line, 3))
        .into();
    all.extend([ask("validate", 3), ask("validate --json", 3)]);
    all
}

/// Two texts of 4 MB in which long phrases almost occur at every word.
fn phrases(root: &Path, scale: usize) -> Result<()> {
    let letters = "a ".repeat((2 << 20) / scale);
    // The letters of a small generator, in which every letter follows every other one.
    let mut seed = 42_usize;
    let mixed = (0..(2 << 20) / scale).flat_map(|_| {
        seed = (seed * 1_664_525 + 1_013_904_223) & 0xffff_ffff;
        [letter(seed >> 24), ' ']
    });
    let mixed: String = mixed.collect();
    let han = "返".repeat((4 << 20) / 3 / scale);
    document(root, "nodes/letters", "", &letters)?;
    document(root, "nodes/mixed", "", &mixed)?;
    document(root, "nodes/han", "", &han)
}

fn of_phrases(_: usize) -> Vec<Asked> {
    let quoted = |text: &str| format!("\"{text}\"");
    // 32 phrases of 60 letters, in quotes and joined by signs.
    let phrase = |n: usize, sign: char| {
        (0..60).flat_map(|k| [letter(n * 7 + k * k), sign]).collect::<String>()
    };
    let clauses: String = (0..32).map(|n| quoted(&phrase(n, ' '))).collect();
    let loose: Vec<String> = (0..32).map(|n| phrase(n, '-')).collect();
    let letters: String = (0..26).flat_map(|n| [letter(n), ' ']).collect();
    [
        (quoted(&"a ".repeat(1_000)), "search"),
        (quoted(&"a ".repeat(128)), "search"),
        (quoted(&("a ".repeat(127) + "b")), "search"),
        (quoted(&("b ".to_owned() + &"a ".repeat(127))), "search --explain"),
        (quoted(&"返".repeat(1_000)), "search"),
        (quoted(&"返".repeat(128)), "search"),
        (quoted(&("返".repeat(127) + "品")), "search --json"),
        (clauses, "search"),
        (loose.join(" "), "search --explain --json"),
        (letters, "search --explain"),
    ]
    .iter()
    .map(|(words, line)| with(line, &[words], 1))
    // The first search makes the index, which is not measured.
    .fold(vec![ask("search nothing", 10)], |mut all, next| {
        all.push(next);
        all
    })
}

/// 180,000 tags, and a selector that names 1,100 of them wrongly.
fn unknown_tags(root: &Path, scale: usize) -> Result<()> {
    for file in 0..(26 / scale).max(1) {
        let tags = (0..7_000 / scale).map(|n| format!("t{:05x}", file * 7_000 + n));
        let tags = format!("tags: [{}]\n", tags.collect::<Vec<_>>().join(","));
        document(root, &format!("nodes/n{file}"), &tags, "A.\n")?;
    }
    Ok(())
}

fn of_unknown_tags(_: usize) -> Vec<Asked> {
    let terms: Vec<String> = (0..1_100).map(|n| format!("#x{n:04x}")).collect();
    let near: Vec<String> = (0..1_100).map(|n| format!("#tz{n:03x}")).collect();
    ["resolve", "resolve --explain", "resolve --explain --json", "resolve --json --at 1"]
        .iter()
        .flat_map(|line| [&terms, &near].map(|all| with(line, &[&all.join("|")], 1)))
        .chain([ask("list", 3), ask("list --json", 3)])
        .collect()
}

/// 60 packs of 64 KiB, over 2,000 documents.
fn packs(root: &Path, scale: usize) -> Result<()> {
    for n in 0..2_000 / scale {
        document(root, &format!("nodes/d{n}"), &format!("tags: [t{n}]\n"), "# A\n\nA.\n")?;
    }
    for pack in 0..(60 / scale).max(2) {
        let uri = |n: usize| match (pack + n) % 4 {
            0 => format!("contextnest://nodes/d{n}"),
            1 => format!("contextnest://tag/t{n}"),
            2 => format!("contextnest://nodes/f{n}/"),
            _ => format!("contextnest://nodes/x{n}"),
        };
        let list = |from: usize, to: usize| (from..to).map(uri).collect::<Vec<_>>().join(",");
        let text = format!(
            "id: p{pack}\nlabel: P\nincludes: [{}]\nexcludes: [{}]\n",
            list(0, 1_100 / scale),
            list(1_100 / scale, 2_200 / scale),
        );
        write(root, &format!("packs/p{pack}.yml"), &text)?;
    }
    Ok(())
}

fn of_packs(scale: usize) -> Vec<Asked> {
    let all: Vec<String> = (0..(28 / scale).max(2)).map(|n| format!("pack:p{n}")).collect();
    let again = "pack:p0 ".repeat(25);
    let mut asked: Vec<Asked> =
        ["pack list", "pack list --at 1", "pack check", "pack show p0", "validate", "status"]
            .map(|line| ask(line, 3))
            .into();
    for line in ["resolve", "resolve --explain", "resolve --explain --json"] {
        asked.push(with(line, &["pack:p0"], 3));
        asked.push(with(line, &[&all.join(" | ")], 3));
        asked.push(with(line, &[again.trim()], 3));
    }
    asked
}

/// 20 packs of sections of documents that have 10,000 sections each.
fn pack_anchors(root: &Path, scale: usize) -> Result<()> {
    let body: String = (0..10_000 / scale).map(|n| format!("# h{n:x}\n\nA.\n")).collect();
    (0..10).try_for_each(|n| document(root, &format!("nodes/d{n}"), "", &body))?;
    for pack in 0..(20 / scale).max(2) {
        let uri = |n: usize| {
            let missing = if pack % 2 == 1 { "z" } else { "" };
            format!("contextnest://nodes/d{}#h{n:x}{missing}", pack % 10)
        };
        let list: Vec<String> = (0..1_900 / scale).map(uri).collect();
        let text = format!("id: p{pack}\nlabel: P\nincludes: [{}]\n", list.join(","));
        write(root, &format!("packs/p{pack}.yml"), &text)?;
    }
    Ok(())
}

fn of_pack_anchors(_: usize) -> Vec<Asked> {
    [
        "pack list",
        "pack check",
        "validate",
        "resolve pack:p0",
        "resolve pack:p1",
        "resolve --explain pack:p0",
    ]
    .iter()
    .chain(&["resolve --budget 20000 pack:p0", "resolve --json pack:p0"])
    .map(|line| ask(line, 3))
    .collect()
}

/// Two documents of 100,000 headings: all different, and all equal.
fn headings(root: &Path, scale: usize) -> Result<()> {
    let different: String = (0..100_000 / scale).map(|n| format!("# h{n}\n\nA b.\n")).collect();
    document(root, "nodes/different", "", &different)?;
    document(root, "nodes/equal", "", &"# Same\n\nA b.\n".repeat(100_000 / scale))?;
    let deep: String =
        (0..100_000 / scale).map(|n| format!("{} h\n", "#".repeat(n % 6 + 1))).collect();
    document(root, "nodes/deep", "", &deep)
}

fn of_headings(_: usize) -> Vec<Asked> {
    let sections: Vec<String> =
        (0..260).map(|n| format!("contextnest://nodes/equal#same-{n}")).collect();
    let sections = sections[1..220].join("|");
    let mut all: Vec<Asked> = [
        "read --outline nodes/different",
        "read --outline nodes/equal --json",
        "read --outline nodes/deep#h-99",
        "read nodes/equal#same-900",
        "read nodes/equal#sane",
        "read nodes/different#nothing-like-it",
        "search same --limit 1000",
        "search same --limit 1000 --explain --json",
        "resolve type:document --budget 100000",
        "context",
        "list",
        "status",
        "validate",
    ]
    .map(|line| ask(line, 3))
    .into();
    all.push(with("resolve --budget 100000", &[&sections], 3));
    all.push(with("resolve --explain", &[&sections], 3));
    all
}

/// 6,000 sources that wait for each other in a chain against the order of their names.
fn sources(root: &Path, scale: usize) -> Result<()> {
    let count = 6_000 / scale;
    for n in 0..count {
        let next = match n {
            0 => String::new(),
            _ => format!("  depends_on: [contextnest://sources/s{:05}]\n", n - 1),
        };
        let text = format!(
            "---\ntitle: T\ntype: source\nsource:\n  transport: cli\n  tools: [t]\n{next}---\n\nA.\n"
        );
        write(root, &format!("sources/s{n:05}.md"), &text)?;
    }
    Ok(())
}

fn of_sources(_: usize) -> Vec<Asked> {
    ["resolve type:source", "resolve type:source --budget 1000", "validate", "graph", "context"]
        .iter()
        .chain(&["neighbors sources/s00001 --hops 100000", "resolve contextnest://sources/s00050"])
        .map(|line| ask(line, 3))
        .collect()
}

/// 30,000 files whose names differ only in case, and the same number of valid ones.
fn colliding_ids(root: &Path, scale: usize) -> Result<()> {
    ctx(root, &["init", ".", "--name", "Hostile"])?;
    for n in 0..30_000 / scale {
        let letter = |bit: usize| if n >> bit & 1 == 1 { 'A' } else { 'a' };
        let name: String = (0..15).map(letter).collect();
        document(root, &format!("nodes/{name}"), "", "A.\n")?;
        document(root, &format!("nodes/z{n}"), "", "A.\n")?;
    }
    Ok(())
}

fn of_colliding_ids(_: usize) -> Vec<Asked> {
    let before = ["status", "validate", "publish --all --dry-run"].map(|line| ask(line, 5));
    let publish = ask("publish --all --skip-invalid --no-sync", 10);
    let after = ["status", "verify", "checkpoint show 1", "checkpoint diff 0 1", "list"];
    before.into_iter().chain([publish]).chain(after.map(|line| ask(line, 5))).collect()
}
