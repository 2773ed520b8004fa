//! Files that teach an agent to use a vault: a `SKILL.md`, and a section of `AGENTS.md`
//! (`spec/derived.md`, DERIV-11). Both are made from one checkpoint. They end with a line that
//! contains the hash of the text before it, so that a file edited by hand is recognised and
//! never overwritten.
//!
//! `text` contains the words, and [`bring`] writes them to the files of a project.

mod text;

use crate::files::vault::files::{FileError, Files};
use crate::values::codes::serialize_as_words;
use crate::values::model::digest::Digest;
use crate::values::model::layout::limit;

pub(crate) use text::{About, PackLine, texts};

/// First line of a generated section.
const BEGIN: &str = "<!-- generated-by: ctx skill install -->";
/// Start of the last line of a generated text.
const END: &str = "<!-- end of generated-by: ctx skill install; ";

/// A generated text, and the file that it goes into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taught {
    /// Path in the project.
    pub(crate) path: String,
    /// Text with its last line.
    pub(crate) text: String,
    /// True if the file may contain other text before and after it.
    pub(crate) is_section: bool,
}

/// Change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The file already has the text.
    Unchanged,
    /// The file does not exist.
    Create(String),
    /// The file has the first text, and gets the second.
    Replace(String, String),
    /// The file was edited by hand, or belongs to another program.
    Edited(&'static str),
}

serialize_as_words!(Change);

impl Change {
    /// Returns the word of the change in reports.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Create(_) => "created",
            Self::Replace(..) => "changed",
            Self::Edited(_) => "edited",
        }
    }
}

impl Taught {
    /// Appends a last line to a text that marks it as generated and contains its hash.
    fn sealed(path: String, text: &str, is_section: bool) -> Self {
        let begin = if is_section { format!("{BEGIN}\n") } else { String::new() };
        let text = format!("{begin}{text}");
        let end = end_of(&text);
        Self { path, text: text + &end, is_section }
    }

    /// Returns the change of the file, given its current text.
    fn change(&self, old: Option<&str>) -> Change {
        match old {
            None => Change::Create(self.text.clone()),
            Some(old) if self.is_section => self.in_place(old),
            Some(old) if old == self.text => Change::Unchanged,
            Some(old) if is_sealed(old) => Change::Replace(old.to_owned(), self.text.clone()),
            Some(_) => Change::Edited("it was edited by hand, or belongs to another program"),
        }
    }

    /// Returns the change of a file with a section: replaces an existing section, otherwise
    /// appends it.
    fn in_place(&self, old: &str) -> Change {
        let (before, rest) =
            match (lines_with(old, BEGIN).as_slice(), lines_with(old, END).as_slice()) {
                ([], []) => {
                    let gap = match old {
                        "" => "",
                        old if old.ends_with("\n\n") => "",
                        old if old.ends_with('\n') => "\n",
                        _ => "\n\n",
                    };
                    return Change::Replace(old.to_owned(), format!("{old}{gap}{}", self.text));
                }
                ([begin], [end]) if begin < end => old.split_at(*begin),
                _ => return Change::Edited("the lines around its section were edited by hand"),
            };
        let end = lines_with(rest, END).first().copied().unwrap_or_default();
        let length = rest[end..].find('\n').map_or(rest.len(), |found| end + found + 1);
        let (section, after) = rest.split_at(length);
        match section {
            section if section == self.text => Change::Unchanged,
            section if is_sealed(section) => {
                Change::Replace(old.to_owned(), format!("{before}{}{after}", self.text))
            }
            _ => Change::Edited("its section was edited by hand"),
        }
    }
}

/// Returns the start of each line that begins with these words.
fn lines_with(text: &str, words: &str) -> Vec<usize> {
    let found = text.match_indices(words).map(|(at, _)| at);
    found.filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n').collect()
}

/// Returns the last line of a text.
fn end_of(text: &str) -> String {
    format!("{END}{} -->\n", Digest::of(text.as_bytes()))
}

/// Returns true if a text is generated and unchanged.
fn is_sealed(text: &str) -> bool {
    let end = text.rfind(END).filter(|end| lines_with(text, END).contains(end));
    end.is_some_and(|end| text[end..] == end_of(&text[..end]))
}

/// Returns the change of each file of a project.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) fn plan(files: &Files, taught: &[Taught]) -> Result<Vec<Change>, FileError> {
    let change = |one: &Taught| {
        let old = files.read_optional(&one.path, limit::DOCUMENT)?;
        let old = old.map(String::from_utf8).transpose();
        Ok(match old {
            Ok(old) => one.change(old.as_deref()),
            Err(_) => Change::Edited("it is not UTF-8"),
        })
    };
    taught.iter().map(change).collect()
}

/// Writes a file as planned. If another program changed the file meanwhile, it is left unchanged.
///
/// # Errors
/// Fails if the file cannot be written.
pub(crate) fn bring(files: &Files, one: &Taught, change: &Change) -> Result<(), FileError> {
    match change {
        Change::Create(text) => files.create_durable(&one.path, text.as_bytes()),
        Change::Replace(old, text) => files.replace(&one.path, old.as_bytes(), text.as_bytes()),
        Change::Unchanged | Change::Edited(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Taught {
        Taught::sealed("AGENTS.md".to_owned(), text, true)
    }

    fn replaced(change: Change) -> String {
        match change {
            Change::Replace(_, new) => new,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn skill_section_is_appended_and_then_replaced() {
        let (one, two) = (section("one\n"), section("two\n"));
        let first = replaced(one.change(Some("# Agents\n")));
        assert_eq!(first, format!("# Agents\n\n{}", one.text));
        assert_eq!(one.change(Some(&first)), Change::Unchanged);
        let more = format!("{first}\nmore\n");
        assert_eq!(replaced(two.change(Some(&more))), format!("# Agents\n\n{}\nmore\n", two.text));
        assert_eq!(replaced(one.change(Some("x"))), format!("x\n\n{}", one.text));
        assert_eq!(replaced(one.change(Some(""))), one.text);
    }

    #[test]
    fn skill_keeps_text_that_was_edited_by_hand() {
        let one = section("one\n");
        let edited =
            |old: &str| assert!(matches!(one.change(Some(old)), Change::Edited(_)), "{old}");
        edited(&one.text.replace("one", "mine"));
        edited(&one.text.replace(BEGIN, "<!-- mine -->"));
        edited(&one.text.replace(END, "<!-- mine "));
        edited(&format!("{}{}", one.text, one.text));
        edited(&format!("{}{BEGIN}\n", one.text));
        let whole = Taught::sealed("SKILL.md".to_owned(), "one\n", false);
        for old in
            ["", "mine\n", &format!("{}mine\n", whole.text), &whole.text.replace("one", "two")]
        {
            assert!(matches!(whole.change(Some(old)), Change::Edited(_)), "{old}");
        }
    }
}
