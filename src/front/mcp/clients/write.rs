//! Reads and writes the file with a client's configuration (MCP-23).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::edit::{self, Unedited};
use super::place::Place;
use super::{Client, Started};
use crate::files::vault::lock::PATIENCE;
use crate::files::vault::outside;
use crate::service::report::failure::{Code, Failure};

/// Maximum size of a configuration, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// A planned change of a configuration.
#[derive(Debug)]
pub(crate) struct Edit {
    /// The current text; `None` if the file does not exist.
    pub(crate) before: Option<String>,
    /// The new text; `None` if it stays as it is.
    pub(crate) after: Option<String>,
}

/// Plans the change of a configuration for the entry of a server.
///
/// # Errors
/// The file may not be written, or must stay as it is.
pub(crate) fn plan(client: Client, place: &Place, server: &Started) -> Result<Edit, Failure> {
    let before = read(place)?;
    let edited = edit::with(client, before.as_deref().unwrap_or_default(), server);
    let after = edited.map_err(|why| refused(&place.path, &why))?;
    Ok(Edit { before, after })
}

/// Returns the servers of a configuration; empty if the file does not exist.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn entries(
    client: Client,
    place: &Place,
) -> Result<Option<Map<String, Value>>, Failure> {
    let Some(text) = read(place)? else { return Ok(None) };
    let entries = edit::entries(client, &text);
    entries.map(Some).map_err(|why| refused(&place.path, &why))
}

/// Writes the entry of a server into a configuration. Processes of this program take turns, so that
/// each reads the changes of the others.
///
/// # Errors
/// The file may not be written, must stay as it is, or was changed meanwhile by another program.
pub(crate) fn put(client: Client, place: &Place, server: &Started) -> Result<Edit, Failure> {
    let _turn = turn(place)?;
    let edit = plan(client, place, server)?;
    if let Some(after) = &edit.after {
        bring(place, (edit.before.as_deref(), after))?;
    }
    Ok(edit)
}

/// Locks the folder of a configuration against other processes of this program, until the result is
/// dropped. The folder is made if it does not exist.
fn turn(place: &Place) -> Result<File, Failure> {
    stays_inside(place)?;
    let folder = outside::folder_above(&place.path);
    let made = fs::create_dir_all(folder);
    let taken = made.and_then(|()| outside::take_turn_at(folder, PATIENCE));
    taken.map_err(|why| match why.kind() {
        io::ErrorKind::TimedOut => {
            let message = format!("the folder `{}` is locked: {why}", folder.display());
            Failure::new(Code::Locked, message).hint("run it again when the other process is done")
        }
        _ => cannot_write(&place.path, &why),
    })
}

/// Replaces a file, if it is still as it was read.
fn bring(place: &Place, (before, after): (Option<&str>, &str)) -> Result<(), Failure> {
    let path = &place.path;
    let changed = || {
        let message = format!("`{}` was changed by another process", path.display());
        Failure::new(Code::Changed, message).hint("run the command again")
    };
    let old = path.symlink_metadata().ok();
    let whole = outside::whole(path, after.as_bytes(), (old.as_ref(), 0o7777));
    let whole = whole.map_err(|why| cannot_write(path, &why))?;
    // Other programs may write at any time: this is the last check before the file is replaced.
    if old.is_some() != before.is_some() || read(place)?.as_deref() != before {
        return Err(changed());
    }
    whole.put().map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => changed(),
        _ => cannot_write(path, &why),
    })
}

fn cannot_write(path: &Path, why: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot write `{}`: {why}", path.display()))
}

fn refused(path: &Path, why: &Unedited) -> Failure {
    let message = format!("`{}` was left as it is: {why}", path.display());
    Failure::new(Code::Refused, message).hint(match why {
        Unedited::Invalid(_) => "correct it, or name another file with `--file`",
        Unedited::OtherKind(_) | Unedited::Other(_) => {
            "give the server another name with `--name`, or remove that entry first"
        }
        Unedited::Spelling => "leave out `--write`, and paste the entry",
    })
}

/// Reads a file; `None` if it does not exist. The target of a link is neither read nor written.
fn read(place: &Place) -> Result<Option<String>, Failure> {
    let path = &place.path;
    stays_inside(place)?;
    let fails = |why: &str| {
        let message = format!("`{}` was left as it is: {why}", path.display());
        Failure::new(Code::Refused, message)
    };
    match path.symlink_metadata() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(meta) if meta.is_symlink() => {
            let hint = "name the target of the link with `--file`";
            return Err(fails("it is a symbolic link").hint(hint));
        }
        _ => {}
    }
    let opened = outside::open_regular(path);
    let file = opened.map_err(|why| fails(&format!("it cannot be read: {why}")))?;
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|why| fails(&format!("it cannot be read: {why}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(fails(&format!("it has more than {MOST_BYTES} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| fails("it is not UTF-8"))
}

/// Refuses a file of a project whose folder leads out of the project: otherwise the author of the
/// project could choose which file of the user is written.
fn stays_inside(place: &Place) -> Result<(), Failure> {
    let Some(project) = &place.project else { return Ok(()) };
    let real = |path: &Path| path.ancestors().find_map(|above| fs::canonicalize(above).ok());
    let above = place.path.parent().and_then(real);
    let is_inside = match (fs::canonicalize(project), above) {
        (Ok(project), Some(above)) => above.starts_with(project),
        _ => false,
    };
    if is_inside {
        return Ok(());
    }
    let message = format!("`{}` is not in the project", place.path.display());
    Err(Failure::new(Code::Refused, message).hint("name the file with `--file`"))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests write a configuration, and no vault")]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn place(path: &Path) -> Place {
        Place { path: path.to_owned(), project: None }
    }

    fn server(name: &str) -> Started {
        let args = ["mcp", "--vault", "/v"].map(str::to_owned).to_vec();
        Started { name: name.to_owned(), command: "ctx".to_owned(), args, audit_dir: None }
    }

    #[test]
    fn a_writer_waits_for_another_and_finds_what_it_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".cursor/mcp.json");
        let held = turn(&place(&path)).unwrap();
        let (tell, told) = mpsc::channel();
        let at = path.clone();
        let other = thread::spawn(move || {
            let edit = put(Client::Cursor, &place(&at), &server("late")).unwrap();
            tell.send(()).unwrap();
            edit
        });
        assert!(told.recv_timeout(Duration::from_millis(200)).is_err(), "it does not wait");
        let edit = plan(Client::Cursor, &place(&path), &server("early")).unwrap();
        bring(&place(&path), (None, &edit.after.unwrap())).unwrap();
        drop(held);
        let edit = other.join().unwrap();
        assert!(edit.before.unwrap().contains("early"));
        let there = entries(Client::Cursor, &place(&path)).unwrap().unwrap();
        assert!(there.contains_key("early") && there.contains_key("late"));
        // The folder itself is locked, so no lock file remains.
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_was_changed_since_it_was_read_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.json");
        let refused = |before: Option<&str>| {
            let refused = bring(&place(&path), (before, "ours")).unwrap_err();
            assert_eq!(refused.code, Code::Changed, "{}", refused.message);
            assert!(fs::read_dir(dir.path()).unwrap().count() <= 1);
        };
        refused(Some("{}"));
        fs::write(&path, "theirs").unwrap();
        refused(Some("{}"));
        refused(None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        bring(&place(&path), (Some("theirs"), "ours")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
    }
}
