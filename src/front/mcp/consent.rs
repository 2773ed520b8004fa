//! Consent: a human is asked before a decision is recorded (MCP-22). No argument of a call replaces
//! the answer: it comes from the client, which asks its user.
//!
//! A client of 2025-11-25 gets the question as a request of the server. One of 2026-07-28 gets it
//! as the result, and calls again with the answer and the `requestState` of the question, which
//! names it once.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    BooleanSchema, CallToolRequestParams, CallToolResponse, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, PrimitiveSchemaDefinition, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use serde_json::Value;

use crate::service::report::failure::{Code, Failure};
use crate::values::model::digest::Digest;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::visible::shown;

/// Time limit for the answer to a question.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of open questions, of all principals and of each one; above it, the oldest of
/// these is forgotten.
const MOST: usize = 4_096;
const MOST_OF_ONE: usize = 32;
/// The name of the question, and of its one field.
const CONSENT: &str = "consent";
const AGREE: &str = "agree";

/// Returns a name in quotation marks, so that it cannot be read as words of the server.
pub(super) fn quoted(name: &str) -> String {
    // The text is quoted before its characters are escaped, so that no backslash is doubled.
    format!("\"{}\"", shown(&name.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A question for a human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asking {
    /// Text of the question.
    pub(super) text: String,
    /// True if the text contains words of a document, so that it is recorded as an access.
    pub(super) has_words: bool,
    /// The state that the question depends on besides its text: if it changes, the answer is no
    /// longer valid.
    pub(super) about: String,
}

impl Asking {
    /// Returns the hash that an answer is valid for: of the question, and the call of a tool with
    /// these arguments.
    fn digest(&self, tool: &str, arguments: &str) -> Digest {
        let parts = [tool, arguments, &self.text, &self.about];
        Digest::of(serde_json::to_string(&parts).unwrap_or_default().as_bytes())
    }

    fn request(&self) -> ElicitRequest {
        let title = "Agree to it".to_owned();
        let agree = PrimitiveSchemaDefinition::Boolean(BooleanSchema::new().title(title));
        let schema = ElicitationSchema::builder().required_property(AGREE, agree);
        ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.text.clone(),
            requested_schema: schema.build_unchecked(),
        })
    }
}

/// The open questions that clients got as results.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Mutex<VecDeque<Question>>,
}

#[derive(Debug)]
struct Question {
    state: String,
    /// The principal of the call; `None` if the process acts for its user.
    of: Option<PrincipalKey>,
    digest: Digest,
    until: Instant,
}

/// The call that a question is about.
pub(super) struct Asked<'a> {
    pub(super) request: &'a CallToolRequestParams,
    /// The arguments, and the principal.
    pub(super) words: &'a str,
    pub(super) of: Option<&'a Principal>,
}

/// The result of a question.
pub(super) enum Reply {
    /// The human agreed.
    Agreed,
    /// The client must ask, and call again.
    ToAsk(CallToolResponse),
}

impl Questions {
    /// Stores a question; returns the state that names it in the next call.
    fn keep(&self, digest: Digest, of: Option<PrincipalKey>, state: String) -> String {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // The questions of a principal cannot displace those of others.
        let (mut kept, now) = (0, Instant::now());
        waiting.retain(|question| {
            kept += usize::from(question.of == of);
            question.until > now && (question.of != of || kept < MOST_OF_ONE)
        });
        waiting.truncate(MOST - 1);
        let until = now + PATIENCE;
        waiting.push_front(Question { state: state.clone(), of, digest, until });
        state
    }

    /// Returns true if a state names this question, the first time.
    fn take(&self, state: &str, digest: Digest) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|question| question.until > Instant::now());
        let Some(place) = waiting.iter().position(|question| question.state == state) else {
            return false;
        };
        waiting.remove(place).is_some_and(|question| question.digest == digest)
    }

    /// Asks the human of a client.
    ///
    /// # Errors
    /// The client cannot ask, or the human did not agree.
    pub(super) async fn ask(
        &self,
        asking: &Asking,
        asked: &Asked<'_>,
        context: &RequestContext<RoleServer>,
        random: fn() -> [u8; 16],
    ) -> Result<Reply, Failure> {
        if !can_ask(context) {
            let message = "this needs the consent of a human, and the client cannot ask for it";
            return Err(Failure::new(Code::ConsentUnavailable, message).hint(
                "use a client with the capability `elicitation`, or let a person run the command",
            ));
        }
        let is_stateless =
            context.protocol_version().is_some_and(|of| of >= ProtocolVersion::V_2026_07_28);
        if !is_stateless {
            return ask_now(asking, context).await.map(|()| Reply::Agreed);
        }
        let Asked { request, words, of } = asked;
        let digest = asking.digest(&request.name, words);
        let state = request.request_state.as_deref();
        let answer = request.input_responses.as_ref().and_then(|all| all.get(CONSENT));
        if let (Some(state), Some(answer)) = (state, answer)
            && self.take(state, digest)
        {
            let answer = serde_json::from_value(answer.clone()).ok();
            return agreed(answer.as_ref()).map(|()| Reply::Agreed);
        }
        let mut requests = InputRequests::new();
        requests.insert(CONSENT.to_owned(), InputRequest::Elicitation(asking.request()));
        let state: String = random().iter().map(|byte| format!("{byte:02x}")).collect();
        let state = self.keep(digest, of.map(Principal::key), state);
        let result = InputRequiredResult::new(Some(requests), Some(state));
        Ok(Reply::ToAsk(result.into()))
    }
}

/// Returns true if the client of a request can ask its human by forms.
pub(super) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let capability = context.client_capabilities().and_then(|all| all.elicitation);
    // A client that names neither form nor URL asks by forms.
    capability.is_some_and(|one| one.form.is_some() || one.url.is_none())
}

/// Asks by a request of the server, and waits for the answer.
async fn ask_now(asking: &Asking, context: &RequestContext<RoleServer>) -> Result<(), Failure> {
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let request = ServerRequest::ElicitRequest(asking.request());
    let asked = async {
        let handle = context.peer.send_request_with_option(request, options).await.ok()?;
        handle.await_response().await.ok()
    };
    // A cancelled call does not wait for an answer.
    match context.ct.run_until_cancelled(asked).await.flatten() {
        Some(ClientResult::ElicitResult(answer)) => agreed(Some(&answer)),
        _ => agreed(None),
    }
}

/// Refuses an answer that does not agree.
fn agreed(answer: Option<&ElicitResult>) -> Result<(), Failure> {
    let message = match answer {
        Some(ElicitResult { action: ElicitationAction::Accept, content, .. }) => {
            let agrees = content.as_ref().and_then(|content| content.get(AGREE));
            if agrees == Some(&Value::Bool(true)) {
                return Ok(());
            }
            "the user did not agree; nothing was changed"
        }
        Some(ElicitResult { action: ElicitationAction::Decline, .. }) => {
            "the user declined; nothing was changed"
        }
        Some(_) => "the user was asked, and did not decide; nothing was changed",
        None => "the user gave no answer; nothing was changed",
    };
    Err(Failure::new(Code::ConsentDeclined, message)
        .hint("do not ask again unless the user says so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(text: &str) -> Asking {
        Asking { text: text.to_owned(), has_words: false, about: String::new() }
    }

    #[test]
    fn a_state_counts_once_and_for_its_question_only() {
        let questions = Questions::default();
        let (one, other) = (asking("one"), asking("other"));
        let digest = |asking: &Asking| asking.digest("context_approve", "{}");
        let state = questions.keep(digest(&one), None, "s".to_owned());
        assert!(!questions.take("guessed", digest(&one)));
        assert!(questions.take(&state, digest(&one)));
        assert!(!questions.take(&state, digest(&one)));
        let state = questions.keep(digest(&one), None, "t".to_owned());
        assert!(!questions.take(&state, digest(&other)));
        assert!(!questions.take(&state, digest(&one)), "a wrong use ends it");
        assert_ne!(one.digest("context_approve", "{}"), one.digest("context_publish", "{}"));
        assert_ne!(one.digest("context_approve", "{}"), one.digest("context_approve", "{\"a\":1}"));
    }

    #[test]
    fn so_many_questions_wait_and_no_more() {
        let questions = Questions::default();
        let digest = asking("one").digest("", "");
        let of = |name: &str| Some(PrincipalKey::of(name));
        questions.keep(digest, of("kim"), "of kim".to_owned());
        for n in 0..MOST_OF_ONE + 10 {
            questions.keep(digest, of("ana"), n.to_string());
        }
        assert_eq!(questions.waiting.lock().unwrap().len(), MOST_OF_ONE + 1);
        assert!(!questions.take("9", digest) && questions.take("10", digest));
        assert!(questions.take("of kim", digest));
    }

    #[test]
    fn only_a_human_who_says_so_agrees() {
        let accept =
            |content: Value| ElicitResult::new(ElicitationAction::Accept).with_content(content);
        let yes = serde_json::json!({"agree": true});
        assert!(agreed(Some(&accept(yes.clone()))).is_ok());
        for answer in [
            accept(serde_json::json!({"agree": false})),
            accept(serde_json::json!({"agree": "true"})),
            accept(serde_json::json!({})),
            accept(Value::Null),
            ElicitResult::new(ElicitationAction::Accept),
            ElicitResult::new(ElicitationAction::Decline).with_content(yes.clone()),
            ElicitResult::new(ElicitationAction::Cancel).with_content(yes.clone()),
        ] {
            assert_eq!(agreed(Some(&answer)).unwrap_err().code, Code::ConsentDeclined);
        }
        assert_eq!(agreed(None).unwrap_err().code, Code::ConsentDeclined);
    }
}
