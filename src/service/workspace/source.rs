//! Hydration records: results that a caller fetched by the description of a published source
//! (`spec/source.md`, section 3).

use std::collections::BTreeMap;
use std::time::Instant;

use super::Workspace;
use super::ask::{Asked, Query};
use super::recording::{Recording, of_log};
use super::staging::Content;
use super::validate::Head;
use crate::files::process::{Fetcher, configured};
use crate::files::vault::Vault;
use crate::files::vault::staging::Staging;
use crate::read::index::staged::KnownEntry;
use crate::read::snapshot::{CheckpointSource, Resolution, Served, Snapshot, Withheld};
use crate::read::source::fetch::NotFetchable;
use crate::read::source::{
    self, Claim, ClaimError, Freshness, ReceiveError, Received, RecordedResult, SourceCall,
};
use crate::read::working::images::ImageFolders;
use crate::read::working::linked::Surroundings;
use crate::read::working::{self, LiveFile};
use crate::record::audit::{Event, Filter, Hydration, Labels, Line, TraceId, Traced};
use crate::record::staging::{self, ActKind, Hydrated, StagedEntry, StagingError};
use crate::service::report::Spell;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::source::SourceCheckReport;
use crate::text::document::frontmatter::NodeType;
use crate::text::document::validate::Problem;
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::timestamp::Timestamp;

/// The selector of all sources.
pub(crate) const ALL: &str = "type:source";

/// A hydration that was recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The name of the line.
    pub(crate) trace: TraceId,
    /// The content of the line.
    pub(crate) hydration: Hydration,
    /// The URI of the staged result; `None` if it was not staged.
    pub(crate) staged: Option<String>,
}

/// The staged entry of a recorded result.
pub(crate) enum StagedResult {
    /// The result was not staged.
    Never,
    /// The entry is kept.
    Kept(Box<StagedEntry>, Traced<Content>),
    /// The entry was ended by an act.
    Ended(ActKind),
}

/// The output of a program that fetched a result.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The output.
    pub(crate) printed: Vec<u8>,
    /// The running time in milliseconds.
    pub(crate) duration_ms: u64,
    /// The failure of the program, as a sentence.
    pub(crate) error: Option<String>,
}

impl From<NotFetchable> for Failure {
    fn from(why: NotFetchable) -> Self {
        Self::new(Code::Usage, why.to_string()).hint(Hint::call(
            "let the agent call the tools, and record the result with {}",
            Call::new(Verb::SourceRecord),
        ))
    }
}

/// Returns the call that a published source describes.
///
/// # Errors
/// The document is not a source.
pub(crate) fn call_of(served: &Served) -> Result<SourceCall<'_>, Failure> {
    SourceCall::of(served).ok_or_else(|| {
        Failure::new(Code::NotASource, format!("`{}` is not a source", served.id))
            .hint(Hint::call("{} lists the sources", Call::new(Verb::SourceList)))
    })
}

/// Returns the failure if the head publishes a document that is not a source, so that it has no
/// staged results.
pub(crate) fn no_source(head: &Snapshot<'_>, id: &DocumentId) -> Option<Failure> {
    let served = head.get(id)?.ok()?;
    call_of(&served).err()
}

/// Returns the failure for a result that was recorded but is not kept. Recording it again would add
/// a second line.
fn not_staged(trace: &TraceId, why: &StagingError) -> Failure {
    let mut failure = match why {
        StagingError::Tail(_) => {
            let message = format!("recorded as {trace}, and staged, but {why}");
            Failure::new(Code::Io, message).hint(
                "do not record the result again; make the state directory writable, so that \
                 lost results can be detected",
            )
        }
        why => {
            let message = format!("recorded as {trace}, not staged: {why}");
            Failure::new(Code::Io, message)
                .hint("do not record the result again: the access log has it, without its content")
        }
    };
    failure.details = vec![format!("recorded as {trace}")];
    failure
}

/// Returns true if a line of an access log belongs to this principal and named session.
fn is_own(line: &Line, mine: Option<&PrincipalKey>, labels: &Labels) -> bool {
    let who = line.request.principal.as_ref().and_then(|who| who.parse::<Principal>().ok());
    let of = &line.request.labels;
    who.as_ref().map(Principal::key).as_ref() == mine
        && !of.session_implicit
        && of.session == labels.session
}

impl From<ReceiveError> for Failure {
    fn from(why: ReceiveError) -> Self {
        let code = match why {
            ReceiveError::Io(_) => Code::Io,
            ReceiveError::TooLong => Code::Refused,
        };
        Self::new(code, why.to_string())
    }
}

impl From<ClaimError> for Failure {
    fn from(why: ClaimError) -> Self {
        let (code, hint) = match &why {
            ClaimError::OtherServer { .. } | ClaimError::ServerMissing { .. } => {
                (Code::Usage, "name the server that the source declares".to_owned())
            }
            ClaimError::NoServer { .. } => (Code::Usage, "leave out the server".to_owned()),
            ClaimError::Tool { declared, .. } => {
                (Code::Usage, format!("its tools are {}", declared.join(", ")))
            }
            ClaimError::OtherSource { .. } => {
                (Code::Usage, "name results of the sources in `source.depends_on`".to_owned())
            }
            ClaimError::UnknownTrace(_) => (
                Code::UnknownTrace,
                "record the dependency first; the answer has its name".to_owned(),
            ),
            ClaimError::Log(_) => return Self::new(Code::Io, why.to_string()),
        };
        Self::new(code, why.to_string()).hint(hint)
    }
}

impl Workspace<'_> {
    /// Plans a selector without a search at a checkpoint.
    ///
    /// # Errors
    /// See [`Asked::new`].
    pub(crate) fn ask_for_sources<'v>(
        &self,
        places: (&'v Vault, &'v CheckpointSource),
        selector: &str,
        at: Option<CheckpointNumber>,
    ) -> Result<Asked<'v>, Failure> {
        Asked::new(self, places, Query { text: selector, at, whole: true, staged: false }, &|_| ())
    }

    /// Returns the problems of the live sources and of the published ones (SRC-7), and the
    /// published sources that are withheld.
    ///
    /// # Errors
    /// The published documents cannot be read.
    pub(crate) fn check_sources(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        spell: Spell,
    ) -> Result<(SourceCheckReport, Vec<Withheld>), Failure> {
        let mut asked = self.ask_for_sources((vault, source), ALL, None)?;
        let Resolution { documents: sources, withheld, .. } = asked.resolve(vault)?;
        let checkpoint = asked.snapshot.checkpoint();
        let mut published: BTreeMap<DocumentId, Vec<Problem>> = BTreeMap::new();
        for (id, problem) in source::check::problems(vault, &asked.snapshot, &sources) {
            published.entry(id).or_default().push(problem);
        }
        let published = published.into_iter().collect();
        let live = self.check_live_sources(vault, &Head(Some(asked.snapshot)));
        let published = (sources.len(), published);
        let report = SourceCheckReport::new(checkpoint, live, published, &withheld, spell);
        Ok((report, withheld))
    }

    /// Returns the number of live sources, and their problems.
    fn check_live_sources(
        &self,
        vault: &Vault,
        head: &Head<'_>,
    ) -> (usize, Vec<(String, Vec<Problem>)>) {
        const OWN: [&str; 2] = ["source-invalid", "server-unknown"];
        let is_source = |file: &LiveFile| {
            file.fields().is_some_and(|fields| fields.node_type == NodeType::Source)
        };
        let files: Vec<LiveFile> = working::all(vault).into_iter().filter(is_source).collect();
        let surroundings = Surroundings::new(vault, head, ImageFolders::new(vault.root(), None));
        let mut cycles: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
        for (path, problem) in surroundings.cycles(&files) {
            cycles.entry(path).or_default().push(problem);
        }
        let mut found = Vec::new();
        for file in &files {
            let mut problems = file.problems(vault);
            problems.retain(|problem| OWN.contains(&problem.code));
            problems.extend(surroundings.dependency_problems(file));
            problems.extend(cycles.remove(&file.path).unwrap_or_default());
            problems.sort_by_key(|problem| (problem.line, problem.severity));
            if !problems.is_empty() {
                found.push((file.path.clone(), problems));
            }
        }
        (files.len(), found)
    }

    /// Returns the labels of a command that needs a named session.
    ///
    /// # Errors
    /// No session is named, or a label is invalid.
    pub(crate) fn named_session(&self, what: &str) -> Result<Labels, Failure> {
        let labels = self.labels()?;
        match labels.session_implicit {
            false => Ok(labels),
            true => Err(Failure::new(Code::Usage, format!("{what} needs a named session"))
                .hint("name the session of the agent: a command takes `--session` or CTX_SESSION, a call of a tool `contextnest/session` in `_meta`")),
        }
    }

    /// Compares a caller's claim with the source and the access logs.
    ///
    /// # Errors
    /// The claim is wrong, or the logs cannot be read.
    pub(crate) fn check_claim(
        &self,
        vault: &Vault,
        call: &SourceCall<'_>,
        (claim, labels): (&Claim, &Labels),
    ) -> Result<(), Failure> {
        claim.check(call)?;
        // The first result of a source may come before any log exists.
        if !claim.depends_on.is_empty() {
            let logs = self.access_logs(vault)?.logs;
            let mine = vault.reader().principal().map(|(principal, _)| principal.key());
            claim.check_dependencies(call, &logs, |line| is_own(line, mine.as_ref(), labels))?;
        }
        Ok(())
    }

    /// Returns the number of days for which results of a source are staged; `None` if they are not
    /// staged (STAGE-9).
    ///
    /// # Errors
    /// The configuration in force cannot be read.
    pub(crate) fn staged_for(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        call: &SourceCall<'_>,
    ) -> Result<Option<u64>, Failure> {
        let sealed = source.head_config(vault)?;
        let live = Staging::of(vault.config());
        let staging = sealed.as_ref().map_or(live, |config| Staging::of(config).stricter(live));
        Ok(staging::days_kept(call.block.stage, staging, call.block.retention))
    }

    /// Records a hydration whose claim was checked, and stages the result if the source and the
    /// vault require it.
    ///
    /// # Errors
    /// The hydration could not be recorded, or the result could not be staged.
    pub(crate) fn record_hydration(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        (recording, labels): (&Recording, Labels),
        (call, claim): (&SourceCall<'_>, Claim),
        received: Received,
    ) -> Result<Recorded, Failure> {
        let days = self.staged_for((vault, source), call)?;
        // The access and the entry belong to the principal who acts.
        let principal = vault.reader().principal().map(|(principal, _)| principal.to_string());
        let hydration = claim.recorded(call, &received);
        let event = Event::Hydration(hydration.clone());
        let trace = self.record_stated(recording, labels.clone(), event).map_err(|why| {
            Failure::new(Code::Io, format!("the hydration was not recorded: {why}"))
        })?;
        let of = (principal, labels);
        // The publisher's clock may be ahead of ours.
        let now = self.now()?;
        let at = recording.head_at.map_or(now, |head_at| now.max(head_at));
        let staged = match days.filter(|_| hydration.error.is_none()) {
            Some(days) => self
                .stage(vault, (call, days), (of, &hydration), (received, at))
                .map_err(|why| not_staged(&trace, &why))?,
            None => None,
        };
        Ok(Recorded { trace, hydration, staged })
    }

    /// Returns the results of a source in a session of the current principal, in the order of
    /// each log.
    ///
    /// # Errors
    /// The access logs cannot be read.
    pub(crate) fn results(
        &self,
        vault: &Vault,
        labels: &Labels,
        (id, ttl): (&DocumentId, Option<u64>),
    ) -> Result<Vec<RecordedResult>, Failure> {
        let logs = self.access_logs(vault)?.logs;
        let mine = vault.reader().principal().map(|(principal, _)| principal.key());
        let filter = Filter {
            session: labels.session.clone(),
            document: Some(id.clone()),
            ..Filter::default()
        };
        let mut found = Vec::new();
        let keep = |line: Line| {
            let is_own = is_own(&line, mine.as_ref(), labels);
            is_own.then(|| RecordedResult::of(&line, ttl)).flatten()
        };
        of_log(logs.matching(&filter, &keep, &mut |result| found.push(result)))?;
        Ok(found)
    }

    /// Returns the recorded result of a source that may be used again in this session, or the
    /// reason why there is none.
    ///
    /// # Errors
    /// The access logs cannot be read.
    pub(crate) fn freshness(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        labels: &Labels,
        call: &SourceCall<'_>,
    ) -> Result<Freshness, Failure> {
        // An access is never recorded as earlier than the head, whose writer's clock may be ahead
        // of ours.
        let head = source.head(vault).map(|(_, _, at)| at);
        let now = self.now()?;
        let now = head.map_or(now, |head| now.max(head));
        let about = (&call.served.id, call.block.cache_ttl);
        let results = self.results(vault, labels, about)?;
        Ok(source::fresh::freshness(call, results, now))
    }

    /// Returns the program that the user configured to fetch from the server of a source.
    ///
    /// # Errors
    /// Programs cannot fetch from this source, or the user's configuration names no program.
    pub(crate) fn fetcher(&self, vault: &Vault, call: &SourceCall<'_>) -> Result<Fetcher, Failure> {
        let server = source::fetch::server(call)?;
        let found = configured::fetcher(vault.root(), server, |name| self.environment.var(name))?;
        found.ok_or_else(|| self.no_program(vault, server))
    }

    /// Returns the failure if no program is configured for a server, with the lines to add.
    fn no_program(&self, vault: &Vault, server: &str) -> Failure {
        let file = configured::config_file(|name| self.environment.var(name));
        let file = file.map_or("config.yaml".to_owned(), |file| file.display().to_string());
        let message = format!("your configuration names no program for the server `{server}`");
        let mut failure = Failure::new(Code::NotConfigured, message)
            .hint(format!("add these lines to `{file}`, with a program of yours"));
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        failure.details = vec![
            "vaults:".to_owned(),
            format!("  {}:", quoted(&vault.root().display().to_string())),
            "    sources:".to_owned(),
            format!("      {}:", quoted(server)),
            "        command: [/absolute/path/of/program]".to_owned(),
            "        timeout: 30s".to_owned(),
            "        max_bytes: 10MB".to_owned(),
        ];
        failure
    }

    /// Returns the last results in this session of the sources that a source depends on.
    ///
    /// # Errors
    /// A source does not have a result.
    pub(crate) fn used_results(
        &self,
        vault: &Vault,
        labels: &Labels,
        call: &SourceCall<'_>,
    ) -> Result<Vec<RecordedResult>, Failure> {
        let mut used = Vec::new();
        for id in source::fetch::dependencies(call) {
            let results = self.results(vault, labels, (&id, None))?;
            let good = results.into_iter().filter(|result| result.hydration.error.is_none());
            let last = good.max_by_key(|result| result.at);
            used.push(last.ok_or_else(|| {
                let message = format!("no result of `{id}` is recorded in this session");
                Failure::new(Code::UnknownTrace, message).hint(Hint::call(
                    "fetch and record the dependency first: {} prints the order",
                    Call::new(Verb::SourceOrder).value(call.served.id.as_str()),
                ))
            })?);
        }
        Ok(used)
    }

    /// Runs the program of the user for a source. A failure of the program is part of the result.
    ///
    /// # Errors
    /// The message to the program could not be made.
    pub(crate) fn fetch(
        &self,
        vault: &Vault,
        fetcher: &Fetcher,
        call: &SourceCall<'_>,
        (session, used): (&str, &[RecordedResult]),
    ) -> Result<Fetched, Failure> {
        let root = vault.root().display().to_string();
        let server = source::fetch::server(call)?;
        let message = source::fetch::message(call, (&root, server, session), used)
            .map_err(|why| Failure::new(Code::Io, why.to_string()))?;
        let began = Instant::now();
        let run = fetcher.fetch(&message, &self.environment.vars);
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (printed, error) = match run {
            Ok(printed) => (printed, None),
            Err(failed) => {
                let sentence = failed.sentence();
                (failed.printed, Some(sentence))
            }
        };
        Ok(Fetched { printed, duration_ms, error })
    }

    /// Returns the staged entry of a result in a session of the current principal.
    ///
    /// # Errors
    /// The chains, or the configuration and stewards in force, cannot be read, or the content is
    /// not what was received.
    pub(crate) fn staged_result(
        &self,
        vault: &Vault,
        labels: &Labels,
        (id, result): (&DocumentId, &RecordedResult),
    ) -> Result<StagedResult, Failure> {
        let hash = &result.hydration.result_hash;
        let content = hash.parse::<Digest>().ok();
        let is_result =
            |entry: &KnownEntry<'_>| content.is_some_and(|of| of.bytes() == &entry.content);
        let view = self.staged_own((vault, labels), Some(id), false, &is_result)?;
        let is_it = |entry: &&StagedEntry| view.is_own(entry) && entry.entry.raw_hash == *hash;
        let all: Vec<&StagedEntry> = view.visible().into_iter().filter(is_it).collect();
        if let Some(entry) = all.iter().rfind(|entry| entry.is_live()) {
            let content = view.content(vault, entry)?;
            return Ok(StagedResult::Kept(Box::new((*entry).clone()), content));
        }
        let ended = all.last().and_then(|entry| entry.ended.as_ref());
        Ok(ended.map_or(StagedResult::Never, |ended| StagedResult::Ended(ended.kind)))
    }

    /// Stages a result after its hydration was recorded, and returns the URI of the entry. Nothing
    /// else stages results.
    fn stage(
        &self,
        vault: &Vault,
        (call, days): (&SourceCall<'_>, u64),
        ((principal, labels), hydration): ((Option<String>, Labels), &Hydration),
        (received, at): (Received, Timestamp),
    ) -> Result<Option<String>, StagingError> {
        let Some(payload) = received.content else { return Ok(None) };
        let of = hydration.clone();
        let hydrated = Hydrated {
            source: call.served.id.clone(),
            checkpoint: call.served.checkpoint,
            version: call.served.entry.version,
            principal,
            labels,
            media_type: of.media_type,
            tools: of.tools,
            server: of.server,
            cache: of.cache.map(|cached| cached.as_str().to_owned()),
            ttl: call.block.cache_ttl,
            depends_on: of.depends_on,
            days,
        };
        let places = (vault, self.environment.random);
        let captured = staging::stage(places, (hydrated, &payload), at)?;
        Ok(Some(captured.name.to_string()))
    }
}
