//! `ctx evidence export`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::vault::Vault;
use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::trace::{
    LogPlace, naming, note_pruned, trace_id, unknown_access, unknown_trace,
};
use crate::front::cli::ui::shown;
use crate::prove::evidence::bundle::export::{Exported, export};
use crate::prove::evidence::bundle::manifest::{Gap, PRUNED, Scope};
use crate::read::snapshot::Snapshot;
use crate::record::audit::{Fault, Filter, Logs, Pruned, RawLine, Verified};
use crate::record::checkpoint::chronicle::Chronicle;
use crate::service::report::evidence::EvidenceExportReport;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::bundle;
use crate::service::workspace::recording::of_log;
use crate::text::uri::Class;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::AUDIT_DIR;
use crate::values::text_util::{argument, count};

/// Write accesses and the proofs of their texts into one file
///
/// Exports one access, every line of a session (--session), or every access to a document with all
/// of its published versions (--document). The same vault, log and arguments give the same bytes.
/// The bundle has the texts of the versions, so the export is recorded as an access itself, under
/// the session of CTX_SESSION: --session names what is exported. If the log is not whole (damage,
/// missing or pruned lines), the bundle and the report name each gap. The bundle of a governed
/// vault has all checkpoints, and the whole histories that its approvals are judged by. The first
/// version of a document that was moved under review is not proved: the approval of the move is in
/// the history of the former id, which no checkpoint seals. Exit code 1 if the bundle lacks the
/// proof of a version, or a log is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx evidence export 0a1b2c3d-17 -o access.tar\n  \
ctx evidence export --session s-42 -o session.tar\n  \
ctx evidence export --document nodes/policies/returns > returns.tar")]
pub(super) struct Export {
    /// Name of an access, as `ctx trace list` prints it
    trace: Option<String>,
    /// Every access to this document, by id or file
    #[arg(long, value_name = "ID")]
    document: Option<String>,
    /// Write to this file; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    place: LogPlace,
}

/// Maximum number of gaps that are reported one by one.
const MOST_GAPS: usize = 20;

/// The requested export.
enum Wanted {
    Lines(Scope),
    Document(DocumentId),
}

pub(super) fn run(args: &Export, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let is_stdout = args.output.as_os_str() == "-";
    if is_stdout && (session.ui.json || session.workspace.options.command.terminal) {
        let message = "a bundle is not written to a terminal or into JSON";
        return Err(Failure::new(Code::Usage, message).hint("name a file with `-o FILE`"));
    }
    let vault = session.vault()?;
    let wanted = wanted(args, session, &vault)?;
    let log = session.log(&vault)?;
    let chronicle = log.sound()?;
    let head = Snapshot::at(&vault, &chronicle, None)?;
    head.check_rules()?;
    if head.hides_anything() {
        let message =
            "a bundle names every artifact of the vault, and you may not read all of them";
        return Err(Failure::new(Code::NotASteward, message)
            .hint("ask a steward who may read everything to export it"));
    }
    let (scope, found, gaps) = found(session, (&vault, &args.place), &chronicle, wanted)?;
    let (word, name) = scope.parts();
    session.recording.query = Some(format!("{word} {name}"));
    session.recording.class = Some(Class::Set);
    // The export sees the entries of the exported session.
    let (workspace, labels) = (&session.workspace, session.workspace.labels()?);
    let staged_of = |source: &DocumentId| workspace.visible_staged(&vault, &labels, source);
    let exported = export((&vault, &chronicle), &head, (scope, &staged_of), (&found, gaps))?;
    let exported = session.release(exported);
    if is_stdout {
        session.ui.bytes(&exported.bytes);
    } else {
        let path = session.workspace.environment.cwd.join(&args.output);
        bundle::check(&path, args.force)?;
        said(session, args.output.display().to_string(), &exported);
        session.record(None)?;
        let written = bundle::write(&path, &exported.bytes, args.force);
        written.inspect_err(|_| session.ui.discard())?;
    }
    Ok(warn(session, &exported))
}

/// Returns the requested lines, the scope in the bundle, and the gaps of the logs.
fn found(
    session: &mut Session<'_>,
    (vault, place): (&Vault, &LogPlace),
    chronicle: &Chronicle<'_>,
    wanted: Wanted,
) -> Result<(Scope, Vec<RawLine>, Vec<Gap>), Failure> {
    let logs = place.seen(vault, session)?;
    let logs = match &wanted {
        // The user names the line.
        Wanted::Lines(Scope::Trace(_)) => logs.with_lost_checkpoints(),
        _ => logs,
    };
    let (scope, found, gaps) = found_in(&logs, session, (vault, place), (chronicle, wanted))?;
    let folders: BTreeSet<&Path> =
        found.iter().filter_map(|raw| logs.elsewhere(&raw.line)).collect();
    for folder in folders {
        let folder = folder.display().to_string();
        let folder = shown(&folder);
        session.ui.note(&format!("note: some lines are from the access log of `{folder}`"));
    }
    Ok((scope, found, gaps))
}

fn found_in(
    logs: &Logs,
    session: &mut Session<'_>,
    (vault, place): (&Vault, &LogPlace),
    (chronicle, wanted): (&Chronicle<'_>, Wanted),
) -> Result<(Scope, Vec<RawLine>, Vec<Gap>), Failure> {
    match wanted {
        Wanted::Lines(scope) => {
            let found = of_log(logs.raw(&|line| scope.wants(line)))?;
            if found.is_empty() {
                let all = std::slice::from_ref(logs);
                let unknown = match &scope {
                    Scope::Trace(name) => {
                        place.note_lacking(vault, session);
                        unknown_trace(all, &trace_id(name)?)
                    }
                    Scope::Session(_) | Scope::Document(_) => {
                        note_pruned(session, logs, None);
                        unknown_access(logs)
                    }
                };
                return Err(naming(unknown, &place.lost(vault, all)?));
            }
            note_pruned(session, logs, None);
            let gaps = gaps((vault, place), logs, &scope)?;
            Ok((scope, found, gaps))
        }
        Wanted::Document(id) => {
            let mut set = chronicle.checkpoints().iter().flat_map(|checkpoint| &checkpoint.set);
            if !set.any(|(set, _)| *set == id) {
                return Err(Failure::never_published(&id));
            }
            let scope = Scope::Document(id.to_string());
            let filter = Filter { document: Some(id), ..Filter::default() };
            note_pruned(session, logs, None);
            let found = of_log(logs.raw(&|line| filter.wants(line)))?;
            let gaps = gaps((vault, place), logs, &scope)?;
            Ok((scope, found, gaps))
        }
    }
}

/// Returns the gaps of the logs that the lines are from. For one access, only the log of its writer
/// matters; a session or a document may have had lines in each. Damage of the change logs matters,
/// too, because they record prunings.
fn gaps(
    (vault, place): (&Vault, &LogPlace),
    logs: &Logs,
    scope: &Scope,
) -> Result<Vec<Gap>, Failure> {
    let Verified { mut faults, pruned, .. } = of_log(logs.verify())?;
    faults.extend(place.lost_accesses(vault, logs)?);
    let of_writer = match scope {
        Scope::Trace(name) => name.split('-').next(),
        Scope::Session(_) | Scope::Document(_) => None,
    };
    let is_of = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or_default();
        of_writer.is_none_or(|writer| name.starts_with(writer))
    };
    let mut gaps: Vec<Gap> = faults.into_iter().filter(|f| is_of(&f.file)).map(gap).collect();
    gaps.extend(pruned.into_iter().filter(|pruned| is_of(&pruned.writer)).map(|pruned| {
        let Pruned { writer, from, cut } = pruned;
        let why = format!("lines {from} to {} were pruned, which {} records", cut.seq, cut.by);
        Gap { code: PRUNED.to_owned(), file: format!("{writer}.jsonl"), line: 1, why }
    }));
    let changes = of_log(Logs::of_changes(vault).and_then(|changes| changes.verify()))?.faults;
    let lost = place.lost_changes(vault)?;
    gaps.extend(changes.into_iter().filter(|fault| fault.kind.is_damage()).map(|fault| {
        let file = format!("{AUDIT_DIR}/{}", fault.file);
        gap(Fault { file, ..fault })
    }));
    gaps.extend(lost.into_iter().map(gap));
    Ok(gaps)
}

fn gap(fault: Fault) -> Gap {
    let Fault { kind, file, line, why } = fault;
    Gap { code: kind.as_str().to_owned(), file, line, why }
}

/// Warns of unproved and possibly missing parts of the bundle; returns the answer of the verb.
fn warn(session: &mut Session<'_>, exported: &Exported) -> Answer {
    for unproved in &exported.unproved {
        let (name, why) = (shown(&unproved.name), shown(&unproved.why));
        session.ui.note(&format!("warning: the bundle does not prove {name}: {why}"));
    }
    // Pruned lines were reported when the log was read.
    let gaps: Vec<&Gap> = exported.gaps.iter().filter(|gap| gap.code != PRUNED).collect();
    for gap in gaps.iter().take(MOST_GAPS) {
        let (code, file, why) = (shown(&gap.code), shown(&gap.file), shown(&gap.why));
        let word = if gap.is_damage() { "warning" } else { "note" };
        if gap.is_about_approval() {
            session.ui.note(&format!("{word}: {code}: {file}: {why}"));
            continue;
        }
        session.ui.note(&format!(
            "{word}: the log is not whole, so accesses may be missing: {code}: {file}:{}: {why}",
            gap.line
        ));
    }
    if gaps.len() > MOST_GAPS {
        let more = count(gaps.len() - MOST_GAPS, "more place");
        session.ui.note(&format!("note: {more} in the bundle; `ctx trace verify` lists all"));
    }
    let is_whole = !exported.gaps.iter().any(Gap::is_damage);
    if exported.unproved.is_empty() && is_whole { Answer::Yes } else { Answer::No }
}

/// Parses the scope: exactly one of the three.
fn wanted(args: &Export, session: &Session<'_>, vault: &Vault) -> Result<Wanted, Failure> {
    let named = session.workspace.options.labels.session.clone();
    match (&args.trace, named, &args.document) {
        (Some(trace), None, None) => match trace_id(trace) {
            Ok(trace) => Ok(Wanted::Lines(Scope::Trace(trace.to_string()))),
            Err(why) if trace.contains('/') => {
                let command = format!("`ctx evidence export --document {}`", argument(trace));
                let hint = format!("{command} exports the accesses to a document");
                Err(Failure { hints: Vec::new(), ..why }.hint(hint))
            }
            Err(why) => Err(why),
        },
        (None, Some(named), None) => Ok(Wanted::Lines(Scope::Session(named))),
        (None, None, Some(id)) => Ok(Wanted::Document(session.workspace.readable_id(vault, id)?)),
        _ => Err(Failure::new(
            Code::Usage,
            "name one access, a session with `--session`, or a document with `--document`",
        )
        .hint("`ctx trace list` lists accesses and sessions")),
    }
}

fn said(session: &mut Session<'_>, file: String, exported: &Exported) {
    let report = EvidenceExportReport::new(file, exported);
    if session.ui.json {
        return session.ui.report(&report);
    }
    let (lines, versions) =
        (count(report.line_count, "line"), count(report.version_count, "version"));
    session.ui.line(&format!("wrote {}: {lines}, {versions}", shown(&report.file)));
    session.ui.line(&format!("  sha256     {}", report.sha256));
    if let Some(head) = &report.head {
        session.ui.line(&format!("  head       checkpoint {} {}", head.checkpoint, head.hash));
    }
}
