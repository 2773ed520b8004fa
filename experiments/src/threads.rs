//! Many threads of one process that publish through the library, each with its own vault, opened
//! from the same folder.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contextnest::files::vault::Vault;
use contextnest::model::id::DocumentId;
use contextnest::model::timestamp::Timestamp;
use contextnest::read::snapshot::Snapshot;
use contextnest::record::audit::Recorder;
use contextnest::record::trusted_head;
use contextnest::write::commit::expect::Expect;
use contextnest::write::publish::{Author, Mode, PublishError, Request, Which, publish};

/// There is one live file: a thread that edits it publishes it, or leaves it.
static EDITOR: Mutex<()> = Mutex::new(());

type Outcome<T> = Result<T, String>;

fn shown_text(why: impl std::fmt::Display) -> String {
    why.to_string()
}

fn open(root: &Path) -> Outcome<Vault> {
    Ok(Vault::open(root).map_err(shown_text)?.with_patience(Duration::from_secs(600)))
}

fn request(id: &DocumentId, expect: Expect) -> Outcome<Request> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(shown_text)?;
    let now = Timestamp::from_millis(i64::try_from(now.as_millis()).map_err(shown_text)?);
    let principal = "ana@example.com".parse().map_err(shown_text)?;
    Ok(Request {
        author: Author { principal, author: None, now, note: None, recorder: Recorder::default() },
        which: Which::Ids(vec![id.clone()]),
        mode: Mode { expect, ..Mode::default() },
    })
}

/// Makes a document and publishes it.
pub(crate) fn publish_new(root: &Path, id: &str) -> Outcome<()> {
    fs::write(root.join(format!("{id}.md")), "# Text\n").map_err(shown_text)?;
    let id: DocumentId = id.parse().map_err(shown_text)?;
    publish(&open(root)?, &request(&id, Expect::default())?).map(drop).map_err(shown_text)
}

/// Reads the published text, adds a line, and publishes it if the published text is still the same;
/// returns true if it was.
pub(crate) fn append(root: &Path, id: &str, line: &str) -> Outcome<bool> {
    let vault = open(root)?;
    let id: DocumentId = id.parse().map_err(shown_text)?;
    let (version, text) = {
        let log = trusted_head::open_log(&vault).map_err(shown_text)?;
        let snapshot =
            Snapshot::at(&vault, &log.sound().map_err(shown_text)?, None).map_err(shown_text)?;
        let served = snapshot.get(&id).ok_or("it is not published")?;
        let served = served.map_err(|withheld| shown_text(withheld.why))?;
        (served.entry.version, served.text.clone())
    };
    let _editing = EDITOR.lock().map_err(shown_text)?;
    fs::write(root.join(id.live_path()), format!("{text}{line}")).map_err(shown_text)?;
    let expect = Expect { version: Some(version), hash: None };
    match publish(&vault, &request(&id, expect)?) {
        Ok(_) => Ok(true),
        Err(PublishError::Expected(_)) => Ok(false),
        Err(why) => Err(shown_text(why)),
    }
}
