//! Attacks on the access logs of a vault, with valid hashes and without.

use std::fs;

use super::edits::{self, any};
use super::{Attack, CONFIG};
use crate::e3::forge::Target;
use crate::e3::forge::lines::{ACCESSES, LineLog};
use crate::e3::place::Place;
use crate::e3::script::ctx;

pub(super) const ACCESS_LOGS: &[(&str, Attack)] = &[
    ("access-edited", |t| edits::edited(t, recorded)),
    ("access-rehashed", |t| edits::rehashed(t, recorded)),
    ("access-unpinned", |t| {
        let (mut log, at) = any(t, recorded, 0)?;
        log.lines[at]["documents"][0]["checkpoint"] = 1_000_000.into();
        log.renew();
        log.written(t)
    }),
    ("access-label-invalid", |t| {
        let (mut log, at) = any(t, recorded, 0)?;
        log.lines[at]["labels"]["session"] = "none".into();
        log.renew();
        log.written(t)
    }),
    ("access-range-reversed", |t| {
        let (mut log, at) = any(t, recorded, 0)?;
        log.lines[at]["documents"][0]["range"] = serde_json::json!([9, 1]);
        log.renew();
        log.written(t)
    }),
    ("access-dropped-first", |t| edits::dropped_first(t, recorded)),
    ("access-dropped-middle", |t| edits::dropped_middle(t, recorded)),
    ("accesses-exchanged", |t| edits::exchanged(t, recorded)),
    ("access-log-as-link", |t| edits::as_link(t, recorded)),
    ("access-logs-as-link", |t| {
        recorded(t)?;
        t.link_out(ACCESSES);
        Some(Place::vault())
    }),
    ("access-dropped-last", |t| edits::dropped_last(t, recorded)),
    ("accesses-rewritten", |t| edits::rewritten(t, recorded)),
    ("access-log-deleted", |t| edits::deleted(t, recorded)),
];

/// Returns a log of three accesses, which honest commands wrote.
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
