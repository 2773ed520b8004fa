//! What a command hands out, gathered while it works, and recorded before any of it leaves
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

/// What is to be recorded of a command.
#[derive(Debug)]
pub(crate) struct Recording {
    began: Instant,
    /// The files of the vault, and the folder of what the user knows of it.
    vault: Option<(Files, Option<StateFolder>)>,
    /// Who reads it.
    reader: Reader,
    /// How it is to be recorded.
    settings: Audit,
    /// The end of the checkpoint log.
    pub(crate) head: Option<(CheckpointNumber, Digest)>,
    /// When that was made.
    pub(crate) head_at: Option<Timestamp>,
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
    /// The place that the user named is none.
    #[error("CTX_AUDIT_DIR is `{dir}`, {why}")]
    NamedPlace {
        /// What it is.
        dir: String,
        /// Why not.
        why: &'static str,
    },
    /// It could not be written.
    #[error("cannot write to `{}`: {source}", dir.display())]
    Append {
        /// The folder.
        dir: PathBuf,
        /// Whether it is the one in the vault.
        is_in_vault: bool,
        /// Why.
        source: AppendError,
    },
}

impl NotRecorded {
    /// What to do about it, where the message does not say it.
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
            Self::Append { .. } => "free the folder, or name another with CTX_AUDIT_DIR",
        }
    }
}

impl From<NotRecorded> for Failure {
    fn from(why: NotRecorded) -> Self {
        let hint = format!("nothing is handed out that is not recorded: {}", why.hint());
        Self::new(Code::Io, format!("the access was not recorded: {why}")).hint(hint)
    }
}

/// The variable that says a label where it was not given.
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

/// A command, as the logs say it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Its name.
    pub verb: String,
    /// Its words.
    pub argv: Vec<String>,
    /// Whether it prints to a terminal.
    pub terminal: bool,
    /// The program that asks on behalf of the user, as it names itself.
    pub client: Option<String>,
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
            head_at: None,
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
        self.vault = Some((vault.files().clone(), vault.state().cloned()));
        self.reader = vault.reader().clone();
        self.holds(vault.config());
    }

    /// The checkpoints that are answered from: their end, and the configuration that it seals.
    pub(crate) fn reads(&mut self, vault: &Vault, source: &CheckpointSource) {
        let head = source.head(vault);
        self.head = head.map(|(number, hash, _)| (number, hash));
        self.head_at = head.map(|(_, _, at)| at);
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

    /// Whether nothing was handed out or listed so far.
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

/// The checkpoints of a vault, as far as they can be read.
pub(crate) fn heads_of(vault: &Vault) -> Heads {
    sound_heads(vault).unwrap_or_default()
}

/// The checkpoints of a vault; `None` if its log cannot be relied on.
pub(super) fn sound_heads(vault: &Vault) -> Option<Heads> {
    let log = trusted_head::open_log(vault).ok()?;
    let chronicle = log.sound().ok()?;
    Some(Heads::from(&chronicle))
}

/// What was read of the access log.
///
/// # Errors
/// It could not be read.
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
    /// The folder of those on this machine, in the user's hands; none without a place for them.
    pub(crate) folder: Option<PathBuf>,
    /// These and those in the vault, with the cuts.
    pub(crate) logs: Logs,
    /// The folders of other paths among them.
    pub(crate) other_paths: Vec<Elsewhere>,
    /// Logs of this user that are not among them.
    pub(crate) unread: Vec<UnreadLogs>,
}

impl Workspace<'_> {
    /// Where a user's accesses to a vault are recorded, outside of it.
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
        // Seen from each folder, a relative path is another log.
        if !Path::new(dir).is_absolute() {
            return Err(refused("which is no absolute path; name a folder from `/` on"));
        }
        place.ok_or_else(|| refused("a folder in the vault; name one outside of it"))
    }

    /// Where an access is recorded under these settings.
    fn log_place(&self, recording: &Recording) -> Result<Option<Place>, NotRecorded> {
        let Some((files, state)) = recording.vault.clone() else { return Ok(None) };
        match recording.settings.accesses {
            Accesses::Vault => Ok(Place::in_vault(&files, state)),
            Accesses::User => self.user_place(files.root(), state),
        }
        .map(|place| Some(place.with_patience(self.patience())))
    }

    /// Why accesses to a vault cannot be recorded, as far as that can be known before the first one.
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
                // Some file systems take the right to write for granted, and make nothing.
                if there == dir { Ok(()) } else { outside::try_folder_in(there) }
            }),
            false => Err(io::Error::from(io::ErrorKind::NotADirectory)),
        };
        let why = why.err()?;
        Some(format!("cannot write to `{}`: {why}", dir.display()))
    }

    /// The logs of accesses to a vault: those on this machine, and those that the vault has.
    ///
    /// # Errors
    /// There is no place for them, or it cannot be listed.
    pub(crate) fn access_logs(&self, vault: &Vault) -> Result<AccessLogs, Failure> {
        let no_place = |why| Failure::new(Code::Io, format!("there is no access log: {why}"));
        let folder = self.user_folder(vault).map_err(no_place)?;
        let logs = folder.as_deref().map_or_else(|| Ok(Logs::none()), open)?;
        let logs = of_log(logs.with_accesses_in(vault))?.pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder, logs, ..AccessLogs::default() })
    }

    /// The same logs as far as they can be read: a folder that cannot be listed is a fault of the
    /// logs.
    ///
    /// # Errors
    /// There is no place for them.
    pub(crate) fn readable_logs(&self, vault: &Vault) -> Result<AccessLogs, Failure> {
        let no_place = |why| Failure::new(Code::Io, format!("there is no access log: {why}"));
        let folder = self.user_folder(vault).map_err(no_place)?;
        let logs = Logs::of_accesses(folder.as_deref(), vault).pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder, logs, ..AccessLogs::default() })
    }

    /// The same logs for an answer: with those of this user at other paths.
    ///
    /// # Errors
    /// There is no place for them.
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

    /// The folder that the user's access logs are to be in, if there is none: CTX_AUDIT_DIR, or the
    /// directory of state.
    pub(crate) fn lacking_folder(&self, vault: &Vault) -> Option<PathBuf> {
        self.user_place(vault.root(), vault.state().cloned()).ok()?;
        let named = self.environment.var("CTX_AUDIT_DIR").map(PathBuf::from);
        let home = named.or_else(|| Some(vault.state()?.home.clone()))?;
        (!home.is_dir()).then_some(home)
    }

    /// The folder of the user's accesses to a vault. There may be none where the vault keeps them.
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

    /// The logs in a folder that the user names, or in the one of this vault in it, as
    /// `CTX_AUDIT_DIR` has it.
    ///
    /// # Errors
    /// There is no such folder or no log in it, or it cannot be listed.
    pub(crate) fn logs_in(&self, vault: &Vault, dir: &Path) -> Result<AccessLogs, Failure> {
        let dir = self.named_folder(dir)?;
        let dir = folder_with_logs(&dir, &outside::log_key_of(vault.root())).map_err(|why| {
            let message = format!("`{}` is not a folder of access logs: {why}", dir.display());
            Failure::new(Code::Io, message)
                .hint("name a folder that `ctx trace collect` made, or the one of a vault in `CTX_AUDIT_DIR`")
        })?;
        let logs = open(&dir)?.pruned_at(cuts_of(vault));
        Ok(AccessLogs { folder: Some(dir), logs, ..AccessLogs::default() })
    }

    /// A folder that the user names.
    ///
    /// # Errors
    /// There is no such folder.
    pub(crate) fn named_folder(&self, dir: &Path) -> Result<PathBuf, Failure> {
        let mut dir = self.environment.cwd.join(dir);
        if !dir.is_dir() {
            return Err(Failure::new(Code::Io, format!("`{}` is not a folder", dir.display())));
        }
        // The user named this link.
        if dir.is_symlink() {
            dir = dir.canonicalize().unwrap_or(dir);
        }
        Ok(dir)
    }

    /// The logs of accesses to a vault, those of other paths included. Without a place for the own
    /// ones the reason is returned, too.
    pub(crate) fn all_logs(&self, vault: &Vault) -> (AccessLogs, Option<NotRecorded>) {
        let (folder, lacks) = match self.user_folder(vault) {
            Ok(folder) => (folder, None),
            Err(why) => (None, Some(why)),
        };
        let logs = Logs::of_accesses(folder.as_deref(), vault).pruned_at(cuts_of(vault));
        let own = AccessLogs { folder, logs, ..AccessLogs::default() };
        (self.with_other_paths(own, vault), lacks)
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
        if !self.environment.is_recorded {
            return Ok(());
        }
        let Some(place) = self.log_place(&recording)? else { return Ok(()) };
        let request = self.asked(&recording, labels);
        self.append(&place, &recording, &request, event).map(|_| ())
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
        let place = self.log_place(recording)?.ok_or(NotRecorded::NoPlace)?;
        let request = self.asked(recording, labels);
        self.append(&place, recording, &request, stated)
    }

    /// What was asked, and by whom; by its hash where the settings say so.
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
        // The clock of who published the head may be ahead of ours.
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

    /// What was asked, of the vault in a folder.
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
            let var = label_var(name);
            // That it is empty is no id either.
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
