//! Report of the hooks of a repository.

use serde::Serialize;

use super::Report;
use super::problem::ValidateReport;
use super::verify::VerifyReport;
use crate::values::codes::words;

words! {
    /// A hook that can be installed.
    pub enum HookName {
        /// Runs before a commit.
        PreCommit = "pre-commit",
        /// Runs before a push.
        PrePush = "pre-push",
        /// Driver that merges the files of a vault.
        Merge = "merge",
    }

    /// State of a hook.
    pub enum HookState {
        /// The hook was written by `ctx`.
        Installed = "installed",
        /// A hook of another program runs `ctx`.
        Called = "called",
        /// A hook of another program does not run `ctx`.
        Other = "other",
        /// The hook does not exist.
        Absent = "absent",
    }
}

/// The answer of `hook install`, `hook uninstall` and `hook status`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct Hooks {
    /// Top of the work tree.
    pub repository: String,
    /// Hooks that the command is about.
    pub hooks: Vec<HookReport>,
    /// True if hooks could be written.
    pub written: bool,
}

/// A hook of a repository.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HookReport {
    /// `pre-commit`, `pre-push`, or `merge` for the merge driver.
    pub hook: HookName,
    /// File of the hook, the configuration of the program that manages hooks, or the setting of git
    /// with the merge driver.
    pub path: String,
    /// `installed`, `called` (a hook of another program runs `ctx`), `other` (it does not), or
    /// `absent`.
    pub state: HookState,
    /// `created`, `changed`, `removed`, `unchanged`, or `left` to another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    /// Lines to add to the file of the other program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
}

impl Report for Hooks {
    const SCHEMA: &'static str = "hook";
}

/// The answer of `hook run`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HookRun {
    /// `pre-commit`, `pre-push` or `pre-receive`.
    pub hook: &'static str,
    /// True if git must not go on.
    pub refused: bool,
    /// Checks, one for each vault and each ref of a push.
    pub checked: Vec<HookChecked>,
}

/// A check of a vault for a hook.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub struct HookChecked {
    /// Ref that the push changes.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Folder of the vault, relative to the top of the repository; empty for the top.
    pub vault: String,
    /// True if the check refuses the commit or the ref.
    pub refused: bool,
    /// Reason to refuse the ref without a check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Result of the verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyReport>,
    /// Errors of changed live files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validate: Option<ValidateReport>,
}

impl Report for HookRun {
    const SCHEMA: &'static str = "hook.run";
}

impl Hooks {
    /// Returns true if git runs `ctx` for every hook.
    pub(crate) fn is_complete(&self) -> bool {
        let is_run =
            |one: &HookReport| matches!(one.state, HookState::Installed | HookState::Called);
        self.hooks.iter().all(is_run)
    }
}
