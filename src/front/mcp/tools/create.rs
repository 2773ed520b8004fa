//! `context_create`: makes a new document, as a draft or a submission.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{Written, digest, fields, version};
use super::{Answer, Outputs, Question};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::write::{Submitting, Writing};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    /// Id of the new document: its path in the vault without `.md`, as `nodes/policies/returns`
    #[schemars(extend("x-holds" = "new"))]
    id: String,
    /// Body in Markdown
    #[schemars(extend("x-holds" = "text"))]
    body: String,
    /// Title; the first heading of the body if left out
    #[serde(default)]
    title: Option<String>,
    /// Type: document, snippet, glossary, persona, prompt, source, tool, reference, skill or another word
    #[serde(default, rename = "type")]
    node_type: Option<String>,
    /// Tags of the document
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// Submit it for review instead of writing a draft
    #[serde(default)]
    submit: bool,
    /// With submit: publish it only together with the others of this change
    #[serde(default)]
    change: Option<String>,
    /// Note for reviewers, with submit
    #[serde(default)]
    note: Option<String>,
}

impl Question for Create {
    const NAME: &'static str = "context_create";
    const TITLE: &'static str = "Write a new document";
    const DESCRIPTION: &'static str = "Writes a new document as a draft, which is not served to \
        others, or with submit as a submission that a reviewer approves. An existing id is refused: \
        use context_update. Drafts are changed with context_update, and submitted with \
        context_submit.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::draft::DraftReport<'static>>();
        outputs.add::<crate::service::report::event::Submitted<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let fields = fields(&vault, self.title, self.node_type.as_deref(), self.tags.as_deref())?;
        let writing = Writing {
            id: &self.id,
            fields: &fields,
            body: Some(&self.body),
            live: digest(None)?,
            expect: version(None),
            note: self.note.as_deref(),
        };
        let change = self.change.as_deref();
        super::author::check_submit(self.submit, change)?;
        match self.submit {
            true => {
                let how = Submitting { change, ..Submitting::default() };
                let made = call.create_submission(&vault, &writing, how);
                Written::submitted(call, &made.map_err(to_update)?)
            }
            false => {
                let (id, draft) = call.create_draft(&vault, &writing).map_err(to_update)?;
                Written::draft(call, (&id, &draft))
            }
        }
    }
}

/// Reports an existing document with the tool that changes it: a person would edit the file.
fn to_update(failure: Failure) -> Failure {
    match failure.code {
        Code::Exists => Failure { hints: Vec::new(), ..failure }
            .hint("change it with `context_update`, or choose another id"),
        _ => failure,
    }
}
