//! Live files that get the text of a version again.

use super::Call;
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Part, Text, Traced};
use crate::record::chain::replay;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::service::report::failure::Failure;
use crate::service::workspace::version::{check_name, check_text, failed, recorded};
use crate::text::uri::Class;
use crate::values::model::hint::{Call as Words, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;
use crate::write::commit::Live;
use crate::write::publish::{self, RestoreError, RestoreRequest, RestoredFile, Restoring};

/// Files that are to be written, and the log that their versions are of.
pub(crate) struct Restored {
    /// The files.
    pub(crate) restoring: Restoring,
    log: Log,
}

impl Call<'_> {
    /// Prepares files that get the text of a version again: of the published one, or of `version`.
    /// Texts that are to be written are recorded.
    ///
    /// # Errors
    /// The reader may not read a text, or a file has changes that no version contains.
    pub(crate) fn restore(
        &mut self,
        vault: &Vault,
        (ids, version): (&[DocumentId], Option<Version>),
        (force, dry_run): (bool, bool),
    ) -> Result<Restored, Failure> {
        let log = trusted_head::read_log(vault)?;
        let chronicle = log.sound().ok();
        let head = chronicle.as_ref().map(|chronicle| Snapshot::at(vault, chronicle, None));
        let head = head.transpose()?;
        if let (Some(chronicle), Some(head)) = (&chronicle, &head) {
            ids.iter().try_for_each(|id| check_name(head, id))?;
            self.reads(vault, chronicle);
        }
        let holder = self.workspace.holder()?;
        let request = RestoreRequest { ids, version, force, dry_run, holder: &holder };
        let restoring = publish::restore(vault, &request)?;
        if let Some(head) = &head {
            for file in &restoring.files {
                let id = file.id.clone();
                let history = replay::load(vault.files(), &id);
                let history = history.map_err(|why| RestoreError::History { id, why })?;
                check_text(head, &file.id, (file.version, &history), &file.sealed)?;
                if let Some(why) = head.unapproved(&file.id, file.version, &history) {
                    let failure = failed(vault, &file.id, file.version, why);
                    let track = head.track(&file.id, &history).ok();
                    let last = track.and_then(|track| Some(track.last_approved()?.version));
                    return Err(match last {
                        Some(last) => failure.hint(Hint::call(
                            "{} writes the last approved text",
                            Words::new(Verb::Restore)
                                .value(file.id.as_str())
                                .word("--version")
                                .value(last.to_string()),
                        )),
                        None => failure,
                    });
                }
            }
        }
        self.recording.class = Some(Class::Direct);
        drop((head, chronicle));
        let restored = Restored { restoring, log };
        let is_written = |file: &&RestoredFile| !dry_run && !matches!(file.live, Live::Keep);
        for file in restored.restoring.files.iter().filter(is_written) {
            let text = restored.text_of(vault, file, &file.sealed);
            self.release(Traced::new((), text.into_iter().collect()));
        }
        Ok(restored)
    }

    /// Returns the diff of a live file that a dry run shows, and records it as an access.
    pub(crate) fn restored_diff(
        &mut self,
        vault: &Vault,
        (restored, file): (&Restored, &RestoredFile),
        diff: String,
    ) -> String {
        let text = restored.text_of(vault, file, &diff);
        let text = text.map(|text| Text { part: Some(Part::Diff), ..text });
        self.release(Traced::new(diff, text.into_iter().collect()))
    }
}

impl Restored {
    /// Returns the access-log record of a text that was made from the version of a file; `None`
    /// if the log cannot be relied on.
    fn text_of(&self, vault: &Vault, file: &RestoredFile, handed_out: &str) -> Option<Text> {
        let history = replay::load(vault.files(), &file.id).ok()?;
        let (of, texts) = ((file.version, &history), (file.sealed.as_str(), handed_out));
        recorded((vault.files(), &self.log.sound().ok()?), &file.id, of, texts)
    }
}
