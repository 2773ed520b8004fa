//! Git attributes that change the bytes of a file in a clone (`spec/vault.md`, VAULT-64).

use std::collections::HashMap;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::ignored::as_pattern;

/// The attributes of one folder: those of its `.gitattributes` and of the folders above.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes(Option<Arc<Level>>);

/// The attributes of one `.gitattributes` file.
#[derive(Debug)]
struct Level {
    /// Length of the path of its folder in the work tree, with the `/` after it.
    base: usize,
    text: Table<Text>,
    eol: Table<Eol>,
    others: [Table<bool>; OTHERS.len()],
    macros: HashMap<String, Effect>,
    above: Attributes,
}

/// The value of `text`, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// Git converts nothing.
    Unset,
    /// Git may convert: set, `auto`, or left to the configuration.
    Other,
}

/// The value of `eol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eol {
    Lf,
    Other,
}

/// The effect of one line.
#[derive(Clone, Copy, Debug, Default)]
struct Effect {
    text: Option<Text>,
    eol: Option<Eol>,
    /// Value of each of [`OTHERS`], if the line has one: true if set.
    others: [Option<bool>; OTHERS.len()],
}

/// The other attributes whose value changes the bytes of a file.
const OTHERS: [&str; 3] = ["ident", "filter", "working-tree-encoding"];

/// The patterns of one attribute, with its value for each.
#[derive(Debug)]
struct Table<V> {
    patterns: Gitignore,
    values: HashMap<String, V>,
}

impl<V: Copy> Table<V> {
    fn new(lines: Vec<(String, V)>) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for (pattern, _) in &lines {
            // Git skips a line that is not a pattern.
            let _ = builder.add_line(None, pattern);
        }
        let patterns = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Self { patterns, values: lines.into_iter().collect() }
    }

    fn value(&self, path: &str) -> Option<V> {
        match self.patterns.matched(path, false) {
            ignore::Match::Ignore(glob) => self.values.get(glob.original()).copied(),
            _ => None,
        }
    }
}

impl Attributes {
    /// Returns these attributes with those of a file.
    pub(super) fn with(&self, text: &[u8], base: usize) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut macros = self.0.as_ref().map(|level| level.macros.clone()).unwrap_or_default();
        let (mut texts, mut eols) = (Vec::new(), Vec::new());
        let mut others = [const { Vec::new() }; OTHERS.len()];
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let quoted = line.strip_prefix('"').and_then(|line| line.split_once('"'));
            let parts = quoted.or_else(|| line.split_once(char::is_whitespace));
            let Some((pattern, values)) = parts else { continue };
            let effect = Effect::of(values, &macros);
            if let Some(name) = pattern.strip_prefix("[attr]") {
                macros.insert(name.to_owned(), effect);
                continue;
            }
            let pattern = as_pattern(pattern);
            texts.extend(effect.text.map(|value| (pattern.clone(), value)));
            for (lines, value) in others.iter_mut().zip(effect.others) {
                lines.extend(value.map(|value| (pattern.clone(), value)));
            }
            eols.extend(effect.eol.map(|value| (pattern, value)));
        }
        let (text, eol, others) = (Table::new(texts), Table::new(eols), others.map(Table::new));
        Self(Some(Arc::new(Level { base, text, eol, others, macros, above: self.clone() })))
    }

    /// Returns true if a clone may have other bytes in a file whose lines end in LF. The attributes
    /// `over` have precedence.
    pub(super) fn may_convert(&self, over: &Self, path: &str) -> bool {
        let text = over.find(|level, path| level.text.value(path), path);
        let text = text.or_else(|| self.find(|level, path| level.text.value(path), path));
        let eol = over.find(|level, path| level.eol.value(path), path);
        let eol = eol.or_else(|| self.find(|level, path| level.eol.value(path), path));
        let is_set = |n: usize| {
            let found = over.find(|level, path| level.others[n].value(path), path);
            found.or_else(|| self.find(|level, path| level.others[n].value(path), path))
                == Some(true)
        };
        text != Some(Text::Unset) && eol != Some(Eol::Lf) || (0..OTHERS.len()).any(is_set)
    }

    /// Returns true if the list is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn find<V>(&self, value: impl Fn(&Level, &str) -> Option<V>, path: &str) -> Option<V> {
        let mut next = self.0.as_deref();
        while let Some(level) = next {
            let found = path.get(level.base..).and_then(|path| value(level, path));
            if found.is_some() {
                return found;
            }
            next = level.above.0.as_deref();
        }
        None
    }
}

impl Effect {
    fn of(values: &str, macros: &HashMap<String, Self>) -> Self {
        let mut effect = Self::default();
        for value in values.split_whitespace() {
            match value {
                "-text" | "-crlf" | "binary" => effect.text = Some(Text::Unset),
                "text" | "!text" | "crlf" | "!crlf" => effect.text = Some(Text::Other),
                "eol=lf" | "crlf=input" => effect.eol = Some(Eol::Lf),
                "-eol" | "!eol" => effect.eol = Some(Eol::Other),
                _ if value.starts_with("text=") => effect.text = Some(Text::Other),
                _ if value.starts_with("eol=") => effect.eol = Some(Eol::Other),
                _ if let Some((n, is_set)) = other(value) => effect.others[n] = Some(is_set),
                _ => {
                    let named = macros.get(value).copied().unwrap_or_default();
                    effect.text = named.text.or(effect.text);
                    effect.eol = named.eol.or(effect.eol);
                    for (other, named) in effect.others.iter_mut().zip(named.others) {
                        *other = named.or(*other);
                    }
                }
            }
        }
        effect
    }
}

/// Returns the index in [`OTHERS`] of the attribute that a word names, and whether the word
/// sets it.
fn other(word: &str) -> Option<(usize, bool)> {
    let name = word.trim_start_matches(['-', '!']).split('=').next()?;
    let is_set = !word.starts_with(['-', '!']);
    Some((OTHERS.iter().position(|other| *other == name)?, is_set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_convert_as_git_does() {
        let path = "docs/.versions/a/v1.md";
        for (text, expected) in [
            ("", true),
            ("* text=auto", true),
            ("* -text", false),
            ("* binary", false),
            ("* text=auto eol=lf", false),
            ("* eol=lf\n*.md eol=crlf", true),
            ("* text=auto\n*.md -text", false),
            ("*.md -text\n* text=auto", true),
            ("**/.versions/** -text", false),
            (".versions -text", true),
            (".versions/** -text", true),
            ("docs/.versions/** -text", false),
            ("\"**/.versions/**\" -text", false),
            ("[attr]kept -text\n*.md kept", false),
            ("*.md -text\n*.md !text", true),
            ("*.md -text\r\n", false),
            ("!*.md -text", true),
            ("* -text ident", true),
            ("* -text filter=lfs", true),
            ("* -text working-tree-encoding=UTF-16LE-BOM", true),
            ("* -text filter=lfs\n**/.versions/** -filter", false),
            ("[attr]kept -text -ident\n*.md ident\n*.md kept", false),
        ] {
            let attributes = Attributes::default().with(text.as_bytes(), 0);
            assert_eq!(attributes.may_convert(&Attributes::default(), path), expected, "{text:?}");
        }
    }

    #[test]
    fn nearest_attributes_decide_except_those_of_the_repository_itself() {
        let none = Attributes::default();
        let top = none.with(b"* text=auto\n", 0);
        let inner = top.with(b"* -text\n", "docs/.versions/".len());
        let path = "docs/.versions/a/v1.md";
        assert!(top.may_convert(&none, path) && !inner.may_convert(&none, path));
        assert!(inner.may_convert(&none.with(b"*.md text\n", 0), path));
    }
}
