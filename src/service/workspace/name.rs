//! Reads the name of a document in an argument: an id, a URI, or the path of its file.

use std::path::{Component, Path, PathBuf};

use super::Workspace;
use super::version::{check_name, is_hidden, unknown};
use crate::files::vault::Vault;
use crate::files::vault::federation::Authorities;
use crate::policy::viewer::is_limited_at_last;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::read::working::{is_known, nearest_id};
use crate::record::chain::replay;
use crate::record::checkpoint::fault::LogError;
use crate::service::report::failure::{Code, Failure};
use crate::text::uri::{Target, Uri};
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout;
use crate::values::model::number::CheckpointNumber;

/// A document that an argument names.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) id: DocumentId,
    pub(crate) checkpoint: Option<CheckpointNumber>,
    /// The section that `#anchor` names.
    pub(crate) anchor: Option<String>,
}

impl Named {
    fn whole(id: DocumentId) -> Self {
        Self { id, checkpoint: None, anchor: None }
    }

    /// Returns the name pinned to the checkpoint of an option, if there is one.
    ///
    /// # Errors
    /// The name is pinned to another checkpoint.
    pub(crate) fn at(self, at: Option<CheckpointNumber>) -> Result<Self, Failure> {
        Ok(Self { checkpoint: pinned(self.checkpoint, at)?, ..self })
    }
}

/// Returns the checkpoint of a pin or an option.
///
/// # Errors
/// The pin and the option name different checkpoints.
pub(super) fn pinned(
    pin: Option<CheckpointNumber>,
    at: Option<CheckpointNumber>,
) -> Result<Option<CheckpointNumber>, Failure> {
    match (at, pin) {
        (Some(at), Some(pin)) if at != pin => {
            let message = format!("the pin names checkpoint {pin}, but {at} was also given");
            Err(Failure::new(Code::Usage, message).hint("name only one checkpoint"))
        }
        (at, pin) => Ok(at.or(pin)),
    }
}

/// Returns the failure for a folder where a document is expected.
fn is_folder(text: &str, folder: String) -> Failure {
    let folder = Uri::from(Target::Folder(folder));
    let list = Call::new(Verb::List).value(folder.to_string());
    Failure::new(Code::Usage, format!("`{text}` is a folder, but a document is expected"))
        .hint(Hint::call("{} lists the published documents in it", list))
}

impl Workspace<'_> {
    /// Returns the id that an argument names. Its live file or its history must exist.
    ///
    /// # Errors
    /// The argument is not a name, or nothing has this name.
    pub(crate) fn known_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        self.known(vault, text).map_err(|why| match self.of_version(text) {
            Some(hint) if why.code == Code::UnknownId => Failure { hints: vec![hint], ..why },
            _ => why,
        })
    }

    /// Returns a hint for `ID@N`: the command for a version and the one for a checkpoint.
    fn of_version(&self, text: &str) -> Option<Hint> {
        let (id, number) = text.rsplit_once('@').unwrap_or(("", text));
        crate::values::yaml::canonical_number(number)?;
        if id.is_empty() {
            // `restore ID 1`.
            let restore = Call::new(Verb::Restore).word("ID").word("--version").value(number);
            let is_restore = self.options.command.verb == "restore";
            return is_restore.then(|| Hint::call("for a version of this number run {}", restore));
        }
        let of = |verb| Call::new(verb).value(id);
        let version = match self.options.command.verb.as_str() {
            "diff" => of(Verb::Diff).value(number),
            "restore" => of(Verb::Restore).word("--version").value(number),
            "impact" => of(Verb::Impact).value(number),
            _ => of(Verb::Show).value(number),
        };
        let read = Call::new(Verb::Read).value(format!("{id}@{number}"));
        let text = "`@` names a checkpoint: for a version of this number run {}, for the text at the \
                    checkpoint {}";
        Some(Hint::calls(text, [version, read]))
    }

    fn known(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        let mut id = self.named(vault, text)?;
        if self.options.is_served {
            // The check comes before anything of the document is read.
            id = self.nameable(vault, id)?;
        }
        if is_known(vault, &id) && !is_hidden(vault, &id) {
            return Ok(id);
        }
        let is_of_published = vault.reader().is_of_published();
        // A hint must not name a document that the reader cannot know of.
        if let Ok(source) = versions_of(vault) {
            match Snapshot::of(vault, &source, None) {
                // A published document is known even if all its files are missing.
                Ok(head)
                    if head.may_name(&id)
                        && let Some(Err(withheld)) = head.get(&id) =>
                {
                    return Err(withheld.into());
                }
                Ok(head) if head.is_limited() || is_of_published => {
                    return Err(unknown(&head, id.as_str())?);
                }
                Err(why @ LogError::NoReader) => return Err(why.into()),
                Err(why) if is_limited_at_last(vault) => return Err(why.into()),
                _ => {}
            }
        }
        let near = nearest_id(vault, &id, std::iter::empty()).filter(|_| !is_of_published);
        Err(Failure::unknown_id(id.as_str(), near.as_deref()))
    }

    /// Returns the id that an argument names, even if only the log contains it.
    ///
    /// # Errors
    /// The argument is not a name, or nothing has this name.
    pub(crate) fn recorded_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        let is_unknown = |code| matches!(code, Code::UnknownId | Code::Withheld);
        let unknown = match self.known_id(vault, text) {
            Err(failure) if is_unknown(failure.code) => failure,
            known => return known,
        };
        let id = self.named(vault, text)?;
        let log = crate::record::trusted_head::read_log(vault)?;
        if log
            .sound()
            .is_ok_and(|log| Snapshot::at(vault, &log, None).is_ok_and(|head| !head.may_name(&id)))
        {
            return Err(unknown);
        }
        if log.records(&id) { Ok(id) } else { Err(unknown) }
    }

    /// Returns the id that an argument names, if the reader may know of it (see
    /// [`Workspace::nameable`]).
    ///
    /// # Errors
    /// As [`Workspace::recorded_id`]; or the reader may not know of it.
    pub(crate) fn readable_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        self.nameable(vault, self.recorded_id(vault, text)?)
    }

    /// Returns the id if the reader may know of it. The error is that of a missing
    /// document (REV-22).
    ///
    /// # Errors
    /// The reader cannot know of it; or the log is not valid, and a published
    /// version of the configuration limits readers.
    pub(crate) fn nameable(&self, vault: &Vault, id: DocumentId) -> Result<DocumentId, Failure> {
        // Callers that read the log report its faults. Where a fault hides every name, it is
        // reported here.
        let failed = |why: LogError| match why {
            LogError::NoReader => Err(Failure::from(why)),
            why if is_limited_at_last(vault) => Err(why.into()),
            _ => Ok(()),
        };
        match versions_of(vault) {
            Ok(source) => match Snapshot::of(vault, &source, None) {
                Ok(head) => check_name(&head, &id)?,
                Err(why) => failed(why)?,
            },
            Err(why) => failed(why)?,
        }
        Ok(id)
    }

    /// Returns false if the hint names a command that would answer that the id is unknown.
    pub(super) fn is_answerable(&self, hint: &Hint) -> bool {
        let mut asked = hint.values_of(Verb::StewardWho).peekable();
        if asked.peek().is_none() {
            return true;
        }
        let Ok(vault) = self.vault() else { return true };
        let is_known =
            |id: &str| id.parse().is_ok_and(|id: DocumentId| self.nameable(&vault, id).is_ok());
        asked.all(is_known)
    }

    /// Returns the current document that an argument names by id, URI, or path of its file. An
    /// existing id has precedence over a path, whatever characters it contains.
    pub(crate) fn named(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        if is_uri(text) {
            let named = of_uri(text, &vault.config().authorities)?;
            return match (named.checkpoint, &named.anchor) {
                (None, None) => Ok(named.id),
                (None, Some(anchor)) => {
                    Err(Failure::new(Code::Usage, format!("`#{anchor}` names a section"))
                        .hint(format!("this operation takes a whole document: `{}`", named.id)))
                }
                (Some(pin), _) => {
                    Err(Failure::new(Code::Usage, format!("`@{pin}` names an earlier checkpoint"))
                        .hint(format!("this operation takes the current document: `{}`", named.id)))
                }
            };
        }
        if self.options.is_served {
            return self.named_by_id(vault, text);
        }
        if let Some(id) = text.parse::<DocumentId>().ok().filter(|id| is_known(vault, id)) {
            return self.alone_in(vault, text, self.as_recorded(vault, id));
        }
        let folder = text.strip_suffix('/');
        // A hidden document does not turn a folder into a document.
        let may_name = |id: &DocumentId| self.nameable(vault, id.clone()).is_ok();
        let found = self.of_path(vault, text).filter(|id| folder.is_none() || may_name(id));
        match (found, folder) {
            (Some(id), _) => Ok(id),
            (None, Some(folder)) if folder.parse::<DocumentId>().is_ok() => {
                let found = self.folder(vault, text, &|_| false);
                Err(is_folder(text, found.unwrap_or_else(|| text.to_owned())))
            }
            (None, _) if leads_out(text) && self.below_root(vault, text).is_none() => {
                let message = format!("`{text}` is outside of the vault");
                let hint = format!("name a document or a folder in {}", vault.root().display());
                Err(Failure::new(Code::Usage, message).hint(hint))
            }
            (None, _) => {
                let is_path = text.ends_with(layout::ENDING) || text.parse::<DocumentId>().is_err();
                let id = is_path.then(|| self.of_absent(vault, text)).flatten();
                Ok(self.as_recorded(vault, id.map_or_else(|| text.parse(), Ok)?))
            }
        }
    }

    /// Reads an id; a path to the file is not accepted (MCP-36). Documents that the reader cannot
    /// know of are not searched.
    fn named_by_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        let Ok(id) = text.parse::<DocumentId>() else {
            let source = versions_of(vault)?;
            return Err(match Snapshot::of(vault, &source, None) {
                Ok(head) => unknown(&head, text)?,
                Err(why @ LogError::NoReader) => return Err(why.into()),
                Err(_) => Failure::unknown_id(text, None),
            });
        };
        match self.nameable(vault, id.clone()) {
            Ok(id) => Ok(self.as_recorded(vault, id)),
            Err(_) => Ok(id),
        }
    }

    /// Returns the recorded spelling of an id: the same, or one that differs only in case
    /// (VAULT-65), if the reader may know of it.
    fn as_recorded(&self, vault: &Vault, id: DocumentId) -> DocumentId {
        let recorded = vault.recorded_in_other_case(&id).filter(|recorded| {
            !is_hidden(vault, recorded) && self.nameable(vault, recorded.clone()).is_ok()
        });
        recorded.unwrap_or(id)
    }

    /// Refuses an id that is also the path of another document's file: a file `a.md.md` has the
    /// id `a.md`.
    fn alone_in(&self, vault: &Vault, text: &str, id: DocumentId) -> Result<DocumentId, Failure> {
        let is_path = id.is_document() && text.ends_with(layout::ENDING);
        let other = is_path.then(|| self.of_path(vault, text)).flatten();
        let Some(other) = other.filter(|other| *other != id) else { return Ok(id) };
        let message = format!(
            "`{text}` is the file of `{other}`, and the id of the file `{}`",
            id.live_path()
        );
        Err(Failure::new(Code::Usage, message)
            .hint(format!("name the first one `{other}`, and the other `contextnest://{id}`"))
            .hint(format!("or rename `{}`", id.live_path())))
    }

    /// Reads a name like [`Workspace::named`], with a checkpoint (`ID@N`) or a
    /// section (`ID#anchor`).
    ///
    /// In this form `@`, `#`, `%` and blanks of an id are percent-encoded, so that no file can
    /// replace a pin or a section. URIs are read by the head's configuration.
    pub(crate) fn named_at(
        &self,
        vault: &Vault,
        source: &CheckpointSource,
        text: &str,
    ) -> Result<Named, Failure> {
        if is_uri(text) {
            return of_uri(text, &Snapshot::of(vault, source, None)?.authorities()?);
        }
        // A server only knows documents that the reader may read (MCP-36).
        let head = match self.options.is_served && text.contains(['#', '@']) {
            true => Some(Snapshot::of(vault, source, None)?),
            false => None,
        };
        let is_known = |id: &DocumentId| match &head {
            Some(head) => head.holds(id).unwrap_or(false),
            None => is_known(vault, id),
        };
        // The result must not reveal which documents exist (REV-22): if no file has this exact
        // name, the text names a section.
        let is_literal = || text.parse::<DocumentId>().is_ok_and(|id| is_known(&id));
        if let Some((name, anchor)) = text.rsplit_once('#')
            && let Ok(named) = self.pinned(vault, name, &is_known)
            && (is_known(&named.id) || !is_literal())
        {
            return Ok(Named { anchor: Some(anchor.to_owned()), ..named });
        }
        self.pinned(vault, text, &is_known)
    }

    /// Reads `ID` or `ID@N`.
    fn pinned(
        &self,
        vault: &Vault,
        text: &str,
        is_known: &dyn Fn(&DocumentId) -> bool,
    ) -> Result<Named, Failure> {
        let Some((name, number)) = text.rsplit_once('@') else {
            return Ok(Named::whole(self.named(vault, text)?));
        };
        let checkpoint = crate::values::yaml::canonical_number(number).filter(|n| *n > 0);
        if let Some(checkpoint) = checkpoint.map(CheckpointNumber)
            && !name.is_empty()
        {
            let id = self.named(vault, name)?;
            let uri: Uri = match is_known(&id) {
                true => Uri::document(id),
                false => format!("contextnest://{name}").parse()?,
            };
            if let Target::Document { id, .. } = uri.target {
                self.refuse_ambiguous(vault, text, (&id, checkpoint))?;
                return Ok(Named { checkpoint: Some(checkpoint), ..Named::whole(id) });
            }
        }
        let literal = self.named(vault, text)?;
        if is_known(&literal) {
            return Ok(Named::whole(literal));
        }
        Err(Failure::new(Code::Usage, format!("`{number}` is not the number of a checkpoint"))
            .hint(Hint::call("write `ID@1`; {} lists the checkpoints", Verb::CheckpointList)))
    }

    /// Refuses `ID@N` if a published document that the reader may know of has this text as its id.
    fn refuse_ambiguous(
        &self,
        vault: &Vault,
        text: &str,
        (id, at): (&DocumentId, CheckpointNumber),
    ) -> Result<(), Failure> {
        let literal = text.parse::<DocumentId>().ok();
        let literal = literal.filter(|id| replay::has_history(vault.files(), id));
        let Some(literal) = literal.filter(|id| self.nameable(vault, id.clone()).is_ok()) else {
            return Ok(());
        };
        let message = format!(
            "`{text}` is the id of a document, and can also mean `{id}` at checkpoint {at}"
        );
        let read = |uri: Uri| Call::new(Verb::Read).value(uri.to_string());
        let uris = [Uri::document(literal), Uri::pinned(id.clone(), at)];
        let hint = "name one of them by its URI: {} reads the document, {} the checkpoint";
        Err(Failure::new(Code::Usage, message).hint(Hint::calls(hint, uris.map(read))))
    }

    /// Reads the id of a new document: relative to the vault's folder, or, if it is written as a
    /// path (`./x`, `../x`, `x.md`), relative to the current folder.
    pub(crate) fn new_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        let is_path = text.starts_with("./") || text.starts_with("../") || text.ends_with(".md");
        if !is_path || self.options.is_served {
            return Ok(DocumentId::of_new(text)?);
        }
        let cwd =
            self.environment.cwd.canonicalize().unwrap_or_else(|_| self.environment.cwd.clone());
        let path = lexical(&cwd.join(text));
        // Outside of the vault, a path is relative to the vault.
        let path = match path.strip_prefix(vault.root()) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => text.to_owned(),
        };
        Ok(DocumentId::of_new(path.strip_suffix(".md").unwrap_or(&path))?)
    }

    /// Returns the new id of a moved document. If the text is a folder, the name is kept.
    pub(crate) fn moved_id(
        &self,
        vault: &Vault,
        old: &DocumentId,
        text: &str,
    ) -> Result<DocumentId, Failure> {
        let name = old.as_str().rsplit('/').next().filter(|_| text.ends_with('/'));
        self.new_id(vault, &[text, name.unwrap_or_default()].concat())
    }

    /// Returns the id of the file at a path, relative to the current folder or to the vault's.
    fn of_path(&self, vault: &Vault, text: &str) -> Option<DocumentId> {
        let here = self.below_root(vault, text);
        let here = here.as_deref().and_then(Path::to_str);
        [here, Some(text)].into_iter().flatten().find_map(|path| {
            let id = self.as_recorded(vault, id_of_path(path)?);
            is_known(vault, &id).then_some(id)
        })
    }

    /// Returns the id that a path would have if a file were there, so that an error names missing
    /// and hidden files in the same way.
    fn of_absent(&self, vault: &Vault, text: &str) -> Option<DocumentId> {
        let here = self.below_root(vault, text);
        let is_in_folder =
            |path: &PathBuf| vault.root().join(path).parent().is_some_and(Path::is_dir);
        let here = here.filter(is_in_folder);
        id_of_path(here.as_deref().and_then(Path::to_str).unwrap_or(text))
    }
}

/// Opens a source that is enough to find published versions.
fn versions_of(vault: &Vault) -> Result<CheckpointSource, LogError> {
    CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
}

/// Returns the id of a file of the vault.
fn id_of_path(path: &str) -> Option<DocumentId> {
    match path.ends_with(layout::ENDING) && path != layout::CONTEXT {
        true => DocumentId::of_document_file(path).ok(),
        false => path.parse().ok(),
    }
}

/// Returns true if a text begins with the scheme of URIs.
pub(crate) fn is_uri(text: &str) -> bool {
    text.get(..14).is_some_and(|scheme| scheme.eq_ignore_ascii_case("contextnest://"))
}

pub(in crate::library::service::workspace) fn of_uri(
    text: &str,
    authorities: &Authorities,
) -> Result<Named, Failure> {
    let uri = Uri::parse_in(text, authorities)?;
    match uri.local()?.clone() {
        Target::Document { id, checkpoint, anchor } => Ok(Named { id, checkpoint, anchor }),
        _ => Err(Failure::new(Code::UriInvalid, format!("`{text}` is not one document"))
            .hint(Hint::call("{} takes URIs of folders and tags", Verb::Resolve))),
    }
}

/// Returns true if a path is absolute, or leaves the folder that it is relative to.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_usize;
    let leaves = |part: Component<'_>| match part {
        Component::ParentDir => match depth.checked_sub(1) {
            Some(above) => {
                depth = above;
                false
            }
            None => true,
        },
        Component::Normal(_) => {
            depth += 1;
            false
        }
        Component::CurDir => false,
        Component::RootDir | Component::Prefix(_) => true,
    };
    Path::new(path).components().any(leaves)
}

/// Resolves `.` and `..` in a path by its text alone.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}
