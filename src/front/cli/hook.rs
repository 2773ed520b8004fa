//! `ctx hook`.

use std::io::Read as _;

use super::session::Session;
use super::ui::{Ui, shown};
use super::verify::{PARTLY_STAGED, text};
use super::{Answer, validate};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::hook::{HookChecked, HookName, HookRun, Hooks};
use crate::service::report::verify::VerifyReport;
use crate::service::workspace::hooks::{Act, Installer};
use crate::service::workspace::proposal::{Judged, Proposal};
use crate::service::workspace::push::Update;
use crate::values::text_util::count;

/// Maximum number of bytes that are read of the refs of a push.
const INPUT: u64 = 64 << 20;

/// Install hooks of git that check commits and pushes, or run one
///
/// Hooks of other programs, husky and lefthook among them, are never changed: the command prints
/// the line to add to them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx hook install --dry-run\n  ctx hook status")]
pub(super) struct Hook {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Install hooks in the repository; exit 1 if another program has one
    ///
    /// Each hook runs `ctx hook run`, for every vault of the repository or for the one that --vault
    /// names. Without options, all hooks are installed.
    #[command(
        after_help = "Examples:\n  ctx hook install --dry-run\n  ctx hook install --pre-commit"
    )]
    Install(Change),
    /// Remove hooks that `ctx` installed
    #[command(
        after_help = "Examples:\n  ctx hook uninstall --dry-run\n  ctx hook uninstall --pre-push"
    )]
    Uninstall(Change),
    /// Show which hooks run `ctx`; exit 1 if one does not
    #[command(after_help = "Examples:\n  ctx hook status --pre-commit")]
    Status(Which),
    Run(Run),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The hook that checks what is committed
    #[arg(long)]
    pre_commit: bool,
    /// The hook that checks what is pushed
    #[arg(long)]
    pre_push: bool,
    /// The merge driver, a setting of the repository
    #[arg(long)]
    merge: bool,
    /// All hooks; the default
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct Change {
    #[command(flatten)]
    which: Which,
    /// Print what would be written; write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Check what git is about to commit, push or receive; exit 1 to refuse
///
/// `pre-commit` reads what is staged, and `pre-push` what is new in the pushed commits. Both check
/// the logs, and the artifacts and live files that changed. They refuse changed records,
/// incomplete publications, a log without checkpoints that it had, and invalid documents. An edit that is not published is allowed.
///
/// `pre-receive` is for servers. It checks each pushed commit as a whole, from git's objects: as
/// `ctx verify --since` does, with the commit before the push. The trunk is `contextnest.trunk` of
/// git's configuration, or else the branch of HEAD, and `main`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx hook run pre-commit\n  ctx hook run pre-commit --vault docs"
)]
struct Run {
    /// Name of the hook
    #[arg(value_name = "NAME")]
    name: RunName,
    /// Arguments that git passes to the hook
    #[arg(value_name = "ARGUMENT", last = true)]
    args: Vec<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RunName {
    #[value(name = "pre-commit")]
    Commit,
    #[value(name = "pre-push")]
    Push,
    #[value(name = "pre-receive")]
    Receive,
}

impl RunName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "pre-commit",
            Self::Push => "pre-push",
            Self::Receive => "pre-receive",
        }
    }
}

pub(super) fn run(args: &Hook, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Install(change) => act(Act::Install, &change.which, change.dry_run, session),
        Action::Uninstall(change) => act(Act::Uninstall, &change.which, change.dry_run, session),
        Action::Status(which) => act(Act::Show, which, false, session),
        Action::Run(run) => match run.name {
            RunName::Commit => pre_commit(run, session),
            RunName::Push => pre_push(run, session),
            RunName::Receive => pre_receive(run, session),
        },
    }
}

fn act(act: Act, which: &Which, dry: bool, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let all = which.all || !which.pre_commit && !which.pre_push && !which.merge;
    let hooks = [
        (HookName::PreCommit, which.pre_commit),
        (HookName::PrePush, which.pre_push),
        (HookName::Merge, which.merge),
    ];
    let hooks: Vec<HookName> =
        hooks.into_iter().filter(|(_, named)| all || *named).map(|(hook, _)| hook).collect();
    let report = Installer::new(&session.workspace)?.act(act, &hooks, dry)?;
    session.print(&report, |session, report| listed(session, report, act, dry));
    let is_done = act == Act::Uninstall || report.is_complete();
    Ok(if is_done { Answer::Yes } else { Answer::No })
}

fn listed(session: &mut Session<'_>, report: &Hooks, act: Act, dry: bool) {
    let rows = report.hooks.iter().map(|one| {
        let word = one.outcome.unwrap_or(one.state.as_str());
        let would = if dry && !matches!(word, "unchanged" | "left") { "would be " } else { "" };
        vec![one.hook.to_string(), format!("{would}{word}"), shown(&one.path).into_owned()]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    session.ui.table(&rows);
    for one in &report.hooks {
        let Some(lines) = &one.add else { continue };
        session.ui.line("");
        session.ui.line(&format!("add to {}:", shown(&one.path)));
        lines.lines().for_each(|line| session.ui.line(&format!("  {}", shown(line))));
    }
    if act == Act::Show && !report.is_complete() {
        session.ui.note("hint: `ctx hook install` installs hooks, or prints the lines to add");
    }
}

/// The check of a vault for a hook.
struct Checked {
    /// Ref that the push changes.
    name: Option<String>,
    /// Folder of the vault, relative to the top of the repository.
    vault: String,
    /// Result; or the reason to refuse the ref without a check.
    found: Result<Judged, String>,
}

impl Checked {
    fn is_refused(&self) -> bool {
        self.found.as_ref().map_or(true, Judged::is_refused)
    }
}

/// Prints the checks of a hook.
fn answer(run: &Run, checked: &[Checked], session: &mut Session<'_>) -> Answer {
    let ui = &mut session.ui;
    let refused = checked.iter().any(Checked::is_refused);
    let whole = matches!(run.name, RunName::Receive);
    if ui.json {
        let spell = ui.spell();
        let report = |one: &Checked| {
            let (judged, reason) = match &one.found {
                Ok(judged) => (Some(judged), None),
                Err(why) => (None, Some(why.clone())),
            };
            HookChecked {
                name: one.name.clone(),
                vault: one.vault.clone(),
                refused: one.is_refused(),
                reason,
                verify: judged.map(|judged| VerifyReport::new(&judged.report, whole)),
                validate: judged.map(|judged| judged.validated(spell)),
            }
        };
        let checked = checked.iter().map(report).collect();
        ui.report(&HookRun { hook: run.name.as_str(), refused, checked });
    } else {
        checked.iter().for_each(|one| tell(ui, one, whole));
    }
    let is_damaged = |one: &Checked| one.found.as_ref().is_ok_and(Judged::is_damaged);
    if matches!(run.name, RunName::Commit) && refused {
        if checked.iter().any(is_damaged) {
            ui.note(PARTLY_STAGED);
        }
        ui.note("hint: `git commit --no-verify` commits without this check");
    }
    if refused { Answer::No } else { Answer::Yes }
}

/// Prints the reasons to refuse changes of a vault.
fn tell(ui: &mut Ui<'_>, one: &Checked, whole: bool) {
    let why = match &one.found {
        Ok(judged) => {
            if judged.is_refused() && !one.vault.is_empty() {
                ui.line(&format!("vault {}:", shown(&one.vault)));
            }
            if judged.is_damaged() {
                text::report(ui, &judged.report, whole);
            }
            if judged.problems.1.errors > 0 {
                let report = judged.validated(ui.spell());
                validate::text(ui, &report, false);
            }
            if judged.report.unpublished > 0 {
                let edits = count(judged.report.unpublished, "edit");
                ui.note(&format!("note: {edits} without a publication: `ctx status` lists edits"));
            }
            "the vault does not verify"
        }
        Err(why) => why,
    };
    if let Some(name) = one.name.as_ref().filter(|_| one.is_refused()) {
        ui.line(&format!("refused: {}: {}", shown(name), shown(why)));
    }
}

fn pre_commit(run: &Run, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let workspace = &session.call.workspace;
    let named = workspace.named_below(&workspace.top_of_work_tree()?)?;
    let proposal = Proposal::staged(workspace)?;
    let checked = judged(&proposal, named.as_deref(), None)?;
    Ok(answer(run, &checked, session))
}

/// Returns the checks of the vaults that a proposal changes.
fn judged(
    proposal: &Proposal<'_>,
    named: Option<&str>,
    name: Option<&str>,
) -> Result<Vec<Checked>, Failure> {
    let changed = proposal.changed()?;
    let vaults = proposal.vaults(named, &changed)?.into_iter();
    let judge = |vault: String| {
        let found = Ok(proposal.judge(&vault, &changed)?);
        Ok(Checked { name: name.map(str::to_owned), vault, found })
    };
    vaults.map(judge).collect()
}

fn pre_push(run: &Run, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let updates = match session.workspace.pushed_by_framework() {
        Some(update) => vec![update],
        None => Update::pushed(&input(session)?)?,
    };
    let workspace = &session.call.workspace;
    let top = workspace.top_of_work_tree()?;
    let named = workspace.named_below(&top)?;
    let remote = run.args.first().map_or("origin", String::as_str);
    let mut checked = Vec::new();
    for update in &updates {
        // Only a server can refuse to delete a ref.
        if let Some(proposal) = workspace.pushed(&top, update, remote)? {
            checked.extend(judged(&proposal, named.as_deref(), Some(&update.name))?);
        }
    }
    Ok(answer(run, &checked, session))
}

fn pre_receive(run: &Run, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let updates = Update::received(&input(session)?)?;
    let workspace = &session.call.workspace;
    let repository = workspace.receiving()?;
    let named = workspace.named_in_tree()?;
    let mut checked = Vec::new();
    for update in &updates {
        let name = || Some(update.name.clone());
        match workspace.received(&repository, named.as_deref(), update)? {
            Err(why) => {
                let vault = named.clone().unwrap_or_default();
                checked.push(Checked { name: name(), vault, found: Err(why) });
            }
            Ok(all) => checked.extend(all.into_iter().map(|(vault, judged)| Checked {
                name: name(),
                vault,
                found: Ok(judged),
            })),
        }
    }
    Ok(answer(run, &checked, session))
}

fn input(session: &mut Session<'_>) -> Result<String, Failure> {
    let mut text = String::new();
    let read = (&mut *session.stdin).take(INPUT).read_to_string(&mut text);
    read.map_err(|why| Failure::new(Code::Io, format!("cannot read the standard input: {why}")))?;
    Ok(text)
}
