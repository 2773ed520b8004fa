//! `context_publish`: publishes a draft of an ungoverned vault, or a submission of a governed one.

use schemars::JsonSchema;
use serde::Deserialize;

use super::approve::{approve, asking};
use super::author::{digest, event, mode};
use super::{Answer, Asking, Outputs, Profile, Question};
use crate::files::vault::Vault;
use crate::front::mcp::spelling;
use crate::service::report::event::Published;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::submission::SubmissionReport;
use crate::service::workspace::call::Call;
use crate::service::workspace::governance_mode::is_governed;
use crate::values::model::number::Version;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Publish {
    /// Id of the document
    #[schemars(extend("x-holds" = "document"))]
    id: String,
    /// In a governed vault: the version that was submitted, as context_review shows it
    #[serde(default)]
    version: Option<u64>,
    /// Publish only if this version is published now; 0 for none
    #[serde(default)]
    expected_version: Option<u64>,
    /// SHA-256 of the file, if you read it and did not write it
    #[serde(default)]
    expected_live: Option<String>,
    /// Note to store with the version
    #[serde(default)]
    note: Option<String>,
}

impl Question for Publish {
    const NAME: &'static str = "context_publish";
    const TITLE: &'static str = "Publish a document";
    const DESCRIPTION: &'static str = "Publishes your draft of a document in an ungoverned vault. In \
        a governed vault it approves the submission that version names, with the consent of the \
        user, or says what is missing: a submission, an approval, or the role.";
    const REPLACES: bool = true;
    const ASKS: bool = true;

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Published<'static>>();
        outputs.add::<crate::service::report::event::Approved<'static>>();
    }

    fn asks(&self, call: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        let vault = call.vault()?;
        if !is_governed(&vault)? {
            return Ok(None);
        }
        let version = self.submitted(call, &vault)?;
        asking(call, &vault, (&self.id, version), self.note.as_deref()).map(Some)
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let note = self.note.as_deref();
        if is_governed(&vault)? {
            let version = self.submitted(call, &vault)?;
            return approve(call, &vault, (&self.id, version), note);
        }
        if self.version.is_some() {
            let message = "`version` names a submission, but the vault is not governed";
            return Err(Failure::new(Code::Usage, message).hint("leave it out"));
        }
        let live = digest(self.expected_live.as_deref())?;
        let about = (note, mode(self.expected_version));
        let outcome = call.publish_own(&vault, (&self.id, live), about)?;
        event(call, &outcome, Published)
    }
}

impl Publish {
    /// Returns the submission to approve; fails with the missing step if the call names none.
    fn submitted(&self, call: &mut Call<'_>, vault: &Vault) -> Result<Version, Failure> {
        if self.expected_live.is_some() {
            let message = "`expected_live` is for drafts, but this vault publishes submissions";
            return Err(Failure::new(Code::Usage, message).hint("leave it out"));
        }
        if let Some(version) = self.version {
            return Ok(Version(version));
        }
        let submitted = call.submission(vault, &self.id, None)?;
        let report = SubmissionReport::new(&submitted, spelling::of(Profile::Reviewer));
        let one = &report.submission;
        let message = format!("version {} of `{}` awaits approval", one.version, one.id);
        let mut failure = Failure::new(Code::Governed, message);
        failure.details.push(format!("submitted by {}, {}", one.by, one.at));
        failure.details.push(format!("approvals: {} of {}", one.approvals.len(), one.required));
        failure.details.extend(report.fault.map(|why| format!("it cannot be approved: {why}")));
        failure.details.extend(report.barred.map(|why| format!("you may not approve it: {why}")));
        Err(failure.hint("read it with `context_review`, and pass its `version`"))
    }
}
