//! `--format`, for verbs that check a vault.

use clap::builder::TypedValueParser;

use super::choice::choice;
use super::session::Session;
use crate::files::vault::Vault;
use crate::service::report::checks::{Checked, Format};
use crate::service::report::failure::{Code, Failure};
use crate::values::text_util::count;

/// The format of the result of a check.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct FormatArg {
    /// Print the result for another program: workflow commands of GitHub, a Code Quality report of
    /// GitLab, JUnit XML, or SARIF 2.1.0
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Given>,
}

/// A given format; `None` is text for people.
#[derive(Clone, Copy, Debug)]
struct Given(Option<Format>);

fn formats() -> impl TypedValueParser<Value = Given> {
    let [github, gitlab, junit, sarif] = Format::ALL.map(|(name, of)| (name, Given(Some(of))));
    choice([("text", Given(None)), github, gitlab, junit, sarif])
}

impl FormatArg {
    /// Returns the format for another program, if one is requested.
    ///
    /// # Errors
    /// JSON is requested, too.
    pub(super) fn chosen(self, sarif: bool, json: bool) -> Result<Option<Format>, Failure> {
        let option = if sarif { "--sarif" } else { "--format" };
        if json && (sarif || self.format.is_some()) {
            let message = format!("`{option}` and `--json` exclude each other");
            return Err(Failure::new(Code::Usage, message));
        }
        let given = self.format.and_then(|given| given.0);
        Ok(given.or_else(|| sarif.then_some(Format::SARIF)))
    }
}

/// Prints the results of checks of a vault for another program.
pub(super) fn print(session: &mut Session<'_>, vault: &Vault, format: Format, checks: &[Checked]) {
    let text = format.print(checks, &session.workspace.place(vault));
    if !text.is_empty() {
        session.ui.json(&text);
    }
    for checked in checks.iter().filter(|checked| checked.omitted > 0) {
        let more = count(usize::try_from(checked.omitted).unwrap_or(usize::MAX), "more result");
        session.ui.note(&format!("note: {more} of `ctx {}` not listed", checked.name));
    }
}
