//! Attacks on bundles of evidence, with valid hashes and without.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reworded;
use crate::e3::draw::Draw;
use crate::e3::forge::bundle::{Bundle, file, header};
use crate::e3::forge::hash;

const LINES: &str = "lines.jsonl";
const CHECKPOINTS: &str = "checkpoints.jsonl";

/// The bundles under attack.
pub(in crate::e3) struct Exported {
    pub(in crate::e3) bundle: Bundle,
    /// A bundle of another vault of the same kind, for the same session.
    pub(in crate::e3) other: Bundle,
    /// The expected head.
    pub(in crate::e3) head: String,
    /// Bundles of documents that were published past the review, by the attack of [`UNAPPROVED`].
    pub(in crate::e3) unapproved: BTreeMap<&'static str, (Bundle, String)>,
    pub(in crate::e3) draw: Draw,
}

/// Attacks that publish a document past the review.
pub(in crate::e3) const UNAPPROVED: [&str; 4] = [
    "review-self-by-case",
    "review-approver-editor",
    "review-without-submission",
    "review-published-plainly",
];

/// Makes an attack; returns the bytes of the bundle, or `None` if the attack does not apply to it.
pub(in crate::e3) type BundleAttack = fn(&mut Exported) -> Option<Vec<u8>>;

pub(in crate::e3) const BUNDLES: &[(&str, BundleAttack)] = &[
    ("bundle-unmarked-self", |e| unmarked(e, UNAPPROVED[0])),
    ("bundle-unmarked-editor", |e| unmarked(e, UNAPPROVED[1])),
    ("bundle-unmarked-without-submission", |e| unmarked(e, UNAPPROVED[2])),
    ("bundle-unmarked-plain", |e| unmarked(e, UNAPPROVED[3])),
    ("bundle-log-begins-later", |e| {
        let versions = e.bundle.manifest["versions"].as_array()?.iter();
        let approved = versions.filter(|version| version["id"] == "nodes/after");
        let sealed = approved.flat_map(|version| version["checkpoints"].as_array());
        let first = sealed.flatten().filter_map(Value::as_u64).max()?;
        let mut log = e.bundle.lines(CHECKPOINTS)?;
        let at = log.iter().position(|line| line["checkpoint"] == first).filter(|at| *at > 0)?;
        let mut maps = serde_json::Map::new();
        for line in &log[..=at] {
            for id in line["removed"].as_array()? {
                maps.remove(id.as_str()?);
            }
            maps.extend(line["set"].as_object()?.clone());
        }
        e.bundle.manifest["previous"] = log[at - 1]["checkpoint_hash"].clone();
        (log[at]["set"], log[at]["removed"]) = (maps.into(), json!([]));
        e.bundle.set_lines(CHECKPOINTS, &log[at..]);
        without_pages(e);
        Some(e.bundle.listed())
    }),
    ("bundle-text-edited", |e| {
        let (_, name) = version(e)?;
        edit(&mut e.bundle, &name)?;
        Some(e.bundle.packed())
    }),
    ("bundle-text-edited-listed", |e| {
        let (_, name) = version(e)?;
        edit(&mut e.bundle, &name)?;
        Some(e.bundle.listed())
    }),
    ("bundle-keyframe-edited", |e| {
        let (at, _) = version(e)?;
        let chain = e.bundle.manifest["versions"][at]["chain"].as_u64()?;
        edit(&mut e.bundle, &format!("chains/{chain}.md"))?;
        Some(e.bundle.listed())
    }),
    ("bundle-diff-edited", |e| {
        let (name, mut chain) = with_diff(e)?;
        let last = chain["entries"].as_array_mut()?.last_mut()?;
        last["diff"] = reworded(last["diff"].as_str()?).into();
        e.bundle.set(&name, &chain);
        Some(e.bundle.listed())
    }),
    ("bundle-author-rewritten", |e| {
        let (name, mut chain) = with_diff(e)?;
        chain["entries"].as_array_mut()?.last_mut()?["edited_by"] = "eve@example.com".into();
        e.bundle.set(&name, &chain);
        Some(e.bundle.listed())
    }),
    ("bundle-author-rechained", |e| {
        let (name, mut chain) = with_diff(e)?;
        chain["entries"].as_array_mut()?.last_mut()?["edited_by"] = "eve@example.com".into();
        rechain(&mut chain)?;
        e.bundle.set(&name, &chain);
        Some(e.bundle.listed())
    }),
    ("bundle-patch-as-text", |e| {
        let (name, chain) = with_diff(e)?;
        let entries = chain["entries"].as_array()?;
        let (before, mut last) = (&entries[entries.len() - 2], entries.last()?.clone());
        let diff = last.as_object_mut()?.remove("diff")?.as_str()?.to_owned();
        let number = name.trim_start_matches("chains/").trim_end_matches(".json").parse().ok()?;
        let place = place_of(&e.bundle, number, last["version"].as_u64()?)?;
        let short = json!({
            "id": chain["id"], "previous": before["chain_hash"], "entries": [last],
        });
        e.bundle.set(&name, &short);
        e.bundle.files.insert(name.replace(".json", ".md"), diff.clone().into_bytes());
        e.bundle.files.insert(format!("versions/{}.md", place + 1), diff.into_bytes());
        Some(e.bundle.listed())
    }),
    ("bundle-line-edited", |e| {
        let (mut lines, at) = line(e, 0)?;
        lines[at]["at"] = "2020-01-01T00:00:00.000Z".into();
        e.bundle.set_lines(LINES, &lines);
        Some(e.bundle.listed())
    }),
    ("bundle-line-rehashed", |e| {
        let (mut lines, at) = line(e, 1)?;
        lines[at]["at"] = "2020-01-01T00:00:00.000Z".into();
        rehash(&mut lines[at])?;
        e.bundle.set_lines(LINES, &lines);
        Some(e.bundle.listed())
    }),
    ("bundle-line-older-than-its-head", |e| {
        let (mut lines, at) = line(e, 0)?;
        lines[at]["head"].as_object()?;
        lines[at]["at"] = "2020-01-01T00:00:00.000Z".into();
        resealed(e, lines, at)
    }),
    ("bundle-line-pinned-otherwise", |e| {
        said_of_text(
            e,
            |_| true,
            |text| {
                let uri = text["uri"].as_str()?.split('#').next()?;
                text["uri"] = format!("{uri}0").into();
                Some(())
            },
        )
    }),
    ("bundle-line-editor-invented", |e| {
        said_of_text(
            e,
            |_| true,
            |text| {
                text["edited_by"] = "eve@example.com".into();
                Some(())
            },
        )
    }),
    ("bundle-line-edited-at-invented", |e| {
        said_of_text(
            e,
            |_| true,
            |text| {
                text["edited_at"] = "2020-01-01T00:00:00.000Z".into();
                Some(())
            },
        )
    }),
    ("bundle-line-author-invented", |e| {
        said_of_text(
            e,
            |text| text["author"].is_string(),
            |text| {
                text["author"] = "eve@example.com".into();
                Some(())
            },
        )
    }),
    ("bundle-line-approver-invented", |e| {
        said_of_text(
            e,
            |text| text.get("approved_at").is_none(),
            |text| {
                text["approved_by"] = json!(["ceo@example.com"]);
                text["approved_at"] = text["edited_at"].clone();
                Some(())
            },
        )
    }),
    ("bundle-line-approver-replaced", |e| {
        said_of_text(e, is_approved, |text| {
            text["approved_by"] = json!(["ceo@example.com"]);
            Some(())
        })
    }),
    ("bundle-line-approver-dropped", |e| {
        said_of_text(e, is_approved, |text| {
            let text = text.as_object_mut()?;
            text.remove("approved_by").and(text.remove("approved_at"))?;
            Some(())
        })
    }),
    ("bundle-line-steward-invented", |e| {
        said_of_text(
            e,
            |_| true,
            |text| {
                text["steward"] = json!({"reviewers": ["eve@example.com"], "scope": "vault"});
                Some(())
            },
        )
    }),
    ("bundle-lines-exchanged", |e| {
        let (mut lines, at) = line(e, 1)?;
        lines.swap(at, at + 1);
        e.bundle.manifest["lines"].as_array_mut()?.swap(at, at + 1);
        e.bundle.set_lines(LINES, &lines);
        Some(e.bundle.listed())
    }),
    ("bundle-line-duplicated", |e| {
        let (mut lines, at) = line(e, 0)?;
        lines.insert(at, lines[at].clone());
        let listed = e.bundle.manifest["lines"].as_array_mut()?;
        listed.insert(at, listed[at].clone());
        e.bundle.set_lines(LINES, &lines);
        Some(e.bundle.listed())
    }),
    ("bundle-line-of-another-session", |e| {
        let (mut lines, _) = line(e, 0)?;
        let last = lines.last_mut()?;
        last["labels"]["session"] = "t".into();
        rehash(last)?;
        e.bundle.set_lines(LINES, &lines);
        Some(e.bundle.listed())
    }),
    ("bundle-lines-of-another-vault", |e| {
        let lines = e.other.files.get(LINES)?.clone();
        e.bundle.files.insert(LINES.to_owned(), lines);
        e.bundle.manifest["lines"] = e.other.manifest["lines"].clone();
        Some(e.bundle.listed())
    }),
    ("bundle-line-dropped-last", |e| {
        let (mut lines, _) = line(e, 1)?;
        lines.pop();
        let left = lines.len() as u64;
        e.bundle.set_lines(LINES, &lines);
        e.bundle.manifest["lines"].as_array_mut()?.pop();
        let is_left = |text: &Value| text["line"].as_u64().is_some_and(|line| line <= left);
        e.bundle.manifest["texts"].as_array_mut()?.retain(is_left);
        e.bundle.files.remove("index.html");
        e.bundle.files.remove("README.md");
        Some(e.bundle.listed())
    }),
    ("bundle-text-of-another-version", |e| {
        let count = e.bundle.manifest["versions"].as_array()?.len() as u64;
        let texts = e.bundle.manifest["texts"].as_array_mut()?;
        let at = e.draw.below(texts.len());
        let version = texts.get(at)?["version"].as_u64()?;
        texts[at]["version"] = (version % count + 1).into();
        Some(e.bundle.packed())
    }),
    ("bundle-text-without-version", |e| {
        let texts = e.bundle.manifest["texts"].as_array_mut()?;
        let at = e.draw.below(texts.len());
        (at < texts.len()).then(|| texts.remove(at))?;
        Some(e.bundle.packed())
    }),
    ("bundle-pieces-moved", |e| {
        let texts = e.bundle.manifest["texts"].as_array_mut()?;
        let at = e.draw.below(texts.len());
        let piece = texts.get_mut(at)?["pieces"].get_mut(0)?;
        piece[1] = (piece[1].as_u64()? - 1).into();
        Some(e.bundle.packed())
    }),
    ("bundle-words-left-out", |e| {
        handed_out(e, |_, pieces| {
            let [start, end] = *pieces.first()?;
            let middle = start + (end - start) / 2;
            pieces.splice(..1, [[start, middle], [middle + 1, end]]);
            (start < middle && middle + 1 < end).then_some(())
        })
    }),
    ("bundle-text-emptied", |e| {
        handed_out(e, |_, pieces| {
            pieces.clear();
            Some(())
        })
    }),
    ("bundle-section-invented", |e| {
        handed_out(e, |text, _| {
            let uri = text["uri"].as_str()?.split('#').next()?;
            text["uri"] = format!("{uri}#no-such-section").into();
            Some(())
        })
    }),
    ("bundle-governance-dropped", |e| {
        let versions = e.bundle.manifest["versions"].as_array()?;
        let is_config = |version: &Value| version["id"] == ".context/config.yaml";
        let at = versions.iter().position(is_config)?;
        e.bundle.manifest["versions"][at]["checkpoints"] = json!([]);
        Some(e.bundle.packed())
    }),
    ("bundle-scope-changed", |e| {
        e.bundle.manifest["scope"] = json!({"session": "t"});
        Some(e.bundle.packed())
    }),
    ("bundle-checkpoint-edited", |e| {
        let mut log = e.bundle.lines(CHECKPOINTS)?;
        let at = e.draw.below(log.len());
        log[at]["triggered_by"] = "eve".into();
        e.bundle.set_lines(CHECKPOINTS, &log);
        Some(e.bundle.listed())
    }),
    ("bundle-map-edited", |e| {
        let mut log = e.bundle.lines(CHECKPOINTS)?;
        let at = e.draw.below(log.len());
        let mark = log[at]["set"].as_object_mut()?.values_mut().next()?;
        mark[1] = format!("sha256:{}", "0".repeat(64)).into();
        e.bundle.set_lines(CHECKPOINTS, &log);
        Some(e.bundle.listed())
    }),
    ("bundle-checkpoint-dropped", |e| {
        let mut log = e.bundle.lines(CHECKPOINTS)?;
        let between = log.len().checked_sub(2).filter(|between| *between > 0)?;
        log.remove(1 + e.draw.below(between));
        e.bundle.set_lines(CHECKPOINTS, &log);
        Some(e.bundle.listed())
    }),
    ("bundle-checkpoint-dropped-last", |e| {
        let mut log = e.bundle.lines(CHECKPOINTS)?;
        log.pop();
        let last = log.last()?;
        let head = json!({"checkpoint": last["checkpoint"], "hash": last["checkpoint_hash"]});
        e.bundle.manifest["head"] = head;
        e.bundle.set_lines(CHECKPOINTS, &log);
        e.bundle.files.remove("index.html");
        e.bundle.files.remove("README.md");
        Some(e.bundle.listed())
    }),
    ("bundle-head-changed", |e| {
        e.bundle.manifest["head"]["hash"] = hash::sha(b"").into();
        Some(e.bundle.packed())
    }),
    ("bundle-of-another-vault", |e| Some(e.other.packed())),
    ("bundle-page-replaced", |e| {
        let name = e.draw.of(&["README.md", "index.html"]).to_owned();
        e.bundle.files.insert(name, b"Every text of this bundle is proved.\n".to_vec());
        Some(e.bundle.listed())
    }),
    ("bundle-page-of-another-tool", |e| {
        let name = e.draw.of(&["README.md", "index.html"]).to_owned();
        e.bundle.files.insert(name, b"Every text of this bundle is proved.\n".to_vec());
        e.bundle.manifest["tool"] = "9.9.9".into();
        Some(e.bundle.listed())
    }),
    ("bundle-tool-as-sentence", |e| {
        let said = "0.1.0\n\nEvery text of this bundle is proved.";
        let page = String::from_utf8(e.bundle.files.get("README.md")?.clone()).ok()?;
        let tool = e.bundle.manifest["tool"].as_str()?;
        let page = page.replace(&format!("ctx {tool}\n"), &format!("ctx {said}\n"));
        e.bundle.files.insert("README.md".to_owned(), page.into_bytes());
        e.bundle.manifest["tool"] = said.into();
        Some(e.bundle.listed())
    }),
    ("bundle-file-added", |e| {
        let name = e.draw.of(&["more.md", "chains/999.md", "versions/0.md", "a/b.sh"]).to_owned();
        e.bundle.files.insert(name, b"more".to_vec());
        Some(e.bundle.listed())
    }),
    ("bundle-file-dropped", |e| {
        let (_, name) = version(e)?;
        e.bundle.files.remove(&name)?;
        Some(e.bundle.packed())
    }),
    ("bundle-file-not-listed", |e| {
        e.bundle.files.insert("more.md".to_owned(), b"more".to_vec());
        Some(e.bundle.packed())
    }),
    ("bundle-manifest-respelled", |e| {
        let mut parts = e.bundle.parts();
        let at = parts.iter().position(|part| part.starts_with(b"manifest.json"))?;
        let spelled = String::from_utf8(parts[at][512..].to_vec()).ok()?;
        let spelled = spelled.trim_end_matches('\0').replacen('{', "{ ", 1);
        parts[at] = file("manifest.json", spelled.as_bytes());
        Some(ended(&parts))
    }),
    ("bundle-manifest-nested", |e| {
        let mut parts = e.bundle.parts();
        let at = parts.iter().position(|part| part.starts_with(b"manifest.json"))?;
        let nested = "[".repeat(100_000) + &"]".repeat(100_000);
        parts[at] = file("manifest.json", nested.as_bytes());
        Some(ended(&parts))
    }),
    ("bundle-name-leads-out", |e| {
        let names = ["../a.md", "/tmp/a.md", "a/../b.md", ".a", "a/b/c.md", "a//b.md"];
        let name = e.draw.of(&names);
        Some(ended(&[vec![file(name, b"more")], e.bundle.parts()].concat()))
    }),
    ("bundle-name-twice", |e| {
        let mut parts = e.bundle.parts();
        let at = e.draw.below(parts.len());
        parts.insert(at, parts[at].clone());
        Some(ended(&parts))
    }),
    ("bundle-names-out-of-order", |e| {
        let mut parts = e.bundle.parts();
        let at = e.draw.below(parts.len() - 1);
        parts.swap(at, at + 1);
        Some(ended(&parts))
    }),
    ("bundle-link", |e| {
        let mut block = header("a.md", 0, e.draw.of(&["1", "2"]).as_bytes()[0]);
        block[157..168].copy_from_slice(b"/etc/passwd");
        resummed(&mut block);
        Some(ended(&[vec![block], e.bundle.parts()].concat()))
    }),
    ("bundle-extension", |e| {
        let kind = e.draw.of(&["x", "g", "L", "K", "5", "6", "3"]).as_bytes()[0];
        Some(ended(&[vec![header("a.md", 0, kind)], e.bundle.parts()].concat()))
    }),
    ("bundle-size-too-large", |e| {
        let block = header("a.md", 0o77_777_777_777, b'0');
        Some(ended(&[vec![block], e.bundle.parts()].concat()))
    }),
    ("bundle-bytes-between", |e| {
        let parts = e.bundle.parts();
        let is_padded = |part: &&Vec<u8>| part.last() == Some(&0) && part.len() > 512;
        let at = parts.iter().position(|part| is_padded(&part))?;
        let end: usize = parts[..=at].iter().map(Vec::len).sum();
        let mut bytes = ended(&parts);
        bytes[end - 1] = b'x';
        Some(bytes)
    }),
    ("bundle-truncated", |e| {
        let bytes = e.bundle.packed();
        let end = e.draw.below(bytes.len());
        Some(bytes[..end].to_vec())
    }),
    ("bundle-lengthened", |e| {
        let mut bytes = e.bundle.packed();
        bytes.extend(vec![0; 512 * (1 + e.draw.below(3))]);
        Some(bytes)
    }),
];

fn without_pages(e: &mut Exported) {
    e.bundle.files.remove("index.html");
    e.bundle.files.remove("README.md");
}

/// Returns the bundle of a document that was published past the review, without its mark,
/// listed again.
fn unmarked(e: &mut Exported, attack: &str) -> Option<Vec<u8>> {
    (e.bundle, e.head) = e.unapproved.get(attack)?.clone();
    e.bundle.manifest.as_object_mut()?.remove("gaps")?;
    without_pages(e);
    Some(e.bundle.listed())
}

fn ended(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = parts.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Computes the checksum of a header from its bytes.
fn resummed(block: &mut [u8]) {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Returns the index of a version of a document, and the file with its text.
fn version(e: &mut Exported) -> Option<(usize, String)> {
    let versions = e.bundle.manifest["versions"].as_array()?;
    let is_document = |at: &usize| {
        let id = versions[*at]["id"].as_str().unwrap_or_default();
        id.starts_with("nodes/")
    };
    let at = e.draw.pick((0..versions.len()).filter(is_document))?;
    Some((at, format!("versions/{}.md", at + 1)))
}

fn edit(bundle: &mut Bundle, name: &str) -> Option<()> {
    let text = std::str::from_utf8(bundle.files.get(name)?).ok()?;
    let text = reworded(text);
    bundle.files.insert(name.to_owned(), text.into_bytes());
    Some(())
}

/// Returns the index of a version that a chain proves.
fn place_of(bundle: &Bundle, chain: u64, version: u64) -> Option<usize> {
    let versions = bundle.manifest["versions"].as_array()?;
    let is_it = |v: &Value| v["chain"] == chain && v["version"] == version;
    versions.iter().position(is_it)
}

/// Returns the chain of a document whose last entry is a diff that a version of the bundle ends in.
fn with_diff(e: &mut Exported) -> Option<(String, Value)> {
    let chains = e.bundle.files.iter().filter(|(name, _)| name.ends_with(".json"));
    let chains = chains.filter_map(|(name, bytes)| {
        let chain: Value = serde_json::from_slice(bytes).ok()?;
        let is_document = chain["id"].as_str()?.starts_with("nodes/");
        let has_diff = chain["entries"].as_array()?.len() > 1;
        (is_document && has_diff).then(|| (name.clone(), chain))
    });
    let chains: Vec<(String, Value)> = chains.collect();
    e.draw.pick(chains)
}

/// Computes the chain hash of the last entry from its fields.
fn rechain(chain: &mut Value) -> Option<()> {
    let entries = chain["entries"].as_array_mut()?;
    let at = entries.len() - 1;
    let before = entries[at - 1]["chain_hash"].as_str()?.to_owned();
    let text = |key: &str| entries[at][key].as_str();
    let (content, by, time) = (text("content_hash")?, text("edited_by")?, text("edited_at")?);
    let version = entries[at]["version"].as_u64()?;
    let hash = hash::chain(Some(&before), content, version, by, time);
    entries[at]["chain_hash"] = hash.into();
    Some(())
}

/// Returns the lines, and the position of one with this number of followers.
fn line(e: &mut Exported, followers: usize) -> Option<(Vec<Value>, usize)> {
    let lines = e.bundle.lines(LINES)?;
    let at = e.draw.below(lines.len().checked_sub(followers)?);
    Some((lines, at))
}

fn is_approved(text: &Value) -> bool {
    text["approved_at"].is_string()
}

/// Changes a field of a text in a line, one of those that are `wanted` at a checkpoint; the hashes
/// of all lines follow.
fn said_of_text(
    e: &mut Exported,
    wanted: fn(&Value) -> bool,
    change: fn(&mut Value) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut lines = e.bundle.lines(LINES)?;
    let is_wanted = |text: &Value| {
        text["checkpoint"].is_u64()
            && text["uri"].is_string()
            && text["part"].is_null()
            && wanted(text)
    };
    let texts = lines.iter().enumerate().flat_map(|(at, line)| {
        let texts = line["documents"].as_array().into_iter().flatten().enumerate();
        texts.filter(|(_, text)| is_wanted(text)).map(move |(n, _)| (at, n))
    });
    let texts: Vec<(usize, usize)> = texts.collect();
    let (at, n) = e.draw.pick(texts)?;
    change(&mut lines[at]["documents"][n])?;
    resealed(e, lines, at)
}

/// Changes the range or the name of a returned text of a version; the line matches it, and all
/// hashes follow.
fn handed_out(
    e: &mut Exported,
    change: fn(&mut Value, &mut Vec<[usize; 2]>) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut lines = e.bundle.lines(LINES)?;
    let texts = e.bundle.manifest["texts"].as_array()?;
    let is_long = |at: &usize| {
        let piece = &texts[*at]["pieces"][0];
        let ends = piece[0].as_u64().zip(piece[1].as_u64());
        ends.is_some_and(|(start, end)| end > start + 2)
    };
    let at = e.draw.pick((0..texts.len()).filter(is_long))?;
    let place = |key: &str| usize::try_from(texts[at][key].as_u64()?).ok();
    let (line, document) = (place("line")? - 1, place("document")? - 1);
    let name = format!("versions/{}.md", place("version")?);
    let mut pieces: Vec<[usize; 2]> = serde_json::from_value(texts[at]["pieces"].clone()).ok()?;
    let text = &mut lines[line]["documents"][document];
    change(text, &mut pieces)?;
    let whole = e.bundle.files.get(&name)?;
    let bytes: Vec<u8> = pieces.iter().flat_map(|[a, b]| whole[*a..*b].to_vec()).collect();
    text["bytes"] = bytes.len().into();
    text["sha256"] = hash::sha(&bytes).into();
    e.bundle.manifest["texts"][at]["pieces"] = json!(pieces);
    resealed(e, lines, line)
}

/// Returns the bundle with these lines, whose hashes follow from `from` on; without the pages that
/// depend on them.
fn resealed(e: &mut Exported, mut lines: Vec<Value>, from: usize) -> Option<Vec<u8>> {
    for at in from..lines.len() {
        if at > from && lines[at]["seq"].as_u64()? == lines[at - 1]["seq"].as_u64()? + 1 {
            lines[at]["prev"] = lines[at - 1]["hash"].clone();
        }
        rehash(&mut lines[at])?;
    }
    e.bundle.set_lines(LINES, &lines);
    e.bundle.files.remove("index.html");
    e.bundle.files.remove("README.md");
    Some(e.bundle.listed())
}

/// Computes the hash of a line from its fields.
fn rehash(line: &mut Value) -> Option<()> {
    let fields = line.as_object_mut()?;
    fields.remove("hash");
    let hash = hash::sha(hash::jcs(fields).as_bytes());
    fields.insert("hash".to_owned(), hash.into());
    Some(())
}
