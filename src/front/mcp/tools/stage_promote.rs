//! `context_stage_promote`: makes a document from a staged entry, with the consent of a human.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::check_tags;
use super::{Answer, Asking, Outputs, Profile, Question};
use crate::front::mcp::consent::quoted;
use crate::front::mcp::spelling;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::service::workspace::call::stage::Promoting;
use crate::values::text_util::count;
use crate::write::publish::Mode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StagePromote {
    /// URI of a staged entry
    #[schemars(extend("x-holds" = "staged"))]
    entry: String,
    /// Id of the new document
    #[schemars(extend("x-holds" = "new"))]
    to: String,
    /// Title; the last part of the id if left out
    #[serde(default)]
    title: Option<String>,
    /// Type: document, snippet, glossary, persona, prompt, tool, reference, skill or another word
    #[serde(default, rename = "type")]
    node_type: Option<String>,
    /// Tags of the document
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// Note to store with the version
    #[serde(default)]
    note: Option<String>,
}

impl Question for StagePromote {
    const NAME: &'static str = "context_stage_promote";
    const TITLE: &'static str = "Promote a staged result";
    const DESCRIPTION: &'static str = "Makes a new document whose body is the content of a staged \
        entry. In a governed vault it is submitted for review, else published. The user is asked for \
        consent, and may refuse.";
    const ASKS: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::staging::StagedPromoteReport<'static>>();
    }

    fn asks(&self, call: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        check_tags(self.tags.as_deref())?;
        let vault = call.vault()?;
        let trial = Mode { dry_run: true, ..Mode::default() };
        let promoted = call.promote(&vault, &self.promoting(), trial)?;
        let (me, _) = call.workspace.principal(vault.root(), None)?;
        let entry = &promoted.entry;
        let of = &entry.entry;
        let by = of.principal.as_deref().map_or("an unnamed principal".to_owned(), quoted);
        let session = of.session.as_deref().map_or("an unnamed session".to_owned(), quoted);
        let then = match promoted.submitted {
            true => "It is submitted for review.",
            false => "It is published at once.",
        };
        let bytes = count(usize::try_from(of.bytes).unwrap_or(usize::MAX), "byte");
        let text = format!(
            "As {}: make the new document {} of the staged result {}, {bytes} that {by} recorded in \
             {session}, {}? {then}",
            quoted(me.as_str()),
            quoted(promoted.document.as_str()),
            quoted(&entry.name().to_string()),
            entry.at,
        );
        Ok(Some(Asking {
            text,
            has_words: false,
            about: format!("{} {}", entry.hash, of.raw_hash),
        }))
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let promoted = call.promote(&vault, &self.promoting(), Mode::default())?;
        Ok(Answer::of(call, &promoted.report(spelling::of(Profile::Reviewer))))
    }
}

impl StagePromote {
    fn promoting(&self) -> Promoting<'_> {
        Promoting {
            entry: &self.entry,
            to: &self.to,
            title: self.title.as_deref(),
            node_type: self.node_type.as_deref(),
            tags: self.tags.as_deref().unwrap_or_default(),
            note: self.note.as_deref(),
        }
    }
}
