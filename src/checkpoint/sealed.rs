//! What a checkpoint seals of one artifact.

use super::state::PublishedSet;
use crate::chain::error::ChainError;
use crate::chain::replay;
use crate::chain::vouched;
use crate::files::vault::Vault;
use crate::values::model::id::DocumentId;

/// The verified text that a checkpoint seals of an artifact.
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
