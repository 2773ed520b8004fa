//! Reproduces the texts of an access, and compares them with the record (AUDIT-9).

use std::ops::Range;

use super::staged::{StagedTexts, staged_uri};
use crate::files::vault::Vault;
use crate::read::snapshot::ranges::Ranges;
use crate::read::snapshot::{CheckpointSource, Served, Snapshot};
use crate::record::audit::{Event, Line, Part, Text};
use crate::text::pack;
use crate::text::uri::{Target, Uri};
use crate::values::codes::serialize_as_words;
use crate::values::model::digest::Digest;
use crate::values::model::id::DocumentId;
use crate::values::model::number::{CheckpointNumber, Version};
use crate::values::model::timestamp::Timestamp;

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The vault returns exactly these bytes.
    Same,
    /// The vault returns other bytes, or another version, with the difference.
    Different(String),
    /// The bytes cannot be reproduced, with the reason.
    CannotTell(String),
}

serialize_as_words!(Outcome);

impl Outcome {
    /// Returns the word of the outcome in reports.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different(_) => "different",
            Self::CannotTell(_) => "cannot tell",
        }
    }

    /// Returns the difference, or the reason why the bytes cannot be reproduced.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Self::Same => None,
            Self::Different(why) | Self::CannotTell(why) => Some(why),
        }
    }
}

/// A reproduced text of an access, or result of a hydration.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    /// URI or id that the line records.
    pub(crate) name: String,
    /// True for the result of a source.
    pub(crate) is_result: bool,
    /// Recorded version.
    pub(crate) version: u64,
    /// Recorded hash of the bytes.
    pub(crate) sha256: String,
    /// Comparison with what the vault returns now.
    pub(crate) outcome: Outcome,
    /// Fault in the approval of the version.
    pub(crate) finding: Option<String>,
}

/// Reproduces the texts of a line, or the result of a hydration, from histories whose hashes are
/// all recomputed. First compares the head that the line names. For staged contents, checks that
/// they are kept.
pub(crate) fn replay(
    (vault, source): (&Vault, &CheckpointSource),
    staged: &StagedTexts<'_>,
    line: &Line,
) -> Vec<Replayed> {
    let contradicted = line.request.head.as_ref().and_then(|head| {
        let number = head.checkpoint;
        let snapshot = Snapshot::of(vault, source, Some(CheckpointNumber(number))).ok()?;
        let found = snapshot.hash().map(|hash| hash.to_string()).unwrap_or_default();
        if found != head.hash {
            return Some(format!("checkpoint {number} has another hash now"));
        }
        let at = line.at.parse::<Timestamp>().ok()?;
        (snapshot.made_at()? > at).then(|| format!("checkpoint {number} was made after {at}"))
    });
    let judged = |compare: &dyn Fn() -> Outcome| match &contradicted {
        Some(why) => Outcome::Different(why.clone()),
        None => compare(),
    };
    let of_text = |text: &Text| Replayed {
        name: text.name().to_owned(),
        is_result: false,
        version: text.version,
        sha256: text.sha256.clone(),
        outcome: judged(&|| compare((vault, source), staged, (text, &line.request.verb))),
        finding: finding((vault, source), text),
    };
    match &line.event {
        Event::Access(access) => access.documents.iter().map(of_text).collect(),
        Event::Hydration(result) if result.error.is_none() => vec![Replayed {
            name: result.name().to_owned(),
            is_result: true,
            version: result.source_version,
            sha256: result.result_hash.clone(),
            outcome: judged(&|| staged.compare_result(vault, result, &line.request)),
            finding: None,
        }],
        _ => Vec::new(),
    }
}

/// Returns true if the reader of a vault may learn whether the output of a line is the same: they
/// may read all its texts, or everything.
pub(crate) fn may_know(vault: &Vault, source: &CheckpointSource, line: &Line) -> bool {
    let snapshot = |number| Snapshot::of(vault, source, Some(CheckpointNumber(number))).ok();
    let head = line.request.head.as_ref().and_then(|head| snapshot(head.checkpoint));
    if head.is_some_and(|head| !head.hides_anything()) {
        return true;
    }
    let Event::Access(access) = &line.event else { return false };
    let may_read = |text: &Text| snapshot(text.checkpoint?)?.get(&id_of(vault, text)?);
    !access.documents.is_empty() && access.documents.iter().all(|text| may_read(text).is_some())
}

fn compare(
    (vault, source): (&Vault, &CheckpointSource),
    staged: &StagedTexts<'_>,
    (text, verb): (&Text, &str),
) -> Outcome {
    let cannot_tell = |why: &str| Outcome::CannotTell(why.to_owned());
    if let Some(part @ (Part::Snippet | Part::Diff)) = text.part {
        return cannot_tell(&format!("a {} is not reproduced", part.as_str()));
    }
    if let Some(name) = text.uri.as_deref().and_then(staged_uri) {
        return staged.compare(vault, &name, text);
    }
    let Some(id) = id_of(vault, text) else {
        return cannot_tell("the line does not name a document");
    };
    let Some(checkpoint) = text.checkpoint else {
        return cannot_tell("no checkpoint sealed the version");
    };
    let snapshot = match Snapshot::of(vault, source, Some(CheckpointNumber(checkpoint))) {
        Ok(snapshot) => snapshot.explaining(),
        Err(why) => return cannot_tell(&why.to_string()),
    };
    let served = match snapshot.get(&id) {
        Some(Ok(served)) => served,
        Some(Err(withheld)) => return cannot_tell(&withheld.why.to_string()),
        // For a limited reader, a text that they may not read does not exist.
        None if snapshot.hides_anything() => {
            return cannot_tell(&format!(
                "checkpoint {checkpoint} does not contain it, or you may not read it"
            ));
        }
        None => return Outcome::Different(format!("checkpoint {checkpoint} does not contain it")),
    };
    if served.entry.version != Version(text.version) {
        let version = served.entry.version;
        return Outcome::Different(format!("checkpoint {checkpoint} contains version {version}"));
    }
    if served.entry.chain_hash.to_string() != text.chain_hash {
        return Outcome::Different("the version has another chain hash".to_owned());
    }
    let ranges = Ranges::of(&id, &served.text, snapshot.markup());
    let range = match ranges.said(&served.text, text, verb) {
        Ok(range) => range,
        Err(why) => return Outcome::Different(why.to_string()),
    };
    match candidates(&served, range, text.part) {
        all if all.iter().any(|bytes| is_it(bytes, text)) => Outcome::Same,
        _ => Outcome::Different("its bytes have another hash".to_owned()),
    }
}

/// Returns the fault in the approval of a version that was handed out, if the reader may read it.
pub(crate) fn finding((vault, source): (&Vault, &CheckpointSource), text: &Text) -> Option<String> {
    let (id, checkpoint) = (id_of(vault, text)?, CheckpointNumber(text.checkpoint?));
    let snapshot = Snapshot::of(vault, source, Some(checkpoint)).ok()?;
    let withheld = snapshot.get(&id)?.err()?;
    withheld.why.unapproved()?;
    snapshot.finding(&id, Version(text.version))
}

/// Returns the text that was handed out of a version, with and without comments.
fn candidates(served: &Served, range: Range<usize>, part: Option<Part>) -> Vec<String> {
    if part == Some(Part::Instructions) {
        return pack::instructions(&served.text).map(|(text, _)| text).into_iter().collect();
    }
    let sealed = served.text[range.clone()].to_owned();
    vec![sealed, served.shown(range).0.into_owned()]
}

fn is_it(bytes: &str, text: &Text) -> bool {
    bytes.len() as u64 == text.bytes && Digest::of(bytes.as_bytes()).to_string() == text.sha256
}

/// Returns the document that a text names; `None` if it does not belong to this vault.
pub(super) fn id_of(vault: &Vault, text: &Text) -> Option<DocumentId> {
    let Some(uri) = &text.uri else { return text.id.as_ref()?.parse().ok() };
    match Uri::parse_in(uri, &vault.config().authorities).ok()?.target {
        Target::Document { id, .. } => Some(id),
        _ => None,
    }
}
