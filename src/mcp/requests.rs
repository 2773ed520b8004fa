//! Requests that are no calls of tools: they are worked on as calls are, and fail with an error of
//! the protocol (MCP-26).

use std::sync::Arc;

use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::Instant;

use super::answer::told;
use super::calls::{Shared, outcome_of, without_answer};
use super::metrics::Outcome;
use super::offer::Profile;
use crate::report::failure::{Code, Failure};

/// The error of a request that is sound, but is not answered now.
const NOT_NOW: ErrorCode = ErrorCode(-32_000);

impl Shared {
    /// The answer to a request of a method, as far as the limits let it be worked on.
    ///
    /// # Errors
    /// As `work`.
    pub(super) async fn answered<T: Send + 'static>(
        self: &Arc<Self>,
        method: &'static str,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let began = Instant::now();
        let done = self.at_work(context, work).await;
        let outcome = match &done {
            Ok(Ok(_)) => Outcome::Answered,
            Ok(Err(failure)) => outcome_of(failure),
            Err(outcome) => *outcome,
        };
        self.metrics.called(method, outcome, began.elapsed());
        match done {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) => Err(error(failure, self.offer.profile)),
            Err(outcome) => Err(error(without_answer(outcome, false)?, self.offer.profile)),
        }
    }
}

/// A failure as an error of the protocol, with the report of the failure as its data.
fn error(failure: Failure, profile: Profile) -> ErrorData {
    let code = match failure.code {
        Code::UnknownId
        | Code::UnknownAnchor
        | Code::UnknownCheckpoint
        | Code::UriInvalid
        | Code::IdInvalid
        | Code::Withheld => ErrorCode::RESOURCE_NOT_FOUND,
        Code::Usage | Code::AnswerTooLarge | Code::UnknownPack => ErrorCode::INVALID_PARAMS,
        _ => NOT_NOW,
    };
    let (text, data) = told(failure, profile);
    ErrorData::new(code, text, data)
}
