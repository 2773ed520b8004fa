//! Edits of any log of lines, with valid hashes and without.

use crate::e3::forge::Target;
use crate::e3::forge::lines::LineLog;
use crate::e3::place::Place;

/// Returns a log of at least three lines, which honest commands wrote.
pub(super) type Recorded = fn(&mut Target) -> Option<LineLog>;

/// A principal who did not write any line.
const EVE: &str = "eve@example.com";

/// Returns the log, and the position of a line with this number of followers.
pub(super) fn any(
    target: &mut Target,
    recorded: Recorded,
    followers: usize,
) -> Option<(LineLog, usize)> {
    let log = recorded(target)?;
    let at = target.draw.below(log.lines.len() - followers);
    Some((log, at))
}

/// Changes the principal of a line.
pub(super) fn edited(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 0)?;
    log.lines[at]["principal"] = EVE.into();
    log.written(target)
}

/// Changes the principal of a line, and its hash follows.
pub(super) fn rehashed(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 1)?;
    log.lines[at]["principal"] = EVE.into();
    log.rehash(at);
    log.written(target)
}

/// Changes the principal of every line, and every hash follows.
pub(super) fn rewritten(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    for line in &mut log.lines {
        line["principal"] = EVE.into();
    }
    log.renew();
    log.written(target)
}

/// Spells a line in another way.
pub(super) fn respelled(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (log, at) = any(target, recorded, 0)?;
    let spelled = log.text();
    let line = spelled.lines().nth(at)?;
    let spellings = [(",\"", ", \""), (":{", ": {"), ("{\"", "{ \"")];
    let fitting = spellings.into_iter().filter(|(from, _)| line.contains(from));
    let (from, to) = target.draw.pick(fitting)?;
    target.write(&log.path(), spelled.replacen(line, &line.replacen(from, to, 1), 1));
    Some(Place::vault())
}

/// Removes the first line.
pub(super) fn dropped_first(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    log.lines.remove(0);
    log.written(target)
}

/// Removes a line between two others.
pub(super) fn dropped_middle(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    let at = 1 + target.draw.below(log.lines.len() - 2);
    log.lines.remove(at);
    log.written(target)
}

/// Removes the last line.
pub(super) fn dropped_last(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    log.lines.pop();
    log.written(target)
}

/// Exchanges two lines.
pub(super) fn exchanged(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 1)?;
    log.lines.swap(at, at + 1);
    log.written(target)
}

/// Replaces the file by a link to another one.
pub(super) fn as_link(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let path = recorded(target)?.path();
    target.link_out(&path);
    Some(Place::vault())
}

/// Removes the file.
pub(super) fn deleted(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let path = recorded(target)?.path();
    target.remove(&path);
    Some(Place::vault())
}
