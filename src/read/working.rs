//! Live files: the working copies of documents in the vault. They are compared with the published
//! versions and never served.

pub(crate) mod aliases;
pub mod confusable;
pub(crate) mod copies;
pub mod gathered;
pub(crate) mod hashtags;
pub mod images;
pub mod inbound;
pub mod linked;
pub mod packs;
mod targets;

use crate::values::model::governance_file::GovernanceFile;
use crate::values::model::hint::{Call, Hint, Verb};
use rayon::prelude::*;

use crate::files::vault::Vault;
use crate::files::vault::config::{Config, Layout};
use crate::files::vault::copies::copied;
use crate::files::vault::federation::Authorities;
use crate::files::vault::files::{FileError, Stamp};
use crate::files::vault::left_out::{LeftOut, Reason};
use crate::files::vault::walk::WalkedFiles;
use crate::policy::stewards;
use crate::record::chain::replay;
use crate::record::checkpoint::codec;
use crate::text::document::frontmatter::Frontmatter;
use crate::text::document::hidden;
use crate::text::document::live_form::LiveForm;
use crate::text::document::not_for_use::{self, Said};
use crate::text::document::obsidian::Markup;
use crate::text::document::validate::{Criteria, Problem, Severity, problems};
use crate::text::document::validity::Validity;
use crate::text::document::{Document, Format, Unreadable, utf8};
use crate::text::pack;
use crate::text::uri::Uri;
use crate::values::model::filtered::filtered;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};
use crate::values::model::tag::Tag;
use crate::values::model::timestamp::Timestamp;
use crate::values::text_util::nearest_name;
use crate::values::yaml;

/// A live document.
#[derive(Debug)]
pub struct LiveFile {
    /// Path in the vault.
    pub path: String,
    /// Id of the document; `None` if the name cannot be an id.
    pub id: Option<DocumentId>,
    /// Text and its parts, or the reason why it cannot be read.
    pub content: Result<Text, Problem>,
    /// Stamp of the file before it was read; `None` if it cannot be read.
    pub(crate) stamp: Option<Stamp>,
}

/// Text of a readable live document.
#[derive(Debug)]
pub struct Text {
    /// Content of the file.
    pub text: String,
    /// Parts and fields of the text.
    pub document: Document,
}

impl Text {
    /// Adds the tags of the body to those of the frontmatter, if the layout has such tags.
    fn take_tags(&mut self, markup: Markup) {
        let Document { frontmatter, parts, .. } = &mut self.document;
        let additions = markup.additions(frontmatter, &self.text[parts.body..]);
        frontmatter.add_tags(additions.tags, markup);
    }
}

impl LiveFile {
    /// Returns every problem of the file.
    pub fn problems(&self, vault: &Vault) -> Vec<Problem> {
        let mut found = match &self.content {
            Ok(content) => {
                let is_new = !self.id.as_ref().is_some_and(|id| has_history(vault, id));
                let criteria = criteria(vault, &self.path, &content.document, is_new);
                problems(&content.text, &content.document, criteria)
            }
            Err(problem) => vec![problem.clone()],
        };
        if let Some(id) = &self.id {
            found.extend(unnamed(id, &vault.config().authorities));
            found.extend(self.content.iter().flat_map(|content| of_name(vault, id, content)));
        }
        found
    }

    /// Returns its fields, if it could be read.
    pub fn fields(&self) -> Option<&Frontmatter> {
        self.content.as_ref().ok().map(|content| &content.document.frontmatter)
    }
}

/// Returns the criteria for the problems of a document of the vault.
pub(crate) fn criteria<'v>(
    vault: &'v Vault,
    path: &str,
    document: &Document,
    is_new: bool,
) -> Criteria<'v> {
    let config = vault.config();
    Criteria {
        servers: &config.servers,
        is_new,
        hidden_text: looks_for_hidden_text(vault, path),
        frontmatter: config.frontmatter,
        yaml_only: document.format != Format::Yaml && codec::form_of(vault).is_shared(),
        markup: Markup::of(config),
    }
}

/// Returns the warnings about the name of a document: the name of a copy, or one that some systems
/// do not support.
pub(crate) fn of_name(vault: &Vault, id: &DocumentId, content: &Text) -> Vec<Problem> {
    let body = &content.text[content.document.parts.body..];
    let copy = copies::problem(vault, &id.live_path(), body);
    copy.into_iter().chain(unfit_for_windows(id)).chain(instructions(id)).collect()
}

/// Returns the warning for the name of a file that coding agents load as instructions (VAULT-67).
pub(crate) fn instructions(id: &DocumentId) -> Option<Problem> {
    let path = id.live_path();
    layout::is_instructions(&path).then(|| {
        let message = "coding agents load a file with this name as instructions".to_owned();
        let hint = "choose another name, unless it is meant to instruct them";
        Problem { severity: Severity::Warning, ..error(INSTRUCTIONS, message, hint) }
    })
}

/// Code of a name that coding agents load as instructions.
pub(crate) const INSTRUCTIONS: &str = "instruction-file";

/// Returns the warning for a name that Windows does not support, for the file or the folder of
/// its history.
fn unfit_for_windows(id: &DocumentId) -> Option<Problem> {
    let (name, why) =
        id.as_str().split('/').find_map(|name| Some((name, windows_refuses(name)?)))?;
    let message = format!("Windows does not allow the name `{name}`: {why}");
    let hint = "rename it; git on Windows cannot check it out";
    Some(Problem { severity: Severity::Warning, ..error("name-windows", message, hint) })
}

/// Returns the reason why Windows does not support a name.
fn windows_refuses(name: &str) -> Option<String> {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    if let Some(c) = name.chars().find(|c| "<>:\"|?*".contains(*c)) {
        return Some(format!("it contains `{c}`"));
    }
    if name.ends_with(['.', ' ']) {
        return Some("it ends in a dot or a blank".to_owned());
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_uppercase();
    let port = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_port = port.is_some_and(|n| {
        matches!(
            n,
            "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "\u{b9}" | "\u{b2}" | "\u{b3}"
        )
    });
    (is_port || DEVICES.contains(&stem.as_str())).then(|| "it is the name of a device".to_owned())
}

fn looks_for_hidden_text(vault: &Vault, path: &str) -> bool {
    !vault.config().hidden_text_exclude.is_match(path)
}

/// Returns true if an artifact has a history, with any content.
pub(crate) fn has_history(vault: &Vault, id: &DocumentId) -> bool {
    vault.files().exists(&id.history_path())
}

/// Returns the warning for an id that URIs of the vault cannot name.
fn unnamed(id: &DocumentId, authorities: &Authorities) -> Option<Problem> {
    if Uri::document(id.clone()).within(authorities).is_some() {
        return None;
    }
    let (first, _) = id.as_str().split_once('/')?;
    let message = format!("no URI names it: `contextnest://{first}/` means something else");
    let hint = match Uri::can_name(id) {
        true => "set `namespace` in .context/config.yaml, or move it to another folder",
        false => "move it to another folder",
    };
    Some(Problem { severity: Severity::Warning, ..error("uri-taken", message, hint) })
}

/// Reads one live document; `None` if the file does not exist.
pub fn read(vault: &Vault, path: &str) -> Option<LiveFile> {
    let id = match DocumentId::of_document_file(path) {
        Ok(id) => Ok(id),
        Err(why) => Err(left_out("id-invalid", why.to_string(), why.hint())),
    };
    let (content, stamp) = match vault.files().read_stamped(path, limit::DOCUMENT) {
        Ok((bytes, stamp)) => (parse(bytes), Some(stamp)),
        Err(why) if why.is_absent() => return None,
        Err(why) => (Err(unreadable(&why)), None),
    };
    let (id, content) = match id {
        Ok(id) => (Some(id), content),
        Err(problem) => (None, Err(problem)),
    };
    Some(LiveFile { path: path.to_owned(), id, content, stamp })
}

fn parse(bytes: Vec<u8>) -> Result<Text, Problem> {
    let refused = |why: Unreadable| error(why.code(), why.to_string(), why.hint());
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(bytes) => utf8(bytes.as_bytes()).map(str::to_owned).map_err(refused)?,
    };
    let document = Document::of_live(&text).map_err(refused)?;
    Ok(Text { text, document })
}

/// Returns the problem of an existing file that cannot be read.
pub fn unreadable(why: &FileError) -> Problem {
    let (code, hint) = match why {
        FileError::TooLarge { .. } => ("too-large", "split the document"),
        FileError::Link { .. } => ("symbolic-link", "put the file itself here"),
        FileError::NotRegular { .. } => ("not-a-file", "rename it"),
        _ => ("unreadable", "make the file readable"),
    };
    error(code, why.to_string(), hint)
}

fn error(code: &'static str, message: String, hint: impl Into<Hint>) -> Problem {
    Problem { code, severity: Severity::Error, line: None, message, hint: hint.into() }
}

/// Makes the problem of a file that is not a document.
fn left_out(code: &'static str, message: String, hint: impl Into<Hint>) -> Problem {
    Problem { severity: Severity::Warning, ..error(code, message, hint) }
}

/// Returns files with the name of a document that are not documents, and links to folders, each
/// with the reason.
pub(crate) fn not_documents(found: &WalkedFiles) -> Vec<LeftOut> {
    let mut all = Vec::new();
    for (paths, why) in [
        (&found.links, Reason::Link),
        (&found.linked_folders, Reason::LinkedFolder),
        (&found.unreadable_names, Reason::NameNotUtf8),
        (&found.not_files, Reason::NotAFile),
    ] {
        all.extend(paths.iter().map(|path| LeftOut::file(path.clone(), why.clone())));
    }
    all
}

/// Returns the ignore files that cannot be used, each with the reason.
pub(crate) fn unusable_rules(found: &WalkedFiles) -> Vec<(String, Problem)> {
    let message = "its ignore rules are not read: it is a link, too large or unreadable";
    let hint = "make it a file of at most 64 KiB, and all of them together at most 1 MiB";
    let problem = || error("unreadable", message.to_owned(), hint);
    found.unusable_rules.iter().map(|path| (path.clone(), problem())).collect()
}

/// Returns the problems of files with the name of a document that are not documents, and of
/// unusable ignore files.
fn irregular(found: &WalkedFiles) -> Vec<(String, Problem)> {
    let problem = |file: LeftOut| {
        let (code, message, hint) = match file.why {
            Reason::Link => (
                "symbolic-link",
                "it is a symbolic link, which is not followed",
                "put the file itself here",
            ),
            Reason::NotAFile => ("not-a-file", "it is not a regular file", "rename it"),
            Reason::NameNotUtf8 => ("id-invalid", "the name is not UTF-8", "rename it"),
            _ => return None,
        };
        Some((file.path, left_out(code, message.to_owned(), hint)))
    };
    not_documents(found).into_iter().filter_map(problem).chain(unusable_rules(found)).collect()
}

/// Maximum number of live documents whose texts [`each`] keeps in memory.
const AT_ONCE: usize = 1024;

/// Reads every live document of the layout, in byte order of paths. Files that are not regular are
/// included as unreadable files.
pub fn all(vault: &Vault) -> Vec<LiveFile> {
    let mut files = Vec::new();
    each(vault, |read| files.extend(read));
    files
}

/// Calls `see` with the files of [`all`], in the same order, a bounded number at a time.
pub(crate) fn each(vault: &Vault, mut see: impl FnMut(Vec<LiveFile>)) {
    let found = vault.documents();
    let odd = odd(&found).map(|file| (file.path.clone(), Some(file)));
    let mut places: Vec<(String, Option<LiveFile>)> = odd.collect();
    places.extend(found.documents.iter().map(|path| (path.clone(), None)));
    places.sort_by(|a, b| a.0.cmp(&b.0));
    let mut places = places.into_iter();
    loop {
        let part: Vec<_> = places.by_ref().take(AT_ONCE).collect();
        if part.is_empty() {
            return;
        }
        let read = part.into_par_iter();
        see(read.filter_map(|(path, odd)| odd.or_else(|| document(vault, &path))).collect());
    }
}

/// Reads every live document like [`all`], with the tags that selectors find.
pub(crate) fn all_tagged(vault: &Vault) -> Vec<LiveFile> {
    let (mut files, markup) = (all(vault), Markup::of(vault.config()));
    let texts = files.par_iter_mut().filter_map(|file| file.content.as_mut().ok());
    texts.for_each(|text| text.take_tags(markup));
    files
}

/// Returns the tags of a live document, as selectors read them; `None` if the file does not exist.
///
/// # Errors
/// Returns the reason why the file cannot be read.
pub(crate) fn tags(vault: &Vault, id: &DocumentId) -> Option<Result<Vec<Tag>, Problem>> {
    let file = read(vault, &id.live_path())?;
    Some(file.content.map(|mut text| {
        text.take_tags(Markup::of(vault.config()));
        text.document.frontmatter.tags
    }))
}

/// Reads one live document of the layout; `None` if the file does not exist, or is not yet
/// a document.
pub(crate) fn document(vault: &Vault, path: &str) -> Option<LiveFile> {
    let file = read(vault, path)?;
    let is_plain = |content: &Text| is_plain_root_file(vault, &file.path, &content.document);
    (!file.content.as_ref().is_ok_and(is_plain)).then_some(file)
}

/// Returns files with the name of a document that are not regular, as unreadable files.
pub(crate) fn odd(found: &WalkedFiles) -> impl Iterator<Item = LiveFile> {
    let unread = |(path, problem)| LiveFile { path, id: None, content: Err(problem), stamp: None };
    irregular(found).into_iter().map(unread)
}

/// Maximum number of drafts that are read for a hint, and maximum size of each in bytes.
const HINTED: (usize, u64) = (1_000, 1 << 20);

/// Returns the fields of unpublished live documents, for a hint. Large or unreadable files are
/// skipped; returns `None` if there are too many.
pub fn drafts(
    vault: &Vault,
    is_published: impl Fn(&DocumentId) -> bool,
) -> Option<Vec<(DocumentId, Frontmatter)>> {
    let paths = vault.documents().documents.into_iter();
    let named = paths.filter_map(|path| Some((DocumentId::of_document_file(&path).ok()?, path)));
    let drafts: Vec<(DocumentId, String)> = named.filter(|(id, _)| !is_published(id)).collect();
    if drafts.len() > HINTED.0 {
        return None;
    }
    let markup = Markup::of(vault.config());
    let fields = |(id, path): (DocumentId, String)| {
        let mut text = parse(vault.files().read(&path, HINTED.1).ok()?).ok()?;
        text.take_tags(markup);
        let is_plain = is_plain_root_file(vault, &path, &text.document);
        (!is_plain).then_some((id, text.document.frontmatter))
    };
    Some(drafts.into_par_iter().filter_map(fields).collect())
}

/// Returns the problems of the text of a governance file. An unreadable configuration is an error,
/// and so is each problem of `stewards.yaml`, because the file would take effect without a steward.
pub fn governance_problems(vault: &Vault, id: &DocumentId, text: &str) -> Vec<Problem> {
    let hidden_text = looks_for_hidden_text(vault, id.as_str());
    if let Some(conflict) = hidden::conflict(text, !hidden_text) {
        return vec![Problem::from_text(conflict, 0)];
    }
    if let Some(form) = filtered(text.as_bytes()) {
        let why = Unreadable::Filtered(form);
        return vec![error(why.code(), why.to_string(), why.hint())];
    }
    match id.governance() {
        Some(GovernanceFile::Config) => config_problems(vault, text),
        Some(GovernanceFile::Stewards) => {
            stewards::read(text).problems.iter().map(Problem::from).collect()
        }
        Some(GovernanceFile::Pack) => {
            pack_problems(vault, id.as_str(), &pack::read(text, &vault.config().authorities))
        }
        Some(GovernanceFile::Instructions) | None => {
            let found = if hidden_text { hidden::hidden(text) } else { Vec::new() };
            found.into_iter().map(|found| Problem::from_text(found, 0)).collect()
        }
    }
}

fn config_problems(vault: &Vault, text: &str) -> Vec<Problem> {
    let problem = |severity, why: yaml::Error| Problem {
        code: "config",
        severity,
        line: Some(why.line),
        message: why.problem,
        hint: "fix the line; spec/vault.md lists the keys".into(),
    };
    match Config::parse(text) {
        Ok(config) => {
            // An event would begin the log, and then the key could no longer be read.
            let is_accepted = !vault.has_foreign_review() && vault.log_stamp().is_some();
            let severity = if is_accepted { Severity::Warning } else { Severity::Error };
            let foreign = config.foreign_review.map(|why| problem(severity, why));
            let warnings = config.warnings.into_iter().map(|why| problem(Severity::Warning, why));
            foreign.into_iter().chain(warnings).collect()
        }
        Err(why) => vec![problem(Severity::Error, why)],
    }
}

/// Returns the problems of a pack by itself, and of hidden text in its instructions.
pub fn pack_problems(vault: &Vault, path: &str, read: &pack::Reading) -> Vec<Problem> {
    let instructions = read.pack.as_ref().and_then(|pack| pack.agent_instructions.as_deref());
    let hidden = match looks_for_hidden_text(vault, path) {
        true => hidden::hidden(instructions.unwrap_or_default()),
        false => Vec::new(),
    };
    // Their line numbers are not those of the file.
    let hidden = hidden.into_iter();
    let hidden = hidden.map(|found| Problem { line: None, ..Problem::from_text(found, 0) });
    read.problems.iter().map(Problem::from).chain(hidden).collect()
}

/// Returns the ids of the existing governance files. A file whose name cannot be an id is left out.
pub(crate) fn governance_ids(vault: &Vault) -> impl Iterator<Item = DocumentId> {
    let files = vault.governance_files().into_iter();
    files.filter_map(|path| DocumentId::of_governance_file(&path).ok())
}

/// Returns the id of a live document, or one of `others`, that is nearest to an unknown id.
pub(crate) fn nearest_id<'o>(
    vault: &Vault,
    id: &DocumentId,
    others: impl Iterator<Item = &'o str>,
) -> Option<String> {
    let live = vault.documents().documents;
    let live = live.iter().map(|path| path.strip_suffix(layout::ENDING).unwrap_or(path));
    nearest_name(id.as_str(), others.map(|other| -> &str { other }).chain(live), '/')
        .map(str::to_owned)
}

/// Returns the existing governance files that are wanted, each with its own problems.
pub fn policy(vault: &Vault, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<Problem>)> {
    let check = |path: String| {
        let id = DocumentId::of_governance_file(&path);
        let found = match (vault.files().read(&path, limit::DOCUMENT), id) {
            (Err(why), _) => vec![unreadable(&why)],
            (_, Err(why)) => vec![error("id-invalid", why.to_string(), why.hint())],
            (Ok(bytes), Ok(id)) => match utf8(&bytes) {
                Err(why) => vec![error(why.code(), why.to_string(), why.hint())],
                Ok(text) => governance_problems(vault, &id, text),
            },
        };
        (path, found)
    };
    vault.governance_files().into_iter().filter(|path| is_wanted(path)).map(check).collect()
}

/// Returns true if a file is not yet a document: in a structured vault, a Markdown file in the root
/// needs a frontmatter.
pub(crate) fn is_plain_root_file(vault: &Vault, path: &str, document: &Document) -> bool {
    vault.layout() == Layout::Structured
        && !path.contains('/')
        && document.parts.frontmatter.is_none()
}

/// Returns the reason why an event that does not name a document leaves its live file out, from the
/// content of the file (DOC-40, DOC-45). `form` is the live form of its published text.
pub(crate) fn why_left_out(
    (vault, path): (&Vault, &str),
    (text, document): (&str, &Document),
    form: Option<&LiveForm<'_>>,
) -> Option<Reason> {
    let mode = vault.config().frontmatter;
    // A published file stays a document under any name.
    if form.is_none()
        && let Some(why) = copied(vault, path).map(Reason::Copy).or_else(|| of_place(path))
    {
        return Some(why);
    }
    let fields = &document.frontmatter;
    let said = not_for_use::said(text, document);
    if !said.is_empty() {
        // A text that was published in spite of such a word can be published with it again.
        let before =
            form.and_then(|form| Some((form.text(), Document::of_live(form.text()).ok()?)));
        let before = before.map(|(text, before)| not_for_use::said(text, &before));
        let before = before.unwrap_or_default();
        let is_new = |said: &Said| !before.iter().any(|before| before.says == said.says);
        if let Some(Said { says, .. }) = said.into_iter().find(is_new) {
            return Some(Reason::NotForUse { says, is_published: form.is_some() });
        }
    }
    match form {
        Some(form) if !form.is_draft(document, mode) => None,
        Some(_) => fields.says_draft().then_some(Reason::Draft),
        None if fields.is_marked_draft() => fields.draft_said().map(Reason::MarkedDraft),
        None => fields.says_draft().then_some(Reason::NewDraft),
    }
}

/// Returns true if the reference implementation erased the texts of a document on purpose.
pub(crate) fn is_erased(vault: &Vault, id: &DocumentId) -> bool {
    replay::load(vault.files(), id).is_ok_and(|history| history.is_erased())
}

/// Returns the reason why the folder of a file leaves it out (DOC-52).
fn of_place(path: &str) -> Option<Reason> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = format!("/{folder}/");
    match folder.contains("/logseq/bak/") || folder.contains("/logseq/version-files/") {
        true => Some(Reason::Backup),
        false => folder.contains("/_drafts/").then_some(Reason::DraftsFolder),
    }
}

/// Returns the warning for the text of a document whose validity has ended.
pub(crate) fn expired(id: &DocumentId, validity: &Validity, now: Timestamp) -> Option<Problem> {
    let said = validity.said().filter(|_| validity.is_expired(now))?;
    let retire = Call::new(Verb::Retire).value(id.as_str());
    Some(Problem {
        code: "expired",
        severity: Severity::Warning,
        line: Some(validity.line()),
        message: format!("`{said}` has passed"),
        hint: Hint::call("write a later date, or {} if it is published", retire),
    })
}

/// Returns true if an id has a live file or a history.
pub(crate) fn is_known(vault: &Vault, id: &DocumentId) -> bool {
    vault.files().exists(&id.live_path()) || has_history(vault, id)
}
