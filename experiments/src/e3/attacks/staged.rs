//! Attacks on chains and contents of staged results, with valid hashes and without.

use std::fs;

use serde_json::{Value, json};

use super::Attack;
use super::edits::{self, any};
use crate::e3::forge::Target;
use crate::e3::forge::lines::LineLog;
use crate::e3::place::Place;
use crate::inside::ctx_given;

pub(super) const SOURCE: &str = "sources/recorded";
pub(super) const CHAINS: &str = ".context/staging/chains/sources/recorded";
const TEXT: &str = "---\ntitle: Recorded\ntype: source\nsource:\n  transport: cli\n  \
                    tools: [call]\n  stage: always\n---\n\nCall it.\n";
/// A writer that none of our machines has.
const FORGER: &str = "0123456789abcdef0123456789abcdef";

pub(super) const STAGED: &[(&str, Attack)] = &[
    ("staged-edited", |t| edits::edited(t, recorded)),
    ("staged-rehashed", |t| edits::rehashed(t, recorded)),
    ("staged-respelled", |t| edits::respelled(t, recorded)),
    ("staged-dropped-first", |t| edits::dropped_first(t, recorded)),
    ("staged-dropped-middle", |t| edits::dropped_middle(t, recorded)),
    ("staged-exchanged", |t| edits::exchanged(t, recorded)),
    ("staged-of-other-source", |t| {
        let chain = recorded(t)?;
        t.write(
            &format!(".context/staging/chains/sources/other/{}.jsonl", chain.writer),
            chain.text(),
        );
        Some(Place::vault())
    }),
    ("staged-chain-as-link", |t| edits::as_link(t, recorded)),
    ("staged-content-edited", |t| {
        let path = content(&any(t, recorded, 0)?)?;
        t.edit(&path, str::to_uppercase);
        Some(Place::vault())
    }),
    ("staged-content-extended", |t| {
        let path = content(&any(t, recorded, 0)?)?;
        t.edit(&path, |before| format!("{before}\n"));
        Some(Place::vault())
    }),
    ("staged-content-as-link", |t| {
        let path = content(&any(t, recorded, 0)?)?;
        t.link_out(&path);
        Some(Place::vault())
    }),
    ("staged-content-deleted", |t| {
        let path = content(&any(t, recorded, 0)?)?;
        t.remove(&path);
        Some(Place::vault())
    }),
    ("staged-hash-exchanged", |t| {
        let (mut chain, at) = any(t, recorded, 0)?;
        for key in ["raw_hash", "content_hash"] {
            chain.lines[at][key] = format!("sha256:{}", "0".repeat(64)).into();
        }
        chain.renew();
        chain.written(t)
    }),
    ("staged-size-exchanged", |t| {
        let (mut chain, at) = any(t, recorded, 0)?;
        chain.lines[at]["bytes"] = 1.into();
        chain.renew();
        chain.written(t)
    }),
    ("staged-act-upon-none", |t| {
        let (mut chain, at) = any(t, recorded, 0)?;
        chain.lines.push(act(&chain, at, "pin", json!({})));
        chain.lines.last_mut()?["entry"]["hash"] = format!("sha256:{}", "0".repeat(64)).into();
        chain.renew();
        chain.written(t)
    }),
    ("staged-collected-early", |t| {
        let (chain, at) = any(t, recorded, 0)?;
        forged(t, &chain, act(&chain, at, "collect", json!({})))
    }),
    ("staged-collected-in-the-future", |t| {
        let (chain, at) = any(t, recorded, 0)?;
        let mut act = act(&chain, at, "collect", json!({}));
        act["at"] = "2099-01-01T00:00:00.000Z".into();
        t.remove(&content(&(chain.clone(), at))?);
        forged(t, &chain, act)
    }),
    ("staged-older-than-its-checkpoint", |t| {
        in_state(t, 4, "", &["audit", "begin"])?;
        let (mut chain, at) = any(t, recorded, 0)?;
        chain.lines[at]["at"] = "2020-01-01T00:00:00.000Z".into();
        chain.renew();
        chain.written(t)
    }),
    ("staged-label-invalid", |t| {
        let (mut chain, at) = any(t, recorded, 0)?;
        chain.lines[at]["session"] = "anonymous".into();
        chain.renew();
        chain.written(t)
    }),
    ("staged-kept-until-before", |t| {
        let (mut chain, at) = any(t, recorded, 0)?;
        chain.lines[at]["retention_until"] = "2020-01-01T00:00:00.000Z".into();
        chain.renew();
        chain.written(t)
    }),
    ("staged-promoted-to-none", |t| {
        let (chain, at) = any(t, recorded, 0)?;
        let document = json!({"document": "nodes/none", "version": 1});
        forged(t, &chain, act(&chain, at, "promote", document))
    }),
    ("staged-chain-deleted", |t| edits::deleted(t, recorded)),
    ("staged-dropped-last", |t| edits::dropped_last(t, recorded)),
    ("staged-discarded", |t| {
        let (chain, at) = any(t, recorded, 0)?;
        forged(t, &chain, act(&chain, at, "discard", json!({})))
    }),
    ("staged-rewritten", |t| edits::rewritten(t, recorded)),
];

/// Returns the chain of a source with three results that honest commands staged.
pub(super) fn recorded(target: &mut Target) -> Option<LineLog> {
    target.write(&format!("{SOURCE}.md"), TEXT);
    in_state(target, 5, "", &["publish", SOURCE, "--no-sync"])?;
    for minute in 6..9 {
        let result = format!("result {minute} of the call");
        let args = ["source", "record", SOURCE, "--tools", "call", "--session", "s"];
        in_state(target, minute, &result, &args)?;
    }
    LineLog::longest(target, CHAINS).filter(|chain| chain.lines.len() == 3)
}

/// Runs an honest command at a minute; `None` if it fails.
pub(super) fn in_state(target: &Target, minute: usize, stdin: &str, args: &[&str]) -> Option<()> {
    let state = target.outside.join("staging");
    fs::create_dir_all(&state).ok()?;
    let now = format!("2026-12-31T15:{minute:02}:00.000Z");
    let args = [args, &["--as", "ana@example.com", "--now", &now]].concat();
    let state = [("XDG_STATE_HOME", state.display().to_string())];
    let disk = contextnest::files::vault::disk::Disk::default();
    let said = ctx_given(stdin.as_bytes(), disk, &target.root, &args, state);
    (said.exit == 0).then_some(())
}

/// Returns the path of the content of an entry.
fn content((chain, at): &(LineLog, usize)) -> Option<String> {
    let digits = chain.lines[*at]["raw_hash"].as_str()?.strip_prefix("sha256:")?;
    Some(format!(".context/staging/objects/{}/{}", &digits[..2], &digits[2..]))
}

/// Returns an act on an entry of a chain.
fn act(chain: &LineLog, at: usize, kind: &str, more: Value) -> Value {
    let entry = &chain.lines[at];
    let mut act = json!({
        "v": 1, "kind": kind, "at": "2026-12-31T16:00:00.000Z", "principal": "eve@example.com",
        "entry": {"writer": chain.writer, "seq": entry["seq"], "hash": entry["hash"]},
    });
    if let (Some(act), Value::Object(more)) = (act.as_object_mut(), more) {
        act.extend(more);
    }
    act
}

/// Adds an act to a chain of another writer, with valid hashes.
fn forged(target: &Target, chain: &LineLog, act: Value) -> Option<Place> {
    let mut own = chain.clone();
    FORGER.clone_into(&mut own.writer);
    own.lines = vec![act];
    own.renew();
    own.written(target)
}
