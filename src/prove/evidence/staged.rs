//! Staged entries that a reader of evidence may see, and the comparison of their
//! contents (AUDIT-9).

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::replay::Outcome;
use crate::files::vault::Vault;
use crate::record::audit::{Hydration, Request, Text};
use crate::record::staging::{
    Chains, FoundPayload, StagedEntry, StagedName, parse_name, read_payload,
};
use crate::values::model::id::DocumentId;

/// Reason for an entry that does not exist or that the reader may not see. It is the same for both,
/// so that it reveals nothing.
pub(crate) const UNSEEN: &str = "this staged entry does not exist, or you may not see it";

/// Reason for the result of a hydration without an entry that the reader may see.
pub(crate) const NOT_STAGED: &str =
    "a staged entry with this result does not exist, or you may not see it";

/// Staged entries of a source that the reader may see, and the chains of the source.
#[derive(Debug, Default)]
pub(crate) struct VisibleStaged {
    pub(crate) chains: Chains,
    pub(crate) entries: Vec<StagedEntry>,
}

/// Returns the staged entries of a source, or the reason why they cannot be read.
pub(crate) type StagedOf<'s> = dyn Fn(&DocumentId) -> Result<VisibleStaged, String> + 's;

/// Compares the kept content of an entry with what was received.
fn kept(vault: &Vault, entry: &StagedEntry) -> Outcome {
    let cannot_tell = |why: String| Outcome::CannotTell(why);
    if let Some(ended) = &entry.ended {
        let (state, at) = (entry.state(), &ended.at);
        return cannot_tell(format!("the content is gone: the entry was {state}, {at}"));
    }
    let found = entry.entry.raw().map(|raw| read_payload(vault.files(), raw));
    match found {
        Some(FoundPayload::Whole(_)) => Outcome::Same,
        Some(FoundPayload::Missing) => cannot_tell("the content is missing".to_owned()),
        Some(FoundPayload::Unreadable(why)) => cannot_tell(why.to_string()),
        Some(FoundPayload::Altered(_)) | None => {
            cannot_tell("the content is not what was received".to_owned())
        }
    }
}

/// Parses the URI of an entry; `None` if it is not in canonical form.
pub(crate) fn staged_uri(uri: &str) -> Option<StagedName> {
    let name = parse_name(uri).ok()?;
    (name.source.is_some() && name.to_string() == uri).then_some(name)
}

/// Visible entries of a source by name. Two writers may begin with the same digits.
type ByName = BTreeMap<StagedName, Vec<StagedEntry>>;

/// Comparison of staged contents. The chains of a source are read once.
pub(crate) struct StagedTexts<'s> {
    staged_of: &'s StagedOf<'s>,
    known: RefCell<BTreeMap<DocumentId, Result<ByName, String>>>,
}

impl<'s> StagedTexts<'s> {
    /// Compares with the entries that the reader may see.
    pub(crate) fn new(staged_of: &'s StagedOf<'s>) -> Self {
        Self { staged_of, known: RefCell::default() }
    }

    /// Compares the text of an access with the entry with this name.
    pub(super) fn compare(&self, vault: &Vault, name: &StagedName, text: &Text) -> Outcome {
        let cannot_tell = |why: String| Outcome::CannotTell(why);
        let different = |why: &str| Outcome::Different(why.to_owned());
        let Some(source) = &name.source else {
            return cannot_tell("it does not name a source".into());
        };
        let mut known = self.known.borrow_mut();
        let by_name = known.entry(source.clone()).or_insert_with(|| self.read(source));
        let entries = match by_name {
            Ok(by_name) => by_name.get(name).map_or(&[][..], Vec::as_slice),
            Err(why) => return cannot_tell(why.clone()),
        };
        let entry = entries.iter().find(|entry| entry.hash.to_string() == text.chain_hash);
        let Some(entry) = entry else {
            return match entries.is_empty() {
                true => Outcome::CannotTell(UNSEEN.to_owned()),
                false => different("the staged entry has another hash"),
            };
        };
        let (bytes, raw_hash) = (entry.entry.bytes, &entry.entry.raw_hash);
        if text.version != entry.seq || (text.bytes, &text.sha256) != (bytes, raw_hash) {
            return different("the staged entry has other bytes");
        }
        kept(vault, entry)
    }

    /// Compares the result of a hydration with its entry. `request` names the principal and session
    /// that recorded it.
    pub(super) fn compare_result(
        &self,
        vault: &Vault,
        result: &Hydration,
        request: &Request,
    ) -> Outcome {
        let cannot_tell = |why: &str| Outcome::CannotTell(why.to_owned());
        let Ok(source) = result.source.parse::<DocumentId>() else {
            return cannot_tell("it does not name a source");
        };
        let mut known = self.known.borrow_mut();
        let by_name = known.entry(source.clone()).or_insert_with(|| self.read(&source));
        let entries = match by_name {
            Ok(by_name) => by_name.values().flatten(),
            Err(why) => return Outcome::CannotTell(why.clone()),
        };
        let of_result = entries.filter(|StagedEntry { entry, .. }| {
            (entry.bytes, &entry.raw_hash) == (result.bytes, &result.result_hash)
                && entry.source_version == result.source_version
                && entry.session == request.labels.session
                && entry.principal == request.principal
        });
        match of_result.max_by_key(|entry| entry.is_live()) {
            Some(entry) => kept(vault, entry),
            None => cannot_tell(NOT_STAGED),
        }
    }

    fn read(&self, source: &DocumentId) -> Result<ByName, String> {
        let mut by_name = ByName::new();
        for entry in (self.staged_of)(source)?.entries {
            by_name.entry(entry.name()).or_default().push(entry);
        }
        Ok(by_name)
    }
}
