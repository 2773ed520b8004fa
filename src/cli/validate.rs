//! `ctx validate`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::failure::{Code, ProblemJson, severity};
use super::session::Session;
use super::ui::shown;
use super::{Answer, Failure};
use crate::document::validate::{Problem, Severity};
use crate::live::linked::{Published, Surroundings};
use crate::live::{self, LiveFile, confusable};
use crate::model::id::Id;
use crate::resolve::Snapshot;
use crate::words::{argument, count};

/// Check the live files: what keeps a document from being published, and how odd values are read
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx validate\n  ctx validate nodes/policies/returns")]
pub(super) struct Validate {
    /// Ids or files of documents; all, if none is named
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Serialize)]
struct ValidateJson {
    checked: usize,
    errors: usize,
    warnings: usize,
    files: Vec<FileJson>,
}

#[derive(Serialize)]
struct FileJson {
    path: String,
    problems: Vec<ProblemJson>,
}

pub(super) fn run(args: &Validate, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let mut files: Vec<LiveFile> = Vec::new();
    for text in &args.ids {
        let id = super::known_id(session, &vault, text)?;
        let path = id.live_path();
        let file = live::read(&vault, &path).ok_or_else(|| {
            Failure::new(Code::UnknownId, format!("`{path}` is not there"))
                .hint(format!("`ctx read {}` prints the published text", argument(id.as_str())))
        })?;
        files.push(file);
    }
    if args.ids.is_empty() {
        files = live::all(&vault);
    }
    let checked = files.len();
    let mut found: Vec<(String, Vec<Problem>)> =
        files.iter().map(|file| (file.path.clone(), file.problems(&vault))).collect();
    let log = crate::head::read_log(&vault).ok();
    let head = log.as_ref().and_then(|log| Snapshot::at(&vault, &log.sound().ok()?, None).ok());
    let head = Head(head);
    let surroundings = Surroundings::new(&vault, &head);
    for (file, (_, problems)) in files.iter().zip(&mut found) {
        problems.extend(surroundings.problems(file));
    }
    // Backwards: of a file that is named twice the first counts.
    let places = files.iter().enumerate().rev().map(|(n, file)| (file.path.as_str(), n));
    let places: HashMap<&str, usize> = places.collect();
    let look_alikes = confusable::problems(&files, surroundings.ids());
    let of_ids = collisions(&files).into_iter().chain(look_alikes);
    for (path, problem) in of_ids.chain(surroundings.cycles(&files)) {
        match places.get(path.as_str()) {
            Some(n) => found[*n].1.push(problem),
            None => found.push((path, vec![problem])),
        }
    }
    if args.ids.is_empty() {
        let packs = live::packs::check(&vault).into_iter();
        let packs: Vec<(String, Vec<Problem>)> = packs
            .map(|file| (file.path, file.reading.problems.iter().map(Problem::from).collect()))
            .collect();
        // A pack whose name makes no id is told as such, whatever it says.
        let (named, _): (Vec<_>, Vec<_>) =
            packs.into_iter().partition(|(path, _)| Id::of_governance_file(path).is_ok());
        let seen: HashSet<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
        found.extend(live::policy(&vault, |path| !seen.contains(path)));
        found.extend(named);
    }
    found.retain(|(_, problems)| !problems.is_empty());
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    let with = |wanted| found.iter().flat_map(|(_, p)| p).filter(|p| p.severity == wanted).count();
    let (errors, warnings) = (with(Severity::Error), with(Severity::Warning));
    if session.ui.json {
        let file = |(path, problems): &(String, Vec<Problem>)| FileJson {
            path: path.clone(),
            problems: problems.iter().map(ProblemJson::from).collect(),
        };
        let files = found.iter().map(file).collect();
        session.ui.result("validate", &ValidateJson { checked, errors, warnings, files });
    } else {
        text(session, &found);
        session.ui.line(&format!(
            "{} checked: {}, {}",
            count(checked, "document"),
            count(errors, "error"),
            count(warnings, "warning")
        ));
    }
    Ok(if errors == 0 { Answer::Yes } else { Answer::No })
}

/// The head, as far as it can be had: a vault whose log is broken still has live files to check.
struct Head<'v>(Option<Snapshot<'v>>);

impl Published for Head<'_> {
    fn ids(&self) -> Vec<Id> {
        self.0.iter().filter_map(|head| head.documents().ok()).flatten().cloned().collect()
    }

    fn text(&self, id: &Id) -> Option<String> {
        Some(self.0.as_ref()?.get(id)?.ok()?.text)
    }
}

fn text(session: &mut Session<'_>, found: &[(String, Vec<Problem>)]) {
    for (path, problems) in found {
        for problem in problems {
            let line = problem.line.map_or_else(String::new, |n| format!(":{n}"));
            let (path, message) = (shown(path), shown(&problem.message));
            let kind = severity(problem.severity);
            session.ui.line(&format!("{kind}[{}]: {path}{line}: {message}", problem.code));
            session.ui.line(&format!("  hint: {}", shown(&problem.hint)));
        }
    }
}

/// Live documents whose names some file system or reader takes for one.
fn collisions(files: &[LiveFile]) -> Vec<(String, Problem)> {
    let mut folded: BTreeMap<String, Vec<&LiveFile>> = BTreeMap::new();
    for file in files {
        if let Some(id) = &file.id {
            folded.entry(id.folded()).or_default().push(file);
        }
    }
    let mut found = Vec::new();
    for same in folded.into_values().filter(|same| same.len() > 1) {
        for file in &same[1..] {
            let message = format!(
                "its id differs from that of `{}` only in case or Unicode form",
                same[0].path
            );
            let hint = "rename one of the files".to_owned();
            let (code, severity) = ("id-collision", Severity::Error);
            found.push((file.path.clone(), Problem { code, severity, line: None, message, hint }));
        }
    }
    found
}
