//! Checks citations: reports for each pinned URI if it is current, superseded or retired.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Call, Places};
use crate::read::snapshot::{Need, Served, Snapshot};
use crate::service::report::check::{CheckReport, CheckedReport, CurrentReport, Standing};
use crate::service::report::failure::{Code, Failure};
use crate::text::uri::{Class, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Versions;

/// Maximum number of URIs in one question.
const MOST: usize = 500;

/// A citation: a document at a checkpoint, or a section of it.
struct Citation {
    id: DocumentId,
    checkpoint: CheckpointNumber,
    anchor: Option<String>,
}

impl Call<'_> {
    /// Reports for each pinned URI if it is current, superseded or retired, in the given order.
    ///
    /// # Errors
    /// There are too many URIs, or the log is not valid.
    pub(crate) fn check(
        &mut self,
        (vault, source): Places<'_>,
        uris: &[String],
    ) -> Result<CheckReport, Failure> {
        if uris.len() > MOST {
            let message = format!("{} URIs are given, but at most {MOST} are checked", uris.len());
            return Err(Failure::new(Code::Usage, message).hint("check them in parts"));
        }
        let head = Snapshot::of(vault, source, None)?;
        head.check_rules()?;
        let of = |text: &String, state| CheckedReport {
            uri: text.clone(),
            state,
            version: None,
            current: None,
            reason: None,
        };
        let mut found: Vec<CheckedReport> = Vec::with_capacity(uris.len());
        let mut cited: BTreeMap<CheckpointNumber, Vec<(usize, Citation)>> = BTreeMap::new();
        for (place, text) in uris.iter().enumerate() {
            found.push(match self.citation((vault, source), text) {
                Ok(one) => {
                    if one.checkpoint <= head.checkpoint() {
                        cited.entry(one.checkpoint).or_default().push((place, one));
                    }
                    of(text, Standing::Unknown)
                }
                Err(why) => {
                    CheckedReport { reason: Some(why.message), ..of(text, Standing::Invalid) }
                }
            });
        }
        // One checkpoint at a time, because the state of each is as large as the vault.
        for (checkpoint, citations) in cited {
            let then = Snapshot::of(vault, source, Some(checkpoint))?;
            for (place, citation) in citations {
                compare(&then, &head, &citation, &mut found[place]);
            }
        }
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(uris.join(" "));
        self.recording.listed = Some(found.len());
        Ok(CheckReport { checkpoint: head.checkpoint(), uris: found })
    }

    fn citation(&self, (vault, source): Places<'_>, text: &str) -> Result<Citation, Failure> {
        let named = self.workspace.named_at(vault, source, text)?;
        let Some(checkpoint) = named.checkpoint else {
            let message = "the URI is not pinned to a checkpoint, so it cannot be outdated";
            return Err(Failure::new(Code::Usage, message));
        };
        Ok(Citation { id: named.id, checkpoint, anchor: named.anchor })
    }
}

/// Compares a citation at its checkpoint with the head.
fn compare(
    then: &Snapshot<'_>,
    head: &Snapshot<'_>,
    citation: &Citation,
    report: &mut CheckedReport,
) {
    let before = match then.get(&citation.id) {
        None => return,
        Some(Err(_)) => {
            report.state = Standing::Withheld;
            return;
        }
        Some(Ok(served)) => served,
    };
    let anchor = citation.anchor.as_deref();
    let Some(text) = text_of(&before, anchor) else { return };
    report.state = match head.get(&citation.id) {
        // A document that the reader may not read looks like a missing one, not like a retired one.
        None if head.is_limited() && !head.may_name(&citation.id) => return,
        None => Standing::Retired,
        Some(Err(_)) => Standing::Withheld,
        Some(Ok(after)) => {
            let version = after.entry.version;
            let same_text = text_of(&after, anchor).is_some_and(|other| other == text);
            let uri = after.uri().map(Uri::to_string);
            let validity = &after.fields.validity;
            report.current = Some(CurrentReport {
                uri,
                version,
                same_text,
                valid_until: validity.until.clone(),
                superseded_by: validity.superseded_by.clone(),
                expired: false,
                end: validity.end(),
            });
            match version == before.entry.version {
                true => Standing::Current,
                false => Standing::Superseded,
            }
        }
    };
    report.version = Some(before.entry.version);
}

/// Returns the cited text: a section, or the body, without comments as it is served.
fn text_of<'s>(served: &'s Served, anchor: Option<&str>) -> Option<Cow<'s, str>> {
    let range = match anchor {
        None => served.body_range(),
        Some(anchor) => served.section(anchor).ok()?.range,
    };
    Some(served.shown(range).0)
}
