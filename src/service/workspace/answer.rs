//! The answer that a program gets which uses the library. Texts leave it only together with a line of
//! the access log that says so (`spec/audit.md`, AUDIT-5): a front end that is new cannot forget it.

use super::Workspace;
use super::recording::{Printed, Recording};
use crate::read::snapshot::Resolution;
use crate::record::audit::{Labels, Text, Traced};
use crate::service::report::failure::Failure;

/// The documents that a selector selects, which no caller has seen yet.
#[must_use]
pub struct Answer<'w> {
    workspace: Workspace<'w>,
    recording: Recording,
    labels: Labels,
    warnings: Vec<String>,
    documents: Traced<Resolution>,
}

impl<'w> Answer<'w> {
    pub(super) fn new(
        workspace: Workspace<'w>,
        recording: Recording,
        resolution: Resolution,
        warnings: Vec<String>,
    ) -> Result<Self, Failure> {
        let labels = workspace.labels()?;
        let mut texts: Vec<Text> = Vec::new();
        for served in &resolution.documents {
            served.sealed(None).release(&mut texts);
        }
        let documents = Traced::new(resolution, texts);
        Ok(Self { workspace, recording, labels, warnings, documents })
    }

    /// What the user should know beside the answer, such as a log that lacks the trusted head.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the bytes that `output` makes of the documents, after the access log has a line with
    /// the version and hash of each text, and the hash of these bytes.
    ///
    /// # Errors
    /// The access was not recorded. Nothing is handed out then.
    pub fn hand_out(self, output: impl FnOnce(&Resolution) -> Vec<u8>) -> Result<Vec<u8>, Failure> {
        let Self { workspace, mut recording, labels, documents, .. } = self;
        let resolution = documents.release(&mut recording.texts);
        let bytes = output(&resolution);
        recording.listed = Some(resolution.documents.len());
        recording.withheld = resolution.withheld.len();
        workspace.record(recording, labels, &Printed { output: &bytes, refused: None })?;
        Ok(bytes)
    }
}
