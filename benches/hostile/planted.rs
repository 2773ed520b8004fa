//! Shapes of the record: histories and logs that an attacker wrote, every hash recomputed.

use std::fs;
use std::path::Path;

use contextnest::model::digest::Digest;

use crate::process::{Result, command, ctx, output};
use crate::shapes::{Asked, ask, document, letter, write};

/// A document with 12,500 tags, nearly as long as a frontmatter may be, and 300 versions, each of
/// which changes one line.
pub(crate) fn tagged_history(root: &Path, scale: usize) -> Result<()> {
    let tags = (0..12_500 / scale).map(short).collect::<Vec<_>>().join(",");
    let version =
        |n: usize| document(root, "nodes/a", &format!("tags: [{tags}]\n"), &format!("{n}\n"));
    version(0)?;
    ctx(root, &["init", ".", "--name", "Hostile"])?;
    // The longest interval: most versions are diffs.
    let config = root.join(".context/config.yaml");
    let text = fs::read_to_string(&config)? + "versions:\n  keyframe_interval: 1000\n";
    fs::write(&config, text)?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    for n in 1..(300 / scale).max(2) {
        // `ctx` writes its fields into the file; the tags stay.
        let path = root.join("nodes/a.md");
        let text = fs::read_to_string(&path)?;
        fs::write(&path, text.replace(&format!("\n{}\n", n - 1), &format!("\n{n}\n")))?;
        output(&mut command(root, &["publish", "nodes/a", "--no-sync"]))?;
    }
    Ok(())
}

/// Returns a tag of four letters.
fn short(n: usize) -> String {
    ['t', letter(n / 676), letter(n / 26), letter(n)].iter().collect()
}

pub(crate) fn of_tagged_history(_: usize) -> Vec<Asked> {
    ["verify", "checkpoint rebuild --dry-run", "history nodes/a", "read nodes/a", "list", "status"]
        .iter()
        .chain(&["show nodes/a 150", "diff nodes/a 2 250", "recover --dry-run"])
        .map(|line| ask(line, 1))
        .collect()
}

/// A log of 20,000 artifacts without a history, and 3,000 checkpoints that follow from one another.
pub(crate) fn planted_log(root: &Path, scale: usize) -> Result<()> {
    let (artifacts, checkpoints) = (20_000 / scale, 3_000 / scale);
    let (mut log, mut previous) = (String::new(), "contextnest:genesis:v1".to_owned());
    let id = |n: usize| format!("nodes/d{n:05}");
    let chain = |n: usize| Digest::of(&n.to_le_bytes());
    // All but the first artifact stay as the first checkpoint sets them.
    let others = |value: &dyn Fn(usize) -> String| -> String {
        (1..artifacts).map(|n| format!(",\"{}\":{}", id(n), value(n))).collect::<String>() + "}"
    };
    let versions = others(&|_| "1".to_owned());
    let hashes = others(&|n| format!("\"{}\"", chain(n)));
    let both = others(&|n| format!("[1,\"{}\"]", chain(n)));
    for n in 1..=checkpoints {
        let at = format!("2026-01-01T{:02}:{:02}:{:02}.000Z", n / 3600, n / 60 % 60, n % 60);
        let (first, hash) = (id(0), chain(artifacts + n));
        let preimage = format!(
            "{previous}:{n}:{at}:{first}:{{\"{first}\":{n}{versions}:{{\"{first}\":\"{hash}\"{hashes}"
        );
        let checkpoint = Digest::of(preimage.as_bytes());
        let set = if n == 1 { both.as_str() } else { "}" };
        log += &format!(
            "{{\"at\":\"{at}\",\"checkpoint\":{n},\"checkpoint_hash\":\"{checkpoint}\",\"removed\":[],\
             \"set\":{{\"{first}\":[{n},\"{hash}\"]{set},\"triggered_by\":\"{first}\"}}\n"
        );
        previous = checkpoint.to_string();
    }
    ctx(root, &["init", ".", "--name", "Hostile"])?;
    write(root, ".versions/checkpoints.jsonl", &log)
}

pub(crate) fn of_planted_log(_: usize) -> Vec<Asked> {
    [
        "verify",
        "checkpoint rebuild --dry-run",
        "recover --dry-run",
        "status",
        "resolve type:document",
    ]
    .iter()
    .chain(&["checkpoint list", "checkpoint show 2000", "context", "index", "validate"])
    .map(|line| ask(line, 5))
    .collect()
}

/// 2 MB of lines of one letter that were published in another order before.
pub(crate) fn letters(root: &Path, scale: usize) -> Result<()> {
    let lines = |step: usize| -> String {
        let line = |n: usize| [letter(n * n / step), '\n'];
        (0..(1 << 20) / scale).flat_map(line).collect()
    };
    document(root, "nodes/a", "", &lines(7))?;
    ctx(root, &["init", ".", "--name", "Hostile"])?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    document(root, "nodes/a", "", &lines(11))
}

pub(crate) fn of_letters(_: usize) -> Vec<Asked> {
    ["diff nodes/a", "status", "validate", "publish nodes/a --no-sync --expect-version 1"]
        .iter()
        .chain(&["diff nodes/a 1 2", "read nodes/a", "verify"])
        .map(|line| ask(line, 2))
        .collect()
}

/// Returns texts of 15 MB: numbers without order, reference definitions, and links.
fn large(step: usize, scale: usize) -> [(&'static str, String); 3] {
    let mut seed = step;
    let mut number = |_| {
        seed = (seed * 1_664_525 + 1_013_904_223) & 0xffff_ffff;
        format!("{}\n", seed >> 15)
    };
    let numbers = (0..2_200_000 / scale).map(&mut number).collect();
    let references = (0..1_100_000 / scale).map(|n| format!("[r{}]: b\n", n * step)).collect();
    [
        ("numbers", numbers),
        ("references", references),
        ("links", "[[a]]\n".repeat(2_500_000 / scale)),
    ]
}

/// Three such texts, which were published with other numbers before.
pub(crate) fn large_texts(root: &Path, scale: usize) -> Result<()> {
    let put = |step| {
        large(step, scale)
            .iter()
            .try_for_each(|(name, text)| document(root, &format!("nodes/{name}"), "", text))
    };
    put(3)?;
    ctx(root, &["init", ".", "--name", "Hostile"])?;
    ctx(root, &["publish", "--all", "--no-sync"])?;
    put(5)
}

pub(crate) fn of_large_texts(_: usize) -> Vec<Asked> {
    let each = ["numbers", "references", "links"].iter().flat_map(|name| {
        let publish = format!("publish nodes/{name} --no-sync --expect-version 1");
        [format!("diff nodes/{name}"), publish, format!("read --outline nodes/{name}")]
    });
    let whole = ["search nothing", "search a", "validate", "graph", "verify", "list", "status"];
    each.chain(whole.map(str::to_owned)).map(|line| ask(&line, 10)).collect()
}
