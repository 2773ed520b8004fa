//! Attacks on the reviews of a governed vault.
//!
//! Honest commands govern the vault and begin the reviews, at times of their own; the forger writes
//! the rest by hand, with valid hashes.

mod approvals;
mod moves;
mod rules;
mod steps;

use std::fs;

use crate::e3::forge::Target;
use crate::e3::place::Place;
use crate::e3::script::ctx;

pub(super) use approvals::APPROVALS;
pub(super) use moves::MOVES;
pub(super) use rules::RULES;
pub(super) use steps::STEPS;

const CONFIG: &str = ".context/config.yaml";
pub(super) const STEWARDS: &str = "stewards.yaml";
/// Documents of the scope of the vault, of the tag `security`, and of three folders.
pub(in crate::e3) const PLAIN: &str = "nodes/gov/plain";
pub(super) const OTHER: &str = "nodes/gov/other";
const TAGGED: &str = "nodes/gov/tagged";
const ALPHA: &str = "nodes/alpha/x";
const MOVED: &str = "nodes/beta/x";
const TWO: &str = "nodes/two/x";
/// The editor of every scope.
pub(super) const ANA: &str = "ana@example.com";
/// Reviewers of the vault.
pub(super) const BO: &str = "bo@example.com";
pub(super) const KIM: &str = "kim@example.com";
const CHLOE: &str = "Chlo\u{e9} Duval";
/// Reviewers of the tag, and of the folders `alpha` and `beta`.
const SAM: &str = "sam@example.com";
const MAX: &str = "max@example.com";
/// A principal without a role.
const EVE: &str = "eve@example.com";

pub(super) const ASSIGNED: &str = "version: 1
vault:
  - {principal: ana@example.com, role: editor}
  - {principal: bo@example.com, role: reviewer}
  - {principal: kim@example.com, role: reviewer}
  - {principal: Chlo\u{e9} Duval, role: reviewer}
folders:
  nodes/alpha/:
    - {principal: ana@example.com, role: editor}
    - {principal: lee@example.com, role: reviewer}
  nodes/beta/:
    - {principal: ana@example.com, role: editor}
    - {principal: max@example.com, role: reviewer}
tags:
  security:
    - {principal: ana@example.com, role: editor}
    - {principal: sam@example.com, role: reviewer}
review:
  folders:
    nodes/two/: {required: 2}
";

/// A time after everything that a vault records, for the forger.
const LATER: &str = "2026-12-31T16:00:00.000Z";
const LATER_STILL: &str = "2026-12-31T16:00:01.000Z";
const LAST: &str = "2026-12-31T16:00:02.000Z";

/// A vault under attack that honest commands governed.
pub(super) struct Governed<'t> {
    target: &'t Target,
    minute: usize,
}

impl<'t> Governed<'t> {
    pub(super) fn begin(target: &'t Target) -> Option<Self> {
        Self::begin_after(target, &[])
    }

    /// Governs the vault after these commands.
    fn begin_after(target: &'t Target, before: &[&[&str]]) -> Option<Self> {
        let mut this = Self::at(target)?;
        for id in [PLAIN, OTHER, TAGGED, ALPHA, TWO] {
            let tags = if id == TAGGED { "\ntags: ['#security']" } else { "" };
            let text = format!("---\ntitle: A rule{tags}\n---\n\n# A rule\n\nFirst line.\n");
            target.write(&format!("{id}.md"), text);
        }
        this.run(ANA, &["publish", PLAIN, OTHER, TAGGED, ALPHA, TWO, "--no-sync"])?;
        for args in before {
            this.run(ANA, args)?;
        }
        target.write(STEWARDS, ASSIGNED);
        this.run(ANA, &["govern", "on"])?;
        Some(this)
    }

    /// Returns a vault that is not governed yet.
    fn at(target: &'t Target) -> Option<Self> {
        fs::create_dir_all(target.outside.join("governed")).ok()?;
        Some(Self { target, minute: 0 })
    }

    fn run(&mut self, by: &str, args: &[&str]) -> Option<()> {
        self.minute += 1;
        let now = format!("2026-12-31T15:{:02}:00.000Z", self.minute);
        let state = self.target.outside.join("governed");
        let args = [args, &["--as", by, "--now", &now]].concat();
        (ctx(&self.target.root, &args, Some(&state)).exit == 0).then_some(())
    }

    /// Changes a live file and submits it.
    fn submit(&mut self, by: &str, id: &str) -> Option<()> {
        self.submit_as(by, id, &[], &|text| text.to_owned() + "\nA new line.\n")
    }

    fn submit_as(
        &mut self,
        by: &str,
        id: &str,
        args: &[&str],
        change: &dyn Fn(&str) -> String,
    ) -> Option<()> {
        let path = crate::e3::forge::live_path(id);
        self.target.edit(&path, change);
        self.run(by, &[&["submit", id], args].concat())
    }
}

/// Returns the place of a finding about the last version of an artifact.
fn last(target: &Target, id: &str) -> Place {
    Place::of(id).version(target.last(id).1)
}
