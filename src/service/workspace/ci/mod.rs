//! The base of a job of continuous integration: the commit with which the log is compared.
//!
//! The variables of GitHub Actions and GitLab CI name it. If git lacks the commit, or a job has no
//! base, that is a failure, never a check without an anchor.

pub(crate) mod changes;

use std::fs::File;
use std::io::Read as _;

use serde_json::Value;

use super::Workspace;
use super::git::GitError;
use super::revision;
use crate::files::vault::Vault;
use crate::prove::verify::{Anchor, AnchorSource};
use crate::service::report::failure::{Code, Failure};

/// Maximum size of the file with the event of a job of GitHub.
const EVENT: u64 = 64 << 20;

/// A host that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    GitHub,
    GitLab,
}

impl Host {
    /// Returns how to fetch the whole history.
    fn fetching(self) -> &'static str {
        match self {
            Self::GitHub => {
                "a shallow clone lacks it: set `fetch-depth: 0` for actions/checkout; after a force push, run `ctx ci --since REV` with a commit of the new history"
            }
            Self::GitLab => {
                "a shallow clone lacks it: set the variable `GIT_DEPTH: \"0\"` and fetch the target branch; after a force push, run `ctx ci --since REV` with a commit of the new history"
            }
        }
    }
}

/// The base of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// The merge base with the first of these revisions that git has.
    Fork(Vec<String>),
    /// The commit before a push to the default branch.
    Push(String),
    /// Nothing: the first push to the default branch.
    Nothing,
}

/// A revision that names the base, as the user gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// `--since`.
    Since(&'a str),
    /// `--since-fork`.
    Fork(&'a str),
}

/// Returns the anchor of a job: of the given revision, or else by the variables of the job. `None`
/// for the first push to a repository.
///
/// # Errors
/// There is no job, the job has no base, or git lacks it.
pub(crate) fn anchor(
    workspace: &Workspace<'_>,
    vault: &Vault,
    given: Option<Given<'_>>,
) -> Result<Option<Anchor>, Failure> {
    let (host, base) = match given {
        Some(Given::Since(name)) => return revision::revision(workspace, vault, name).map(Some),
        Some(Given::Fork(name)) => return revision::merge_base(workspace, vault, name).map(Some),
        None => base(workspace, vault)?,
    };
    let names = match &base {
        Base::Fork(names) => names.as_slice(),
        Base::Push(name) => std::slice::from_ref(name),
        Base::Nothing => return Ok(None),
    };
    let Some(name) = names.iter().find(|name| is_known(workspace, vault, name)) else {
        let message = format!("git lacks the base of the job, `{}`", names.join("` or `"));
        return Err(Failure::new(Code::Usage, message).hint(host.fetching()));
    };
    let anchor = match base {
        Base::Push(_) => revision::before_push(workspace, vault, name),
        _ => revision::merge_base(workspace, vault, name),
    };
    anchor.map(Some).map_err(|failure| failure.hint(host.fetching()))
}

/// Returns the commit of an anchor of git.
pub(crate) fn commit_of(anchor: &Anchor) -> Option<(&str, &str)> {
    match &anchor.source {
        AnchorSource::Revision { name, commit } | AnchorSource::MergeBase { name, commit, .. } => {
            Some((name, commit))
        }
        AnchorSource::Expected | AnchorSource::Trusted { .. } => None,
    }
}

fn is_known(workspace: &Workspace<'_>, vault: &Vault, name: &str) -> bool {
    resolved(workspace, vault, name).is_some()
}

fn resolved(workspace: &Workspace<'_>, vault: &Vault, name: &str) -> Option<String> {
    let wanted = format!("{name}^{{commit}}");
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
    let said = (workspace.environment.git)(vault.root(), &args, b"").ok()?;
    Some(String::from_utf8_lossy(&said).trim().to_owned())
}

fn base(workspace: &Workspace<'_>, vault: &Vault) -> Result<(Host, Base), Failure> {
    let var = |name| workspace.environment.var(name);
    let is_set = |name| var(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let found = match (is_set("GITHUB_ACTIONS"), is_set("GITLAB_CI")) {
        (true, _) => (Host::GitHub, of_github(workspace, vault)?),
        (false, true) => (Host::GitLab, of_gitlab(&var)),
        (false, false) => {
            let message = "no job of GitHub Actions or GitLab CI was found";
            return Err(Failure::new(Code::Usage, message).hint(NAMING));
        }
    };
    match found {
        (host, Some(base)) => Ok((host, base)),
        (host, None) => {
            let event = match host {
                Host::GitHub => var("GITHUB_EVENT_NAME"),
                Host::GitLab => var("CI_PIPELINE_SOURCE"),
            };
            let event = event.unwrap_or("unknown");
            let message = format!("the job was started by the event `{event}`, which has no base");
            Err(Failure::new(Code::Usage, message).hint(NAMING))
        }
    }
}

const NAMING: &str = "name the base: `ctx ci --since REV`, or `--since-fork REV` on a branch";

/// Returns the ref of a branch of `origin`.
fn of_origin(branch: &str) -> String {
    format!("refs/remotes/origin/{branch}")
}

/// Returns true if a text is the full name of an object that exists: hosts write zeros if there is
/// no commit.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.bytes().any(|byte| byte != b'0')
}

fn of_github(workspace: &Workspace<'_>, vault: &Vault) -> Result<Option<Base>, Failure> {
    let var = |name| workspace.environment.var(name);
    let event = event(workspace)?;
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let commit = |pointer: &str| Some(text(pointer)).filter(|name| is_commit(name));
    let name = var("GITHUB_EVENT_NAME").unwrap_or_default();
    Ok(match name {
        "pull_request" | "pull_request_target" | "pull_request_review" => {
            let head = resolved(workspace, vault, "HEAD");
            if name == "pull_request_target" && head.as_deref() == var("GITHUB_SHA") {
                let message = "the job has checked out the base of the pull request, not its head";
                return Err(Failure::new(Code::Usage, message).hint(
                    "run the job on `pull_request`, or set `ref: ${{ github.event.pull_request.head.sha }}` for actions/checkout",
                ));
            }
            let branch = var("GITHUB_BASE_REF").or(Some(text("/pull_request/base/ref")));
            let branch = branch.filter(|branch| !branch.is_empty()).map(of_origin);
            let commit = commit("/pull_request/base/sha").map(str::to_owned);
            some_of([branch, commit])
        }
        "merge_group" => commit("/merge_group/base_sha").map(|name| Base::Push(name.to_owned())),
        "push" => {
            let default = Some(text("/repository/default_branch")).filter(|name| !name.is_empty());
            let is_default = default.is_some_and(|default| {
                var("GITHUB_REF") == Some(format!("refs/heads/{default}").as_str())
            });
            // Only zeros mean a first push.
            let before = text("/before");
            let is_first = !before.is_empty() && before.bytes().all(|byte| byte == b'0');
            pushed(is_default, default, commit("/before"))
                .filter(|base| is_first || !matches!(base, Base::Nothing))
        }
        _ => None,
    })
}

/// Returns the event of a job of GitHub; null without one.
fn event(workspace: &Workspace<'_>) -> Result<Value, Failure> {
    let Some(path) = workspace.environment.var("GITHUB_EVENT_PATH") else { return Ok(Value::Null) };
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(Code::Io, format!("cannot read the event of the job in `{path}`: {why}"))
    };
    let file = File::open(workspace.environment.cwd.join(path)).map_err(|why| failed(&why))?;
    let mut bytes = Vec::new();
    file.take(EVENT).read_to_end(&mut bytes).map_err(|why| failed(&why))?;
    serde_json::from_slice(&bytes).map_err(|why| failed(&why))
}

fn of_gitlab<'e>(var: &impl Fn(&'static str) -> Option<&'e str>) -> Option<Base> {
    let commit = |name| var(name).filter(|name| is_commit(name));
    let target = var("CI_MERGE_REQUEST_TARGET_BRANCH_NAME").map(of_origin);
    let merge_base = commit("CI_MERGE_REQUEST_DIFF_BASE_SHA").map(str::to_owned);
    if let Some(base) = some_of([target, merge_base]) {
        return Some(base);
    }
    let (default, branch) = (var("CI_DEFAULT_BRANCH"), var("CI_COMMIT_BRANCH"));
    // GitLab also writes zeros if a person or a schedule starts a pipeline.
    let is_push = matches!(var("CI_PIPELINE_SOURCE"), Some("push"));
    let is_default = branch.is_some() && branch == default;
    pushed(is_default, default, commit("CI_COMMIT_BEFORE_SHA"))
        .filter(|base| is_push || !matches!(base, Base::Nothing))
}

/// Returns the base of a push: the commit before it on the default branch, which must stay in the
/// log, or else the merge base with the default branch, because other branches may be rebased.
fn pushed(is_default: bool, default: Option<&str>, before: Option<&str>) -> Option<Base> {
    match (is_default, before) {
        (true, Some(before)) => Some(Base::Push(before.to_owned())),
        (true, None) => Some(Base::Nothing),
        (false, before) => some_of([default.map(of_origin), before.map(str::to_owned)]),
    }
}

fn some_of(names: [Option<String>; 2]) -> Option<Base> {
    let names: Vec<String> = names.into_iter().flatten().collect();
    (!names.is_empty()).then_some(Base::Fork(names))
}

/// Returns the failure if git cannot read a commit.
fn unreadable(why: &GitError) -> Failure {
    Failure::new(Code::Io, format!("the base of the job cannot be read: {why}"))
}
