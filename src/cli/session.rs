//! What every verb needs: the vault, the clock, who acts, and how an argument names a document.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::{Code, Failure};
use super::git::GitError;
use super::ui::{Ui, shown};
use super::{Global, World};
use crate::checkpoint::log::Log;
use crate::head::{self, HeadError};
use crate::live::is_known;
use crate::model::id::Id;
use crate::model::principal::Principal;
use crate::model::timestamp::Timestamp;
use crate::publish::Author;
use crate::resolve::{Need, Snapshot, Source};
use crate::uri::{Target, Uri};
use crate::vault::Vault;
use crate::vault::federation::Authorities;
use crate::vault::lock;
use crate::vault::named;
use crate::vault::outside::{self, State};
use crate::words::{argument, count};

/// One command at work.
pub(super) struct Session<'w> {
    pub(super) ui: Ui<'w>,
    pub(super) world: &'w World,
    pub(super) stdin: &'w mut dyn std::io::Read,
    pub(super) global: Global,
}

/// A document as an argument names it.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) id: Id,
    pub(super) checkpoint: Option<u64>,
    /// The section that `#anchor` names.
    pub(super) anchor: Option<String>,
}

impl Named {
    fn whole(id: Id) -> Self {
        Self { id, checkpoint: None, anchor: None }
    }
}

impl Session<'_> {
    /// The vault: `--vault`, `CTX_VAULT`, or the nearest one from here upwards.
    pub(super) fn vault(&self) -> Result<Vault, Failure> {
        let named = self.global.vault.clone();
        let named = named.or_else(|| self.world.var("CTX_VAULT").map(PathBuf::from));
        let vault = match named {
            Some(dir) => {
                let dir = self.world.cwd.join(dir);
                let vault = Vault::open(&dir)?;
                self.refuse_links(&dir, &vault)?;
                vault
            }
            None => {
                let vault = Vault::find(&self.world.cwd)?;
                if let Some(dir) = self.walked_to(vault.root()) {
                    self.refuse_links(&dir, &vault)?;
                }
                vault
            }
        };
        Ok(self.outfit(vault))
    }

    /// The vault's folder as the user's shell walked to it, which may be through links.
    fn walked_to(&self, root: &Path) -> Option<PathBuf> {
        let walked = Path::new(self.world.var("PWD")?);
        let real = |path: &Path| path.canonicalize().ok();
        if !walked.is_absolute() || real(walked)? != real(&self.world.cwd)? {
            return None;
        }
        let named = walked.ancestors().find(|dir| real(dir).is_some_and(|dir| dir == root));
        named.map(Path::to_owned)
    }

    /// Refuses a vault that was named through a link inside a git work tree, or through a link in the
    /// place of a folder of which a head is trusted (VAULT-25).
    fn refuse_links(&self, dir: &Path, vault: &Vault) -> Result<(), Failure> {
        let work_tree = self.world.var("GIT_WORK_TREE").map(|tree| self.world.cwd.join(tree));
        let home = self.state_home();
        let was_trusted =
            |path: &Path| home.as_ref().is_some_and(|home| head::is_remembered(home, path));
        for link in named::links_to(dir, work_tree.as_deref()) {
            let path = shown(&link.path.display().to_string()).into_owned();
            let root = vault.root().display().to_string();
            let root = argument(&root);
            if link.is_in_work_tree {
                let message = format!("`{path}` is a symbolic link inside a git work tree");
                return Err(Failure::new(Code::Usage, message).hint(format!(
                    "the folder behind it has its own past; name it: `--vault {root}`"
                )));
            }
            if was_trusted(&link.unfollowed) {
                let was = link.unfollowed.display().to_string();
                let was = argument(&was);
                let message = format!(
                    "`{path}` is a symbolic link now, but a head is trusted of the folder that was there"
                );
                return Err(Failure::new(Code::Usage, message).hint(format!(
                    "if the vault was moved on purpose, `ctx head forget {was}` allows it"
                )));
            }
        }
        Ok(())
    }

    /// Says so where the nearest vault lies inside of another one, which the user may mean: none is
    /// made so, but somebody may have copied or planted it.
    pub(super) fn warn_of_outer(&mut self) {
        if self.global.vault.is_some() || self.world.var("CTX_VAULT").is_some() {
            return;
        }
        if let Some((inner, outer)) = Vault::nested(&self.world.cwd) {
            let (inner, outer) = (inner.display().to_string(), outer.display().to_string());
            let (inner, outer) = (shown(&inner), shown(&outer));
            self.ui.note(&format!("warning: the vault `{inner}` lies inside of the vault `{outer}`; --vault says which one you mean"));
        }
    }

    /// The vault with its folders in the user's directories.
    pub(super) fn outfit(&self, vault: Vault) -> Vault {
        let root = vault.root();
        let checked_out = self.checked_out(root);
        // All commits that are checked out by themselves share one index; each is a memory of its own,
        // because another one is no change.
        let branch = checked_out.as_deref().filter(|name| name.starts_with("refs/"));
        let cache = outside::cache_home(|name| self.world.var(name));
        let cache = cache.and_then(|home| folder_beside(&home, root, branch));
        let state = self.state_in(root, checked_out.clone());
        let vault = vault.with_cache(cache).with_state(state).on(self.world.disk.clone());
        vault.with_patience(self.patience())
    }

    /// How long this command waits for another writer.
    pub(super) fn patience(&self) -> Duration {
        self.global.lock_timeout.map_or(lock::PATIENCE, Duration::from_secs)
    }

    /// Where the head of a vault in a folder is remembered.
    pub(super) fn state_of(&self, root: &Path) -> Option<State> {
        self.state_in(root, self.checked_out(root))
    }

    fn state_in(&self, root: &Path, checked_out: Option<String>) -> Option<State> {
        let home = self.state_home()?;
        let dir = folder_beside(&home, root, checked_out.as_deref())?;
        let repository = checked_out.as_ref().and_then(|_| outside::repository(root));
        Some(State { home, dir, checked_out, repository })
    }

    /// The user's directory of state.
    pub(super) fn state_home(&self) -> Option<PathBuf> {
        outside::state_home(|name| self.world.var(name))
    }

    /// The time: `--now`, `CTX_NOW`, or the clock.
    pub(super) fn now(&self) -> Result<Timestamp, Failure> {
        let given = self.global.now.as_deref().or_else(|| self.world.var("CTX_NOW"));
        match given {
            Some(text) => text
                .parse()
                .map_err(|why| Failure::new(Code::Usage, format!("the time handed in: {why}"))),
            None => Ok(Timestamp::from_millis((self.world.clock)())),
        }
    }

    /// Who acts: `--as`, `CTX_PRINCIPAL`, git's `user.email` in the vault, else `fallback`.
    pub(super) fn principal(
        &self,
        root: &Path,
        fallback: Option<&str>,
    ) -> Result<Principal, Failure> {
        let named = self.global.principal.clone();
        let named = named.or_else(|| self.world.var("CTX_PRINCIPAL").map(str::to_owned));
        let named = named.or_else(|| self.git_email(root));
        let Some(name) = named.or_else(|| fallback.map(str::to_owned)) else {
            return Err(Failure::new(Code::NoPrincipal, "nobody said who acts")
                .hint("say `--as you@example.com`, set CTX_PRINCIPAL, or run `git config --global user.email you@example.com`"));
        };
        name.parse().map_err(|why: crate::model::principal::PrincipalError| {
            let failure = Failure::new(Code::NoPrincipal, why.to_string());
            match why.near() {
                Some(near) => failure.hint(format!("say `--as {}`", argument(near.as_str()))),
                None => failure,
            }
        })
    }

    fn git_email(&self, root: &Path) -> Option<String> {
        self.git_line(root, &["config", "--get", "user.email"])
    }

    /// One line that git says of a folder.
    fn git_line(&self, root: &Path, args: &[&str]) -> Option<String> {
        line_of((self.world.git)(root, args).ok()?)
    }

    /// The ref, or else the commit, that is checked out in the repository that holds a folder.
    fn checked_out(&self, root: &Path) -> Option<String> {
        let told = outside::checked_out(root)?;
        if !told.ends_with("/.invalid") {
            return Some(told);
        }
        // A repository that keeps its refs in tables (reftable) tells only git.
        match (self.world.git)(root, &["symbolic-ref", "--quiet", "HEAD"]) {
            // Whoever made it wait would make it wait again.
            Err(GitError::NotRun(_)) => None,
            Err(GitError::Refused(_)) => self.git_line(root, &["rev-parse", "--verify", "HEAD"]),
            Ok(name) => line_of(name),
        }
    }

    /// Who publishes, when, and why.
    pub(super) fn author(
        &self,
        vault: &Vault,
        note: Option<&str>,
        author: Option<&str>,
    ) -> Result<Author, Failure> {
        Ok(Author {
            principal: self.principal(vault.root(), author)?,
            author: author.map(str::to_owned),
            now: self.now()?,
            note: note.map(str::to_owned),
        })
    }

    /// What those who wait for the lock are told about a verb that publishes nothing.
    pub(super) fn holder(&self, verb: &str) -> Result<String, Failure> {
        Ok(format!("ctx {verb}, since {}", self.now()?))
    }

    /// Reads how an argument names a document that is there now: an id, a URI, or the path of its
    /// file. An id stands for itself, whatever characters it holds.
    pub(super) fn named(&self, vault: &Vault, text: &str) -> Result<Id, Failure> {
        if is_uri(text) {
            let named = of_uri(text, &vault.config().authorities)?;
            return match (named.checkpoint, &named.anchor) {
                (None, None) => Ok(named.id),
                (None, Some(anchor)) => {
                    Err(Failure::new(Code::Usage, format!("`#{anchor}` names a section"))
                        .hint(format!("this verb works on whole documents: `{}`", named.id)))
                }
                (Some(pin), _) => {
                    Err(Failure::new(Code::Usage, format!("`@{pin}` names the past"))
                        .hint(format!("this verb works on what is there now: `{}`", named.id)))
                }
            };
        }
        if let Some(id) = text.parse::<Id>().ok().filter(|id| is_known(vault, id)) {
            return Ok(id);
        }
        match self.of_path(vault, text) {
            Some(id) => Ok(id),
            None => Ok(text.parse()?),
        }
    }

    /// Like [`Session::named`], but `ID@N` names the document at checkpoint N and `ID#anchor` a
    /// section of it. In this form `@`, `#`, `%` and blanks of an id are percent-encoded, so that
    /// no file can take the place of a pin or a section. A URI is read as the head's configuration says.
    pub(super) fn named_at(
        &self,
        vault: &Vault,
        source: &Source,
        text: &str,
    ) -> Result<Named, Failure> {
        if is_uri(text) {
            return of_uri(text, &Snapshot::of(vault, source, None)?.authorities()?);
        }
        if let Some((name, anchor)) = text.rsplit_once('#')
            && let Ok(named) = self.pinned(vault, name)
            && is_known(vault, &named.id)
        {
            return Ok(Named { anchor: Some(anchor.to_owned()), ..named });
        }
        self.pinned(vault, text)
    }

    /// Reads `ID` or `ID@N`.
    fn pinned(&self, vault: &Vault, text: &str) -> Result<Named, Failure> {
        let Some((name, number)) = text.rsplit_once('@') else {
            return Ok(Named::whole(self.named(vault, text)?));
        };
        let checkpoint = crate::yaml::canonical_number(number).filter(|n| *n > 0);
        if checkpoint.is_some() && !name.is_empty() {
            let id = self.named(vault, name)?;
            let uri: Uri = match is_known(vault, &id) {
                true => Uri::document(id),
                false => format!("contextnest://{name}").parse()?,
            };
            if let Target::Document { id, .. } = uri.target {
                return Ok(Named { checkpoint, ..Named::whole(id) });
            }
        }
        let literal = self.named(vault, text)?;
        if is_known(vault, &literal) {
            return Ok(Named::whole(literal));
        }
        Err(Failure::new(Code::Usage, format!("`{number}` is not the number of a checkpoint"))
            .hint(format!("write `{name}@1`; `ctx checkpoint list` shows the numbers")))
    }

    /// Reads the id of something new: an id from the vault's folder, or, if it is written as a
    /// path (`./x`, `../x`, `x.md`), the file at that path from here.
    pub(super) fn new_id(&self, vault: &Vault, text: &str) -> Result<Id, Failure> {
        let is_path = text.starts_with("./") || text.starts_with("../") || text.ends_with(".md");
        if !is_path {
            return Ok(text.parse()?);
        }
        let cwd = self.world.cwd.canonicalize().unwrap_or_else(|_| self.world.cwd.clone());
        let path = lexical(&cwd.join(text));
        // From outside of the vault a path is one in the vault.
        let path = match path.strip_prefix(vault.root()) {
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => text.to_owned(),
        };
        Ok(path.strip_suffix(".md").unwrap_or(&path).parse()?)
    }

    /// The id of the file at a path, seen from the current folder or from the vault's.
    fn of_path(&self, vault: &Vault, text: &str) -> Option<Id> {
        let from_here = lexical(&self.world.cwd.canonicalize().ok()?.join(text));
        let here = from_here.strip_prefix(vault.root()).ok().and_then(Path::to_str);
        [here, Some(text)].into_iter().flatten().find_map(|path| {
            let id = if path.ends_with(".md") && path != crate::model::layout::CONTEXT {
                Id::of_document_file(path).ok()?
            } else {
                path.parse().ok()?
            };
            is_known(vault, &id).then_some(id)
        })
    }

    /// Where the checkpoints of a vault are read from: the index, or the log.
    pub(super) fn source(&mut self, vault: &Vault, need: Need) -> Result<Source, Failure> {
        let (ui, terminal) = (&mut self.ui, self.world.terminal);
        let mut told = 0;
        let source = Source::open(vault, need, &mut |done, all| {
            // Some ten thousand documents are a second of work.
            if terminal && all > 10_000 && done >= told {
                ui.note(&format!("indexing: {done} of {}", count(all, "document")));
                told = done + 20_000;
            }
        })?;
        self.warn_of_lost_head(source.check_head(vault));
        Ok(source)
    }

    /// The log of a vault, for verbs that rely on it.
    pub(super) fn log(&mut self, vault: &Vault) -> Result<Log, Failure> {
        let log = head::open_log(vault)?;
        if let Ok(chronicle) = log.sound() {
            self.warn_of_lost_head(head::check(vault, &chronicle));
        }
        Ok(log)
    }

    /// Says so where a reader answers from a log that does not hold the remembered head.
    fn warn_of_lost_head(&mut self, checked: Result<(), HeadError>) {
        if let Err(why) = checked {
            self.ui.warn(&format!(
                "the log may have been put back or replaced: {why}; run `ctx verify`"
            ));
        }
    }
}

/// Whether a text is meant as a URI.
pub(super) fn is_uri(text: &str) -> bool {
    text.get(..14).is_some_and(|scheme| scheme.eq_ignore_ascii_case("contextnest://"))
}

fn of_uri(text: &str, authorities: &Authorities) -> Result<Named, Failure> {
    let uri = Uri::parse_in(text, authorities)?;
    match uri.local()?.clone() {
        Target::Document { id, checkpoint, anchor } => Ok(Named { id, checkpoint, anchor }),
        _ => Err(Failure::new(Code::UriInvalid, format!("`{text}` is not one document"))
            .hint("`ctx resolve` takes URIs of folders and tags")),
    }
}

/// The folder of a vault in a directory of the user. What lies in the vault is not out of the reach of
/// those who write there.
fn folder_beside(home: &Path, root: &Path, checked_out: Option<&str>) -> Option<PathBuf> {
    let dir = outside::folder_of(home, root, checked_out);
    (!outside::lies_in(&dir, root)).then_some(dir)
}

/// One line that a program printed.
fn line_of(bytes: Vec<u8>) -> Option<String> {
    let line = String::from_utf8(bytes).ok()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

/// A path with `.` and `..` resolved by its text alone.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}
