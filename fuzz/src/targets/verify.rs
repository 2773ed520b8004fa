//! A good vault, altered: verification reports on any bytes, never calls a changed vault intact,
//! and every served text was published.
//!
//! The first byte chooses the form of the log, the rest the alterations (`src/alter.rs`).

use std::sync::LazyLock;

use contextnest::files::vault::Vault;
use contextnest::files::vault::config::LogForm;
use contextnest::model::id::DocumentId;
use contextnest::prove::verify::{Request, Verdict, verify};
use contextnest::read::snapshot::Snapshot;
use contextnest::record::chain::history::{Entry, History, TextStorage};
use contextnest::record::checkpoint::log::Log;
use contextnest::text::document::text::normalise;

use super::alter::altered;
use super::input::Input;
use super::vault::{Good, Tree, folder, minute};

static VAULTS: LazyLock<[Good; 2]> = LazyLock::new(|| {
    let folder = folder();
    [("delta", LogForm::Delta), ("full", LogForm::Full)].map(|(name, form)| {
        let root = folder.join(name);
        std::fs::create_dir_all(&root).expect("a folder can be made");
        Good::make(root, form)
    })
});

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let good = &VAULTS[usize::from(input.byte() & 1)];
    let tree = altered(&good.files, input);
    good.put_on(&tree);
    check(good, &tree);
    good.restore(&tree);
}

fn check(good: &Good, tree: &Tree) {
    let Ok(vault) = Vault::open(&good.root) else { return };
    let report = verify(&vault, &Request::whole(minute(60)))
        .expect("every vault of plain files has a report");
    for finding in &report.findings {
        assert!(!finding.message.is_empty());
    }
    let whole = matches!(report.verdict, Verdict::IntactNotAnchored | Verdict::WorkingCopyDiffers);

    // Several alterations may undo a publication completely, which files alone cannot show.
    let changed: Vec<&String> =
        good.files.keys().filter(|path| tree.get(*path) != good.files.get(*path)).collect();
    if let [path] = changed[..]
        && tree.keys().all(|path| good.files.contains_key(path))
    {
        let record = |tree: &Tree| recorded(path, tree.get(path).map(Vec::as_slice));
        if record(tree) != record(&good.files) {
            assert!(!whole, "{path} was changed, but: {report:#?}");
        }
    }

    let Ok(log) = Log::read(&vault) else { return };
    let Ok(chronicle) = log.sound() else { return };
    let Ok(snapshot) = Snapshot::at(&vault, &chronicle, None) else { return };
    let served = |id: &DocumentId| {
        let served = snapshot.get(id)?;
        if let Ok(served) = &served {
            assert!(good.published(id, &served.text), "{id}: {:?}", served.text);
        }
        assert!(served.is_ok() || !whole, "{id} is withheld, but: {report:#?}");
        Some(served.is_ok())
    };
    let found: Vec<&DocumentId> = good.head.iter().filter(|id| served(id).is_some()).collect();
    // No text is lost while all files that contain it are unchanged.
    if changed.is_empty() && tree.len() == good.files.len() {
        assert_eq!(found.len(), good.head.len());
        assert!(whole, "{report:#?}");
    }
    let all = snapshot.all().expect("the log is sound");
    for served in &all.documents {
        assert!(good.published(&served.id, &served.text), "{}: {:?}", served.id, served.text);
        let _ = (served.links(), served.sections());
    }
    assert!(all.withheld.is_empty() || !whole, "{:?}, but: {report:#?}", all.withheld);
}

/// Returns the content of an authoritative file without the parts that no hash covers; empty for
/// other files.
fn recorded(path: &str, bytes: Option<&[u8]>) -> String {
    if !path.contains(".versions/") || path.ends_with("/.gitattributes") {
        return String::new();
    }
    let Some(bytes) = bytes else { return "it is gone".to_owned() };
    match path.rsplit('/').next() {
        Some("checkpoints.jsonl") => {
            let log = Log::parse(LogForm::Delta, bytes);
            format!("{:?} {}", log.entries, log.diagnosis.torn)
        }
        Some("context_history.yaml") => {
            format!("{:?}", Log::parse(LogForm::Full, bytes).entries)
        }
        Some("history.yaml") => match History::parse(bytes) {
            Ok(history) => {
                let slots = history.slots.into_iter().map(|slot| slot.entry.map(without_note));
                format!("{:?}", slots.collect::<Vec<_>>())
            }
            Err(why) => format!("{why}"),
        },
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => normalise(text).into_owned(),
            Err(why) => format!("{why}"),
        },
    }
}

fn without_note(mut entry: Entry) -> Entry {
    entry.note = None;
    // The hash covers the normal form of a diff.
    if let TextStorage::Diff(diff) = &mut entry.stored {
        *diff = normalise(diff).into_owned();
    }
    entry
}
