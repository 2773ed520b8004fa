//! The live file of an id in conflict: the text of one side, or of both (MERGE-15).

use std::collections::BTreeMap;

use super::{InConflict, Side};
use crate::files::vault::Vault;
use crate::files::vault::files::FileError;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::record::checkpoint::state::Mark;
use crate::text::document::edit::EditError;
use crate::text::document::live_form::LiveForm;
use crate::text::document::review;
use crate::text::document::text::normalise;
use crate::text::document::{Document, Format};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::write::publish::as_edit_of;

/// The side whose text a live file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// The text of the trunk.
    Trunk,
    /// The text of the branch, as an edit of the trunk's version.
    Branch,
    /// The changes of both, as an edit of the trunk's version.
    Both,
}

/// Merges three texts by lines: the trunk's, the common one, the branch's. Returns the result, and
/// true if it has conflict markers.
pub(crate) type MergeTexts = fn([&str; 3]) -> Result<(String, bool), String>;

/// A live file that was written.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// The artifact.
    pub(crate) id: DocumentId,
    /// True if the file has conflict markers.
    pub(crate) has_markers: bool,
}

/// Reason why a live file was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    /// A history cannot be read.
    #[error("the published text cannot be read: {0}")]
    Chain(#[from] ChainError),
    /// The fields of the trunk's version cannot be written into the text.
    #[error("{0}")]
    Edit(#[from] EditError),
    /// A live file is not UTF-8.
    #[error("its text on one of the branches is not UTF-8")]
    NotText,
    /// The texts could not be merged.
    #[error("the texts cannot be merged: {0}")]
    Merge(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The vaults of both sides, and the working copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'s> {
    /// The working copy.
    pub(crate) here: &'s Vault,
    /// The vault of the trunk, and of the branch.
    pub(crate) sides: [&'s Vault; 2],
}

impl<'s> Sides<'s> {
    /// Returns the sides in the order of trunk and branch.
    pub(crate) fn of(here: &'s Vault, [ours, theirs]: &'s [Vault; 2], trunk: Side) -> Self {
        let sides = match trunk {
            Side::Ours => [ours, theirs],
            Side::Theirs => [theirs, ours],
        };
        Self { here, sides }
    }

    /// Writes the live file of an id in conflict.
    ///
    /// # Errors
    /// The file was left as it is.
    pub(crate) fn take(
        &self,
        one: &InConflict,
        which: Take,
        merge: MergeTexts,
    ) -> Result<Taken, TakeError> {
        let id = &one.id;
        let [trunk, branch] = self.lives(id)?;
        let (text, has_markers) = match which {
            Take::Trunk => (trunk, false),
            Take::Branch => (self.as_edit(one, branch)?, false),
            Take::Both => {
                let texts = [self.as_edit(one, trunk)?, self.as_edit(one, branch)?];
                match texts {
                    // One side has no text: that of the other one is all that there is.
                    [None, other] | [other, None] => (other, false),
                    [Some(trunk), Some(branch)] => {
                        let base = self.as_edit(one, self.base(id)?)?.unwrap_or_default();
                        let (text, has_markers) = both([&trunk, &base, &branch], merge)?;
                        (Some(text), has_markers)
                    }
                }
            }
        };
        let (files, path) = (self.here.files(), id.live_path());
        match (files.read_optional(&path, limit::DOCUMENT)?, text) {
            (None, None) => {}
            (Some(old), None) => files.remove(&path, &old)?,
            (Some(old), Some(text)) => files.replace(&path, &old, text.as_bytes())?,
            (None, Some(text)) => files.create_durable(&path, text.as_bytes())?,
        }
        Ok(Taken { id: id.clone(), has_markers })
    }

    /// Returns the live texts of both sides.
    fn lives(&self, id: &DocumentId) -> Result<[Option<String>; 2], TakeError> {
        let live =
            |vault: &Vault| match vault.files().read_optional(&id.live_path(), limit::DOCUMENT)? {
                None => Ok(None),
                Some(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| TakeError::NotText),
            };
        Ok([live(self.sides[0])?, live(self.sides[1])?])
    }

    /// Returns a text as an edit of the trunk's published version.
    fn as_edit(&self, one: &InConflict, text: Option<String>) -> Result<Option<String>, TakeError> {
        let Some(text) = text else { return Ok(None) };
        if !one.id.is_document() {
            return Ok(Some(text));
        }
        let Some((version, hash)) = one.marks[0].as_ref().and_then(Mark::sealed) else {
            return Ok(Some(text));
        };
        let files = self.sides[0].files();
        let history = replay::load(files, &one.id)?;
        let last = vouched::sealed(files, &one.id, &history, version, &hash)?.text;
        let edits = Document::of_live(&text).is_ok_and(|live| live.format == Format::Yaml);
        match !edits || LiveForm::of(&last).is_untouched() {
            true => Ok(Some(text)),
            false => Ok(Some(as_edit_of(&last, &reviewed_as(&last, text), true)?)),
        }
    }

    /// Returns the text of the last version that both histories have.
    fn base(&self, id: &DocumentId) -> Result<Option<String>, TakeError> {
        let [trunk, branch] = self.sides.map(|vault| replay::load(vault.files(), id));
        let (Ok(trunk), Ok(branch)) = (trunk, branch) else { return Ok(None) };
        let pairs = trunk.entries().zip(branch.entries());
        let common = pairs.take_while(|(a, b)| a.chain_hash == b.chain_hash).last();
        let Some((entry, _)) = common else { return Ok(None) };
        let text = vouched::vouched(self.sides[0].files(), id, &trunk, entry.version)?;
        Ok(Some(LiveForm::of(&text).into_text()))
    }
}

/// Merges the frontmatters by field and the bodies by line.
fn both(texts: [&str; 3], merge: MergeTexts) -> Result<(String, bool), TakeError> {
    let texts = texts.map(normalise);
    let texts = texts.each_ref().map(|text| &**text);
    let by_line = |texts: [&str; 3]| merge(texts).map_err(TakeError::Merge);
    let split = texts.map(fields);
    let [Some(trunk), Some(base), Some(branch)] = &split else { return by_line(texts) };
    let (mut text, mut has_markers) = (trunk.opening.to_owned(), false);
    let names = trunk.names.iter().chain(branch.names.iter().filter(|n| !trunk.names.contains(n)));
    for name in names {
        let lines = [trunk, base, branch].map(|of| of.lines.get(name).map_or("", String::as_str));
        let [ours, common, theirs] = lines;
        if ours == theirs || theirs == common {
            text.push_str(ours);
        } else if ours == common {
            text.push_str(theirs);
        } else {
            let (merged, is_marked) = by_line(lines)?;
            text.push_str(&merged);
            has_markers |= is_marked;
        }
    }
    let (body, is_marked) = by_line([trunk.rest, base.rest, branch.rest])?;
    Ok((text + &body, has_markers || is_marked))
}

/// Merges three versions of a live file: that of one side, the common one, and that of the other.
/// The fields that publishing writes are those of the side that published last.
///
/// # Errors
/// The texts cannot be merged.
pub(crate) fn merge_lives(
    texts: [&str; 3],
    merge: MergeTexts,
) -> Result<(String, bool), TakeError> {
    let published = |text: &str| {
        let document = Document::parse(text).ok()?;
        let fields = &document.frontmatter;
        Some((fields.version?, fields.updated_at.clone()))
    };
    let [one, _, other] = texts;
    let last = if published(other) > published(one) { other } else { one };
    let given = texts.map(|text| as_edit_of(last, &reviewed_as(last, text.to_owned()), true));
    match given {
        [Ok(one), Ok(base), Ok(other)] if published(last).is_some() => {
            both([&one, &base, &other], merge)
        }
        _ => both(texts, merge),
    }
}

/// Returns a text with the fields that only reviews set as another text has them.
fn reviewed_as(last: &str, text: String) -> String {
    let (Some(own), Some(last)) = (fields(&text), fields(last)) else { return text };
    let is_of_review = |name: &&&str| review::FIELDS.contains(name);
    let given = last.names.iter().filter(is_of_review);
    let rest = own.names.iter().filter(|name| !is_of_review(name));
    let lines = rest.map(|name| own.lines[name].as_str());
    let lines = lines.chain(given.map(|name| last.lines[name].as_str()));
    std::iter::once(own.opening).chain(lines).chain([own.rest]).collect()
}

/// A frontmatter, by the lines of its fields.
struct Fields<'t> {
    /// The line that opens it.
    opening: &'t str,
    names: Vec<&'t str>,
    /// The lines of a field, with comments before the next one.
    lines: BTreeMap<&'t str, String>,
    /// The line that closes it, and the body.
    rest: &'t str,
}

/// Returns the fields of a text with a frontmatter in block form; `None` for other texts.
fn fields(text: &str) -> Option<Fields<'_>> {
    let document = Document::parse(text).ok()?;
    let block = document.parts.frontmatter.clone()?;
    let (opening, rest) = (&text[..block.start], &text[block.end..]);
    let mut found = Fields { opening, names: Vec::new(), lines: BTreeMap::new(), rest };
    for line in text[block].split_inclusive('\n') {
        let is_name = !line.starts_with([' ', '\t', '-', '#', '"', '\'', '{', '[', '\n']);
        match line.split_once(':').filter(|_| is_name) {
            Some((name, _)) => {
                // A repeated name is not a frontmatter to be merged by field.
                if found.lines.insert(name, line.to_owned()).is_some() {
                    return None;
                }
                found.names.push(name);
            }
            None => found.lines.get_mut(*found.names.last()?)?.push_str(line),
        }
    }
    Some(found)
}
