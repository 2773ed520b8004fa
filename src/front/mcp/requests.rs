//! Requests that are not calls of tools: they run like calls, and fail with an error of the
//! protocol (MCP-26).

use std::sync::Arc;

use rmcp::model::{ErrorCode, ErrorData, PaginatedRequestParams};
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::told;
use super::calls::{Asker, Said, Shared, outcome_of};
use super::limits::without_answer;
use super::metrics::Outcome;
use super::offer::Profile;
use super::tools::page::{Found, Start, Tag, none};
use super::vaults::Vaults;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::values::model::verb::Verb;

/// The error of a valid request that cannot be answered now.
const NOT_NOW: ErrorCode = ErrorCode(-32_000);

/// A list that a client gets page by page.
pub(super) struct List<T> {
    pub(super) method: &'static str,
    /// The verb that lists the same.
    pub(super) verb: Verb,
    /// The member of the result.
    pub(super) member: &'static str,
    /// Returns a page of one vault, which has this name if there are several, and where it
    /// was found.
    pub(super) page: PageOf<T>,
}

type PageOf<T> = fn(&mut Call<'_>, Option<&str>, &Start<'_>) -> Result<(Vec<T>, Found), Failure>;

impl Shared {
    /// Returns a page of a list, and the cursor of the next one; one vault follows the other.
    ///
    /// # Errors
    /// The cursor is invalid, or published texts cannot be read.
    pub(super) fn paged<T: Serialize>(
        &self,
        asker: &Asker,
        list: &List<T>,
        cursor: Option<&str>,
    ) -> Result<(Vec<T>, Option<String>), Failure> {
        let places = self.vaults.places();
        let tag = Tag::of(list.method, &Value::Null);
        let (place, page) = match cursor {
            None => (places.first().copied().flatten(), None),
            Some(cursor) => self.place_of(&tag, cursor)?,
        };
        let start = Start::in_list(tag.clone(), page)?;
        let said = said(list.verb, list.method, json!({"cursor": cursor}));
        let found = self.on_behalf((asker, said), Vaults::arguments(place), |call, _| {
            let (listed, found) = (list.page)(call, place, &start)?;
            let next = start.next(&found)?;
            call.record(&bytes(&json!({list.member: listed})), None)?;
            Ok((listed, next))
        });
        let (listed, next) = found.map_err(|why| start.explained(why))?;
        let after = places.iter().skip_while(|other| **other != place).nth(1).copied().flatten();
        let prefix = |name: &str| format!("{name}/");
        let next = match next {
            Some(page) => Some(place.map(prefix).unwrap_or_default() + &page),
            None => after.map(|vault| format!("{}{tag}", prefix(vault))),
        };
        Ok((listed, next))
    }

    /// Returns the vault of a cursor, and the rest of the cursor; `None` for the first page.
    fn place_of<'t>(
        &self,
        tag: &Tag,
        cursor: &'t str,
    ) -> Result<(Option<&str>, Option<&'t str>), Failure> {
        match self.vaults.parted(cursor) {
            Some((place @ Some(_), page)) if tag.is(page) => Ok((place, None)),
            Some((place, page)) => Ok((place, Some(page))),
            None => Err(none(cursor)),
        }
    }

    /// Refuses a cursor of a list with one page, because the server never returned one.
    ///
    /// # Errors
    /// There is a cursor.
    pub(super) fn check_first(
        &self,
        request: Option<PaginatedRequestParams>,
    ) -> Result<(), ErrorData> {
        match request.and_then(|request| request.cursor) {
            Some(cursor) => Err(error(none(&cursor), self.offer.profile)),
            None => Ok(()),
        }
    }

    /// Answers a request of a method, within the limits.
    ///
    /// # Errors
    /// As `work`.
    pub(super) async fn answered<T: Send + 'static>(
        self: &Arc<Self>,
        method: &'static str,
        (context, asker): (&RequestContext<RoleServer>, Asker),
        work: impl FnOnce(&Self, &Asker) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let began = Instant::now();
        let seen = Arc::clone(&asker.work);
        let done = self.at_work((context, seen), move |shared| work(shared, &asker)).await;
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

/// Returns a failure as an error of the protocol, with the report of the failure as its data.
fn error(failure: Failure, profile: Profile) -> ErrorData {
    let code = match failure.code {
        Code::UnknownId
        | Code::UnknownAnchor
        | Code::UnknownCheckpoint
        | Code::UriInvalid
        | Code::IdInvalid
        | Code::Withheld => ErrorCode::RESOURCE_NOT_FOUND,
        Code::Usage
        // A client whose cursor is invalid begins again.
        | Code::Changed
        | Code::AnswerTooLarge
        | Code::UnknownPack
        | Code::PackInvalid
        | Code::SelectorInvalid
        | Code::QueryInvalid => ErrorCode::INVALID_PARAMS,
        _ => NOT_NOW,
    };
    let (text, data) = told(failure, profile);
    ErrorData::new(code, text, data)
}

/// Returns a request as the log records it. Parameters that are null are left out.
pub(super) fn said(verb: Verb, name: &'static str, mut params: Value) -> Said {
    if let Value::Object(members) = &mut params {
        members.retain(|_, value| !value.is_null());
    }
    Said { verb, name, words: serde_jcs::to_string(&params).unwrap_or_default() }
}

/// Returns the bytes that are recorded of an answer.
pub(super) fn bytes(sent: &impl Serialize) -> Vec<u8> {
    // Only numbers without a JSON form could fail, and there are none.
    serde_jcs::to_vec(sent).unwrap_or_default()
}
