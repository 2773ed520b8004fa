//! Hashtags of live documents that are not tags here, so that they select nothing
//! (`spec/document.md`, DOC-37). Only a validator reports them, because vaults of Obsidian
//! have many.

use super::LiveFile;
use super::linked::warning;
use crate::files::vault::Vault;
use crate::text::document::obsidian::Markup;
use crate::text::document::validate::Problem;
use crate::values::model::tag::TagError;

/// Returns the hashtags of a live document that select nothing, each name once, in the order of
/// the text.
pub(crate) fn problems(vault: &Vault, file: &LiveFile) -> Vec<Problem> {
    let Ok(content) = &file.content else { return Vec::new() };
    let start = content.document.parts.body;
    let found = Markup::of(vault.config()).odd_hashtags(&content.text[start..]);
    let (mut line, mut at) = (1, 0);
    let problem = |(offset, name): (usize, String)| {
        line += content.text[at..start + offset].matches('\n').count();
        at = start + offset;
        let message = format!("hashtag `#{name}` selects nothing");
        warning("tag-grammar", Some(line), message, TagError::Any.to_string())
    };
    found.into_iter().map(problem).collect()
}
