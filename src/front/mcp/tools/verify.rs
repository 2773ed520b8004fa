//! `context_verify`: checks whether anything was altered.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question, limit};
use crate::prove::verify::verify;
use crate::service::report::failure::Failure;
use crate::service::report::verify::VerifyReport;
use crate::service::workspace::call::Call;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Verify {
    /// Only these documents, and the log
    #[serde(default)]
    ids: Vec<String>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

impl Question for Verify {
    const NAME: &'static str = "context_verify";
    const TITLE: &'static str = "Verify the vault";
    const DESCRIPTION: &'static str = "Recomputes every hash of the vault, or of some documents, \
        and reports alterations, with a verdict. Each read verifies its texts anyway.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<VerifyReport>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        // An agent does not have a working copy, unlike the reader of a command: findings may name
        // documents that stewards hide from this principal.
        let is_limited = call.workspace.sight(&vault)?.is_limited();
        for id in self.ids.iter().filter(|_| is_limited) {
            call.workspace.readable_id(&vault, id)?;
        }
        let request = call.workspace.verification(&vault, &self.ids, Vec::new())?;
        let whole = request.only.is_none();
        let report = verify(&vault, &request)?;
        let limit = limit(self.budget);
        let is_told_of_all = !is_limited && call.workspace.is_told_of_all(&vault);
        let mut findings = if is_limited { 0 } else { report.findings.len() };
        loop {
            let some = VerifyReport::new(&report, whole).first(findings);
            let some = if is_told_of_all { some } else { some.without_counts() };
            let some = if is_limited { some.without_omitted() } else { some };
            let answer = Answer::of(call, &some);
            // The verdict precedes every finding, and is never withheld.
            if findings == 0 || answer.fits(limit) {
                return answer.within(limit, "raise `budget`");
            }
            findings /= 2;
        }
    }
}
