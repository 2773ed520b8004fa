//! Reads and writes the file with a client's configuration (MCP-23).

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::edit::{self, Unedited};
use super::place::Place;
use super::{Client, Started};
use crate::report::failure::{Code, Failure};
use crate::vault::outside;

/// The largest configuration.
const MOST_BYTES: u64 = 4 << 20;

/// What becomes of a configuration.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Its text; none where there is no file.
    pub(crate) before: Option<String>,
    /// Its text afterwards; none where it stays as it is.
    pub(crate) after: Option<String>,
}

/// What becomes of a configuration with the entry of a server.
///
/// # Errors
/// The file is not one that is written, or is left as it is.
pub(crate) fn plan(client: Client, place: &Place, server: &Started) -> Result<Edit, Failure> {
    let before = read(place)?;
    let edited = edit::with(client, before.as_deref().unwrap_or_default(), server);
    let after = edited.map_err(|why| refused(&place.path, &why))?;
    Ok(Edit { before, after })
}

/// The servers that a configuration has; none where there is no file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn entries(
    client: Client,
    place: &Place,
) -> Result<Option<Map<String, Value>>, Failure> {
    let Some(text) = read(place)? else { return Ok(None) };
    let entries = edit::entries(client, &text);
    entries.map(Some).map_err(|why| refused(&place.path, &why))
}

/// Writes a configuration, if it is still as it was read.
///
/// # Errors
/// It changed meanwhile, or cannot be written.
pub(crate) fn bring(place: &Place, edit: &Edit) -> Result<(), Failure> {
    let Some(after) = &edit.after else { return Ok(()) };
    let path = &place.path;
    if read(place)? != edit.before {
        let message = format!("`{}` was changed by another process", path.display());
        return Err(Failure::new(Code::Changed, message).hint("run the command again"));
    }
    let old = path.metadata().ok();
    outside::write_whole(path, after.as_bytes(), (old.as_ref(), 0o7777))
        .map_err(|why| Failure::new(Code::Io, format!("cannot write `{}`: {why}", path.display())))
}

fn refused(path: &Path, why: &Unedited) -> Failure {
    let message = format!("`{}` was left as it is: {why}", path.display());
    Failure::new(Code::Refused, message).hint(match why {
        Unedited::Invalid(_) => "correct it, or name another file with `--file`",
        Unedited::OtherKind(_) | Unedited::Other(_) => {
            "name the server otherwise with `--name`, or take that entry out first"
        }
        Unedited::Spelling => "leave out `--write`, and paste the entry",
    })
}

/// The text of a file; none where there is none. What a link leads to is not read: neither is it
/// written.
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
            let hint = "name the file that it leads to with `--file`";
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

/// Refuses a file of a project whose folder leads out of the project: who wrote the project would say
/// which file of the user is written.
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
