//! Records what a command hands out: collected while it works, and written before the output leaves
//! (`spec/audit.md`, AUDIT-5).

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Workspace;
use super::elsewhere::{OtherLogs, UnreadLogs};
use super::retention::cuts_of;
use crate::files::vault::Vault;
use crate::files::vault::audit::{Accesses, Audit, Durability, Queries};
use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::files::vault::outside::{self, StateFolder};
use crate::files::vault::reader::Reader;
use crate::read::snapshot::CheckpointSource;
use crate::record::audit::{
    self, Access, AppendError, Arguments, Elsewhere, Event, HeadRef, Heads, LabelError, Labels,
    Listing, Logs, Output, Place, Query, Recorder, Refused, Request, Text, TraceId, TraceParent,
    WithheldCount, folder_with_logs,
};
use crate::record::journal;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::text::uri::Class;
use crate::values::model::digest::Digest;
use crate::values::model::layout;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::Principal;
use crate::values::model::timestamp::Timestamp;
use crate::values::model::visible::shown;

/// The data that the access log gets about a command.
#[derive(Debug)]
pub(crate) struct Recording {
    began: Instant,
    /// The files of the vault, and its folder in the user's state directory.
    vault: Option<(Files, Option<StateFolder>)>,
    /// The reader of the vault.
    reader: Reader,
    /// The strictest settings of the vault.
    settings: Audit,
    /// The head of the checkpoint log.
    pub(crate) head: Option<(CheckpointNumber, Digest)>,
    /// The time of the head.
    pub(crate) head_at: Option<Timestamp>,
    /// The class of the answer.
    pub(crate) class: Option<Class>,
    /// The selector, id or words that were asked for, in canonical form.
    pub(crate) query: Option<String>,
    /// The texts that were handed out.
    pub(super) texts: Vec<Text>,
    /// Number of names that were listed.
    pub(crate) listed: Option<usize>,
    /// Number of documents that were withheld because the chain does not vouch for them.
    pub(crate) withheld: usize,
    /// Number of documents of the checkpoint that the reader may not read.
    pub(crate) unreadable: usize,
}

/// The reason why a command was not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRecorded {
    /// The access log does not have a place.
    #[error("the user lacks a state directory outside of the vault; set CTX_AUDIT_DIR or HOME")]
    NoPlace,
    /// The user named an invalid place.
    #[error("CTX_AUDIT_DIR is `{dir}`, {why}")]
    NamedPlace {
        /// The path.
        dir: String,
        /// The reason why it is invalid.
        why: &'static str,
    },
    /// The line could not be written.
    #[error("cannot write to `{}`: {source}", dir.display())]
    Append {
        /// The folder of the log.
        dir: PathBuf,
        /// True if the log is in the vault.
        is_in_vault: bool,
        /// The cause.
        source: AppendError,
    },
}

impl NotRecorded {
    /// Returns what the user can do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NoPlace | Self::NamedPlace { .. } => "name a folder with CTX_AUDIT_DIR",
            Self::Append { source: AppendError::Io(why), .. }
                if why.kind() == io::ErrorKind::TimedOut =>
            {
                "wait for the other process, or end it, and run the command again"
            }
            Self::Append { is_in_vault: true, .. } => {
                "accesses of this vault are kept in it (`audit.accesses: vault`): a reader needs the permission to write there"
            }
            Self::Append { .. } => "make the folder writable, or set CTX_AUDIT_DIR to another",
        }
    }
}

impl From<NotRecorded> for Failure {
    fn from(why: NotRecorded) -> Self {
        let hint = format!("texts are not returned without a record: {}", why.hint());
        Self::new(Code::Io, format!("the access was not recorded: {why}")).hint(hint)
    }
}

/// Returns the name of the variable for a label.
pub(crate) fn label_var(name: &str) -> String {
    format!("CTX_{}", name.to_uppercase())
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

/// A command, as the logs record it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// The name of the command.
    pub verb: String,
    /// The arguments.
    pub argv: Vec<String>,
    /// True if it prints to a terminal.
    pub terminal: bool,
    /// The program that calls on behalf of the user, by its own name.
    pub client: Option<String>,
}

/// The output of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed<'p> {
    /// The bytes of the output.
    pub(crate) output: &'p [u8],
    /// The code with which governance refused the command.
    pub(crate) refused: Option<Code>,
}

impl Recording {
    /// Begins an empty recording.
    pub(super) fn begin() -> Self {
        Self {
            began: Instant::now(),
            vault: None,
            reader: Reader::default(),
            settings: Audit::default(),
            head: None,
            head_at: None,
            class: None,
            query: None,
            texts: Vec::new(),
            listed: None,
            withheld: 0,
            unreadable: 0,
        }
    }

    /// Sets the vault that texts are read from.
    pub(crate) fn is_of(&mut self, vault: &Vault) {
        self.vault = Some((vault.files().clone(), vault.state().cloned()));
        self.reader = vault.reader().clone();
        self.holds(vault.config());
    }

    /// Sets the checkpoints that are read: their head, and the configuration that it seals.
    pub(crate) fn reads(&mut self, vault: &Vault, source: &CheckpointSource) {
        let head = source.head(vault);
        self.head = head.map(|(number, hash, _)| (number, hash));
        self.head_at = head.map(|(_, _, at)| at);
        let sealed = source.head_config(vault).ok().flatten();
        sealed.iter().for_each(|config| self.holds(config));
    }

    /// Adds a configuration of the vault, sealed or live. The stricter settings are used.
    pub(crate) fn holds(&mut self, config: &Config) {
        self.settings = self.settings.stricter(Audit::of(config));
    }

    /// Returns true if the access must be durable before the answer leaves.
    pub(crate) fn must_be_durable(&self) -> bool {
        self.settings.durability == Some(Durability::Sync)
    }

    /// Returns true if nothing was handed out or listed so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.listed.is_none()
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

/// Returns the checkpoints of a vault; empty if its log is not valid.
pub(crate) fn heads_of(vault: &Vault) -> Heads {
    sound_heads(vault).unwrap_or_default()
}

/// Returns the checkpoints of a vault; `None` if its log is not valid.
pub(super) fn sound_heads(vault: &Vault) -> Option<Heads> {
    let log = trusted_head::open_log(vault).ok()?;
    let chronicle = log.sound().ok()?;
    Some(Heads::from(&chronicle))
}

/// Returns the result of reading an access log.
///
/// # Errors
/// The log could not be read.
pub(crate) fn of_log<T>(read: io::Result<T>) -> Result<T, Failure> {
    read.map_err(|why| Failure::new(Code::Io, format!("the access log: {why}")))
}

fn open(dir: &Path) -> Result<Logs, Failure> {
    let failed = |why| Failure::new(Code::Io, format!("cannot list `{}`: {why}", dir.display()));
    Logs::open(dir).map_err(failed)
}

/// The logs of accesses to a vault.
#[derive(Debug, Default)]
pub(crate) struct AccessLogs {
    /// The folder of the user's own logs on this machine; `None` without a place for them.
    pub(crate) folder: Option<PathBuf>,
    /// The logs on this machine and in the vault, with the cuts.
    pub(crate) logs: Logs,
    /// The folders of other paths that are included.
    pub(crate) other_paths: Vec<Elsewhere>,
    /// Logs of this user that are not included.
    pub(crate) unread: Vec<UnreadLogs>,
}

impl Workspace<'_> {
    /// Returns the place outside of a vault where the user's accesses to it are recorded.
    fn user_place(&self, root: &Path, state: Option<StateFolder>) -> Result<Place, NotRecorded> {
        Self::place_in(root, state, self.environment.var("CTX_AUDIT_DIR"))
    }

    /// Refuses a value of `CTX_AUDIT_DIR` with which accesses to a vault cannot be recorded.
    #[cfg(feature = "mcp")]
    pub(crate) fn check_audit_dir(root: &Path, dir: &str) -> Result<(), Failure> {
        let refused = |why: NotRecorded| Failure::new(Code::Usage, why.to_string());
        Self::place_in(root, None, Some(dir)).map(drop).map_err(refused)
    }

    fn place_in(
        root: &Path,
        state: Option<StateFolder>,
        named: Option<&str>,
    ) -> Result<Place, NotRecorded> {
        let place = Place::of(root, state, named.map(Path::new));
        let Some(dir) = named else { return place.ok_or(NotRecorded::NoPlace) };
        let refused = |why| NotRecorded::NamedPlace { dir: shown(dir).into_owned(), why };
        // A relative path would name another log in each working directory.
        if !Path::new(dir).is_absolute() {
            return Err(refused("which is not an absolute path; name one that begins with `/`"));
        }
        place.ok_or_else(|| refused("a folder in the vault; name one outside of it"))
    }

    /// Returns the place where an access is recorded under these settings.
    fn log_place(&self, recording: &Recording) -> Result<Option<Place>, NotRecorded> {
        let Some((files, state)) = recording.vault.clone() else { return Ok(None) };
        match recording.settings.accesses {
            Accesses::Vault => Ok(Place::in_vault(&files, state)),
            Accesses::User => self.user_place(files.root(), state),
        }
        .map(|place| Some(place.with_patience(self.patience())))
    }

    /// Returns the reason why accesses to a vault cannot be recorded, as far as it is known before
    /// the first one.
    #[cfg(feature = "mcp")]
    pub(crate) fn unrecordable(&self, vault: &Vault) -> Option<String> {
        let mut recording = Recording::begin();
        recording.is_of(vault);
        let dir = match self.log_place(&recording) {
            Ok(place) => place?.folder.shown(),
            Err(why) => return Some(why.to_string()),
        };
        let there = dir.ancestors().find(|folder| folder.exists())?;
        let may = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let why = match there.is_dir() {
            true => rustix::fs::access(there, may).map_err(io::Error::from).and_then(|()| {
                // Some file systems report the permission to write, but do not create anything.
                if there == dir { Ok(()) } else { outside::try_folder_in(there) }
            }),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        };
        let why = why.err()?;
        Some(format!("cannot write to `{}`: {why}", dir.display()))
    }

    /// Opens the logs of accesses to a vault: those on this machine, and those in the vault.
    ///
    /// # Errors
    /// The logs do not have a place, or a folder cannot be listed.
    pub(crate) fn access_logs(&self, vault: &Vault) -> Result<AccessLogs, Failure> {
        let no_place =
            |why| Failure::new(Code::Io, format!("the access log does not exist: {why}"));
        let folder = self.user_folder(vault).map_err(no_place)?;
        let logs = folder.as_deref().map_or_else(|| Ok(Logs::none()), open)?;
        let logs = of_log(logs.with_accesses_in(vault))?.pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder, logs, ..AccessLogs::default() })
    }

    /// Opens the logs as far as they can be read. A folder that cannot be listed becomes a fault of
    /// the logs.
    ///
    /// # Errors
    /// The logs do not have a place.
    pub(crate) fn readable_logs(&self, vault: &Vault) -> Result<AccessLogs, Failure> {
        let no_place =
            |why| Failure::new(Code::Io, format!("the access log does not exist: {why}"));
        let folder = self.user_folder(vault).map_err(no_place)?;
        let logs = Logs::of_accesses(folder.as_deref(), vault).pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder, logs, ..AccessLogs::default() })
    }

    /// Opens the logs for an answer, including those of this user for other paths.
    ///
    /// # Errors
    /// The logs do not have a place.
    pub(crate) fn asked_logs(&self, vault: &Vault) -> Result<AccessLogs, Failure> {
        Ok(self.with_other_paths(self.readable_logs(vault)?, vault))
    }

    fn with_other_paths(&self, own: AccessLogs, vault: &Vault) -> AccessLogs {
        let OtherLogs { read, heads, unread } = self.other_logs(vault);
        let logs = match heads {
            Some(heads) => own.logs.with_elsewhere(&read, heads),
            None => own.logs,
        };
        AccessLogs { logs, other_paths: read, unread, ..own }
    }

    /// Returns the folder for the user's access logs (CTX_AUDIT_DIR or the state directory) if it
    /// does not exist.
    pub(crate) fn lacking_folder(&self, vault: &Vault) -> Option<PathBuf> {
        self.user_place(vault.root(), vault.state().cloned()).ok()?;
        let named = self.environment.var("CTX_AUDIT_DIR").map(PathBuf::from);
        let home = named.or_else(|| Some(vault.state()?.home.clone()))?;
        (!home.is_dir()).then_some(home)
    }

    /// Returns the folder of the user's accesses to a vault; `None` if it does not have a place and
    /// the vault contains them.
    pub(super) fn user_folder(&self, vault: &Vault) -> Result<Option<PathBuf>, NotRecorded> {
        let is_in_vault = || {
            vault.files().exists(layout::ACCESS_DIR)
                || Audit::of(vault.config()).accesses == Accesses::Vault
        };
        match self.user_place(vault.root(), vault.state().cloned()) {
            Ok(place) => Ok(Some(place.folder.shown())),
            Err(NotRecorded::NoPlace) if is_in_vault() => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// Opens the logs in a folder that the user names, or in its subfolder for this vault, as
    /// in `CTX_AUDIT_DIR`.
    ///
    /// # Errors
    /// The folder does not exist, contains no log, or cannot be listed.
    pub(crate) fn logs_in(&self, vault: &Vault, dir: &Path) -> Result<AccessLogs, Failure> {
        let dir = self.named_folder(dir)?;
        let found = folder_with_logs(&dir, &outside::log_key_of(vault.root()));
        let (dir, _) = found.map_err(|why| {
            let message = format!("`{}` is not a folder of access logs: {why}", dir.display());
            Failure::new(Code::Io, message)
                .hint("name a folder that `ctx trace collect` made, or the one of a vault in `CTX_AUDIT_DIR`")
        })?;
        let logs = open(&dir)?.pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder: Some(dir), logs, ..AccessLogs::default() })
    }

    /// Returns the path of a folder that the user names.
    ///
    /// # Errors
    /// The folder does not exist.
    pub(crate) fn named_folder(&self, dir: &Path) -> Result<PathBuf, Failure> {
        let mut dir = self.environment.cwd.join(dir);
        if !dir.is_dir() {
            return Err(Failure::new(Code::Io, format!("`{}` is not a folder", dir.display())));
        }
        // A link that the user names is followed.
        if dir.is_symlink() {
            dir = dir.canonicalize().unwrap_or(dir);
        }
        Ok(dir)
    }

    /// Returns the logs of accesses to a vault, including other paths, and the reason if those of
    /// this path do not have a place.
    pub(crate) fn all_logs(&self, vault: &Vault) -> (AccessLogs, Option<NotRecorded>) {
        let (folder, lacks) = match self.user_folder(vault) {
            Ok(folder) => (folder, None),
            Err(why) => (None, Some(why)),
        };
        let logs = Logs::of_accesses(folder.as_deref(), vault).pruned_at(cuts_of(vault));
        let own = AccessLogs { folder, logs, ..AccessLogs::default() };
        (self.with_other_paths(own, vault), lacks)
    }

    /// Records what a command handed out. A command that handed out nothing is not recorded.
    ///
    /// # Errors
    /// The line could not be written.
    pub(crate) fn record(
        &self,
        mut recording: Recording,
        labels: Labels,
        printed: &Printed<'_>,
    ) -> Result<(), NotRecorded> {
        let Some(event) = recording.event(printed) else { return Ok(()) };
        if !self.environment.is_recorded {
            return Ok(());
        }
        let Some(place) = self.log_place(&recording)? else { return Ok(()) };
        let request = self.asked(&recording, labels);
        self.append(&place, &recording, &request, event).map(|_| ())
    }

    /// Records an output or a hydration that an agent reports for its session, and returns the name
    /// of the line.
    ///
    /// # Errors
    /// The line could not be written.
    pub(crate) fn record_stated(
        &self,
        recording: &Recording,
        labels: Labels,
        stated: Event,
    ) -> Result<TraceId, NotRecorded> {
        let place = self.log_place(recording)?.ok_or(NotRecorded::NoPlace)?;
        let request = self.asked(recording, labels);
        self.append(&place, recording, &request, stated)
    }

    /// Returns the request, with hashes in place of arguments if the settings say so.
    fn asked(&self, recording: &Recording, labels: Labels) -> Request {
        let root = recording.vault.as_ref().map(|(files, _)| files.root()).unwrap_or(Path::new(""));
        let asked = self.request(root, labels, recording.reader.principal().cloned());
        let head = recording.head;
        let head =
            head.map(|(number, hash)| HeadRef { checkpoint: number.0, hash: hash.to_string() });
        let args = match recording.settings.queries {
            Queries::Full => asked.args,
            Queries::Hash => asked.args.hashed(),
        };
        Request { args, head, ..asked }
    }

    fn append(
        &self,
        place: &Place,
        recording: &Recording,
        request: &Request,
        event: Event,
    ) -> Result<TraceId, NotRecorded> {
        let clock = || Timestamp::from_millis((self.environment.clock)());
        let at = self.now().unwrap_or_else(|_| clock());
        // The publisher's clock may have been ahead of ours.
        let at = recording.head_at.map_or(at, |head_at| at.max(head_at));
        let is_durable = recording.must_be_durable();
        let environment = (self.environment.random, &self.environment.disk);
        audit::append(place, environment, is_durable, at, request, event).map_err(|source| {
            NotRecorded::Append {
                dir: place.folder.shown(),
                is_in_vault: place.folder.is_shared(),
                source,
            }
        })
    }

    /// Returns the request to the vault in a folder.
    fn request(
        &self,
        root: &Path,
        labels: Labels,
        principal: Option<(Principal, &str)>,
    ) -> Request {
        let cwd = self.environment.cwd.strip_prefix(root).ok().map(Path::to_string_lossy);
        let cwd = cwd.filter(|dir| !dir.is_empty()).map(Cow::into_owned);
        let Command { verb, argv, terminal, client } = self.options.command.clone();
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
            client,
            traceparent: parent.map(|parent| parent.to_string()),
        }
    }

    /// Returns the recorder with which the change log records this principal and command.
    ///
    /// # Errors
    /// A label is invalid.
    pub(crate) fn recorder(
        &self,
        vault: &Vault,
        principal: Option<(Principal, &str)>,
    ) -> Result<Recorder, Failure> {
        let request = self.request(vault.root(), self.labels()?, principal);
        let recorder = Recorder { random: self.environment.random, request };
        // The sealed configuration is added when the log is read.
        Ok(recorder.under(Some(Some(vault.config()))))
    }

    /// Returns the labels of this command: the given ones, or else those of the environment.
    pub(crate) fn labels(&self) -> Result<Labels, Failure> {
        let GivenLabels { agent, session, thread, task, node } = &self.options.labels;
        let label = |given: &Option<String>, name: &str| {
            let var = label_var(name);
            // An empty variable is an invalid label, too.
            let named = || self.environment.vars.get(&var).map(String::as_str);
            let value = given.as_deref().or_else(named);
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
        let random = || journal::digits(self.environment.random);
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
