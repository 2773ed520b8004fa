//! Queries: words and quoted phrases (`spec/search.md`, section 3).

use std::collections::BTreeMap;

use super::words::{Words, stands_alone};

/// Maximum length of a query in bytes.
pub(crate) const MAX_QUERY_BYTES: usize = 4096;
/// Maximum number of clauses of a query.
pub(crate) const MAX_CLAUSES: usize = 32;
/// Maximum number of words of a clause.
pub(crate) const MAX_PHRASE_WORDS: usize = 128;

/// A parsed query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    text: String,
    clauses: Vec<Clause>,
    /// Index of the clause that was written last.
    last: usize,
    /// True if the last word also matches as a prefix.
    prefix: bool,
}

/// One word, or several consecutive words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    /// Folded words.
    pub(super) words: Vec<String>,
    /// True for a clause in quotes: units without it do not match.
    pub(super) required: bool,
}

/// Reason why a text is not a valid query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum QueryError {
    /// No words.
    #[error("the query contains no word")]
    Empty,
    /// More than 4096 bytes.
    #[error("a query has at most {MAX_QUERY_BYTES} bytes, but this one has {0}")]
    TooLong(usize),
    /// More than 32 clauses.
    #[error("a query has at most {MAX_CLAUSES} words, but this one has {0}")]
    TooMany(usize),
    /// More than 128 words in one clause.
    #[error("a phrase has at most {MAX_PHRASE_WORDS} words, but this one has {0}")]
    LongPhrase(usize),
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// Fails if the query lacks words, or exceeds a limit.
    pub(crate) fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong(text.len()));
        }
        // The order of words makes two spellings of a query have the same sums.
        let mut clauses: BTreeMap<Vec<String>, bool> = BTreeMap::new();
        let (mut longest, mut last) = (0, Vec::new());
        let mut put = |words: Vec<String>, required| {
            longest = longest.max(words.len());
            if !words.is_empty() {
                last.clone_from(&words);
                *clauses.entry(words).or_insert(false) |= required;
            }
        };
        for (n, part) in text.split('"').enumerate() {
            if n % 2 == 1 {
                put(super::words::folded(part), true);
            } else {
                part.split_whitespace().flat_map(of_chunk).for_each(|words| put(words, false));
            }
        }
        match clauses.len() {
            0 => Err(QueryError::Empty),
            _ if longest > MAX_PHRASE_WORDS => Err(QueryError::LongPhrase(longest)),
            1..=MAX_CLAUSES => {
                let clause = |(words, required)| Clause { words, required };
                let clauses: Vec<Clause> = clauses.into_iter().map(clause).collect();
                let last = clauses.iter().position(|clause| clause.words == last).unwrap_or(0);
                Ok(Self { text: text.to_owned(), clauses, last, prefix: false })
            }
            found => Err(QueryError::TooMany(found)),
        }
    }

    /// Sets whether the last word also matches as a prefix.
    pub(crate) fn with_prefix(self, prefix: bool) -> Self {
        Self { prefix, ..self }
    }

    /// Returns true if the last word also matches as a prefix.
    pub(super) fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// Returns the word of a clause that may be a prefix; `None` for clauses in quotes or of
    /// several words.
    #[cfg_attr(not(feature = "search"), allow(dead_code, reason = "only the index calls it"))]
    pub(super) fn prefix_of(&self, clause: usize) -> Option<&str> {
        let is_meant = self.prefix && clause == self.last;
        self.clauses.get(clause).filter(|_| is_meant).and_then(Clause::alone)
    }

    /// Adds words, each as a clause, to show why something was found.
    pub(super) fn and_words(&self, words: &[String]) -> Self {
        let clause = |word: &String| Clause { words: vec![word.clone()], required: false };
        let clauses = self.clauses.iter().cloned().chain(words.iter().map(clause)).collect();
        Self { clauses, ..self.clone() }
    }

    /// Returns the query as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

impl Clause {
    /// Returns the word of a clause of one word that is not in quotes.
    fn alone(&self) -> Option<&str> {
        match self.words.as_slice() {
            [word] if !self.required => Some(word),
            _ => None,
        }
    }

    /// Returns the word if it may be mistyped: at least five letters and no digit.
    pub(super) fn mistyped(&self) -> Option<&str> {
        let is_long = |word: &&str| word.chars().count() >= 5 && !word.contains(char::is_numeric);
        self.alone().filter(is_long)
    }

    /// Returns the words of the clause for display.
    pub(super) fn shown(&self) -> String {
        self.words.join(" ")
    }
}

/// Returns the clauses of the text between two blanks. Words that are separated only by punctuation
/// make one clause, as in `payments-service`. In scripts without blanks between words, every two
/// neighbours make one clause.
fn of_chunk(chunk: &str) -> Vec<Vec<String>> {
    let (mut found, mut open, mut lone) = (Vec::new(), Vec::new(), Vec::<(usize, String)>::new());
    let mut words = Words::of(chunk);
    while words.advance() {
        if chunk[words.range.clone()].starts_with(stands_alone) {
            found.push(std::mem::take(&mut open));
            if lone.last().is_some_and(|(end, _)| *end != words.range.start) {
                found.extend(pairs(&std::mem::take(&mut lone)));
            }
            lone.push((words.range.end, words.word.clone()));
        } else {
            found.extend(pairs(&std::mem::take(&mut lone)));
            open.push(words.word.clone());
        }
    }
    found.extend(pairs(&lone));
    found.push(open);
    found
}

fn pairs(lone: &[(usize, String)]) -> Vec<Vec<String>> {
    match lone {
        [] => Vec::new(),
        [(_, one)] => vec![vec![one.clone()]],
        many => many.windows(2).map(|two| two.iter().map(|(_, w)| w.clone()).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Query::parse(text) {
            Ok(query) => {
                let mark = |c: &Clause| match c.required {
                    true => format!("\"{}\"", c.shown()),
                    false => c.shown(),
                };
                query.clauses().iter().map(mark).collect::<Vec<_>>().join(" | ")
            }
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn words_phrases_and_scripts_without_blanks_become_clauses() {
        for (text, expected) in [
            ("Returns policy returns", "policy | return"),
            ("\"late payment\" fee", "fee | \"late payment\""),
            ("late \"late\"", "\"late\""),
            ("an \"open end", "an | \"open end\""),
            ("#payments-service", "payment service"),
            ("返品規則", "品 規 | 規 則 | 返 品"),
            ("京 v2返品", "v2 | 京 | 返 品"),
            ("\"返品規則\"", "\"返 品 規 則\""),
            ("東・京", "京 | 東"),
            ("", "the query contains no word"),
            ("-- \"\" !", "the query contains no word"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let many: Vec<String> = (0..33).map(|n| format!("w{n}")).collect();
        assert_eq!(read(&many.join(" ")), "a query has at most 32 words, but this one has 33");
        assert_eq!(read(&"a ".repeat(2048)), "a");
        assert!(read(&"a".repeat(4097)).starts_with("a query has at most 4096 bytes"));
    }

    #[test]
    fn query_limits_phrases_in_any_spelling() {
        let phrases = [
            ("\"", "a ".repeat(MAX_PHRASE_WORDS)),
            ("\"", "返".repeat(MAX_PHRASE_WORDS)),
            ("", "a-".repeat(MAX_PHRASE_WORDS)),
        ];
        for (quote, phrase) in phrases {
            assert!(Query::parse(&format!("{quote}{phrase}{quote}")).is_ok(), "{phrase}");
            let why = "a phrase has at most 128 words, but this one has 129";
            assert_eq!(read(&format!("{quote}{phrase}b{quote}")), why);
        }
    }
}
