//! `context_update`: changes the text of a document, as a draft or a submission.

use schemars::JsonSchema;
use serde::Deserialize;

use super::author::{Written, check_submit, digest, fields, version};
use super::{Answer, Outputs, Question};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::draft::is_blank;
use crate::service::workspace::call::write::{Submitting, Writing};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Id of a document
    #[schemars(extend("x-holds" = "document"))]
    id: String,
    /// The whole new body in Markdown; left out, it stays
    #[schemars(extend("x-holds" = "text"))]
    #[serde(default)]
    body: Option<String>,
    /// Title; left out, it stays
    #[serde(default)]
    title: Option<String>,
    /// Type; left out, it stays
    #[serde(default, rename = "type")]
    node_type: Option<String>,
    /// All tags; left out, they stay
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// Write only if this version is published; 0 for none
    #[serde(default)]
    expected_version: Option<u64>,
    /// `live_hash` of your draft: the text that this one replaces
    #[serde(default)]
    expected_live: Option<String>,
    /// Submit it for review instead of writing a draft
    #[serde(default)]
    submit: bool,
    /// With submit: publish it only together with the others of this change
    #[serde(default)]
    change: Option<String>,
    /// With submit: withdraw another principal's submission of the document
    #[serde(default)]
    supersede: bool,
    /// Note for reviewers, with submit
    #[serde(default)]
    note: Option<String>,
}

impl Question for Update {
    const NAME: &'static str = "context_update";
    const TITLE: &'static str = "Change a document";
    const DESCRIPTION: &'static str = "Writes a changed text of a document as a draft, or with \
        submit as a submission; the published text stays until a reviewer approves. Read the document \
        first and pass its version as expected_version. To change your draft again, pass its \
        live_hash as expected_live. Pass the whole body, not a part.";
    const REPLACES: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::draft::DraftReport<'static>>();
        outputs.add::<crate::service::report::event::Submitted<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let fields = fields(&vault, self.title, self.node_type.as_deref(), self.tags.as_deref())?;
        if self.body.is_none() && fields.is_empty() {
            return Err(Failure::new(Code::Usage, "no change is given")
                .hint("pass `body`, `title`, `type` or `tags`"));
        }
        if self.body.as_deref().is_some_and(is_blank) {
            return Err(Failure::new(Code::Usage, "`body` is empty, so nothing was written")
                .hint("leave `body` out to keep the text, or pass the whole new body"));
        }
        let (change, supersede) = (self.change.as_deref(), self.supersede);
        check_submit(self.submit, change.or(supersede.then_some("")))?;
        let writing = Writing {
            id: &self.id,
            fields: &fields,
            body: self.body.as_deref(),
            live: digest(self.expected_live.as_deref())?,
            expect: version(self.expected_version),
            note: self.note.as_deref(),
        };
        match self.submit {
            true => {
                let how = Submitting { change, supersede, renew: false };
                let outcome = call.update_submission(&vault, &writing, how)?;
                Written::submitted(call, &outcome)
            }
            false => {
                let (id, draft) = call.update_draft(&vault, &writing)?;
                Written::draft(call, (&id, &draft))
            }
        }
    }
}
