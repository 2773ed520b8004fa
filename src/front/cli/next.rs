//! The commands that a list names as the next ones, in the mode of the vault.

use super::ui::Ui;
use crate::values::model::hint::{Mode, Verb};

/// A step that a person may take next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Words before its command, or in place of one.
    words: &'static str,
    /// Its command, and what follows that.
    command: Option<(Verb, &'static str)>,
    /// The mode in which it is a step; `None` if it is one in both.
    only: Option<Mode>,
}

impl Step {
    /// A step without a command of `ctx`.
    pub(super) const fn words(words: &'static str) -> Self {
        Self { words, command: None, only: None }
    }

    /// A command, and what follows it.
    pub(super) const fn run(verb: Verb, rest: &'static str) -> Self {
        Self { words: "", command: Some((verb, rest)), only: None }
    }

    /// Adds words before the step.
    pub(super) const fn after(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Limits the step to one mode.
    pub(super) const fn only(self, mode: Mode) -> Self {
        Self { only: Some(mode), ..self }
    }

    /// Returns true if the step changes published texts.
    fn publishes(&self) -> bool {
        matches!(self.command, Some((Verb::Publish | Verb::Retire, _)))
    }

    fn in_mode(&self, mode: Mode) -> String {
        match self.command {
            None => self.words.to_owned(),
            Some((verb, rest)) => {
                let line = format!("{}ctx {} {rest}", self.words, mode.verb(verb).as_str());
                line.trim_end().to_owned()
            }
        }
    }
}

/// Returns the steps that come next in the mode of the vault. While no role is known, a governed vault
/// refuses all that publishes.
pub(super) fn next(ui: &Ui<'_>, steps: &[Step]) -> String {
    in_mode(ui.mode(), ui.withholds, steps)
}

fn in_mode(mode: Mode, withholds: bool, steps: &[Step]) -> String {
    let is_open = |step: &&Step| mode == Mode::Publishes || !withholds || !step.publishes();
    let steps = steps.iter().filter(|step| step.only.is_none_or(|only| only == mode));
    let steps: Vec<String> = steps.take_while(is_open).map(|step| step.in_mode(mode)).collect();
    match steps.is_empty() {
        true => Step::run(Verb::Verify, "").in_mode(mode),
        false => steps.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_steps_name_commands_of_the_mode() {
        let steps = [
            Step::run(Verb::Restore, "FILE"),
            Step::run(Verb::Retire, "FILE").after("or ").only(Mode::Publishes),
            Step::run(Verb::Publish, "FILE").after("or, to delete a pack, ").only(Mode::Submits),
        ];
        let published = in_mode(Mode::Publishes, true, &steps);
        assert_eq!(published, "ctx restore FILE, or ctx retire FILE");
        let submitted = in_mode(Mode::Submits, false, &steps);
        assert_eq!(submitted, "ctx restore FILE, or, to delete a pack, ctx submit FILE");
        assert_eq!(in_mode(Mode::Submits, true, &steps), "ctx restore FILE");
        let publish = [Step::run(Verb::Publish, ""), Step::words("or wait")];
        assert_eq!(in_mode(Mode::Submits, true, &publish), "ctx verify");
        assert_eq!(in_mode(Mode::Publishes, false, &publish), "ctx publish, or wait");
    }
}
