//! The streams: the report on stdout, then hints and errors on stderr.
//!
//! Text from a vault is hostile. In lines and tables, control and invisible characters are always
//! escaped. A document's own text goes to a pipe unchanged; on a terminal, everything that could
//! control it is escaped.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::World;
use super::color::{Paint, is_colored};
use super::failure;
use crate::files::vault::Vault;
use crate::service::report::failure::Failure;
use crate::service::report::{self, Report, Spell};
use crate::service::workspace::governance_mode::asks_for_reviews;
use crate::values::model::hint::{Mode, Verb};
pub(super) use crate::values::model::visible::shown;
use crate::values::model::visible::{escaped, is_plain, steers, steers_text};

/// The streams that are terminals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terminal {
    /// True if stdin is a terminal.
    input: bool,
    /// True if stdout is a terminal.
    out: bool,
    /// True if stderr is a terminal.
    err: bool,
    color: bool,
    error_color: bool,
}

impl Terminal {
    pub(super) fn of(world: &World) -> Self {
        Self {
            input: world.input_terminal,
            out: world.terminal,
            err: world.error_terminal,
            color: is_colored(world, world.terminal),
            error_color: is_colored(world, world.error_terminal),
        }
    }
}

/// The two output streams of one command.
pub(super) struct Ui<'w> {
    out: io::BufWriter<&'w mut dyn Write>,
    /// The report so far, if it must not leave before it is recorded.
    held: Option<Vec<u8>>,
    err: &'w mut dyn Write,
    terminal: Terminal,
    /// True if the report is JSON.
    pub(super) json: bool,
    /// The vault, whose mode decides whether advice names `submit` for `publish`.
    vault: Option<Vault>,
    /// True if it is governed; determined on first use, because most commands never need it.
    governed: OnceCell<bool>,
    /// Number of documents that the reader may not read; `None` if reading is not limited.
    pub(super) may_not_read: Option<usize>,
    /// True if the answer is incomplete because a file of the rules cannot be read: then the exit
    /// code is not 0.
    pub(super) withholds: bool,
    /// Lines for stderr, written after the report.
    notes: Vec<String>,
    /// Warnings about the vault itself, which a JSON report repeats under `notes`.
    warnings: Vec<String>,
    failed: Option<io::Error>,
}

impl<'w> Ui<'w> {
    pub(super) fn new(out: &'w mut dyn Write, err: &'w mut dyn Write, terminal: Terminal) -> Self {
        Self {
            out: io::BufWriter::new(out),
            held: None,
            err,
            terminal,
            json: false,
            vault: None,
            governed: OnceCell::new(),
            may_not_read: None,
            withholds: false,
            notes: Vec::new(),
            warnings: Vec::new(),
            failed: None,
        }
    }

    /// Keeps the report until the end, so that it can be recorded before it leaves.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Drops the kept report and its notes, because they must not leave. Warnings about the vault
    /// itself stay.
    pub(super) fn discard(&mut self) {
        self.held = Some(Vec::new());
        let warnings = std::mem::take(&mut self.warnings);
        self.notes.clear();
        warnings.iter().for_each(|warning| self.warn(warning));
    }

    /// Returns the report, if it is kept.
    pub(super) fn held(&self) -> &[u8] {
        self.held.as_deref().unwrap_or_default()
    }

    /// Returns true if a person is at both ends, who can be asked for a text.
    pub(super) fn is_interactive(&self) -> bool {
        self.terminal.input && self.terminal.out && !self.json
    }

    /// Returns true if progress can be shown.
    pub(super) fn shows_progress(&self) -> bool {
        self.terminal.err && !self.json
    }

    /// Writes one line of a report. The caller has made vault text visible with [`shown`], so that
    /// it is without line ends; anything that a caller missed is escaped here.
    pub(super) fn line(&mut self, text: &str) {
        self.painted(Paint::Plain, text);
    }

    /// Writes one line of a report in a colour.
    pub(super) fn painted(&mut self, paint: Paint, text: &str) {
        let text = harmless_lines(text);
        match self.terminal.color && paint != Paint::Plain {
            true => self.write(paint.apply(&text).as_bytes()),
            false => self.write(text.as_bytes()),
        }
        self.write(b"\n");
    }

    /// Sets the vault that advice is about.
    pub(super) fn is_about(&mut self, vault: &Vault) {
        (self.vault, self.governed) = (Some(vault.clone()), OnceCell::new());
    }

    /// Returns the vault that advice is about.
    pub(super) fn vault(&self) -> Option<&Vault> {
        self.vault.as_ref()
    }

    /// Returns true if the vault is governed, by the configuration in force (REV-1) or by the
    /// live one.
    pub(super) fn is_governed(&self) -> bool {
        let asked = || self.vault.as_ref().is_some_and(asks_for_reviews);
        *self.governed.get_or_init(asked)
    }

    /// Returns the spelling of calls in hints.
    pub(super) fn spell(&self) -> Spell {
        Spell::new(failure::command, self.mode())
    }

    /// Returns how texts are published in the vault.
    pub(super) fn mode(&self) -> Mode {
        if self.is_governed() { Mode::Submits } else { Mode::Publishes }
    }

    /// The command that brings a text towards publication.
    pub(super) fn publish(&self) -> String {
        format!("ctx {}", self.mode().verb(Verb::Publish).as_str())
    }

    /// Returns true if the report goes to a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal.out
    }

    /// Returns true if the report has colours.
    pub(super) fn is_colored(&self) -> bool {
        self.terminal.color
    }

    /// Writes a line of parts, each in a colour. Every invisible character is escaped, for a pipe
    /// too, because a reviewer has to see the whole text.
    pub(super) fn pieces(&mut self, pieces: &[(Paint, String)]) {
        for (paint, text) in pieces {
            let text = escaped(text, |c| c != '\t' && steers(c));
            match self.terminal.color && *paint != Paint::Plain {
                true => self.write(paint.apply(&text).as_bytes()),
                false => self.write(text.as_bytes()),
            }
        }
        self.write(b"\n");
    }

    /// Writes lines of a table.
    pub(super) fn table(&mut self, rows: &[Vec<String>]) {
        table(rows).iter().for_each(|row| self.line(row));
    }

    /// Writes text from outside of this program: unchanged to a pipe, escaped to a terminal. A text
    /// of a document comes from [`Session::release`](super::session::Session::release).
    pub(super) fn harmless(&mut self, text: &str) {
        if self.terminal.out {
            let harmless = escaped(text, steers_text);
            self.write(harmless.as_bytes());
        } else {
            self.write(text.as_bytes());
        }
    }

    /// Writes bytes that are not text, to a pipe or a file.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    /// Writes a unified diff: unchanged to a pipe, escaped and in colours to a terminal.
    pub(super) fn diff(&mut self, diff: &str) {
        if !self.terminal.color {
            return self.harmless(diff);
        }
        for line in diff.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            let harmless = escaped(line, steers_text);
            self.write(Paint::of_diff(line).apply(&harmless).as_bytes());
            self.write(end.as_bytes());
        }
    }

    /// Writes a report as JSON.
    pub(super) fn report<R: Report>(&mut self, report: &R) {
        let mut json = report::to_json(report, &self.warnings, self.may_not_read);
        match &mut self.held {
            // The report of a large vault must not be copied.
            Some(held) if held.is_empty() => {
                json.push('\n');
                *held = json.into_bytes();
            }
            _ => self.json(&json),
        }
    }

    /// Writes a report as JSON on one line.
    pub(super) fn report_line<R: Report>(&mut self, report: &R) {
        let json = report::to_json_line(report);
        self.json(&json);
    }

    /// Writes a report in a JSON format of another program.
    pub(super) fn json(&mut self, json: &str) {
        self.line(json);
    }

    /// Warns of something about the vault: on stderr, and in the `notes` of a JSON report.
    pub(super) fn warn(&mut self, text: &str) {
        self.note(&format!("warning: {}", shown(text)));
        self.warnings.push(text.to_owned());
    }

    /// Keeps a line for stderr, written after the report.
    pub(super) fn note(&mut self, text: &str) {
        self.notes.push(harmless_lines(text).into_owned());
    }

    /// Asks a person a question after what was written so far; returns whether the answer is yes.
    pub(super) fn ask(&mut self, stdin: &mut dyn Read, question: &str) -> bool {
        self.flush();
        let _ = write!(self.err, "{} [y/N] ", shown(question));
        let _ = self.err.flush();
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.len() < ANSWER && stdin.read(&mut byte).is_ok_and(|n| n == 1) && byte != *b"\n" {
            line.push(byte[0]);
        }
        let line = line.trim_ascii().to_ascii_lowercase();
        line == b"y" || line == b"yes"
    }

    /// Keeps a failure for stderr, as text or JSON.
    pub(super) fn failure(&mut self, why: &Failure) {
        self.note(&self.failure_text(why));
    }

    /// Names the file without which a part of the answer is unknown; the rest is printed.
    pub(super) fn withhold(&mut self, why: &Failure) {
        self.failure(why);
        self.withholds = true;
    }

    /// Returns a failure as text or JSON.
    pub(super) fn failure_text(&self, why: &Failure) -> String {
        let report = why.report(self.spell());
        match self.json {
            true => report::to_json(&report, &[], None),
            false => report.to_string(),
        }
    }

    /// Returns a line on the terminal that shows the progress of a command.
    pub(super) fn progress(&mut self) -> Progress<'_, 'w> {
        let shown = self.shows_progress();
        let err = shown.then_some(&mut *self.err);
        Progress { err, next: Instant::now() + PATIENCE, is_shown: false }
    }

    /// Returns the stream of stdout, for a command that speaks a protocol over it.
    #[cfg(feature = "mcp")]
    pub(super) fn stream(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes everything so far to stdout and stderr, in a command that continues. Returns true if
    /// stdout is still open.
    pub(super) fn flush(&mut self) -> bool {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        self.write_notes();
        self.failed.is_none()
    }

    /// Writes the report to stdout, then the notes to stderr; returns the first failure of stdout.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Some(held) = self.held.take() {
            self.write(&held);
        }
        let flushed = self.out.flush();
        self.write_notes();
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => flushed,
        }
    }

    /// Writes the notes to stderr.
    pub(super) fn write_notes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            for line in note.lines() {
                let (paint, end) = Paint::of_message(line);
                let line = match self.terminal.error_color && end > 0 {
                    true => Cow::Owned(paint.apply(&line[..end]) + &line[end..]),
                    false => Cow::Borrowed(line),
                };
                // If stderr is closed, the failure cannot be reported.
                let _ = writeln!(self.err, "{line}");
            }
        }
        let _ = self.err.flush();
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(bytes);
        } else if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }
}

/// Maximum number of bytes of an answer.
const ANSWER: usize = 64;

/// Progress of shorter work is not reported.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two lines of progress.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// One line on a terminal, rewritten repeatedly, and removed at the end.
pub(super) struct Progress<'p, 'w> {
    err: Option<&'p mut (dyn Write + 'w)>,
    next: Instant,
    is_shown: bool,
}

impl Progress<'_, '_> {
    /// Shows the progress of the work, if it has taken long enough.
    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        let now = Instant::now();
        if let Some(err) = self.err.as_mut().filter(|_| now >= self.next) {
            let _ = write!(err, "\r\u{1b}[K{}", shown(&line()));
            let _ = err.flush();
            (self.next, self.is_shown) = (now + PAUSE, true);
        }
    }
}

impl Drop for Progress<'_, '_> {
    fn drop(&mut self) {
        if let Some(err) = self.err.as_mut().filter(|_| self.is_shown) {
            let _ = write!(err, "\r\u{1b}[K");
            let _ = err.flush();
        }
    }
}

/// Returns lines of ctx, with every other control and invisible character escaped.
pub(super) fn harmless_lines(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    escaped(text, |c| c != '\n' && steers(c))
}

/// Number of lines of a list that people see; JSON has all of them.
pub(super) const SHOWN: usize = 20;

/// Returns the first lines of a list, and the number of the others.
pub(super) fn first<T>(
    items: impl ExactSizeIterator<Item = T>,
    line: impl FnMut(T) -> String,
) -> Vec<String> {
    let more = items.len().saturating_sub(SHOWN);
    let mut lines: Vec<String> = items.take(SHOWN).map(line).collect();
    if more > 0 {
        lines.push(format!("… {more} more"));
    }
    lines
}

/// Maximum width of a column of a table. A wider cell exceeds it: otherwise one cell of a hostile
/// vault would make every row as long.
const MAX_COLUMN: usize = 512;

/// Returns rows as aligned columns, separated by two blanks, without blanks at line ends.
pub(super) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let width = |text: &str| text.chars().count();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|n| rows.iter().filter_map(|r| r.get(n)).map(|cell| width(cell)).max().unwrap_or(0))
        .map(|width| width.min(MAX_COLUMN))
        .collect();
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, size) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(
                    ' ',
                    (size + 2).saturating_sub(width(cell)).max(2),
                ));
            }
            line.trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: Terminal =
        Terminal { input: true, out: true, err: true, color: false, error_color: false };

    fn printed(terminal: Terminal, print: impl FnOnce(&mut Ui<'_>)) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, terminal);
        print(&mut ui);
        ui.finish().unwrap();
        drop(ui);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn vault_text_cannot_steer_a_terminal() {
        let hostile = "a\u{1b}[31m\u{202e}\u{9b}b\nc\u{7f}";
        assert_eq!(shown(hostile), "a\\u{1b}[31m\\u{202e}\\u{9b}b\\nc\\u{7f}");
        let escaped = "a\\u{1b}[31m\\u{202e}\\u{9b}b\nc\\u{7f}";
        assert_eq!(printed(ON, |ui| ui.harmless(hostile)), escaped);
        let colored = Terminal { color: true, ..ON };
        let diff = printed(colored, |ui| ui.diff("+\u{1b}[0m\n-a\n b"));
        assert_eq!(
            diff,
            "\u{1b}[1m\u{1b}[32m+\\u{1b}[0m\u{1b}[0m\n\u{1b}[1m\u{1b}[31m-a\u{1b}[0m\n b"
        );
    }

    #[test]
    fn a_pipe_gets_the_bytes_as_they_are() {
        assert_eq!(printed(Terminal::default(), |ui| ui.harmless("\u{1b}\r\n")), "\u{1b}\r\n");
        assert_eq!(printed(Terminal::default(), |ui| ui.diff("+\u{1b}\r\n")), "+\u{1b}\r\n");
    }

    #[test]
    fn one_wide_cell_makes_no_other_row_wide() {
        let wide = "x".repeat(MAX_COLUMN + 1);
        let rows = [vec![wide.clone(), "a".to_owned()], vec!["b".to_owned(), "c".to_owned()]];
        let lines = table(&rows);
        assert_eq!(lines[0], format!("{wide}  a"));
        assert_eq!(lines[1].len(), MAX_COLUMN + 3);
    }

    #[test]
    fn notes_come_after_the_report() {
        struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.borrow_mut().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let both = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let (mut out, mut err) = (Shared(both.clone()), Shared(both.clone()));
        let mut ui = Ui::new(&mut out, &mut err, Terminal::default());
        ui.note("hint: next");
        ui.line("report");
        ui.finish().unwrap();
        drop(ui);
        assert_eq!(both.borrow().as_slice(), b"report\nhint: next\n");
    }
}
