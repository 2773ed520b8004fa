//! Arguments that contain a text, a type or tags.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::files::vault::Vault;
use crate::record::audit::TraceId;
use crate::service::report::failure::{Code, Failure};
use crate::text::document;
use crate::text::document::frontmatter::NodeType;
use crate::text::document::obsidian::Markup;
use crate::values::model::layout::limit;
use crate::values::model::tag::Tag;
use crate::values::text_util::misspelled;

/// Returns the text of an argument with a final line end; `-` reads standard input.
pub(crate) fn text_or_input(text: Option<&str>, stdin: &mut dyn Read) -> Result<String, Failure> {
    match text {
        None => Ok(String::new()),
        Some("-") => text_of("standard input", stdin),
        Some(text) if text.ends_with('\n') || text.is_empty() => Ok(text.to_owned()),
        Some(text) => Ok(format!("{text}\n")),
    }
}

/// Reads a file that the user names, relative to their working directory; `-` reads standard input.
pub(crate) fn file_or_input(
    name: &str,
    cwd: &Path,
    stdin: &mut dyn Read,
) -> Result<String, Failure> {
    if name == "-" {
        return text_of("standard input", stdin);
    }
    let mut file = File::open(cwd.join(name))
        .map_err(|why| Failure::new(Code::Io, format!("cannot open `{name}`: {why}")))?;
    text_of(&format!("`{name}`"), &mut file)
}

/// Reads a text of limited size.
fn text_of(name: &str, from: &mut dyn Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(limit::DOCUMENT + 1)
        .read_to_end(&mut bytes)
        .map_err(|why| Failure::new(Code::Io, format!("cannot read {name}: {why}")))?;
    if bytes.len() as u64 > limit::DOCUMENT {
        return Err(Failure::new(Code::Refused, "the text is larger than 16 MiB")
            .hint("split the document"));
    }
    let text = document::utf8(&bytes)
        .map_err(|why| Failure::new(Code::Refused, format!("{name} is {why}")).hint(why.hint()))?;
    Ok(text.to_owned())
}

/// Parses the type that an argument names.
pub(crate) fn node_type(word: &str) -> Result<NodeType, Failure> {
    // A misspelt type would become a type of its own, which no selector asks for.
    if let Some(meant) = misspelled(word, NodeType::ALL.map(|(word, _)| word)) {
        return Err(Failure::new(Code::Usage, format!("unknown type `{word}`"))
            .hint(format!("did you mean `{meant}`?")));
    }
    NodeType::from_word(word).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{word}` is not a type"))
            .hint("a type is a text of at most 200 bytes without invisible characters")
    })
}

/// Parses tags, with or without a `#`, that documents of a vault can have.
pub(crate) fn tags(tags: &[String], vault: &Vault) -> Result<Vec<Tag>, Failure> {
    let markup = Markup::of(vault.config());
    let plain = tags.iter().map(|tag| tag.trim().trim_start_matches('#').to_owned());
    plain
        .filter(|tag| !tag.is_empty())
        .map(|tag| {
            markup.tag(&tag).map_err(|why| {
                Failure::new(Code::Usage, format!("`{tag}` is not a tag")).hint(why.to_string())
            })
        })
        .collect()
}

/// Parses names of hydrations.
pub(crate) fn traces(texts: &[String]) -> Result<Vec<TraceId>, Failure> {
    let trace = |text: &String| {
        text.parse().map_err(|why| {
            Failure::new(Code::Usage, format!("`{text}` is not the name of a hydration: {why}"))
        })
    };
    texts.iter().map(trace).collect()
}
