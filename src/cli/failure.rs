//! How a failure is told: code, exit status, what happened, where, and how to mend it. The only
//! place that turns domain errors into advice and exit codes (`spec/errors.md`).

use std::fmt;

use serde::Serialize;

use super::ui::shown;
use crate::chain::replay::ChainError;
use crate::checkpoint::fault::LogError;
use crate::codes::codes;
use crate::derived::DerivedError;
use crate::document::sections::UnknownAnchor;
use crate::document::validate::{Problem, Severity};
use crate::head::{HeadError, Lost, MemoryError};
use crate::model::id::IdError;
use crate::publish::{PublishError, Refusal};
use crate::resolve::checkout::CheckoutError;
use crate::resolve::packs::PackError;
use crate::resolve::plan::{PlanError, PlanFault};
use crate::resolve::{ResolveError, UnknownSection, Withheld};
use crate::selector::excerpt::caret;
use crate::selector::{ParseError, Term};
use crate::uri::{ForeignVault, UriError};
use crate::vault::OpenError;
use crate::vault::files::FileError;
use crate::vault::lock::LockError;
use crate::words::nearest;

codes! {
    /// A kind of failure.
    exit: u8,
    /// The exit code of the process.
    UnknownId "unknown-id" 1, "No document has this id, or none had it at this checkpoint.";
    UnknownVersion "unknown-version" 1, "A history has no such version.";
    UnknownAnchor "unknown-anchor" 1, "A document has no section of this name.";
    UnknownPack "unknown-pack" 1, "No pack that this checkpoint seals has this id.";
    PackInvalid "pack-invalid" 1, "A pack file cannot be used.";
    ForeignVault "foreign-vault" 1, "The URI names another vault, which cannot be resolved yet.";
    UnknownCheckpoint "unknown-checkpoint" 1, "There is no checkpoint of this number.";
    SearchPast "search-past" 1, "A search is asked of an earlier checkpoint, but answers for the last one.";
    Refused "refused" 1, "Some documents are invalid, so nothing was published.";
    Withheld "withheld" 1, "The chain does not vouch for a document, so it is not served.";
    LogBroken "log-broken" 1, "The checkpoint log cannot be relied on.";
    ClockBehind "clock-behind" 1, "The last checkpoint is more than 24 hours ahead of the clock.";
    ClockEnded "clock-ended" 1, "The last checkpoint is of the last time that can be recorded.";
    Exists "exists" 1, "A file or folder of this name exists.";
    Usage "usage" 2, "The arguments do not fit together.";
    NoVault "no-vault" 2, "There is no vault here.";
    NoPrincipal "no-principal" 2, "Nobody said who acts.";
    ConfigInvalid "config-invalid" 2, "The configuration cannot be read.";
    IdInvalid "id-invalid" 2, "The text cannot be an id.";
    Misplaced "misplaced" 2, "The vault's layout has no documents there.";
    SelectorInvalid "selector-invalid" 2, "The selector cannot be read.";
    UriInvalid "uri-invalid" 2, "The URI cannot be read, or names something that is not served.";
    QueryInvalid "query-invalid" 2, "The words to search for cannot be read.";
    Governed "governed" 3, "The vault is governed; publication needs a review.";
    VaultNotAllowed "vault-not-allowed" 3, "The URI names a vault that the configuration does not allow.";
    Locked "locked" 4, "Another command is writing to the vault.";
    Changed "changed" 4, "A file was changed by somebody else meanwhile.";
    NotAsExpected "not-as-expected" 4, "Something else is published than what the writer has read.";
    Unremembered "unremembered" 4, "Nothing outside the vault says whose bytes these are.";
    HeadRollback "head-rollback" 4, "The log no longer has the checkpoint that is remembered as its head.";
    HeadFork "head-fork" 4, "The log has another checkpoint in the place of the one that is remembered.";
    Io "io" 5, "Reading or writing failed.";
    SearchFailed "search-failed" 5, "The search back-end did not answer.";
}

/// A failure as it is told.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    #[serde(serialize_with = "as_word")]
    pub(super) code: Code,
    /// The rule of selectors or URIs that was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    pub(super) message: String,
    /// Where, and what else is known, line by line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hints: Vec<String>,
    /// Problems of single documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) documents: Vec<RefusedDocument>,
}

/// One document that was refused.
#[derive(Debug, Serialize)]
pub(super) struct RefusedDocument {
    path: String,
    problems: Vec<ProblemJson>,
}

/// One problem of a document, in JSON.
#[derive(Debug, Serialize)]
pub(super) struct ProblemJson {
    code: &'static str,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    message: String,
    hint: String,
}

impl From<&Problem> for ProblemJson {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code,
            severity: severity(problem.severity),
            line: problem.line,
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        }
    }
}

impl From<&Refusal> for RefusedDocument {
    fn from(refusal: &Refusal) -> Self {
        let problems = refusal.problems.iter().map(ProblemJson::from).collect();
        Self { path: refusal.path.clone(), problems }
    }
}

pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// What happened, without code and hints.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

fn as_word<S: serde::Serializer>(code: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

impl Failure {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: None,
            message: message.into(),
            details: Vec::new(),
            hints: Vec::new(),
            documents: Vec::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The failure as text for people.
    pub(super) fn text(&self) -> String {
        let mut out = format!("error[{}]: {}", self.code.as_str(), shown(&self.message));
        for detail in &self.details {
            out.push_str(&format!("\n  {}", shown(detail)));
        }
        for document in &self.documents {
            out.push_str(&format!("\n  {}", shown(&document.path)));
            for problem in &document.problems {
                let line = problem.line.map_or_else(String::new, |n| format!("line {n}: "));
                let message = shown(&problem.message);
                let (code, hint) = (problem.code, shown(&problem.hint));
                let severity = problem.severity;
                out.push_str(&format!("\n    {severity}[{code}]: {line}{message} ({hint})"));
            }
        }
        for hint in &self.hints {
            out.push_str(&format!("\nhint: {}", shown(hint)));
        }
        out
    }

    /// A selector that cannot be read, with a caret under the place.
    pub(super) fn selector(why: &ParseError, text: &str) -> Self {
        let mut failure = Self::new(Code::SelectorInvalid, why.to_string());
        failure.reason = Some(why.code());
        failure.details = why.caret(text).lines().map(str::to_owned).collect();
        failure.hints.extend(why.hint());
        failure
    }

    /// A selector that cannot be evaluated, with a caret under the term.
    pub(super) fn plan(why: PlanError<Self>, text: &str) -> Self {
        let mut failure = Self::from(why.why);
        // Under a whole selector carets say nothing.
        if text.get(why.span.clone()) != Some(text.trim()) {
            let caret = caret(text, &why.span);
            failure.details.splice(0..0, caret.lines().map(str::to_owned));
        }
        failure
    }

    /// Documents that the chain does not vouch for.
    pub(super) fn withheld(withheld: &[Withheld]) -> Self {
        let message = match withheld {
            [one] => format!("`{}` is withheld: {}", one.id, one.why),
            many => format!("{} documents are withheld", many.len()),
        };
        let mut failure = Self::new(Code::Withheld, message);
        if withheld.len() > 1 {
            failure.details = withheld.iter().map(|w| format!("{}: {}", w.id, w.why)).collect();
        }
        failure.hint("the chain does not vouch for it; run `ctx verify`")
    }

    /// No published document of this name.
    pub(super) fn unknown_id(id: &str, near: Option<&str>) -> Self {
        let failure = Self::new(Code::UnknownId, format!("there is no document `{id}`"));
        match near {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("`ctx list` shows what is published, `ctx status` everything"),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(why: OpenError) -> Self {
        let message = why.to_string();
        match why {
            OpenError::NotFound { .. } => Self::new(Code::NoVault, message)
                .hint("`ctx init` makes this folder a vault; `--vault DIR` names one elsewhere"),
            OpenError::NotAVault { .. } => {
                Self::new(Code::NoVault, message).hint("`ctx init DIR` makes a folder a vault")
            }
            OpenError::Config(_) => Self::new(Code::ConfigInvalid, message)
                .hint("mend the line in .context/config.yaml; `ctx read .context/config.yaml` prints what was published"),
            OpenError::File(why) => why.into(),
        }
    }
}

impl From<FileError> for Failure {
    fn from(why: FileError) -> Self {
        let message = why.to_string();
        match why {
            FileError::Changed { .. } => {
                Self::new(Code::Changed, message).hint("look at the file, then run it again")
            }
            FileError::Link { .. } => Self::new(Code::Io, message)
                .hint("a vault holds its files itself; replace the link by what it points to"),
            FileError::Io { action, source, .. } => {
                let failure = Self::new(Code::Io, message);
                let reads = ["read", "list", "open"].contains(&action);
                match source.kind() {
                    std::io::ErrorKind::PermissionDenied if reads => {
                        failure.hint("give yourself permission to read it, and run it again")
                    }
                    std::io::ErrorKind::PermissionDenied
                    | std::io::ErrorKind::ReadOnlyFilesystem => {
                        failure.hint("reading needs no permission to write; only this command does")
                    }
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                        failure.hint("make room on the disk, and run it again")
                    }
                    std::io::ErrorKind::FileTooLarge => failure
                        .hint("a limit on the size of files is set here"),
                    std::io::ErrorKind::AlreadyExists => failure.hint(
                        "`ctx verify` names files that no history has as `unfinished`; such a file may be moved away",
                    ),
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
            LogError::Unknown { last: 0, .. } => Self::new(Code::UnknownCheckpoint, message)
                .hint("nothing is published yet; `ctx publish --all` makes checkpoint 1"),
            LogError::Unknown { .. } => Self::new(Code::UnknownCheckpoint, message)
                .hint("`ctx checkpoint list` shows them all"),
            LogError::Missing { .. } => Self::new(Code::LogBroken, message)
                .hint("restore the log from git or a backup; keep the histories, which say what was published")
                .hint("`ctx checkpoint rebuild --dry-run` shows the log that they give"),
            LogError::Torn { .. } => Self::new(Code::LogBroken, message)
                .hint("a command was interrupted, or somebody wrote there: `ctx recover --dry-run` says what can be done about it"),
            LogError::Conflict { .. } => Self::new(Code::LogBroken, message)
                .hint("two branches have published: a record has one line of checkpoints")
                .hint("in the vault's folder, keep this branch's: git restore --source=HEAD --staged --worktree -- ':(glob)**/.versions/**'")
                .hint("then publish what the other branch published (`ctx publish ID...`), and retire or move again what it retired or moved"),
            LogError::BothForms => Self::new(Code::LogBroken, message)
                .hint("they do not say the same; nothing was written")
                .hint("find out which one is yours (`git log -- .versions`), and move the other out of the vault"),
            _ => Self::new(Code::LogBroken, message)
                .hint("run `ctx verify` for the whole picture; nothing was written")
                .hint("`ctx checkpoint rebuild --dry-run` shows the log that the histories give"),
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
            .hint("nothing was written; bring the log back from git or a backup, and run `ctx verify`")
            .hint("`ctx checkpoint rebuild --dry-run` shows the log that the histories give")
            .hint("if the vault was changed on purpose, `ctx head trust` remembers the log as it is")
    }
}

impl From<MemoryError> for Failure {
    fn from(why: MemoryError) -> Self {
        let failure = Self::new(Code::Io, why.to_string());
        match why {
            MemoryError::Unreadable { .. } => {
                failure.hint("`ctx verify` looks at the vault, `ctx head trust` remembers it anew")
            }
            MemoryError::Io { .. } => failure,
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
                .hint("with `--vault DIR` a command works in a vault that is on this machine"),
            ForeignVault::NotAllowed { .. } => Self::new(Code::VaultNotAllowed, message)
                .hint("whoever governs the vault may add it to `allow` in .context/config.yaml"),
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
            PackError::Unknown { .. } => Self::new(Code::UnknownPack, message)
                .hint("`ctx pack list` shows them; a file in packs/ is one once it is published"),
            PackError::Withheld { .. } => {
                Self::new(Code::Withheld, message).hint("run `ctx verify` for the whole picture")
            }
            PackError::Unusable { why, .. } => {
                let mut failure = Self::new(Code::PackInvalid, message);
                failure.reason = Some(why.code());
                failure
                    .details
                    .extend(why.caret().iter().flat_map(|c| c.lines()).map(str::to_owned));
                failure.hint(why.hint()).hint("`ctx pack check` looks at the live files")
            }
            PackError::Twice { .. } => {
                Self::new(Code::PackInvalid, message).hint("give one of them another id")
            }
        }
    }
}

impl From<LockError> for Failure {
    fn from(why: LockError) -> Self {
        let message = why.to_string();
        match why {
            LockError::Held { .. } => {
                Self::new(Code::Locked, message).hint("run it again when the other one is done")
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
            _ => Self::new(Code::Withheld, message).hint("run `ctx verify` for the whole picture"),
        }
    }
}

impl From<CheckoutError> for Failure {
    fn from(why: CheckoutError) -> Self {
        let message = why.to_string();
        match why {
            CheckoutError::NotEmpty => Self::new(Code::Exists, message)
                .hint("name a folder that is empty or not there; nothing is written over"),
            CheckoutError::Inside => {
                Self::new(Code::Usage, message).hint("name a folder outside of it")
            }
            CheckoutError::Folder(_) => {
                Self::new(Code::Io, message).hint("name a folder that can be made")
            }
            CheckoutError::Withheld(withheld) => Self::withheld(&withheld),
            CheckoutError::Log(why) => why.into(),
            CheckoutError::File(_) => Self::new(Code::Io, message).hint("remove it and try again"),
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

impl From<UnknownAnchor> for Failure {
    fn from(why: UnknownAnchor) -> Self {
        let failure = Self::new(Code::UnknownAnchor, why.to_string());
        if why.known.is_empty() {
            return failure.hint("the document has no headings");
        }
        let near = nearest(&why.anchor, why.known.iter().map(String::as_str)).map(str::to_owned);
        let mut failure = match near {
            Some(near) => failure.hint(format!("did you mean `#{near}`?")),
            None => failure.hint("`ctx outline ID` shows them with their sizes"),
        };
        failure.details = why.known.into_iter().map(|anchor| format!("#{anchor}")).collect();
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

impl From<Withheld> for Failure {
    fn from(withheld: Withheld) -> Self {
        Self::withheld(std::slice::from_ref(&withheld))
    }
}

impl From<PublishError> for Failure {
    fn from(why: PublishError) -> Self {
        let message = why.to_string();
        match why {
            PublishError::Refused(refused) => {
                let mut failure = Self::new(Code::Refused, message);
                failure.documents = refused.iter().map(RefusedDocument::from).collect();
                failure.hint("nothing was written; mend what is named, or leave it out")
            }
            PublishError::Governed => Self::new(Code::Governed, message)
                .hint("this version of ctx publishes in ungoverned vaults only"),
            PublishError::UnknownId { id, near } => Self::unknown_id(id.as_str(), near.as_deref()),
            PublishError::ClockEnded { .. } => Self::new(Code::ClockEnded, message)
                .hint("set the clock; bring `.versions` back from before that checkpoint, and publish again"),
            PublishError::ClockBehind { .. } => Self::new(Code::ClockBehind, message)
                .hint("set the clock; a checkpoint is never older than the one before")
                .hint("if it is the clock of whoever published last that was wrong, and nobody relies on that checkpoint yet: bring `.versions` back from before it, and publish again"),
            PublishError::Exists(_) => Self::new(Code::Exists, message)
                .hint("edit the file and run `ctx publish`, or choose another id"),
            PublishError::Misplaced { .. } => Self::new(Code::Misplaced, message)
                .hint("documents lie under `nodes/` and `sources/`; see `layout` and `exclude` in .context/config.yaml"),
            PublishError::Policy { .. } => {
                Self::new(Code::Withheld, message).hint("run `ctx verify`")
            }
            PublishError::Expected(mismatch) => Self::not_as_expected(message, &mismatch),
            PublishError::ExpectedOfOne => Self::new(Code::Usage, message)
                .hint("name one document, or say what the head is with `--expect-hash`"),
            PublishError::Log(why) => why.into(),
            PublishError::Head(why) => why.into(),
            PublishError::Lock(why) => why.into(),
            PublishError::Config(why) => why.into(),
            PublishError::File(why) => why.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ordered_by_exit_code() {
        let words: std::collections::BTreeSet<&str> =
            Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|c| c.exit()));
    }
}
