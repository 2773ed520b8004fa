//! The mode of a vault, as a user changes it.

use super::Workspace;
use crate::files::vault::Vault;
use crate::files::vault::audit::Audit;
use crate::files::vault::config::{Config, Governance};
use crate::files::vault::setting::Setting;
use crate::prove::verify::{self, Finding};
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::review::{self, Begin};
use crate::write::publish::{Mode, Outcome};

impl Workspace<'_> {
    /// Makes a vault governed, as one event. Its changes are recorded from then on.
    ///
    /// # Errors
    /// Nothing was changed.
    pub(crate) fn begin_governance(
        &self,
        vault: &Vault,
        note: Option<&str>,
        alone: bool,
        mode: Mode,
    ) -> Result<Outcome, Failure> {
        let author = self.author(vault, note, None)?;
        refuse_foreign_records(vault, author.now)?;
        let audit = vault.config().audit.or(Some(Audit::default()));
        let vault = &vault.under(Config { audit, ..vault.config().clone() });
        let begin = Begin { author: &author, alone, mode };
        Ok(review::begin(vault, &begin, |text| {
            with_mode(&super::changes::with_setting(text)?, Governance::Governed)
        })?)
    }

    /// Submits that a vault is not governed any more.
    ///
    /// # Errors
    /// Nothing was submitted.
    pub(crate) fn end_governance(
        &self,
        vault: &Vault,
        note: Option<&str>,
        mode: Mode,
    ) -> Result<Outcome, Failure> {
        let author = self.author(vault, note, None)?;
        review::may_end(vault)?;
        let edit = |text: &str| with_mode(text, Governance::Ungoverned);
        Ok(review::submit_edit(vault, &DocumentId::config(), &author, mode, edit)?)
    }
}

/// Refuses a vault that would be damaged as soon as it is governed, because of what the reference
/// implementation recorded (CKPT-40).
fn refuse_foreign_records(vault: &Vault, now: Timestamp) -> Result<(), Failure> {
    if !trusted_head::open_log(vault)?.foreign.is_whole() {
        return Ok(());
    }
    let report = verify::verify(vault, &verify::Request::whole(now))?;
    let is_foreign = |f: &&Finding| {
        matches!(f.code, verify::Code::ForeignRecord | verify::Code::VersionForgotten)
    };
    let Some(found) = report.findings.iter().find(is_foreign) else { return Ok(()) };
    let place = found.id.as_ref().map_or(found.path.as_str(), DocumentId::as_str);
    let message =
        format!("`{place}` has a record that a governed vault cannot have: {}", found.message);
    let adopt = Call::new(Verb::CheckpointAdopt);
    Err(Failure::new(Code::Refused, message)
        .hint(Hint::call("run {} first: it accepts such records as they are", adopt)))
}

/// Whether the last checkpoint leaves a vault governed.
///
/// # Errors
/// The log or the configuration cannot be relied on.
pub(crate) fn is_governed(vault: &Vault) -> Result<bool, Failure> {
    let log: Log = trusted_head::open_log(vault)?;
    Ok(crate::write::publish::is_governed(vault, &log.sound()?)?)
}

/// Whether advice names submissions: in a governed vault, whatever the live configuration says, and
/// where that says that the vault is to be governed, because then nothing is published either.
pub(crate) fn asks_for_reviews(vault: &Vault) -> bool {
    // A vault that was ever governed has sealed its stewards. Where the configuration is gone, their
    // history may be, too.
    let is_bare = !vault.files().exists(&DocumentId::config().live_path());
    let may_be = is_bare || vault.files().exists(&DocumentId::stewards().history_path());
    vault.config().is_governed() || may_be && is_governed(vault).unwrap_or(is_bare)
}

/// Whether the reference implementation may write to the log of a vault too, which knows no reviews.
///
/// # Errors
/// The log cannot be relied on.
pub(crate) fn is_shared(vault: &Vault) -> Result<bool, Failure> {
    let log: Log = trusted_head::open_log(vault)?;
    Ok(log.sound()?.form().is_shared())
}

/// A configuration with this mode; every other byte stays.
fn with_mode(text: &str, mode: Governance) -> Result<String, String> {
    let word = match mode {
        Governance::Governed => "governed",
        Governance::Ungoverned => "ungoverned",
    };
    let setting = Setting { outer: None, key: "governance", word };
    setting.set(text, |config| config.governance == mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_changed_in_place_and_nothing_else() {
        let on = |text| with_mode(text, Governance::Governed);
        assert_eq!(on("").as_deref(), Ok("governance: governed\n"));
        assert_eq!(on("a: 1").as_deref(), Ok("a: 1\ngovernance: governed\n"));
        assert_eq!(
            on("governance: ungoverned # yet\nname: x\n").as_deref(),
            Ok("governance: governed # yet\nname: x\n")
        );
        assert!(on("{name: x}\n").is_err());
    }
}
