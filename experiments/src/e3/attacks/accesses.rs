//! The logs of accesses that a vault keeps are altered, with hashes that follow and without.

use std::fs;

use super::{Attack, CONFIG};
use crate::e3::forge::Target;
use crate::e3::forge::lines::{ACCESSES, LineLog};
use crate::e3::place::Place;
use crate::e3::script::ctx;

pub(super) const ACCESS_LOGS: &[(&str, Attack)] = &[
    ("access-edited", |t| {
        let (mut log, at) = any(t, 0)?;
        log.lines[at]["principal"] = "eve@example.com".into();
        log.written(t)
    }),
    ("access-rehashed", |t| {
        let (mut log, at) = any(t, 1)?;
        log.lines[at]["principal"] = "eve@example.com".into();
        log.rehash(at);
        log.written(t)
    }),
    ("access-unpinned", |t| {
        let (mut log, at) = any(t, 0)?;
        log.lines[at]["documents"][0]["checkpoint"] = 1_000_000.into();
        log.renew();
        log.written(t)
    }),
    ("access-dropped-first", |t| {
        let mut log = recorded(t)?;
        log.lines.remove(0);
        log.written(t)
    }),
    ("access-dropped-middle", |t| {
        let mut log = recorded(t)?;
        log.lines.remove(1);
        log.written(t)
    }),
    ("accesses-exchanged", |t| {
        let (mut log, at) = any(t, 1)?;
        log.lines.swap(at, at + 1);
        log.written(t)
    }),
    ("access-log-as-link", |t| {
        let path = recorded(t)?.path();
        t.link_out(&path);
        Some(Place::vault())
    }),
    ("access-logs-as-link", |t| {
        recorded(t)?;
        t.link_out(ACCESSES);
        Some(Place::vault())
    }),
    ("access-dropped-last", |t| {
        let mut log = recorded(t)?;
        log.lines.pop();
        log.written(t)
    }),
    ("accesses-rewritten", |t| {
        let mut log = recorded(t)?;
        for line in &mut log.lines {
            line["principal"] = "eve@example.com".into();
        }
        log.renew();
        log.written(t)
    }),
    ("access-log-deleted", |t| {
        let path = recorded(t)?.path();
        t.remove(&path);
        Some(Place::vault())
    }),
];

/// A log of three accesses, which honest commands wrote.
fn recorded(target: &mut Target) -> Option<LineLog> {
    let id = target.live()?;
    let state = target.outside.join("reading");
    fs::create_dir_all(&state).ok()?;
    let run = |minute: usize, args: &[&str]| {
        let now = format!("2026-12-31T14:{minute:02}:00.000Z");
        let args = [args, &["--as", "ana@example.com", "--now", &now]].concat();
        (ctx(&target.root, &args, Some(&state)).exit == 0).then_some(())
    };
    run(0, &["audit", "begin"])?;
    let begun = target.read(CONFIG);
    target.write(CONFIG, begun.replacen("audit:\n", "audit:\n  accesses: vault\n", 1));
    run(1, &["publish", CONFIG, "--no-sync"])?;
    (2..5).try_for_each(|minute| run(minute, &["read", &id]))?;
    LineLog::longest(target, ACCESSES).filter(|log| log.lines.len() == 3)
}

/// The log, and the position of a line that so many others follow.
fn any(target: &mut Target, followers: usize) -> Option<(LineLog, usize)> {
    let log = recorded(target)?;
    let at = target.draw.below(log.lines.len() - followers);
    Some((log, at))
}
