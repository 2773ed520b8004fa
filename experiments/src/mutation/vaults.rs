//! The vaults whose bits are flipped: of each kind a small one, with everything that a record can
//! contain, and a larger one.

use std::fs;
use std::path::Path;

use contextnest::files::vault::Vault;
use contextnest::model::id::DocumentId;
use contextnest::model::layout::GITATTRIBUTES;
use contextnest::record::checkpoint::log::Log;
use contextnest::text::document::Document;
use contextnest::text::document::frontmatter::Status;
use contextnest::text::document::text::normalise;

use crate::corpus::{self, Draw};
use crate::honest::Kind;
use crate::inside::{Person, files, write};
use crate::process::Result;
use crate::reference::{OtherTool, What, create};

/// Time of the first event: 2026-01-01.
const BEGIN: i64 = 1_767_225_600_000;
const HOUR: i64 = 3_600_000;

/// The role of a file in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    History,
    Keyframe,
    DiffFile,
    Log,
    Governance,
    Live,
}

impl Role {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::History => "histories",
            Self::Keyframe => "full texts",
            Self::DiffFile => "files of diffs",
            Self::Log => "log",
            Self::Governance => "live governance files",
            Self::Live => "live published documents",
        }
    }
}

/// A file whose bits are flipped.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) role: Role,
    /// The artifact, of a live file or a history.
    pub(super) id: Option<DocumentId>,
    pub(super) bytes: Vec<u8>,
}

/// Makes a vault with everything in few documents, or one of some services of the corpus, with ten
/// documents each; returns its clock after the last event.
pub(super) fn make(kind: Kind, services: Option<usize>, root: &Path) -> Result<i64> {
    fs::create_dir_all(root)?;
    let person = Person { home: None, principal: "ana@example.com".to_owned(), now: BEGIN };
    match (kind, services) {
        // Its log grows with the square of the documents.
        (Kind::Interop, services) => {
            of_reference_implementation(root, services.map_or(3, |services| services * 4))
        }
        (_, Some(services)) => large(kind, services, root, person),
        (_, None) => small(kind, root, person),
    }
}

fn begin(kind: Kind, root: &Path, person: &Person) -> Result<()> {
    person.done(root, &["init", ".", "--name", "Test", "--layout", "structured"])?;
    let form = if kind == Kind::Full { "  checkpoint_log: full\n" } else { "" };
    let text = format!(
        "version: 1\nname: Test\nlayout: structured\nversions:\n  keyframe_interval: 3\n{form}"
    );
    write(root, ".context/config.yaml", text)
}

/// Makes a vault of three documents, one retired and one published again; with a full text after
/// two diffs, a note, a governance file that changes and one that is removed.
fn small(kind: Kind, root: &Path, mut person: Person) -> Result<i64> {
    begin(kind, root, &person)?;
    for (id, text) in [
        ("nodes/a", "---\ntitle: A\ntags: [red]\n---\n# A\n\nOne line.\n\n## Part\n\nAnother é.\n"),
        ("nodes/x/b", "# B\n\nA text without frontmatter, and without a last line end"),
        ("nodes/c", "---\r\ntitle: C\r\n---\r\n# C\r\n\r\nA text with other line ends.\r\n"),
    ] {
        write(root, &format!("{id}.md"), text)?;
    }
    write(root, "packs/p.yml", "id: p\nlabel: P\nquery: '#red'\n")?;
    write(root, "packs/q.yml", "id: q\nlabel: Q\nquery: '#red'\n")?;
    person.done(root, &["publish", "--all"])?;
    let publish = |person: &mut Person, path: &str, line: &str, args: &[&str]| -> Result<()> {
        person.now += HOUR;
        write(root, path, fs::read_to_string(root.join(path))? + line)?;
        person.done(root, args).map(drop)
    };
    publish(&mut person, "nodes/a.md", "\nTwo.\n", &["publish", "nodes/a", "-m", "a note: so"])?;
    write(root, "packs/p.yml", "id: p\nlabel: Other\nquery: '#red'\n")?;
    fs::remove_file(root.join("packs/q.yml"))?;
    publish(&mut person, "nodes/a.md", "\nThree.\n", &["publish", "nodes/a"])?;
    publish(&mut person, "nodes/a.md", "\nFour.\n", &["publish", "--changed"])?;
    person.now += HOUR;
    person.done(root, &["retire", "nodes/c", "nodes/x/b"])?;
    person.now += HOUR;
    person.done(root, &["publish", "nodes/c"])?;
    Ok(person.now)
}

/// Makes a vault of documents with five versions each, published in batches.
fn large(kind: Kind, services: usize, root: &Path, mut person: Person) -> Result<i64> {
    begin(kind, root, &person)?;
    corpus::write(root, services, 7)?;
    let ids: Vec<String> = corpus::documents(services, 7).map(|document| document.id).collect();
    person.done(root, &["publish", "--all"])?;
    for round in 2..=5 {
        for part in ids.chunks(25) {
            person.now += HOUR;
            for id in part {
                let path = format!("{id}.md");
                let text = fs::read_to_string(root.join(&path))?;
                write(root, &path, text + &format!("\nRead again, round {round}.\n"))?;
            }
            person.done(root, &["publish", "--changed", "-m", "read again"])?;
        }
    }
    person.now += HOUR;
    person.done(root, &["retire", &ids[3], &ids[14]])?;
    Ok(person.now)
}

/// Makes a vault of the reference implementation: diffs in histories and in files, and a submission
/// at the end of one.
fn of_reference_implementation(root: &Path, documents: usize) -> Result<i64> {
    write(root, ".context/config.yaml", "version: 1\nname: \"Other\"\n")?;
    write(root, "CONTEXT.md", "---\ntitle: \"Other\"\n---\n\n# Other\n")?;
    let mut draw = Draw::new(7, 0, 0);
    let mut tool = OtherTool { root, principal: "system:seed", draw: &mut draw, now: BEGIN };
    let ids: Vec<String> = (0..documents).map(|n| format!("nodes/d{n:02}")).collect();
    for id in &ids {
        create(root, id, "Number é", "Words of it.\n\n## Part\n\nMore.")?;
    }
    // A document of the small vault has a second full text, the eleventh version.
    for round in 0..11 {
        let some = if round < 5 { ids.len() } else { usize::from(documents < 5) };
        for (n, id) in ids.iter().take(some).enumerate() {
            tool.now += HOUR / 60;
            let path = format!("{id}.md");
            if round > 0 {
                let text = fs::read_to_string(root.join(&path))?;
                write(root, &path, text + &format!("\nAdded in round {round}.\n"))?;
            }
            let version = tool.version(id, What::Published, (n + round) % 2 == 0)?;
            let (_, number, chain) =
                version.ok_or("the reference implementation refused a document")?;
            tool.checkpoint(id, &[(id, number, &chain)])?;
        }
    }
    tool.now += HOUR;
    tool.version(&ids[1], What::Submitted, false)?;
    Ok(tool.now)
}

/// Returns every file of the record, and every file that is compared with it.
pub(super) fn targets(root: &Path) -> Result<Vec<Target>> {
    let vault = Vault::open(root)?;
    let log = Log::read(&vault)?;
    let chronicle = log.sound()?;
    let head = chronicle.state_at(chronicle.head_number())?;
    let mut targets = Vec::new();
    for path in files(root)? {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let id = DocumentId::of_document_file(&path).ok();
        let governance = path.parse::<DocumentId>().ok().filter(|id| !id.is_document());
        let (role, id) = if path == log.path() {
            (Role::Log, None)
        } else if name == GITATTRIBUTES {
            // No hash covers the file (THREAT-14).
            continue;
        } else if path.contains(".versions/") {
            let role = match name {
                "history.yaml" => Role::History,
                name if name.ends_with(".diff") => Role::DiffFile,
                _ => Role::Keyframe,
            };
            let dir = path.strip_suffix("/history.yaml");
            (role, dir.and_then(|dir| DocumentId::of_history_dir(dir).ok()))
        } else if vault.governance_files().contains(&path) {
            (Role::Governance, governance)
        } else if id.as_ref().is_some_and(|id| head.get(id.as_str()).is_some()) {
            (Role::Live, id)
        } else {
            continue;
        };
        let bytes = fs::read(root.join(&path))?;
        if role == Role::Live {
            // Anyone may change a draft of a published document.
            let document = Document::parse(&normalise(std::str::from_utf8(&bytes)?))?;
            if document.frontmatter.status != Status::Published {
                continue;
            }
        }
        targets.push(Target { path, role, id, bytes });
    }
    Ok(targets)
}
