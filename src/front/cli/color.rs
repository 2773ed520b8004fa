//! Colours: on terminals, unless NO_COLOR is set; everywhere if CLICOLOR_FORCE is.

use anstyle::{AnsiColor, Style};

use super::World;

/// The role of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Ordinary text.
    Plain,
    /// The beginning of an error, damage, a removed line.
    Bad,
    /// The beginning of a warning.
    Doubtful,
    /// A good verdict, an added line.
    Good,
    /// The beginning of a hint or note, the place of a hunk.
    Remark,
    /// A heading.
    Heading,
    /// Secondary text below a line.
    Faint,
}

impl Paint {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Bad => color(AnsiColor::Red).bold(),
            Self::Doubtful => color(AnsiColor::Yellow).bold(),
            Self::Good => color(AnsiColor::Green).bold(),
            Self::Remark => color(AnsiColor::Cyan),
            Self::Heading => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
        }
    }

    /// Returns the text in its colour.
    pub(super) fn apply(self, text: &str) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }

    /// Returns the colour of a line of a unified diff.
    pub(super) fn of_diff(line: &str) -> Self {
        match line.as_bytes().first() {
            _ if line.starts_with("+++ ") || line.starts_with("--- ") => Self::Heading,
            Some(b'+') => Self::Good,
            Some(b'-') => Self::Bad,
            Some(b'@') => Self::Remark,
            _ => Self::Plain,
        }
    }

    /// Returns the colour of the word with which a message begins, and the end of that word.
    pub(super) fn of_message(line: &str) -> (Self, usize) {
        let end = line.find(':').unwrap_or(0);
        let paint = match line.get(..end).map(|word| word.split('[').next().unwrap_or(word)) {
            Some("error") => Self::Bad,
            Some("warning") => Self::Doubtful,
            Some("hint" | "note" | "next") => Self::Remark,
            _ => return (Self::Plain, 0),
        };
        (paint, end)
    }
}

/// Returns true if a stream gets colours (no-color.org, bixense.com/clicolors).
pub(super) fn is_colored(world: &World, terminal: bool) -> bool {
    let var = |name| world.environment.var(name);
    if var("NO_COLOR").is_some() {
        return false;
    }
    let is_forced = var("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    is_forced || terminal && var("CLICOLOR") != Some("0") && var("TERM") != Some("dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_message_is_coloured() {
        let painted = |line| {
            let (paint, end) = Paint::of_message(line);
            (paint, &line[..end])
        };
        assert_eq!(painted("error[io]: x"), (Paint::Bad, "error[io]"));
        assert_eq!(painted("warning: x: y"), (Paint::Doubtful, "warning"));
        assert_eq!(painted("  hint: x").0, Paint::Plain);
        assert_eq!(painted("3 hits at checkpoint 2"), (Paint::Plain, ""));
    }
}
