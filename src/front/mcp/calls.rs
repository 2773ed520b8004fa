//! One call of a tool: who makes it, on which vault, whether a human agrees, and its record.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData};
use rmcp::model::{Implementation, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::{failed, noted};
use super::consent::{Asked, Asking, Questions, Reply, can_ask};
use super::identity::Identity;
use super::limits::{Limits, check_lists, without_answer};
use super::metrics::{Metrics, Outcome};
use super::notices::Looks;
use super::offer::Offer;
use super::paths;
use super::tools::{Asks, Holds, Tool, make_index};
use super::vaults::Vaults;
use super::watch::Watch;
use crate::files::vault::Vault;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::call::work::Work;
use crate::service::workspace::governance_mode::is_governed;
use crate::service::workspace::recording::Command;
use crate::service::workspace::{Environment, Options, Workspace};
use crate::values::model::digest::Digest;
use crate::values::model::principal::Principal;
use crate::values::model::verb::Verb;

/// The state that all calls of a server share.
pub(super) struct Shared {
    pub(super) environment: Environment,
    pub(super) options: Options,
    pub(super) vaults: Vaults,
    /// The tools.
    pub(super) offer: Offer,
    /// Pending questions to humans.
    pub(super) questions: Questions,
    /// True if the client no longer reads answers.
    pub(super) gone: Arc<AtomicBool>,
    /// Limits of calls; `None` for a single client, whose calls are made one after the other.
    pub(super) limits: Option<Limits>,
    pub(super) metrics: Arc<Metrics>,
    /// Notices changes of the logs.
    pub(super) watch: Arc<Watch>,
    /// Checks for new publications.
    pub(super) looks: Looks,
    /// Vaults whose index was searched for.
    pub(super) indexed: Mutex<BTreeSet<PathBuf>>,
}

/// The caller of a request.
pub(super) struct Asker {
    /// The metadata of the request.
    pub(super) meta: JsonObject,
    pub(super) client: Option<Implementation>,
    /// The authenticated principal; `None` if the process acts for its user.
    pub(super) principal: Option<Principal>,
    /// The work for it.
    pub(super) work: Arc<Work>,
}

impl Asker {
    /// A principal, or the process, that a server works for without a request.
    pub(super) fn of(principal: Option<Principal>) -> Self {
        Self { meta: JsonObject::new(), client: None, principal, work: Arc::default() }
    }
}

/// A request, as the log records it.
pub(super) struct Said {
    pub(super) verb: Verb,
    /// The name of the tool, or the method.
    pub(super) name: &'static str,
    /// The arguments in JCS form.
    pub(super) words: String,
}

/// A call, and who makes it.
pub(super) struct Requested {
    pub(super) tool: &'static Tool,
    pub(super) arguments: JsonObject,
    pub(super) asker: Asker,
}

impl Requested {
    /// The arguments in one spelling.
    fn words(&self) -> String {
        serde_jcs::to_string(&self.arguments).unwrap_or_default()
    }

    /// The arguments as the log says them: of a text its length and its hash.
    fn recorded(&self) -> String {
        let mut arguments = self.arguments.clone();
        for said in self.tool.held(&mut arguments, Holds::Text) {
            let text = match &*said {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                // A number, which is converted.
                other => other.to_string(),
            };
            let hash = Digest::of(text.as_bytes()).to_string();
            *said = json!({"bytes": text.len(), "hash": hash});
        }
        serde_jcs::to_string(&arguments).unwrap_or_default()
    }
}

/// The result of a call, and its outcome in the metrics.
type Done<T, E = CallToolResult> = Result<T, (E, Outcome)>;

impl Shared {
    /// Answers a call, after a human agreed to it where that is needed.
    pub(super) async fn answer(
        self: &Arc<Self>,
        requested: Arc<Requested>,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut agreed = None;
        if requested.tool.asks.is_some() {
            let (about, can_ask) = (Arc::clone(&requested), can_ask(context));
            // A call that is answered with a question is not counted: the call with the answer is.
            let began = Instant::now();
            match self
                .at_work((context, Arc::clone(&requested.asker.work)), move |shared| {
                    shared.asking(&about, can_ask)
                })
                .await
            {
                Ok(Ok(asking)) => agreed = asking,
                Ok(Err(failed)) => {
                    return self.counted(&requested, began, Ok(Err(failed)));
                }
                Err(outcome) => {
                    return self.counted(&requested, began, Err(outcome));
                }
            }
        }
        if let Some(asking) = &agreed {
            let words = requested.words();
            // The principal is part of the question: an answer is valid for one principal only.
            let principal = requested.asker.principal.as_ref();
            let words = match principal {
                Some(principal) => format!("{principal:?} {words}"),
                None => words,
            };
            let asked = Asked { request, words: &words, of: principal };
            let random = self.environment.random;
            match self.questions.ask(asking, &asked, context, random).await {
                Ok(Reply::Agreed) => {}
                Ok(Reply::ToAsk(question)) => return Ok(question),
                Err(failure) => {
                    let about = Arc::clone(&requested);
                    let refuse = move |shared: &Self| shared.refuse(&about, failure);
                    let began = Instant::now();
                    let refused =
                        self.at_work((context, Arc::clone(&requested.asker.work)), refuse).await;
                    return self.counted(&requested, began, refused);
                }
            }
        }
        let about = Arc::clone(&requested);
        let call = move |shared: &Self| shared.call(&about, agreed.as_ref());
        let began = Instant::now();
        let called = self.at_work((context, Arc::clone(&requested.asker.work)), call).await;
        self.counted(&requested, began, called)
    }

    /// The result of a call, which is counted.
    fn counted(
        &self,
        requested: &Requested,
        began: Instant,
        done: Result<Done<CallToolResult>, Outcome>,
    ) -> Result<CallToolResponse, ErrorData> {
        let outcome = match &done {
            Ok(Ok(_)) => Outcome::Answered,
            Ok(Err((_, outcome))) | Err(outcome) => *outcome,
        };
        self.metrics.called(requested.tool.name, outcome, began.elapsed());
        match done {
            Ok(Ok(result)) => Ok(result.into()),
            Ok(Err((failed, _))) => Ok(failed.into()),
            Err(outcome) => {
                let failure = without_answer(outcome, requested.tool.changes)?;
                Ok(failed(failure, self.offer.profile).into())
            }
        }
    }

    /// Works on a call with its arguments. That governance refuses it is recorded.
    fn work<T>(
        &self,
        requested: &Requested,
        act: impl FnOnce(&mut Call<'_>, JsonObject) -> Result<T, Failure>,
    ) -> Done<T> {
        let Requested { tool, arguments, asker } = requested;
        let said =
            Said { verb: tool.verb(arguments), name: tool.name, words: requested.recorded() };
        let worked = self.on_behalf((asker, said), arguments.clone(), |call, arguments| {
            if tool.changes {
                check_names(&call.workspace, tool, arguments.clone())?;
            }
            act(call, arguments)
        });
        worked.map_err(|failure| {
            let outcome = outcome_of(&failure);
            (failed(failure, self.offer.profile), outcome)
        })
    }

    /// Works on a request, about the vault that its arguments name.
    ///
    /// # Errors
    /// Errors of `act`, and a request with an invalid caller or vault.
    pub(super) fn on_behalf<T>(
        &self,
        (asker, said): (&Asker, Said),
        mut arguments: JsonObject,
        act: impl FnOnce(&mut Call<'_>, JsonObject) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let identity = Identity::of(&asker.meta, asker.client.as_ref())?;
        let mut environment = identity.environment(&self.environment);
        let command = Command {
            verb: said.verb.as_str().to_owned(),
            argv: vec![said.name.to_owned(), said.words],
            client: identity.client,
            ..Command::default()
        };
        self.check_budget(&arguments)?;
        check_lists(&arguments)?;
        let root = self.vaults.take(&mut arguments)?;
        environment.cwd.clone_from(root);
        let vault = Some(root.clone());
        let is_remote = self.limits.is_some();
        let options = Options { is_served: true, is_remote, ..self.options.clone() };
        let mut options = Options { vault, labels: identity.labels, command, ..options };
        if let Some(principal) = &asker.principal {
            options.principal = Some(principal.as_str().to_owned());
            options.is_authenticated = true;
        }
        environment.check_vars()?;
        let workspace = Workspace { environment: &environment, options };
        let labels = workspace.labels()?;
        let mut call = Call::new(workspace, labels);
        call.work = Some(Arc::clone(&asker.work));
        if self.indexed.lock().unwrap_or_else(PoisonError::into_inner).insert(root.clone()) {
            make_index(&mut call);
        }
        let done = act(&mut call, arguments).map_err(|failure| refused(&mut call, failure));
        done.map_err(|failure| match self.limits {
            Some(_) => paths::failure(failure, root),
            None => failure,
        })
    }

    /// Returns the question to a human before a call; `None` without one. If the client can ask it,
    /// words of a document in it are recorded first.
    fn asking(&self, requested: &Requested, can_ask: bool) -> Done<Option<Asking>> {
        let Some(asks) = requested.tool.asks else { return Ok(None) };
        self.work(requested, |call, arguments| {
            let asking = asks(call, arguments)?;
            if let Some(asking) = asking.as_ref().filter(|asking| can_ask && asking.has_words) {
                call.record(asking.text.as_bytes(), None)?;
            }
            Ok(asking)
        })
    }

    /// Refuses a call.
    fn refuse(&self, requested: &Requested, failure: Failure) -> Done<CallToolResult> {
        self.work(requested, |call, _| {
            call.vault()?;
            Err(failure)
        })
    }

    /// One call, recorded before its answer leaves. `agreed`: what a human agreed to.
    fn call(&self, requested: &Requested, agreed: Option<&Asking>) -> Done<CallToolResult> {
        let tool = requested.tool;
        self.work(requested, |call, arguments| {
            if let Some(asks) = tool.asks {
                call.vault()?;
                check(call, asks, (&arguments, agreed))?;
            }
            let answer = (tool.run)(call, arguments)?;
            call.record(&answer.bytes(), None)?;
            Ok(answer.result())
        })
    }

    /// Returns true if one of the vaults is governed, or cannot be read.
    pub(super) fn is_governed(&self) -> bool {
        let is_governed = |root| self.vault(root).and_then(|vault| is_governed(&vault));
        self.vaults.roots().any(|root| is_governed(root).unwrap_or(true))
    }

    /// A vault as the server itself looks at it, for no principal.
    ///
    /// # Errors
    /// There is none, or its configuration cannot be read.
    pub(super) fn vault(&self, root: &Path) -> Result<Vault, Failure> {
        let options = Options { vault: Some(root.to_owned()), ..self.options.clone() };
        Workspace { environment: &self.environment, options }.vault()
    }
}

/// A failure as it is told. Nothing of the vault leaves with it; a refusal by governance is recorded.
fn refused(call: &mut Call<'_>, failure: Failure) -> Failure {
    if failure.code.exit() == 3
        && let Err(why) = call.record(&[], Some(failure.code))
    {
        return why.into();
    }
    noted(call, call.workspace.explained(failure).without_differences())
}

/// How a failure is counted.
pub(super) fn outcome_of(failure: &Failure) -> Outcome {
    if failure.code.exit() == 3 { Outcome::Refused } else { Outcome::Failed }
}

/// Refuses a change of what the principal may not be told of, before anything is said about it. A tool
/// that makes a document judges its id together with its text.
fn check_names(
    workspace: &Workspace<'_>,
    tool: &Tool,
    arguments: JsonObject,
) -> Result<(), Failure> {
    let vault = workspace.vault()?;
    // As the tool reads them: a list may be given as a text.
    let mut arguments = (tool.fitted)(arguments)?;
    let named = tool.held(&mut arguments, Holds::Document);
    for text in named.filter_map(|name| name.as_str()) {
        match workspace.named(&vault, text) {
            Ok(id) => workspace.check_writable(&vault, &id)?,
            Err(why) if why.code == Code::UnknownId => return Err(why),
            // A URI that names no document is refused by the call.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Refuses a call whose question is not the one that a human agreed to: something changed since.
fn check(
    call: &Call<'_>,
    asks: Asks,
    (arguments, agreed): (&JsonObject, Option<&Asking>),
) -> Result<(), Failure> {
    let options = call.workspace.options.clone();
    let workspace = Workspace { environment: call.workspace.environment, options };
    // What is read for the question is not handed out.
    let now = asks(&mut Call::new(workspace, call.labels.clone()), arguments.clone())?;
    if now.as_ref() == agreed {
        return Ok(());
    }
    let message = "what the user was asked about changed meanwhile; nothing was done";
    Err(Failure::new(Code::Changed, message).hint("call again, so that the user is asked again"))
}
