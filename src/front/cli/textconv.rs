//! `ctx textconv`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::Answer;
use super::session::Session;
use super::ui::shown;
use crate::record::chain::history::{Entry, EntryState, History, Slot};
use crate::record::staging::json;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::digest::Digest;
use crate::values::model::visible::{escaped, steers_text};

/// Print a log or a history with one line for each event, for git diff
///
/// Git calls it to show changes of checkpoint logs, histories, change logs, access logs and staging
/// chains as documents, people and times. A line ends in the beginning of a hash of its bytes, so
/// that no change is hidden. The kind of the file is recognised by its content. Any other file is
/// printed as it is, with control characters escaped.
///
/// The attributes that `ctx init` writes name the driver. Each clone has to name the program:
///
///   git config diff.ctx.textconv "ctx textconv"
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx textconv .versions/checkpoints.jsonl\n  git config diff.ctx.textconv \"ctx textconv\""
)]
pub(super) struct Textconv {
    /// The file, which may be outside of a vault
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Maximum size of a file.
const LIMIT: u64 = 512 << 20;
/// Maximum number of documents that are named on a line.
const NAMED: usize = 20;

pub(super) fn run(args: &Textconv, session: &mut Session<'_>) -> Result<Answer, Failure> {
    if session.ui.json {
        return Err(Failure::new(Code::Usage, "`ctx textconv` prints text for git, not JSON"));
    }
    let path = session.workspace.environment.cwd.join(&args.file);
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes));
    read.map_err(|why| {
        Failure::new(Code::Io, format!("cannot read `{}`: {why}", args.file.display()))
    })?;
    let text = match bytes.len() as u64 > LIMIT {
        true => {
            "the file is larger than 512 MiB; `git diff --no-textconv` compares it\n".to_owned()
        }
        false => readable(&bytes),
    };
    session.ui.bytes(text.as_bytes());
    Ok(Answer::Yes)
}

/// Returns the events of a file, or else the file itself.
fn readable(bytes: &[u8]) -> String {
    // A torn line or a conflict marker may come first.
    let mut first = bytes.split(|byte| *byte == b'\n').take(4);
    match first.any(|line| event(line).is_some()) {
        true => log(bytes),
        false => history(bytes).unwrap_or_else(|| plain(bytes)),
    }
}

/// Returns a text with control characters and bytes that are not UTF-8 spelled out. If two files
/// could have the same text, the hash of the bytes is added.
fn plain(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escaped(chunk.valid(), steers_text));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    if out.as_bytes() != bytes {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        let _ = writeln!(out, "\\ characters are escaped {}", mark(bytes));
    }
    out
}

/// Returns the mark at the end of a line, which changes with every byte of the event.
fn mark(bytes: &[u8]) -> String {
    format!("#{}", Digest::of(bytes).short())
}

/// Returns one line for each line of a log.
fn log(bytes: &[u8]) -> String {
    let mut out = String::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match event(line) {
            Some(event) => {
                let _ = writeln!(out, "{} {}", shown(&event), mark(line));
            }
            None => out.push_str(&plain(line)),
        }
    }
    out
}

/// Returns the description of a line of a log; `None` for any other text.
fn event(line: &[u8]) -> Option<String> {
    let Some(Value::Object(fields)) = json(line) else { return None };
    let at = fields.get("at")?.as_str()?;
    match fields.contains_key("checkpoint_hash") {
        true => checkpoint(&fields, at),
        false => recorded(&fields, at),
    }
}

/// Describes a line of a checkpoint log.
fn checkpoint(fields: &Map<String, Value>, at: &str) -> Option<String> {
    let number = fields.get("checkpoint")?.as_u64()?;
    let hash = fields.get("checkpoint_hash")?.as_str()?;
    let set = fields.get("set").and_then(Value::as_object)?;
    let set = set.iter().map(|(id, mark)| format!("{id} v{}", mark.get(0).unwrap_or(mark)));
    let removed = texts(fields.get("removed"));
    let mut out = format!("@{number}  {at}  {}", short(hash));
    named(&mut out, "published", set.collect());
    named(&mut out, "retired", removed);
    let known = ["at", "checkpoint", "checkpoint_hash", "removed", "set", "triggered_by"];
    for (key, value) in fields.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
        let value = value.to_string();
        let value = value.char_indices().nth(200).map_or(value.as_str(), |(end, _)| &value[..end]);
        let _ = write!(out, "  {key} {value}");
    }
    Some(out)
}

/// Describes a line of a change log, an access log or a staging chain.
fn recorded(fields: &Map<String, Value>, at: &str) -> Option<String> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let (kind, seq) = (text("event").or(text("action"))?, fields.get("seq")?.as_u64()?);
    let mut out = format!("{seq}  {at}  {}", text("principal").unwrap_or("unknown principal"));
    for (key, name) in [("agent", "agent"), ("task", "task"), ("thread", "thread")] {
        let label = fields.get("labels").and_then(|labels| labels.get(key));
        if let Some(label) = label.and_then(Value::as_str) {
            let _ = write!(out, " ({name} {label})");
        }
    }
    let action = text("action").filter(|action| *action != "event");
    let words = [text("verb"), action.filter(|action| Some(*action) != text("verb"))];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let _ = write!(out, "  {}", if words.is_empty() { kind.to_owned() } else { words.join(", ") });
    let documents = fields.get("documents").and_then(Value::as_array).into_iter().flatten();
    let uris = documents.filter_map(|one| one.get("uri")?.as_str().map(str::to_owned));
    let version = fields.get("version").and_then(Value::as_u64);
    let version = version.map_or_else(String::new, |version| format!(" v{version}"));
    let one =
        ["id", "source", "entry"].into_iter().find_map(text).map(|id| format!("{id}{version}"));
    let ids = texts(fields.get("ids")).into_iter().chain(one).chain(uris);
    named(&mut out, "", ids.collect());
    let sealed = fields.get("sealed").and_then(|sealed| sealed.get("checkpoint"));
    if let Some(number) = sealed.and_then(Value::as_u64) {
        let _ = write!(out, "  @{number}");
    }
    for key in ["note", "reason"] {
        if let Some(said) = text(key) {
            let _ = write!(out, "  {said:?}");
        }
    }
    Some(out)
}

/// Adds the first names of a list, and the number of the others.
fn named(out: &mut String, what: &str, names: Vec<String>) {
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(NAMED);
    let first = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    let blank = if what.is_empty() { "" } else { " " };
    let _ = write!(out, "  {what}{blank}{first}");
    if more > 0 {
        let _ = write!(out, " and {more} more");
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Returns the first digits of a hash.
fn short(hash: &str) -> String {
    hash.trim_start_matches("sha256:").chars().take(12).collect()
}

/// Returns one line for each version of a history; `None` for any other text.
fn history(bytes: &[u8]) -> Option<String> {
    let history = History::parse(bytes).ok()?;
    let first = history.slots.first()?;
    let ends = history.slots.iter().skip(1).map(|slot| slot.at).chain([bytes.len() as u64]);
    let place = |at: u64| usize::try_from(at).ok();
    let head = bytes.get(..place(first.at)?)?;
    let interval = history
        .keyframe_interval
        .map_or_else(String::new, |n| format!(", a keyframe every {n} versions"));
    let mut out = format!("history{interval} {}\n", mark(head));
    for (slot, end) in history.slots.iter().zip(ends) {
        let own = bytes.get(place(slot.at)?..place(end)?)?;
        let _ = writeln!(out, "{} {}", shown(&version(slot)), mark(own));
    }
    Some(out)
}

fn version(slot: &Slot) -> String {
    let number = slot.version.map_or_else(|| "v?".to_owned(), |version| format!("v{version}"));
    let Ok(entry) = &slot.entry else { return format!("{number}  the entry cannot be read") };
    let Entry { edited_by, edited_at, note, chain_hash, .. } = entry;
    let state = match entry.state {
        EntryState::Published(at) | EntryState::Retired(at) if at != *edited_at => {
            format!("{} at {at}", entry.state.as_str())
        }
        state => state.as_str().to_owned(),
    };
    let note = note.as_deref().map_or_else(String::new, |note| format!("  {note:?}"));
    format!("{number}  {edited_at}  {edited_by}  {state}{note}  {}", chain_hash.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKPOINT: &str = r#"{"at":"2026-11-21T20:06:06.689Z","checkpoint":3,"checkpoint_hash":"sha256:46fb58163ad21beac3f7","removed":["nodes/a"],"set":{"nodes/b":[2,"sha256:1"]},"triggered_by":"nodes/b"}"#;

    #[test]
    fn a_checkpoint_is_one_line_and_each_byte_changes_it() {
        let line = readable(CHECKPOINT.as_bytes());
        let (event, mark) = line.trim_end().split_once(" #").unwrap();
        assert_eq!(
            event,
            "@3  2026-11-21T20:06:06.689Z  46fb58163ad2  published nodes/b v2  retired nodes/a"
        );
        assert_eq!(mark.len(), 12);
        for (from, to) in [("sha256:1", "sha256:2"), ("\"}", "\" }"), ("nodes/b\"}", "nodes/c\"}")]
        {
            assert_ne!(readable(CHECKPOINT.replace(from, to).as_bytes()), line, "{from}");
        }
        let merged = CHECKPOINT.replace("\"removed\"", "\"other\":\"sha256:2\",\"removed\"");
        assert!(readable(merged.as_bytes()).contains("  other \"sha256:2\" #"));
    }

    #[test]
    fn hostile_names_cannot_add_lines_or_steer_a_terminal() {
        let hostile = CHECKPOINT.replace("nodes/a", "a\\n@4  x\\u001b[31m\\u202e");
        let text = readable(hostile.as_bytes());
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("a\\n@4  x\\u{1b}[31m\\u{202e}"), "{text}");
        let change = r#"{"action":"submit","at":"t","event":"change","id":"a","note":"x\ny\u001b","principal":"p\r","seq":1,"verb":"submit","version":2}"#;
        let text = readable(change.as_bytes());
        assert!(text.starts_with("1  t  p\\r  submit  a v2  \"x\\ny\\u{1b}\" #"), "{text}");
    }

    #[test]
    fn any_other_file_is_printed_with_control_characters_escaped() {
        assert_eq!(readable(b"# A\n\ttext\n"), "# A\n\ttext\n");
        assert_eq!(readable(b""), "");
        let (one, other) = (readable(b"a\x1b[0m\xff"), readable(b"a\\u{1b}[0m\\xff"));
        assert!(one.starts_with("a\\u{1b}[0m\\xff\n\\ characters are escaped #"), "{one}");
        assert_eq!(other, "a\\u{1b}[0m\\xff");
        // A log with a torn or foreign line.
        let log = format!("{CHECKPOINT}\n<<<<<<< HEAD\n{{\"x\":1}}\n{{\"at\"");
        let text = readable(log.as_bytes());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines, ["<<<<<<< HEAD", "{\"x\":1}", "{\"at\""]);
    }
}
