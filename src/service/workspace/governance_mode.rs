//! Turns mandatory review of a vault on and off.

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
    /// Makes a vault governed, as one event, which also turns the change log on.
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

    /// Submits a change that turns off mandatory review.
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

/// Refuses to govern a vault with records of the reference implementation that would then be
/// damage (CKPT-40).
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

/// Returns true if the vault is governed at the head.
///
/// # Errors
/// The log or the configuration is not valid.
pub(crate) fn is_governed(vault: &Vault) -> Result<bool, Failure> {
    let log: Log = trusted_head::open_log(vault)?;
    Ok(crate::write::publish::is_governed(vault, &log.sound()?)?)
}

/// Returns true if advice should name submissions.
///
/// That is so in a governed vault, even if the live configuration differs, and if the live
/// configuration asks for governance, because then nothing can be published without a
/// review either.
pub(crate) fn asks_for_reviews(vault: &Vault) -> bool {
    // A vault that was ever governed has a history of its stewards. If the configuration is
    // missing, that history may be missing, too.
    let is_bare = !vault.files().exists(&DocumentId::config().live_path());
    let may_be = is_bare || vault.files().exists(&DocumentId::stewards().history_path());
    vault.config().is_governed() || may_be && is_governed(vault).unwrap_or(is_bare)
}

/// Returns true if the reference implementation, which knows no reviews, may also write to the log.
///
/// # Errors
/// The log is not valid.
pub(crate) fn is_shared(vault: &Vault) -> Result<bool, Failure> {
    let log: Log = trusted_head::open_log(vault)?;
    Ok(log.sound()?.form().is_shared())
}

/// Returns a configuration with this mode; every other byte is unchanged.
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
    fn governance_mode_is_changed_in_place() {
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
