//! Lookup of the text that a checkpoint seals for an artifact.

use super::state::PublishedSet;
use crate::files::vault::Vault;
use crate::record::chain::error::ChainError;
use crate::record::chain::replay;
use crate::record::chain::vouched;
use crate::values::model::id::DocumentId;

/// Returns the verified text that a checkpoint seals for an artifact; `None` if it seals none.
pub(crate) fn sealed_text(
    vault: &Vault,
    state: &PublishedSet,
    id: &DocumentId,
) -> Option<Result<String, ChainError>> {
    let mark = state.get(id.as_str())?;
    let (version, hash) = match mark.sealed() {
        Some(sealed) => sealed,
        None => return Some(Err(ChainError::HalfSealed)),
    };
    let text = replay::load(vault.files(), id)
        .and_then(|history| vouched::sealed(vault.files(), id, &history, version, &hash))
        .map(|sealed| sealed.text);
    Some(text)
}
