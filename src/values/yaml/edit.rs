//! Edits of YAML in place: splices of bytes at the spans of parsed values. A caller must parse the
//! result and compare it with the intended values.

use std::ops::Range;

use super::{Node, Value, emit};

/// A replacement of bytes.
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// A spelling that cannot be edited without other changes.
#[derive(Debug)]
pub(crate) struct NotExact;

/// Returns the entry of a mapping with this key.
pub(crate) fn entry<'n>(root: &'n Node, key: &str) -> Option<&'n (Node, Node)> {
    root.entries()?.iter().find(|(k, _)| k.text() == Some(key))
}

/// Returns the blanks between the start of the line and a byte; empty if there is other text.
pub(crate) fn indentation(yaml: &str, at: usize) -> &str {
    let line = yaml[..at].rfind(['\n', '\r']).map_or(0, |n| n + 1);
    let blanks = &yaml[line..at];
    if blanks.bytes().all(|b| b == b' ') { blanks } else { "" }
}

/// Returns the position after the colon of an entry.
fn after_colon(yaml: &str, key: &Node) -> Result<usize, NotExact> {
    let rest = &yaml[key.span.end..];
    let colon = rest.find(':').ok_or(NotExact)?;
    Ok(key.span.end + colon + 1)
}

/// Returns the end of a value, without comments after it.
pub(crate) fn end_of(node: &Node) -> usize {
    match &node.value {
        Value::Sequence { items, flow: false } => items.last().map_or(node.span.end, end_of),
        Value::Mapping { entries, flow: false } => {
            entries.last().map_or(node.span.end, |(k, v)| end_of(v).max(k.span.end))
        }
        _ => node.span.end,
    }
}

/// Replaces the value of an entry in place.
pub(crate) fn replace_value(
    yaml: &str,
    key: &Node,
    value: &Node,
    new: &str,
) -> Result<Splice, NotExact> {
    let colon = after_colon(yaml, key)?;
    let is_spelled_in_place = match &value.value {
        Value::Scalar { text, .. } => !text.is_empty(),
        Value::Sequence { flow, .. } | Value::Mapping { flow, .. } => *flow,
    };
    // Comments, anchors and tags within it belong to the author.
    if has_more_within(yaml, value) {
        return Err(NotExact);
    }
    let is_inline = is_spelled_in_place
        && yaml.get(colon..value.span.start).is_some_and(|gap| gap.bytes().all(|b| b == b' '));
    if is_inline {
        return Ok(Splice { range: value.span.clone(), text: new.to_owned() });
    }
    let end = match value.text() {
        Some("") if value.span.is_empty() => colon,
        _ => end_of(value).max(colon),
    };
    // A comment between the key and its value belongs to the author.
    if yaml.get(colon..value.span.start.max(colon)).is_none_or(|gap| gap.contains('#')) {
        return Err(NotExact);
    }
    let kept = yaml.get(..end).ok_or(NotExact)?.trim_end().len();
    Ok(Splice { range: colon..kept.max(colon), text: format!(" {new}") })
}

/// Removes the lines of an entry, with the comments at their ends.
pub(crate) fn remove_lines(yaml: &str, key: &Node, value: &Node) -> Result<Splice, NotExact> {
    let colon = after_colon(yaml, key)?;
    let start = yaml[..key.span.start].rfind('\n').map_or(0, |n| n + 1);
    let last = yaml.get(..end_of(value).max(colon)).ok_or(NotExact)?.trim_end().len().max(colon);
    let end = yaml[last..].find('\n').map_or(yaml.len(), |n| last + n + 1);
    Ok(Splice { range: start..end, text: String::new() })
}

/// Returns true if the lines of an entry have a comment, an anchor or a tag.
pub(crate) fn has_more(yaml: &str, key: &Node, value: &Node) -> bool {
    let Ok(lines) = remove_lines(yaml, key, value) else { return true };
    let mut at = key.span.end;
    let in_value = between_scalars(yaml, value, &mut at);
    in_value || yaml.get(at..lines.range.end).is_none_or(|rest| rest.contains('#'))
}

/// Returns true if a value has comments, anchors or tags within it.
pub(crate) fn has_more_within(yaml: &str, value: &Node) -> bool {
    between_scalars(yaml, value, &mut value.span.start.clone())
}

/// Returns true if there is a comment, an anchor or a tag before, between or at the scalars of a
/// value. `at` is the end of the text that was checked.
fn between_scalars(yaml: &str, node: &Node, at: &mut usize) -> bool {
    if node.decorated {
        return true;
    }
    match &node.value {
        Value::Sequence { items, .. } => items.iter().any(|item| between_scalars(yaml, item, at)),
        Value::Mapping { entries, .. } => entries
            .iter()
            .any(|(k, v)| between_scalars(yaml, k, at) || between_scalars(yaml, v, at)),
        Value::Scalar { .. } => {
            let (before, own) = (yaml.get(*at..node.span.start), yaml.get(node.span.clone()));
            *at = node.span.end.max(*at);
            // The first line of a block scalar may have a comment.
            let head =
                own.filter(|own| own.starts_with(['|', '>'])).and_then(|own| own.lines().next());
            [before, head].into_iter().flatten().any(|text| text.contains('#'))
        }
    }
}

/// Inserts entries before the first one of a mapping.
pub(crate) fn first_entries(
    yaml: &str,
    mapping: &Node,
    pairs: &[(String, String)],
    nl: &str,
) -> Splice {
    let spelled = pairs.iter().map(|(key, value)| format!("{key}: {value}"));
    match &mapping.value {
        Value::Mapping { entries, flow: false } if !entries.is_empty() => {
            let at = entries[0].0.span.start;
            let indent = indentation(yaml, at);
            let text = spelled.map(|pair| format!("{pair}{nl}{indent}")).collect();
            Splice { range: at..at, text }
        }
        Value::Mapping { entries, .. } => {
            let at = mapping.span.start + 1;
            let comma = if entries.is_empty() { "" } else { ", " };
            let list: Vec<String> = spelled.collect();
            Splice { range: at..at, text: format!("{}{comma}", list.join(", ")) }
        }
        _ => Splice { range: 0..0, text: String::new() },
    }
}

/// Inserts a text at the front of a list, or replaces a single text with a list.
pub(crate) fn first_item(
    yaml: &str,
    key: &Node,
    value: &Node,
    item: &str,
    nl: &str,
) -> Result<Splice, NotExact> {
    match &value.value {
        Value::Sequence { items, flow: true } => {
            let at = value.span.start + 1;
            let comma = if items.is_empty() { "" } else { ", " };
            Ok(Splice { range: at..at, text: format!("{item}{comma}") })
        }
        Value::Sequence { items, .. } if !items.is_empty() => {
            let first = items[0].span.start;
            let dash = yaml[..first].rfind('-').ok_or(NotExact)?;
            let indent = indentation(yaml, dash);
            Ok(Splice { range: dash..dash, text: format!("- {item}{nl}{indent}") })
        }
        Value::Scalar { .. } if !value.is_null() => {
            let list = format!("[{item}, {}]", emit::flow(value));
            replace_value(yaml, key, value, &list)
        }
        _ => replace_value(yaml, key, value, &format!("[{item}]")),
    }
}

/// Applies splices that do not overlap.
pub(crate) fn spliced(yaml: &str, mut splices: Vec<Splice>) -> Result<String, NotExact> {
    splices.sort_by_key(|s| (s.range.start, s.range.end));
    let mut out = String::with_capacity(yaml.len() + 256);
    let mut at = 0;
    for splice in splices {
        out.push_str(yaml.get(at..splice.range.start).ok_or(NotExact)?);
        out.push_str(&splice.text);
        at = splice.range.end;
    }
    out.push_str(yaml.get(at..).ok_or(NotExact)?);
    Ok(out)
}

/// Removes one of several items of a list, with its line.
pub(crate) fn remove_item(yaml: &str, list: &Node, n: usize) -> Result<Splice, NotExact> {
    let Value::Sequence { items, flow } = &list.value else { return Err(NotExact) };
    let spans: Vec<Range<usize>> = items.iter().map(|item| item.span.start..end_of(item)).collect();
    match flow {
        true => without_part(yaml, &spans, n),
        false => {
            let span = spans.get(n).ok_or(NotExact)?;
            let before = yaml.get(..span.start).ok_or(NotExact)?;
            let dash = before.trim_end_matches([' ', '\t']).strip_suffix('-').ok_or(NotExact)?;
            without_lines(yaml, dash.len()..span.end)
        }
    }
}

/// Removes one of the entries of a mapping, with its lines. A flow mapping must have
/// several entries.
pub(crate) fn remove_entry(yaml: &str, mapping: &Node, n: usize) -> Result<Splice, NotExact> {
    let Value::Mapping { entries, flow } = &mapping.value else { return Err(NotExact) };
    let span = |(key, value): &(Node, Node)| key.span.start..end_of(value).max(key.span.end);
    let spans: Vec<Range<usize>> = entries.iter().map(span).collect();
    match flow {
        true => without_part(yaml, &spans, n),
        false => without_lines(yaml, spans.get(n).ok_or(NotExact)?.clone()),
    }
}

/// Removes one of the parts between commas. Fails if there is a comment, which would lose
/// its place.
fn without_part(yaml: &str, spans: &[Range<usize>], n: usize) -> Result<Splice, NotExact> {
    let span = spans.get(n).ok_or(NotExact)?;
    let range = match (spans.get(n + 1), n.checked_sub(1).and_then(|n| spans.get(n))) {
        (Some(next), _) => span.start..next.start,
        (None, Some(last)) => last.end..span.end,
        (None, None) => span.clone(),
    };
    let gap = match spans.get(n + 1) {
        Some(_) => yaml.get(span.end..range.end),
        None => yaml.get(range.start..span.start),
    };
    match gap {
        Some(gap) if !gap.contains('#') => Ok(Splice { range, text: String::new() }),
        _ => Err(NotExact),
    }
}

/// Removes the lines of a range. Fails if the lines have other content, except for a comment at
/// the end.
fn without_lines(yaml: &str, range: Range<usize>) -> Result<Splice, NotExact> {
    let start = yaml.get(..range.start).ok_or(NotExact)?.rfind('\n').map_or(0, |n| n + 1);
    let after = yaml.get(range.end..).ok_or(NotExact)?;
    let line = after.find('\n').map_or(after.len(), |n| n + 1);
    let is_alone = yaml[start..range.start].bytes().all(|b| b == b' ');
    let rest = after[..line].trim();
    match is_alone && (rest.is_empty() || rest.starts_with('#')) {
        true => Ok(Splice { range: start..range.end + line, text: String::new() }),
        false => Err(NotExact),
    }
}
