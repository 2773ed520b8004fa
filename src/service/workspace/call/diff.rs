//! The changes between two texts of one document or governance file.

use super::Call;
use crate::files::vault::Vault;
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Part, Text, Traced};
use crate::record::chain::diff::print_between;
use crate::record::checkpoint::chronicle::Chronicle;
use crate::service::report::failure::Failure;
use crate::service::report::history::DiffReport;
use crate::service::workspace::version::{
    live_text, number, published, recorded, text_of, unapproved_text,
};
use crate::text::document::live_form::LiveForm;
use crate::values::model::id::DocumentId;

/// The vault, its log, and the published state: where the versions of a document are read from.
pub(crate) type Ground<'g> = (&'g Vault, &'g Chronicle<'g>, &'g Snapshot<'g>);

/// Two texts compared.
pub(crate) struct Difference {
    id: DocumentId,
    /// The older text: `v1`, or `live`.
    pub(crate) from: String,
    /// The newer text.
    pub(crate) to: String,
    /// True if the texts are equal.
    pub(crate) equal: bool,
    /// The unified diff; empty if the texts are equal.
    pub(crate) diff: String,
    /// Faults of the approvals of the versions.
    pub(crate) findings: Vec<String>,
}

impl Call<'_> {
    /// Compares two versions of a document. The older one defaults to the published version, and
    /// the newer one to the live file, which `live` also names.
    ///
    /// # Errors
    /// A version or file does not exist, or the reader may not read it.
    pub(crate) fn diff(
        &mut self,
        (vault, chronicle, head): Ground<'_>,
        id: &DocumentId,
        (v1, v2): (Option<&str>, Option<&str>),
    ) -> Result<Difference, Failure> {
        let is_live = |side: Option<&str>| side.is_none_or(|side| side == "live");
        let with_live = is_live(v2) || v1.is_some_and(|v1| v1 == "live");
        let mut versions: Vec<Text> = Vec::new();
        let (ground, mut findings) = ((vault, chronicle, head), Vec::new());
        let mut side = |text: Option<&str>| -> Result<(String, String), Failure> {
            match text.filter(|text| !is_live(Some(text))) {
                None => Ok(("live".to_owned(), live_text(vault, id)?)),
                Some(text) => {
                    let version = number(text)?;
                    let found = text_of(vault, head, chronicle, id, version).or_else(|why| {
                        let (text, history, finding) =
                            unapproved_text(ground, id, version).ok_or(why)?;
                        findings.push(finding);
                        Ok::<_, Failure>((text, history))
                    });
                    let (text, history) = found?;
                    let files = (vault.files(), chronicle);
                    versions.extend(recorded(files, id, (version, &history), (&text, "")));
                    let text = if with_live { as_live(id, text) } else { text };
                    Ok((format!("v{version}"), text))
                }
            }
        };
        let mut base = None;
        let (from, old) = match v1 {
            Some(_) => side(v1)?,
            None => match published(vault, head, id) {
                Ok(served) => {
                    base = Some(served.origin().text(""));
                    (format!("v{}", served.entry.version), as_live(id, served.text))
                }
                // A reviewer may look at a version that was published without an approval.
                Err(why) => match head.recorded_version(id) {
                    Some(version) if unapproved_text(ground, id, version).is_some() => {
                        side(Some(&version.to_string()))?
                    }
                    _ => return Err(why),
                },
            },
        };
        let (to, new) = side(v2)?;
        versions.extend(base);
        let equal = old == new;
        let diff = if equal { String::new() } else { print_between(&old, &new, &from, &to) };
        let diff = self.release(handed_out(diff, versions));
        Ok(Difference { id: id.clone(), from, to, equal, diff, findings })
    }
}

impl Difference {
    pub(crate) fn report(&self) -> DiffReport<'_> {
        let Self { id, from, to, equal, diff, findings } = self;
        DiffReport { id, from, to, equal: *equal, diff, unapproved: findings }
    }
}

/// Returns a diff together with the records of the versions that it shows.
pub(super) fn handed_out(diff: String, versions: Vec<Text>) -> Traced<String> {
    let of_diff = |text: Text| Text { part: Some(Part::Diff), ..text.handed_out(&diff) };
    let recorded =
        if diff.is_empty() { Vec::new() } else { versions.into_iter().map(of_diff).collect() };
    Traced::new(diff, recorded)
}

/// Returns the live form of a published text.
pub(super) fn as_live(id: &DocumentId, sealed: String) -> String {
    if id.is_document() { LiveForm::of(&sealed).into_text() } else { sealed }
}
