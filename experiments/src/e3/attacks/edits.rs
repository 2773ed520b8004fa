//! The edits that any log of lines allows, with hashes that follow and without.

use crate::e3::forge::Target;
use crate::e3::forge::lines::LineLog;
use crate::e3::place::Place;

/// Gives a log of three lines or more, which honest commands wrote.
pub(super) type Recorded = fn(&mut Target) -> Option<LineLog>;

/// Who did not write any line.
const EVE: &str = "eve@example.com";

/// The log, and the position of a line that so many others follow.
pub(super) fn any(
    target: &mut Target,
    recorded: Recorded,
    followers: usize,
) -> Option<(LineLog, usize)> {
    let log = recorded(target)?;
    let at = target.draw.below(log.lines.len() - followers);
    Some((log, at))
}

/// A line names another principal.
pub(super) fn edited(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 0)?;
    log.lines[at]["principal"] = EVE.into();
    log.written(target)
}

/// The same, and its hash follows.
pub(super) fn rehashed(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 1)?;
    log.lines[at]["principal"] = EVE.into();
    log.rehash(at);
    log.written(target)
}

/// Every line names another principal, and every hash follows.
pub(super) fn rewritten(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    for line in &mut log.lines {
        line["principal"] = EVE.into();
    }
    log.renew();
    log.written(target)
}

/// A line is spelled in another way.
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

/// The first line is gone.
pub(super) fn dropped_first(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    log.lines.remove(0);
    log.written(target)
}

/// A line between two others is gone.
pub(super) fn dropped_middle(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    let at = 1 + target.draw.below(log.lines.len() - 2);
    log.lines.remove(at);
    log.written(target)
}

/// The last line is gone.
pub(super) fn dropped_last(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let mut log = recorded(target)?;
    log.lines.pop();
    log.written(target)
}

/// Two lines have exchanged places.
pub(super) fn exchanged(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let (mut log, at) = any(target, recorded, 1)?;
    log.lines.swap(at, at + 1);
    log.written(target)
}

/// The file is a link to another one.
pub(super) fn as_link(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let path = recorded(target)?.path();
    target.link_out(&path);
    Some(Place::vault())
}

/// The file is gone.
pub(super) fn deleted(target: &mut Target, recorded: Recorded) -> Option<Place> {
    let path = recorded(target)?.path();
    target.remove(&path);
    Some(Place::vault())
}
