//! What a command hands out, gathered while it works, and recorded before any of it leaves
//! (`spec/audit.md`, AUDIT-5).

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Workspace;
use super::retention::cuts_of;
use crate::audit::{
    self, Access, AppendError, Arguments, Event, HeadRef, LabelError, Labels, Listing, Logs,
    Output, Place, Query, Recorder, Refused, Request, Text, TraceId, TraceParent, WithheldCount,
};
use crate::model::digest::Digest;
use crate::model::number::CheckpointNumber;
use crate::model::principal::Principal;
use crate::model::timestamp::Timestamp;
use crate::report::failure::{Code, Failure};
use crate::resolve::CheckpointSource;
use crate::uri::Class;
use crate::vault::Vault;
use crate::vault::audit::{Audit, Durability, Queries};
use crate::vault::config::Config;
use crate::vault::outside::StateFolder;
use crate::vault::reader::Reader;

/// What is to be recorded of a command.
#[derive(Debug)]
pub(crate) struct Recording {
    began: Instant,
    /// The vault's own folder, and the folder of what the user knows of it.
    vault: Option<(PathBuf, Option<StateFolder>)>,
    /// Who reads it.
    reader: Reader,
    /// How it is to be recorded.
    settings: Audit,
    /// The end of the checkpoint log.
    pub(crate) head: Option<(CheckpointNumber, Digest)>,
    /// The class of the answer.
    pub(crate) class: Option<Class>,
    /// What was asked for, in canonical form.
    pub(crate) query: Option<String>,
    /// The texts that were handed out.
    pub(crate) texts: Vec<Text>,
    /// How many names were listed.
    pub(crate) listed: Option<usize>,
    /// How many documents were withheld because the chain does not vouch for them.
    pub(crate) withheld: usize,
    /// How many documents of the checkpoint the reader may not read.
    pub(crate) unreadable: usize,
}

/// Why a command was not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRecorded {
    /// There is no place for it.
    #[error("the user has no directory of state outside the vault; set CTX_AUDIT_DIR or HOME")]
    NoPlace,
    /// It could not be written.
    #[error("cannot write to `{}`: {source}", dir.display())]
    Append {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: AppendError,
    },
}

impl From<NotRecorded> for Failure {
    fn from(why: NotRecorded) -> Self {
        Self::new(Code::Io, format!("the access was not recorded: {why}"))
            .hint("nothing is handed out that is not recorded: free the folder, or name another with CTX_AUDIT_DIR")
    }
}

/// The labels as the user gave them.
#[derive(Clone, Debug, Default)]
pub struct GivenLabels {
    /// The agent.
    pub agent: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The thread of a conversation.
    pub thread: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The node of a graph of agents.
    pub node: Option<String>,
}

/// A command, as the logs say it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Its name.
    pub verb: String,
    /// Its words.
    pub argv: Vec<String>,
    /// Whether it prints to a terminal.
    pub terminal: bool,
}

/// What a command printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed<'p> {
    /// What it printed.
    pub(crate) output: &'p [u8],
    /// With which code governance refused it.
    pub(crate) refused: Option<Code>,
}

impl Recording {
    /// Nothing yet.
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            vault: None,
            reader: Reader::default(),
            settings: Audit::default(),
            head: None,
            class: None,
            query: None,
            texts: Vec::new(),
            listed: None,
            withheld: 0,
            unreadable: 0,
        }
    }

    /// The vault that texts are handed out of.
    pub(crate) fn is_of(&mut self, vault: &Vault) {
        self.vault = Some((vault.root().to_owned(), vault.state().cloned()));
        self.reader = vault.reader().clone();
        self.holds(vault.config());
    }

    /// The checkpoints that are answered from: their end, and the configuration that it seals.
    pub(crate) fn reads(&mut self, vault: &Vault, source: &CheckpointSource) {
        self.head = source.head(vault);
        let sealed = source.head_config(vault).ok().flatten();
        sealed.iter().for_each(|config| self.holds(config));
    }

    /// A configuration that the vault has, sealed or live: the stricter counts.
    pub(crate) fn holds(&mut self, config: &Config) {
        self.settings = self.settings.stricter(Audit::of(config));
    }

    /// Whether the access has to be durable before the answer leaves.
    pub(crate) fn must_be_durable(&self) -> bool {
        self.settings.durability == Some(Durability::Sync)
    }

    fn event(&mut self, printed: &Printed<'_>) -> Option<Event> {
        if let Some(code) = printed.refused {
            return Some(Event::Refused(Refused { code: code.as_str().to_owned() }));
        }
        let output = Output {
            bytes: printed.output.len() as u64,
            sha256: Digest::of(printed.output).to_string(),
            elapsed_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let query = |text| match self.settings.queries {
            Queries::Full => Query::from(text),
            Queries::Hash => Query::hashed(text),
        };
        let query = self.query.as_deref().map(query).unwrap_or_default();
        let withheld = WithheldCount {
            reason: Code::Withheld.as_str().to_owned(),
            count: self.withheld as u64,
        };
        let unreadable =
            WithheldCount { reason: "reads".to_owned(), count: self.unreadable as u64 };
        let withheld = [withheld, unreadable].into_iter().filter(|w| w.count > 0).collect();
        if self.texts.is_empty() {
            let count = self.listed? as u64;
            return Some(Event::Listing(Listing { query, count, withheld, output }));
        }
        Some(Event::Access(Access {
            class: self.class.map(|class| class.as_str().to_owned()),
            query,
            documents: std::mem::take(&mut self.texts),
            withheld,
            output,
        }))
    }
}

/// What was read of the access log.
///
/// # Errors
/// It could not be read.
pub(crate) fn of_log<T>(read: io::Result<T>) -> Result<T, Failure> {
    read.map_err(|why| Failure::new(Code::Io, format!("the access log: {why}")))
}

fn open(dir: PathBuf) -> Result<(PathBuf, Logs), Failure> {
    let failed = |why| Failure::new(Code::Io, format!("cannot list `{}`: {why}", dir.display()));
    let logs = Logs::open(&dir).map_err(failed)?;
    Ok((dir, logs))
}

impl Workspace<'_> {
    /// Where the accesses to a vault are recorded.
    fn audit_place(&self, root: &Path, state: Option<StateFolder>) -> Option<Place> {
        let named = self.environment.var("CTX_AUDIT_DIR").map(|dir| self.environment.cwd.join(dir));
        Place::of(root, state, named.as_deref())
    }

    /// The logs of accesses to a vault on this machine, and their folder.
    ///
    /// # Errors
    /// There is no place for them, or it cannot be listed.
    pub(crate) fn access_logs(&self, vault: &Vault) -> Result<(PathBuf, Logs), Failure> {
        let no_place = || {
            let why = NotRecorded::NoPlace.to_string();
            Failure::new(Code::Io, format!("there is no access log: {why}"))
        };
        let place = self.audit_place(vault.root(), vault.state().cloned());
        let (dir, logs) = open(place.ok_or_else(no_place)?.dir)?;
        Ok((dir, logs.pruned_at(cuts_of(vault))))
    }

    /// The logs in a folder that the user names.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be listed.
    pub(crate) fn logs_in(&self, vault: &Vault, dir: &Path) -> Result<(PathBuf, Logs), Failure> {
        let dir = self.environment.cwd.join(dir);
        if !dir.is_dir() {
            return Err(Failure::new(Code::Io, format!("`{}` is not a folder", dir.display())));
        }
        let (dir, logs) = open(dir)?;
        Ok((dir, logs.pruned_at(cuts_of(vault))))
    }

    /// The logs of accesses to a vault, and those of its changes.
    ///
    /// # Errors
    /// A folder cannot be listed. That there is no place for accesses is none.
    pub(crate) fn all_logs(&self, vault: &Vault) -> Result<Vec<Logs>, Failure> {
        let changes = of_log(Logs::of_changes(vault).map_err(io::Error::other))?;
        let place = self.audit_place(vault.root(), vault.state().cloned());
        let accesses = place.map(|place| of_log(Logs::open(&place.dir))).transpose()?;
        let accesses = accesses.map(|logs| logs.pruned_at(cuts_of(vault)));
        Ok(accesses.into_iter().chain([changes]).collect())
    }

    /// Records what a command handed out; a command that handed out nothing leaves no line.
    ///
    /// # Errors
    /// It could not be recorded.
    pub(crate) fn record(
        &self,
        mut recording: Recording,
        labels: Labels,
        printed: &Printed<'_>,
    ) -> Result<(), NotRecorded> {
        let Some(event) = recording.event(printed) else { return Ok(()) };
        let Some((root, state)) = recording.vault.take() else { return Ok(()) };
        if !self.environment.is_recorded {
            return Ok(());
        }
        let place = self.audit_place(&root, state).ok_or(NotRecorded::NoPlace)?;
        let request = self.asked(&root, &recording, labels);
        self.append(place, recording.must_be_durable(), &request, event).map(|_| ())
    }

    /// Records what an agent states of its session: an output, or a hydration. Gives what names the
    /// line.
    ///
    /// # Errors
    /// It could not be recorded.
    pub(crate) fn record_stated(
        &self,
        recording: &Recording,
        labels: Labels,
        stated: Event,
    ) -> Result<TraceId, NotRecorded> {
        let (root, state) = recording.vault.clone().ok_or(NotRecorded::NoPlace)?;
        let place = self.audit_place(&root, state).ok_or(NotRecorded::NoPlace)?;
        let request = self.asked(&root, recording, labels);
        self.append(place, recording.must_be_durable(), &request, stated)
    }

    /// What was asked, and by whom, as far as reading asks; by its hash where the settings say so.
    fn asked(&self, root: &Path, recording: &Recording, labels: Labels) -> Request {
        let asked = self.request(root, labels, self.asking(recording));
        let head = recording.head;
        let head =
            head.map(|(number, hash)| HeadRef { checkpoint: number.0, hash: hash.to_string() });
        let args = match recording.settings.queries {
            Queries::Full => asked.args,
            Queries::Hash => asked.args.hashed(),
        };
        Request { args, head, ..asked }
    }

    /// Who asks, as far as reading asks; and which source said so.
    fn asking(&self, recording: &Recording) -> Option<(Principal, &'static str)> {
        let option = self.options.principal.as_deref().map(|name| (name, "option"));
        let named = option.or_else(|| Some((self.environment.var("CTX_PRINCIPAL")?, "env")));
        let named = named.and_then(|(name, source)| Some((name.parse().ok()?, source)));
        // Who was asked decided what was handed out.
        recording.reader.asked().cloned().or(named)
    }

    fn append(
        &self,
        place: Place,
        is_durable: bool,
        request: &Request,
        event: Event,
    ) -> Result<TraceId, NotRecorded> {
        let clock = || Timestamp::from_millis((self.environment.clock)());
        let at = self.now().unwrap_or_else(|_| clock());
        let environment = (self.environment.random, &self.environment.disk);
        audit::append(&place, environment, is_durable, at, request, event)
            .map_err(|source| NotRecorded::Append { dir: place.dir, source })
    }

    /// What was asked, of the vault in a folder.
    fn request(
        &self,
        root: &Path,
        labels: Labels,
        principal: Option<(Principal, &str)>,
    ) -> Request {
        let cwd = self.environment.cwd.strip_prefix(root).ok().map(Path::to_string_lossy);
        let cwd = cwd.filter(|dir| !dir.is_empty()).map(Cow::into_owned);
        let Command { verb, argv, terminal } = self.options.command.clone();
        let parent = self.environment.var("TRACEPARENT");
        let parent = parent.and_then(|parent| parent.parse::<TraceParent>().ok());
        let (principal, source) = match principal {
            Some((principal, source)) => (Some(principal.to_string()), source),
            None => (None, "none"),
        };
        Request {
            verb,
            args: Arguments::new(argv, cwd, terminal),
            principal,
            principal_source: source.to_owned(),
            head: None,
            labels,
            traceparent: parent.map(|parent| parent.to_string()),
        }
    }

    /// How the change log says who changes a vault.
    ///
    /// # Errors
    /// A label is none.
    pub(crate) fn recorder(
        &self,
        vault: &Vault,
        principal: Option<(Principal, &str)>,
    ) -> Result<Recorder, Failure> {
        let request = self.request(vault.root(), self.labels()?, principal);
        let recorder = Recorder { random: self.environment.random, request };
        // The sealed configuration is looked at where the log is read.
        Ok(recorder.under(Some(Some(vault.config()))))
    }

    /// The labels of this command: what it was given, else what the environment says.
    pub(crate) fn labels(&self) -> Result<Labels, Failure> {
        let GivenLabels { agent, session, thread, task, node } = &self.options.labels;
        let label = |given: &Option<String>, name: &str| {
            let var = format!("CTX_{}", name.to_uppercase());
            let value = given.as_deref().or_else(|| self.environment.var(&var));
            let Some(value) = value else { return Ok(None) };
            let refused = |why: LabelError| {
                let place = if given.is_some() { format!("--{name}") } else { var.clone() };
                Failure::new(Code::Usage, format!("the label of `{place}` {why}"))
                    .hint("give the id that your program has, or leave the label out")
            };
            audit::check_label(value).map(|()| Some(value.to_owned())).map_err(refused)
        };
        let session = label(session, "session")?;
        let session_implicit = session.is_none();
        let random = || audit::digits(self.environment.random);
        Ok(Labels {
            agent: label(agent, "agent")?,
            session: Some(session.unwrap_or_else(random)),
            session_implicit,
            thread: label(thread, "thread")?,
            task: label(task, "task")?,
            node: label(node, "node")?,
        })
    }
}
