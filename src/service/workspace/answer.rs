//! The answer for a program that uses the library. Its texts can only leave it together with a line
//! of the access log that records them (`spec/audit.md`, AUDIT-5), so that no front end skips that.

use super::Workspace;
use super::recording::{Printed, Recording};
use crate::read::snapshot::Resolution;
use crate::record::audit::{Labels, Text, Traced};
use crate::service::report::failure::Failure;

/// The documents that a selector selects, not yet handed out.
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

    /// Returns warnings for the user, such as a log that lacks the trusted head.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the bytes that `output` makes of the documents.
    ///
    /// Before, the access log gets a line with the version and hash of each text, and with the hash
    /// of these bytes.
    ///
    /// # Errors
    /// The access was not recorded. Nothing is handed out in this case.
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
