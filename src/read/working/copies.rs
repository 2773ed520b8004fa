//! Copies of documents that sync programs, merge tools and people leave next to them
//! (`spec/document.md`, section 9). [`crate::files::vault::copies`] contains the names.

use super::linked::warning;
use crate::files::vault::Vault;
use crate::files::vault::copies::{COMPARED, copied, is_near, likely_original};
use crate::text::document::validate::Problem;
use crate::text::document::{Document, utf8};

/// Code of the warning.
pub(crate) const CODE: &str = "copy";

/// Returns the warning about a live document that is a copy, or nearly a copy, of another.
pub(crate) fn problem(vault: &Vault, path: &str, body: &str) -> Option<Problem> {
    if let Some(copied) = copied(vault, path) {
        let hint = "merge the two files, and delete the copy";
        return Some(warning(CODE, None, format!("it is {copied}"), hint.to_owned()));
    }
    let (original, least) = likely_original(vault, path)?;
    let bytes =
        vault.files().read(&original, COMPARED).ok().filter(|_| body.len() as u64 <= COMPARED)?;
    let text = utf8(&bytes).ok()?;
    let document = Document::of_live(text).ok()?;
    if !is_near(&text[document.parts.body..], body, least) {
        return None;
    }
    let message =
        format!("its text is nearly that of `{original}`, and its name looks like that of a copy");
    let hint = "if it is a copy, merge the two files, and delete one";
    Some(warning(CODE, None, message, hint.to_owned()))
}
