//! How an argument names a document: an id, a URI, or the path of its file.

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

/// A document as an argument names it.
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

    /// The same at the checkpoint of an option, if there is one.
    ///
    /// # Errors
    /// The name is pinned to another checkpoint.
    pub(crate) fn at(self, at: Option<CheckpointNumber>) -> Result<Self, Failure> {
        Ok(Self { checkpoint: pinned(self.checkpoint, at)?, ..self })
    }
}

/// The checkpoint that a pin or an option names.
///
/// # Errors
/// They name different ones.
pub(super) fn pinned(
    pin: Option<CheckpointNumber>,
    at: Option<CheckpointNumber>,
) -> Result<Option<CheckpointNumber>, Failure> {
    match (at, pin) {
        (Some(at), Some(pin)) if at != pin => {
            let message = format!("the pin names checkpoint {pin}, but {at} is asked for, too");
            Err(Failure::new(Code::Usage, message).hint("name one checkpoint: leave out the other"))
        }
        (at, pin) => Ok(at.or(pin)),
    }
}

/// A folder of the vault, which an argument names where a document is expected.
fn is_folder(text: &str, folder: String) -> Failure {
    let folder = Uri::from(Target::Folder(folder));
    let list = Call::new(Verb::List).value(folder.to_string());
    Failure::new(Code::Usage, format!("`{text}` is a folder, but a document is expected"))
        .hint(Hint::call("{} lists the published documents in it", list))
}

impl Workspace<'_> {
    /// The id that an argument names; a live file or a history of it must exist.
    ///
    /// # Errors
    /// The argument is no name, or nothing has it.
    pub(crate) fn known_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        self.known(vault, text).map_err(|why| match self.of_version(text) {
            Some(hint) if why.code == Code::UnknownId => Failure { hints: vec![hint], ..why },
            _ => why,
        })
    }

    /// What a command that takes a document, and perhaps a version of it, has for `ID@N`.
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
            // Before anything of it is looked at.
            id = self.nameable(vault, id)?;
        }
        if is_known(vault, &id) && !is_hidden(vault, &id) {
            return Ok(id);
        }
        let is_of_published = vault.reader().is_of_published();
        // What a reader may not know of is no hint either.
        if let Ok(source) = versions_of(vault) {
            match Snapshot::of(vault, &source, None) {
                // What is published is not unknown, even if all its files are gone.
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

    /// The id that an argument names; the log may be all that has it.
    ///
    /// # Errors
    /// The argument is no name, or nothing has it.
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

    /// The same id, if the reader may know of it (see [`Workspace::nameable`]).
    ///
    /// # Errors
    /// As [`Workspace::recorded_id`]; or the reader may not know of it.
    pub(crate) fn readable_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        self.nameable(vault, self.recorded_id(vault, text)?)
    }

    /// The same id, if the reader may know of it. Otherwise it is as unknown as one that is not there
    /// (REV-23).
    ///
    /// # Errors
    /// The reader may not know of it; or the log cannot be relied on, and the last configuration that
    /// the chain vouches for limits readers.
    pub(crate) fn nameable(&self, vault: &Vault, id: DocumentId) -> Result<DocumentId, Failure> {
        // What reads the log says what is wrong with it. If it hides every name, so does this.
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

    /// Returns true unless the hint names a command that answers that the id is unknown.
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

    /// Reads how an argument names a document that is there now: an id, a URI, or the path of its
    /// file. An id stands for itself, whatever characters it holds.
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
        // A document that the reader may not know of does not turn a folder into a document.
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

    /// Reads an id, which a path to the same file is not (MCP-36). What the reader may not be told of is not
    /// looked for.
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

    /// The recorded id that an id means: the same, or the one that differs only in case (VAULT-65),
    /// if the reader may know of it.
    fn as_recorded(&self, vault: &Vault, id: DocumentId) -> DocumentId {
        let recorded = vault.recorded_in_other_case(&id).filter(|recorded| {
            !is_hidden(vault, recorded) && self.nameable(vault, recorded.clone()).is_ok()
        });
        recorded.unwrap_or(id)
    }

    /// An id that a text is, unless the text is the path of another document's file, too: a file
    /// `a.md.md` has the id `a.md`.
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
            .hint(format!("better rename `{}`", id.live_path())))
    }

    /// Like [`Workspace::named`], but `ID@N` names the document at checkpoint N and `ID#anchor` a
    /// section of it. In this form `@`, `#`, `%` and blanks of an id are percent-encoded, so that
    /// no file can take the place of a pin or a section. A URI is read as the head's configuration
    /// says.
    pub(crate) fn named_at(
        &self,
        vault: &Vault,
        source: &CheckpointSource,
        text: &str,
    ) -> Result<Named, Failure> {
        if is_uri(text) {
            return of_uri(text, &Snapshot::of(vault, source, None)?.authorities()?);
        }
        // Over MCP only what the reader may read is known (MCP-36).
        let head = match self.options.is_served && text.contains(['#', '@']) {
            true => Some(Snapshot::of(vault, source, None)?),
            false => None,
        };
        let is_known = |id: &DocumentId| match &head {
            Some(head) => head.holds(id).unwrap_or(false),
            None => is_known(vault, id),
        };
        // Whether a document has the name decides nothing that a reader could find out (REV-22): what
        // no file has as it is written names a section.
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
        let message = format!("`{text}` is a document, and `{id}` at checkpoint {at}");
        let read = |uri: Uri| Call::new(Verb::Read).value(uri.to_string());
        let uris = [Uri::document(literal), Uri::pinned(id.clone(), at)];
        let hint = "name one of them by its URI: {} reads the document, {} the checkpoint";
        Err(Failure::new(Code::Usage, message).hint(Hint::calls(hint, uris.map(read))))
    }

    /// Reads the id of something new: an id from the vault's folder, or, if it is written as a
    /// path (`./x`, `../x`, `x.md`), the file at that path from here.
    pub(crate) fn new_id(&self, vault: &Vault, text: &str) -> Result<DocumentId, Failure> {
        let is_path = text.starts_with("./") || text.starts_with("../") || text.ends_with(".md");
        if !is_path || self.options.is_served {
            return Ok(DocumentId::of_new(text)?);
        }
        let cwd =
            self.environment.cwd.canonicalize().unwrap_or_else(|_| self.environment.cwd.clone());
        let path = lexical(&cwd.join(text));
        // From outside of the vault a path is one in the vault.
        let path = match path.strip_prefix(vault.root()) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => text.to_owned(),
        };
        Ok(DocumentId::of_new(path.strip_suffix(".md").unwrap_or(&path))?)
    }

    /// The new id of a document that is moved: a folder keeps the name.
    pub(crate) fn moved_id(
        &self,
        vault: &Vault,
        old: &DocumentId,
        text: &str,
    ) -> Result<DocumentId, Failure> {
        let name = old.as_str().rsplit('/').next().filter(|_| text.ends_with('/'));
        self.new_id(vault, &[text, name.unwrap_or_default()].concat())
    }

    /// The id of the file at a path, seen from the current folder or from the vault's.
    fn of_path(&self, vault: &Vault, text: &str) -> Option<DocumentId> {
        let here = self.below_root(vault, text);
        let here = here.as_deref().and_then(Path::to_str);
        [here, Some(text)].into_iter().flatten().find_map(|path| {
            let id = self.as_recorded(vault, id_of_path(path)?);
            is_known(vault, &id).then_some(id)
        })
    }

    /// The id that a path would have if a file were there: an error names it as it names a file that
    /// the reader may not know of.
    fn of_absent(&self, vault: &Vault, text: &str) -> Option<DocumentId> {
        let here = self.below_root(vault, text);
        let is_in_folder =
            |path: &PathBuf| vault.root().join(path).parent().is_some_and(Path::is_dir);
        let here = here.filter(is_in_folder);
        id_of_path(here.as_deref().and_then(Path::to_str).unwrap_or(text))
    }
}

/// What says which versions are published.
fn versions_of(vault: &Vault) -> Result<CheckpointSource, LogError> {
    CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
}

/// The id of a file of the vault.
fn id_of_path(path: &str) -> Option<DocumentId> {
    match path.ends_with(layout::ENDING) && path != layout::CONTEXT {
        true => DocumentId::of_document_file(path).ok(),
        false => path.parse().ok(),
    }
}

/// Whether a text is meant as a URI.
pub(crate) fn is_uri(text: &str) -> bool {
    text.get(..14).is_some_and(|scheme| scheme.eq_ignore_ascii_case("contextnest://"))
}

pub(in crate::service::workspace) fn of_uri(
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

/// Whether a path is absolute, or leaves the folder that it is seen from.
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

/// A path with `.` and `..` resolved by its text alone.
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
