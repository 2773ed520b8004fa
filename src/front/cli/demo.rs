//! `ctx demo`: the main workflow from beginning to end, by the commands that a user types.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::session::Session;
use super::{Answer, Streams, World, run as run_command};
use crate::service::report::failure::{Code, Failure};
use crate::service::report::vault::{DemoReport, DemoStep};
use crate::service::workspace::Environment;
use crate::service::workspace::demo::{self, BEFORE, EDIT, EDITED, FORGED, KEYFRAME};
use crate::service::workspace::git::{Emails, GitError};
use crate::service::workspace::init::refuse_vault;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::text_util::argument;

/// Make a small procurement vault and run the main commands in it
///
/// Prints each command with its output. The vault remains, so that you can try it. A copy next to
/// it has one altered byte, which `ctx verify` reports. With --governed the tour shows how a change
/// is submitted, reviewed and published, and does not make a copy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx demo my-vault\n  ctx demo --governed my-team")]
pub(super) struct Demo {
    /// A folder that does not exist yet
    dir: PathBuf,
    /// Show how a text is reviewed in a governed vault
    #[arg(long)]
    governed: bool,
}

pub(super) fn run(args: &Demo, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let dir = session.workspace.environment.cwd.join(&args.dir);
    let altered = demo::altered(&dir);
    let folders = [&dir, &altered];
    for taken in folders.into_iter().take(if args.governed { 1 } else { 2 }) {
        if taken.exists() {
            let message = format!("`{}` exists already", taken.display());
            return Err(Failure::new(Code::Exists, message).hint(Hint::call(
                "name another folder; to repeat a demo, remove its folders and run {}",
                Call::new(Verb::HeadForget).word("FOLDER"),
            )));
        }
    }
    refuse_vault(&dir, &args.dir)?;
    let shown = args.dir.display().to_string();
    let copy = format!("{shown}-altered");
    let mut tour = Tour { session, home: dir.clone(), steps: Vec::new() };
    if args.governed {
        tour.of_review(&shown)?;
        let steps = tour.steps;
        if session.ui.json {
            let folder = dir.display().to_string();
            session.ui.report(&DemoReport { folder, altered_copy: None, steps });
        }
        return Ok(Answer::Yes);
    }
    tour.say(
        "Make a vault with policies, a runbook, a glossary, a persona, a pack and a source node:",
    );
    tour.ctx_outside(&["init", &shown, "--name", "Procurement", "--starter", "policy"])?;
    tour.say("Nothing is published yet. Publishing makes version 1 of each document, under one checkpoint:");
    tour.typed(&format!("cd {shown}"));
    tour.ctx(&["publish", "--all", "-m", "first release", "--as", "ana@example.com"])?;
    tour.say("A policy and its runbook are edited. The change is not visible to agents until it is published:");
    tour.edit()?;
    tour.ctx(&["status"])?;
    tour.ctx(&["publish", "--changed", "-m", "lower threshold", "--as", "lee@example.com"])?;
    tour.say("Agents read published versions only. A selector chooses them, and gives everyone the same answer:");
    tour.ctx(&["resolve", "#policy + #procurement"])?;
    tour.ctx(&["resolve", "contextnest://nodes/policies/vendor-risk@1", "--json"])?;
    tour.say("The versions of the policy, and the change between them:");
    tour.ctx(&["history", "nodes/policies/vendor-risk"])?;
    tour.ctx(&["diff", "nodes/policies/vendor-risk", "1", "2"])?;
    tour.ctx(&["checkpoint", "list"])?;
    tour.say("Verification recomputes every hash:");
    tour.ctx(&["verify"])?;
    tour.say("In a copy, an attacker alters one byte of version 1:");
    tour.alter(&altered, &shown, &copy)?;
    let home = std::mem::replace(&mut tour.home, altered.clone());
    let exit = tour.ctx_unchecked(&["verify"]);
    tour.home = home;
    if exit != 1 {
        return Err(Failure::new(
            Code::Io,
            "verify did not detect the alteration; please report this",
        ));
    }
    tour.say(&format!("Exit code {exit}: agents are not served that version, and CI fails.\n\nTry more commands in the vault: cd {shown}"));
    let steps = tour.steps;
    if session.ui.json {
        let folder = dir.display().to_string();
        let altered_copy = Some(altered.display().to_string());
        session.ui.report(&DemoReport { folder, altered_copy, steps });
    }
    Ok(Answer::Yes)
}

/// A user who types commands in one folder.
struct Tour<'t, 'w> {
    session: &'t mut Session<'w>,
    home: PathBuf,
    steps: Vec<DemoStep>,
}

impl Tour<'_, '_> {
    /// Shows a change from its author to the agents, through a review.
    fn of_review(&mut self, shown: &str) -> Result<(), Failure> {
        const POLICY: &str = "nodes/policies/vendor-risk";
        const RUNBOOK: &str = "nodes/runbooks/vendor-onboarding";
        let as_ana = ["--as", "ana@example.com"];
        let as_lee = ["--as", "lee@example.com"];
        self.say("Ana makes a vault and publishes it alone:");
        self.ctx_outside(&["init", shown, "--name", "Procurement", "--starter", "policy"])?;
        self.typed(&format!("cd {shown}"));
        self.ctx(&["publish", "--all", as_ana[0], as_ana[1]])?;
        self.say("A team needs two reviewers. From then on every publication needs a review:");
        for who in ["ana@example.com", "lee@example.com"] {
            let role = ["steward", "assign", who, "reviewer", "--whole-vault"];
            self.ctx(&[&role[..], &as_ana[..]].concat())?;
        }
        self.ctx(&["govern", "on", as_ana[0], as_ana[1]])?;
        self.say("Ana edits a policy and its runbook, and submits both as one change:");
        self.edit()?;
        let change = ["submit", POLICY, RUNBOOK, "--change", "threshold", "-m", "lower threshold"];
        self.ctx(&[&change[..], &as_ana[..]].concat())?;
        self.say("Agents still read the published text. Ana cannot approve what she wrote:");
        let own = ["approve", "--change", "threshold"];
        let exit = self.ctx_unchecked(&[&own[..], &as_ana[..]].concat());
        if exit != 3 {
            let message = "the author could approve the change; please report this";
            return Err(Failure::new(Code::Io, message));
        }
        self.say(
            "Lee lists the pending submissions, reads one, and approves it. Both are published:",
        );
        self.ctx(&[&["review"][..], &as_lee[..]].concat())?;
        self.ctx(&[&["review", "show", POLICY][..], &as_lee[..]].concat())?;
        self.ctx(&[&own[..], &as_lee[..]].concat())?;
        self.say("The history says who wrote and who approved, and verification checks the approval again:");
        self.ctx(&["history", POLICY])?;
        self.ctx(&["verify"])?;
        self.say(&format!("Try more commands in the vault: cd {shown}"));
        Ok(())
    }

    fn say(&mut self, text: &str) {
        if !self.session.ui.json {
            self.session.ui.line(&format!("\n{text}"));
        }
    }

    fn typed(&mut self, command: &str) {
        if !self.session.ui.json {
            self.session.ui.line(&format!("\n$ {command}"));
        }
    }

    fn ctx(&mut self, args: &[&str]) -> Result<(), Failure> {
        self.checked(args, self.home.clone())
    }

    fn ctx_outside(&mut self, args: &[&str]) -> Result<(), Failure> {
        self.checked(args, self.session.workspace.environment.cwd.clone())
    }

    fn checked(&mut self, args: &[&str], cwd: PathBuf) -> Result<(), Failure> {
        match self.step(args, cwd) {
            0 => Ok(()),
            exit => Err(Failure::new(Code::Io, format!("the step failed with exit code {exit}"))
                .hint("its output gives the reason; the folder can be removed")),
        }
    }

    fn ctx_unchecked(&mut self, args: &[&str]) -> u8 {
        self.step(args, self.home.clone())
    }

    /// Runs one command as a process in `cwd` would, without the caller's environment.
    fn step(&mut self, args: &[&str], cwd: PathBuf) -> u8 {
        let quoted: Vec<String> = args.iter().map(|arg| argument(arg).into_owned()).collect();
        let command = format!("ctx {}", quoted.join(" "));
        self.typed(&command);
        let mut full: Vec<OsString> = vec!["ctx".into()];
        full.extend(args.iter().map(OsString::from));
        if let Some(now) = &self.session.workspace.options.now {
            full.extend(["--now".into(), now.into()]);
        }
        let caller = self.session.workspace.environment;
        let time = caller.vars.get_key_value("CTX_NOW").into_iter();
        let environment = Environment {
            unreadable_vars: std::collections::BTreeSet::new(),
            cwd,
            vars: time.map(|(name, value)| (name.clone(), value.clone())).collect(),
            clock: caller.clock,
            sleep: caller.sleep,
            random: caller.random,
            is_recorded: false,
            git: |_, _, _| Err(GitError::NotRun("the demo does not use git".to_owned())),
            emails: Emails::default(),
            disk: caller.disk.clone(),
        };
        let world =
            World { environment, input_terminal: false, terminal: false, error_terminal: false };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let streams =
            Streams { stdin: &mut std::io::empty(), stdout: &mut stdout, stderr: &mut stderr };
        let exit = run_command(full, &world, streams);
        stdout.extend_from_slice(&stderr);
        let output = String::from_utf8_lossy(&stdout).into_owned();
        if self.session.ui.json {
            self.steps.push(DemoStep { command, exit, output });
        } else {
            self.session.ui.harmless(&output);
        }
        exit
    }

    fn edit(&mut self) -> Result<(), Failure> {
        let edits: Vec<String> = EDIT.iter().map(|(from, to)| format!("s/{from}/{to}/")).collect();
        self.typed(&format!("sed -i '{}' {}", edits.join("; "), EDITED.join(" ")));
        demo::edit(&self.home)
    }

    /// Copies the vault and changes one letter of the first version's text.
    fn alter(&mut self, to: &Path, shown: &str, copy: &str) -> Result<(), Failure> {
        self.typed(&format!("cd .. && cp -r {shown} {copy} && cd {copy}"));
        self.typed(&format!("sed -i 's/{BEFORE}/{FORGED}/' {KEYFRAME}"));
        demo::alter_copy(&self.home, to)
    }
}
