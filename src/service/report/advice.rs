//! Conversion of errors into failures: the only place that assigns a code and hints to each error
//! (`spec/errors.md`).

pub(crate) mod again;
pub(crate) mod difference;
mod writing;

use super::failure::{Code, Failure};
use crate::files::vault::files::FileError;
use crate::files::vault::git_past::NOT_SPARSE;
use crate::files::vault::lock::LockError;
use crate::files::vault::{OpenError, Vault};
use crate::prove::evidence::blame::Unverified;
use crate::read::derived::DerivedError;
use crate::read::snapshot::checkout::CheckoutError;
use crate::read::snapshot::packs::PackError;
use crate::read::snapshot::plan::{PlanError, PlanFault};
use crate::read::snapshot::{ResolveError, UnknownSection, Withheld};
use crate::record::chain::error::ChainError;
use crate::record::checkpoint::fault::LogError;
use crate::record::trusted_head::{self, HeadError, Lost, TrustError};
use crate::text::document::sections::UnknownAnchor;
use crate::text::selector::excerpt::caret;
use crate::text::selector::{ParseError, Term};
use crate::text::uri::{ForeignVault, UriError};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::{DocumentId, IdError};
use crate::values::model::number::CheckpointNumber;
use crate::values::text_util::nearest;
use std::io::ErrorKind;

/// Advice on how to state the principal who acts or reads.
pub(crate) const NAME_PRINCIPAL: &str = "pass `--as you@example.com`, set CTX_PRINCIPAL, or run `git config --global user.email you@example.com`";

fn dry_run(verb: Verb) -> Call {
    Call::new(verb).word("--dry-run")
}

fn verify_all() -> Hint {
    Hint::call("run {} for a full report", Verb::Verify)
}

fn see_rebuild() -> Hint {
    let rebuild = dry_run(Verb::CheckpointRebuild);
    Hint::call("{} shows the log that the histories produce", rebuild)
}

impl Failure {
    /// Reports an invalid selector, with a caret under the place.
    pub(crate) fn selector(why: &ParseError, text: &str) -> Self {
        let mut failure = Self::new(Code::SelectorInvalid, why.to_string());
        failure.reason = Some(why.code());
        failure.details = why.caret(text).lines().map(str::to_owned).collect();
        failure.hints.extend(why.hint().map(Hint::from));
        failure
    }

    /// Reports a selector that cannot be evaluated, with a caret under the term.
    pub(crate) fn plan(why: PlanError<Self>, text: &str) -> Self {
        let mut failure = Self::from(why.why);
        // Carets under the whole selector would not point to anything.
        if text.get(why.span.clone()) != Some(text.trim()) {
            let caret = caret(text, &why.span);
            failure.details.splice(0..0, caret.lines().map(str::to_owned));
        }
        failure
    }

    /// Reports withheld documents, and advice according to the reasons.
    pub(crate) fn withheld(withheld: &[Withheld]) -> Self {
        let message = match withheld {
            [one] => format!("`{}` is withheld: {}", one.id, one.why),
            many => format!("{} documents are withheld", many.len()),
        };
        let mut failure = Self::new(Code::Withheld, message);
        if withheld.len() > 1 {
            failure.details = withheld.iter().map(|w| format!("{}: {}", w.id, w.why)).collect();
        }
        let is_left_out = |withheld: &&Withheld| matches!(withheld.why, ChainError::LeftOut);
        if withheld.iter().any(|withheld| is_left_out(&withheld)) {
            failure = failure.hint(NOT_SPARSE);
        }
        let mut others = withheld.iter().filter(|withheld| !is_left_out(withheld)).peekable();
        if others.peek().is_none() {
            return failure;
        }
        let is_unjudged = |w: &Withheld| w.why.unapproved().is_some_and(|why| why.lost.is_some());
        let text = match others.all(|w| w.why.is_unapproved()) {
            true if withheld.iter().any(is_unjudged) => {
                "approvals cannot be checked without that file; run {} for a full report"
            }
            true => {
                "it was published or retired without a valid approval; run {} for a full report"
            }
            false => "the chain does not vouch for the text; run {} for a full report",
        };
        failure.hint(Hint::call(text, Verb::Verify))
    }

    /// Reports that no published document has this id.
    pub(crate) fn unknown_id(id: &str, near: Option<&str>) -> Self {
        let failure = Self::new(Code::UnknownId, format!("no document has the id `{id}`"));
        if id.starts_with('#') {
            let resolve = Call::new(Verb::Resolve).value(id);
            let text = "this is a selector: {} prints the documents that it selects";
            return failure.hint(Hint::call(text, resolve));
        }
        match near {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(Hint::calls(
                "{} lists published documents, {} lists new and changed ones",
                [Verb::List.into(), Verb::Status.into()],
            )),
        }
    }

    /// Reports a history that cannot be read.
    ///
    /// If the history is missing and the log does not record the document, it was never published.
    pub(crate) fn history(vault: &Vault, id: &DocumentId, why: ChainError) -> Self {
        let is_recorded = || trusted_head::read_log(vault).is_ok_and(|log| log.records(id));
        match why.explained(vault, id) {
            ChainError::HistoryMissing if !is_recorded() => Self::never_published(id),
            ChainError::File(why) => why.into(),
            why => Withheld { id: id.clone(), why }.into(),
        }
    }

    /// Reports a document without a history.
    pub(crate) fn never_published(id: &DocumentId) -> Self {
        let publish = Call::new(Verb::Publish).value(id.as_str());
        Self::new(Code::UnknownId, format!("`{id}` was never published"))
            .hint(Hint::call("{} {publishes} version 1", publish))
    }
}

impl From<OpenError> for Failure {
    fn from(why: OpenError) -> Self {
        let message = why.to_string();
        match why {
            OpenError::NotFound { .. } => Self::new(Code::NoVault, message).hint(Hint::call(
                "{} makes the current folder a vault; `--vault DIR` names another one",
                Verb::Init,
            )),
            OpenError::NotAVault { .. } => Self::new(Code::NoVault, message)
                .hint(Hint::call("{} makes a folder a vault", Call::new(Verb::Init).word("DIR"))),
            OpenError::Config(_) => {
                let read = Call::new(Verb::Read).value(crate::values::model::layout::CONFIG);
                Self::new(Code::ConfigInvalid, message).hint(Hint::call(
                    "fix the line in .context/config.yaml; {} prints the published version",
                    read,
                ))
            }
            OpenError::File(why) => why.into(),
        }
    }
}

impl From<FileError> for Failure {
    fn from(why: FileError) -> Self {
        let message = why.to_string();
        match why {
            FileError::Changed { .. } => {
                Self::new(Code::Changed, message).hint("check the file, then run the command again")
            }
            FileError::Link { .. } => Self::new(Code::Io, message)
                .hint("symbolic links are not followed; copy the target into the vault"),
            FileError::Io { action, source, .. } => {
                let failure = Self::new(Code::Io, message);
                let reads = ["read", "list", "open"].contains(&action);
                match source.kind() {
                    ErrorKind::PermissionDenied if reads => {
                        failure.hint("grant yourself permission to read it, and run it again")
                    }
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                        failure.hint("reading a vault needs no write permission; this command does")
                    }
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                        failure.hint("free some disk space, and run it again")
                    }
                    ErrorKind::FileTooLarge => failure.hint("the system limits the size of files"),
                    ErrorKind::AlreadyExists => failure.hint(Hint::call(
                        "{} reports files that no history contains as `unfinished`; move such a file away",
                        Verb::Verify,
                    )),
                    _ => failure,
                }
            }
            _ => Self::new(Code::Io, message),
        }
    }
}

impl From<LogError> for Failure {
    fn from(why: LogError) -> Self {
        let message = why.to_string();
        match why {
            LogError::File(why) => why.into(),
            LogError::NoReader => Self::new(Code::NoPrincipal, message).hint(NAME_PRINCIPAL),
            LogError::LostLimit => Self::new(Code::Withheld, message).hint(Hint::call(
                "run {} for a full report; if the log was truncated, restore it from git or a backup",
                Verb::Verify,
            )),
            LogError::Unknown { last: CheckpointNumber::NONE, .. } => {
                let publish = Call::new(Verb::Publish).word("--all");
                Self::new(Code::UnknownCheckpoint, message)
                    .hint(Hint::call("nothing is published yet; {} makes checkpoint 1", publish))
            }
            LogError::Unknown { .. } => Self::new(Code::UnknownCheckpoint, message)
                .hint(Hint::call("{} lists all checkpoints", Verb::CheckpointList)),
            LogError::Missing { .. } => Self::new(Code::LogBroken, message)
                .hint("restore the log from git or a backup; keep the histories")
                .hint(see_rebuild()),
            LogError::LeftOut { .. } => Self::new(Code::LogBroken, message).hint(NOT_SPARSE),
            LogError::Torn { .. } => Self::new(Code::LogBroken, message).hint(Hint::call(
                "a command was interrupted, or the log was edited: {} shows what can be done",
                dry_run(Verb::Recover),
            )),
            LogError::Conflict { .. } => Self::new(Code::LogBroken, message)
                .hint(Hint::call(
                    "both branches published: {} joins their logs, while git merges, rebases or cherry-picks",
                    Verb::Merge,
                ))
                .hint("then `git add -A && git commit`; docs/git.md explains each case"),
            LogError::BothForms => Self::new(Code::LogBroken, message)
                .hint("the two log files differ; nothing was written")
                .hint("find the right one with `git log -- .versions`, and move the other out of the vault"),
            _ => Self::new(Code::LogBroken, message)
                .hint(Hint::call("nothing was written; run {} for a full report", Verb::Verify))
                .hint(see_rebuild()),
        }
    }
}

impl From<HeadError> for Failure {
    fn from(why: HeadError) -> Self {
        let message = why.to_string();
        let code = match why {
            HeadError::Lost(Lost::Rollback { .. }) => Code::HeadRollback,
            HeadError::Lost(Lost::Fork { .. }) => Code::HeadFork,
            HeadError::Memory(why) => return why.into(),
        };
        Self::new(code, message)
            .hint(Hint::call(
                "nothing was written; restore the log from git or a backup, then run {}",
                Verb::Verify,
            ))
            .hint(see_rebuild())
            .hint(Hint::call(
                "if the vault was changed on purpose, {} trusts the log as it is",
                Verb::HeadTrust,
            ))
    }
}

impl From<TrustError> for Failure {
    fn from(why: TrustError) -> Self {
        let failure = Self::new(Code::Io, why.to_string());
        match why {
            TrustError::Unreadable { .. } => failure.hint(Hint::calls(
                "check the vault with {}, then trust its head with {}",
                [Verb::Verify.into(), Verb::HeadTrust.into()],
            )),
            TrustError::Io { .. } => failure,
        }
    }
}

impl From<IdError> for Failure {
    fn from(why: IdError) -> Self {
        let hint = match &why {
            IdError::Invisible { .. } => why.hint(),
            _ => "an id is a path in the vault without `.md`, such as `nodes/policies/returns`"
                .to_owned(),
        };
        Self::new(Code::IdInvalid, why.to_string()).hint(hint)
    }
}

impl From<UriError> for Failure {
    fn from(why: UriError) -> Self {
        let reason = Some(why.code());
        Self { reason, ..Self::new(Code::UriInvalid, why.to_string()) }
    }
}

impl From<ForeignVault> for Failure {
    fn from(why: ForeignVault) -> Self {
        let message = why.to_string();
        match why {
            ForeignVault::Unreachable { .. } => Self::new(Code::ForeignVault, message)
                .hint("`--vault DIR` runs the command in a vault on this machine"),
            ForeignVault::NotAllowed { .. } => Self::new(Code::VaultNotAllowed, message)
                .hint("a steward of the vault can add it to `allow` in .context/config.yaml"),
        }
    }
}

impl From<PlanFault<Self>> for Failure {
    fn from(why: PlanFault<Self>) -> Self {
        let message = why.to_string();
        match why {
            PlanFault::Foreign(why) => why.into(),
            PlanFault::Pack(why) => why.into(),
            PlanFault::Search(why) => why,
            PlanFault::TooLarge | PlanFault::TooManySearches => {
                let reason = Some("selector-too-large");
                let failure = Self { reason, ..Self::new(Code::SelectorInvalid, message) };
                failure.hint("resolve it in parts")
            }
            PlanFault::Withheld(why) => why.into(),
        }
    }
}

impl From<PackError> for Failure {
    fn from(why: PackError) -> Self {
        let message = why.to_string();
        match why {
            PackError::Unknown { near: Some(near), .. } => Self::new(Code::UnknownPack, message)
                .hint(format!("did you mean `{}`?", Term::Pack(near))),
            PackError::Unknown { .. } => Self::new(Code::UnknownPack, message).hint(Hint::call(
                "{} lists the packs; a file in packs/ is used only after its publication",
                Verb::PackList,
            )),
            PackError::Withheld { .. } => Self::new(Code::Withheld, message).hint(verify_all()),
            PackError::Unusable { why, .. } => {
                let mut failure = Self::new(Code::PackInvalid, message);
                failure.reason = Some(why.code());
                let caret = why.caret();
                failure.details.extend(caret.iter().flat_map(|c| c.lines()).map(str::to_owned));
                failure
                    .hint(why.hint())
                    .hint(Hint::call("{} checks the live pack files", Verb::PackCheck))
            }
            PackError::Twice { .. } => {
                Self::new(Code::PackInvalid, message).hint("change the id of one of the packs")
            }
        }
    }
}

impl From<LockError> for Failure {
    fn from(why: LockError) -> Self {
        let message = why.to_string();
        match why {
            LockError::Held { .. } => {
                Self::new(Code::Locked, message).hint("run it again when the other process is done")
            }
            LockError::File(why) => why.into(),
        }
    }
}

impl From<ChainError> for Failure {
    fn from(why: ChainError) -> Self {
        let message = why.to_string();
        match why {
            ChainError::VersionMissing(_) => Self::new(Code::UnknownVersion, message),
            ChainError::File(why) => why.into(),
            _ => Self::new(Code::Withheld, message).hint(verify_all()),
        }
    }
}

impl From<CheckoutError> for Failure {
    fn from(why: CheckoutError) -> Self {
        let message = why.to_string();
        match why {
            CheckoutError::NotEmpty => Self::new(Code::Exists, message)
                .hint("name an empty or new folder; no file is overwritten"),
            CheckoutError::Inside => {
                Self::new(Code::Usage, message).hint("name a folder outside of the vault")
            }
            CheckoutError::Folder(_) => {
                Self::new(Code::Io, message).hint("name a folder that can be created")
            }
            CheckoutError::Withheld(withheld) => Self::withheld(&withheld),
            CheckoutError::Log(why) => why.into(),
            CheckoutError::File(_) => {
                Self::new(Code::Io, message).hint("remove the folder, and run it again")
            }
        }
    }
}

impl From<DerivedError> for Failure {
    fn from(why: DerivedError) -> Self {
        match why {
            DerivedError::Log(why) => why.into(),
            DerivedError::Withheld(withheld) => Self::withheld(&withheld),
        }
    }
}

/// Maximum number of sections that are listed if an anchor is unknown.
const MOST_ANCHORS: usize = 50;

impl From<UnknownAnchor> for Failure {
    fn from(why: UnknownAnchor) -> Self {
        let failure = Self::new(Code::UnknownAnchor, why.to_string());
        if why.known.is_empty() {
            return failure.hint("the document contains no headings");
        }
        let near = nearest(&why.anchor, why.known.iter().map(String::as_str)).map(str::to_owned);
        let mut failure = match near {
            Some(near) => failure.hint(format!("did you mean `#{near}`?")),
            None => failure.hint(Hint::call(
                "{} lists the sections with their sizes",
                Call::new(Verb::Read).word("ID").word("--outline"),
            )),
        };
        let known = why.known.into_iter().map(|anchor| format!("#{anchor}")).collect();
        failure.details = writing::first(MOST_ANCHORS, known);
        failure
    }
}

impl From<ResolveError> for Failure {
    fn from(why: ResolveError) -> Self {
        match why {
            ResolveError::Log(why) => why.into(),
            ResolveError::Section(why) => why.into(),
        }
    }
}

impl From<UnknownSection> for Failure {
    fn from(why: UnknownSection) -> Self {
        let message = format!("{} in `{}`", why.why, why.id);
        Self { message, ..why.why.into() }
    }
}

impl From<Unverified> for Failure {
    fn from(found: Unverified) -> Self {
        let Unverified { id, version, why } = found;
        let message = match version {
            Some(version) => {
                format!("the lines of `{id}` cannot be attributed: version {version}: {why}")
            }
            None => format!("the lines of `{id}` cannot be attributed: {why}"),
        };
        Self::new(Code::Withheld, message).hint(verify_all())
    }
}

impl From<Withheld> for Failure {
    fn from(withheld: Withheld) -> Self {
        Self::withheld(std::slice::from_ref(&withheld))
    }
}
