//! Writes drafts: live files with the status `draft`, whose writers the change log
//! records (MCP-18).

use super::{Call, Note};
use crate::files::vault::Vault;
use crate::record::audit::{Change, DraftRef};
use crate::service::report::failure::Failure;
#[cfg(feature = "mcp")]
use crate::text::document::Document;
use crate::text::document::edit::{Edit, EditError};
use crate::text::document::frontmatter::NodeType;
use crate::text::document::text::BOM;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::tag::Tag;
use crate::write::publish::{Draft, DraftRequest, Mode, Upon};

/// Returns true if a body has only white space.
#[cfg(feature = "mcp")]
pub(crate) fn is_blank(body: &str) -> bool {
    body.trim_start_matches(BOM).trim().is_empty()
}

/// Fields of a draft's frontmatter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    pub(crate) title: Option<String>,
    pub(crate) node_type: Option<NodeType>,
    pub(crate) tags: Option<Vec<Tag>>,
}

impl Fields {
    /// Returns true if no field is set.
    #[cfg(feature = "mcp")]
    pub(crate) fn is_empty(&self) -> bool {
        self.title.is_none() && self.node_type.is_none() && self.tags.is_none()
    }

    fn edit(&self) -> Edit {
        let mut edit = Edit::default();
        if let Some(title) = &self.title {
            edit = edit.text("title", title);
        }
        if let Some(node_type) = &self.node_type {
            edit = edit.text("type", node_type.as_str());
        }
        if let Some(tags) = &self.tags {
            edit = edit.list("tags", tags);
        }
        edit
    }

    /// Returns the text of a new document. The body may begin with its own frontmatter.
    pub(crate) fn of_new(&self, body: &str, author: &str) -> Result<String, EditError> {
        let body = body.trim_start_matches(BOM);
        self.edit().text("status", "draft").text("author", author).apply(body)
    }

    /// Returns a draft of `base` with these fields, and with another body if there is one.
    ///
    /// A body with a frontmatter is a whole text. It keeps the base version that `base` records.
    #[cfg(feature = "mcp")]
    pub(crate) fn of_edited(&self, base: &str, body: Option<&str>) -> Result<String, EditError> {
        let before = Document::parse(base)?;
        let mut edit = self.edit().text("status", "draft");
        let text = match body {
            None => base.to_owned(),
            Some(body) => {
                let body = body.trim_start_matches(BOM);
                let given = Document::parse(body)?;
                let is_whole = given.parts.frontmatter.is_some();
                let fields = &before.frontmatter;
                if let Some(version) = fields.version.filter(|_| is_whole) {
                    edit = edit.number("version", version.0);
                }
                let kept = [("updated_at", &fields.updated_at), ("checksum", &fields.checksum)];
                for (key, value) in kept {
                    if let Some(value) = value.as_deref().filter(|_| is_whole) {
                        edit = edit.text(key, value);
                    }
                }
                match is_whole {
                    true => body.to_owned(),
                    false => format!("{}{body}", &base[..before.parts.body]),
                }
            }
        };
        edit.apply(&text)
    }
}

impl Call<'_> {
    /// Writes a draft, and records its writer.
    ///
    /// # Errors
    /// Nothing was written.
    pub(crate) fn write_draft(
        &mut self,
        vault: &Vault,
        (id, upon): (&DocumentId, Upon),
        (note, mode): (Option<&str>, Mode),
        compose: impl Fn(Option<&str>, &str) -> Result<String, EditError>,
    ) -> Result<Draft, Failure> {
        let author = self.workspace.author(vault, note, None)?;
        let request = DraftRequest { author: &author, id, upon, mode };
        let me = author.principal.as_str();
        let draft = crate::write::publish::draft(vault, &request, |base| compose(base, me))?;
        if !draft.is_published {
            self.record_draft(vault, id, draft.hash);
        }
        Ok(draft)
    }

    fn record_draft(&mut self, vault: &Vault, id: &DocumentId, hash: Digest) {
        let draft = DraftRef { id: id.to_string(), sha256: hash.to_string() };
        let change = Change::Draft { draft };
        if let Err(why) = self.workspace.record_change(vault, Some(change)) {
            self.note(Note::NoChange(why.to_string()));
        }
    }
}
