//! A list of problems with limits. All problems are counted, but only a limited number of each code
//! is kept. Problems that say the same about many places make one [`Group`].

use std::collections::BTreeMap;

use crate::text::document::validate::{Problem, Severity};

/// Number of occurrences above which a message is printed once, with a count.
pub const REPEATED: usize = 5;
/// Number of places of a group that are named.
const PLACES: usize = 3;
/// Maximum number of groups; hostile texts can cause any number of messages.
const MAX_GROUPS: usize = 10_000;

/// Problems of the files of a vault.
#[derive(Debug)]
pub struct Gathered {
    /// Kept problems, by path.
    pub files: BTreeMap<String, Vec<Problem>>,
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// Number of problems that are counted, but not kept.
    pub omitted: usize,
    kept: BTreeMap<&'static str, usize>,
    most: usize,
    groups: BTreeMap<GroupKey, Group>,
}

/// Code and pattern of the message.
pub type GroupKey = (&'static str, String);

/// Problems with one code whose messages differ only in quoted parts and numbers.
#[derive(Clone, Debug)]
pub struct Group {
    /// Severity of the problems.
    pub severity: Severity,
    /// Number of problems.
    pub count: usize,
    /// Number of problems that are not kept.
    pub omitted: usize,
    /// Number of files with such a problem.
    pub files: usize,
    /// First places: path and line.
    pub places: Vec<(String, Option<usize>)>,
    /// Quoted parts and numbers of the message; `None` for parts that differ.
    pieces: Vec<Option<String>>,
    last: String,
}

impl Group {
    /// Returns the message of the group, with `…` for parts that differ.
    pub fn message(&self, key: &GroupKey) -> String {
        let mut pieces = self.pieces.iter();
        let mut out = String::new();
        for part in key.1.split_inclusive(SLOT) {
            match part.strip_suffix(SLOT) {
                Some(literal) => {
                    out.push_str(literal);
                    out.push_str(pieces.next().and_then(Option::as_deref).unwrap_or("…"));
                }
                None => out.push_str(part),
            }
        }
        out
    }
}

impl Gathered {
    /// Makes an empty list that keeps up to `most` problems of each code.
    pub fn new(most: usize) -> Self {
        Self {
            files: BTreeMap::new(),
            errors: 0,
            warnings: 0,
            omitted: 0,
            kept: BTreeMap::new(),
            most,
            groups: BTreeMap::new(),
        }
    }

    /// Adds one problem.
    pub fn push(&mut self, path: &str, problem: Problem) {
        match problem.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        let kept = self.kept.entry(problem.code).or_default();
        let is_kept = *kept < self.most;
        *kept += usize::from(is_kept);
        self.omitted += usize::from(!is_kept);
        self.count(path, &problem, is_kept);
        if is_kept {
            self.files.entry(path.to_owned()).or_default().push(problem);
        }
    }

    /// Adds the problems of one file.
    pub fn extend(&mut self, path: &str, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.push(path, problem));
    }

    fn count(&mut self, path: &str, problem: &Problem, is_kept: bool) {
        let (pattern, pieces) = pattern(&problem.message);
        let key = (problem.code, pattern);
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&key) {
            return;
        }
        let group = self.groups.entry(key).or_insert_with(|| Group {
            severity: problem.severity,
            count: 0,
            omitted: 0,
            files: 0,
            places: Vec::new(),
            pieces: pieces.iter().map(|piece| Some((*piece).to_owned())).collect(),
            last: String::new(),
        });
        for (common, piece) in group.pieces.iter_mut().zip(pieces) {
            if common.as_deref() != Some(piece) {
                *common = None;
            }
        }
        if group.count == 0 || group.last != path {
            group.files += 1;
            path.clone_into(&mut group.last);
        }
        group.count += 1;
        group.omitted += usize::from(!is_kept);
        if group.places.len() < PLACES {
            group.places.push((path.to_owned(), problem.line));
        }
    }

    /// Returns the group that a problem is printed with, if there is one.
    pub fn group_of(&self, problem: &Problem) -> Option<(&GroupKey, &Group)> {
        let key = (problem.code, pattern(&problem.message).0);
        self.groups.get_key_value(&key).filter(|(_, group)| group.count > REPEATED)
    }

    /// Returns the groups that are printed as one message, in the order of their codes.
    pub fn repeated(&self) -> impl Iterator<Item = (&GroupKey, &Group)> {
        self.groups.iter().filter(|(_, group)| group.count > REPEATED)
    }
}

/// Placeholder of a quoted part or number in a pattern; no message contains it.
const SLOT: char = '\u{0}';

/// Splits a message into its pattern, and its quoted parts and numbers in order.
pub fn pattern(message: &str) -> (String, Vec<&str>) {
    let (mut pattern, mut pieces, mut rest) = (String::new(), Vec::new(), message);
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '`' => rest[1..].find('`').map(|end| end + 2),
            _ if c.is_ascii_digit() => {
                Some(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()))
            }
            _ => None,
        };
        let (piece, after) = rest.split_at(end.unwrap_or(c.len_utf8()));
        match end {
            Some(_) => {
                pieces.push(piece);
                pattern.push(SLOT);
            }
            None if c == SLOT => pattern.push(' '),
            None => pattern.push(c),
        }
        rest = after;
    }
    (pattern, pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(code: &'static str, line: usize, message: &str) -> Problem {
        let (severity, message) = (Severity::Warning, message.to_owned());
        Problem { code, severity, line: Some(line), message, hint: "x".into() }
    }

    #[test]
    fn problems_with_one_pattern_make_one_group() {
        let mut gathered = Gathered::new(4);
        for n in 0..6 {
            let message = format!("`version` leads to `nodes/{n}`, the {n}th of 6");
            gathered.push(&format!("{}.md", n / 2), problem("a", n, &message));
        }
        gathered.push("z.md", problem("b", 1, "`rare`"));
        let groups: Vec<_> = gathered.repeated().collect();
        let (key, group) = groups[0];
        assert_eq!(groups.len(), 1);
        assert_eq!(group.message(key), "`version` leads to …, the …th of 6");
        assert_eq!((group.count, group.files, group.omitted, gathered.omitted), (6, 3, 2, 2));
        assert_eq!(group.places[2], ("1.md".to_owned(), Some(2)));
        assert_eq!(gathered.files.values().map(Vec::len).sum::<usize>(), 5);
        assert_eq!((gathered.errors, gathered.warnings), (0, 7));
    }

    #[test]
    fn pattern_accepts_any_message() {
        for text in ["", "`", "``", "a`b", "`a`b`c`", "\u{0}`\u{e9}`\u{e9}7", "7"] {
            let (pattern, pieces) = pattern(text);
            assert_eq!(pattern.matches(SLOT).count(), pieces.len(), "{text:?}");
        }
    }
}
