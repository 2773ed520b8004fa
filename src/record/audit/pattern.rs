//! A regular expression over what a line says was asked for, by whom, and what was handed out.

use regex::{Regex, RegexBuilder};

use super::event::{Event, Query};
use super::line::Line;

/// A compiled pattern. Matching takes time in proportion to the text, whatever the pattern is.
#[derive(Debug)]
pub struct Pattern(Regex);

/// Why a text is no pattern.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It is too long.
    #[error("it has {0} bytes, but may have {max}", max = Pattern::MAX_BYTES)]
    TooLong(usize),
    /// It is not in the syntax of regular expressions, or its automaton is too large.
    #[error("{0}")]
    Regex(#[from] regex::Error),
}

impl Pattern {
    /// The longest pattern.
    const MAX_BYTES: usize = 4096;
    /// The most memory of its automaton: `(a{1000}){1000}` is a short text.
    const MAX_SIZE: usize = 1 << 20;

    /// Compiles a pattern.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PatternError::TooLong(text.len()));
        }
        let regex = RegexBuilder::new(text).size_limit(Self::MAX_SIZE).build()?;
        Ok(Self(regex))
    }

    /// Whether something that is looked into is recorded of a line by its hash only: the query, or the
    /// words of the command.
    pub fn is_hidden_from(line: &Line) -> bool {
        let query = match &line.event {
            Event::Access(access) => Some(&access.query),
            Event::Listing(listing) => Some(&listing.query),
            _ => None,
        };
        line.request.args.sha256.is_some()
            || query.is_some_and(|query| query.query_sha256.is_some())
    }

    /// Whether it matches in the query, the words of the command (with blanks between them), the
    /// principal, a label, the URI or id of a text, the source, server, tools or error of a
    /// hydration, the id or file of a change, or the reason of one.
    pub fn is_in(&self, line: &Line) -> bool {
        let matches = |text: &str| self.0.is_match(text);
        let request = &line.request;
        let labels = &request.labels;
        let labels = [&labels.agent, &labels.session, &labels.thread, &labels.task, &labels.node];
        let (query, documents, names) = match &line.event {
            Event::Access(access) => (Some(&access.query), access.documents.as_slice(), Vec::new()),
            Event::Listing(listing) => (Some(&listing.query), [].as_slice(), Vec::new()),
            Event::Refused(_) | Event::Output(_) => (None, [].as_slice(), Vec::new()),
            Event::Hydration(of) => {
                let texts = [Some(&of.source), of.server.as_ref(), of.error.as_ref()];
                let texts = texts.into_iter().flatten().chain(&of.tools).map(String::as_str);
                (None, [].as_slice(), texts.collect())
            }
            Event::Change(change) => (None, [].as_slice(), change.names()),
        };
        let query = query.and_then(|Query { query, .. }| query.as_ref());
        let texts = labels.into_iter().chain([&request.principal]).flatten().chain(query);
        let documents = documents.iter().flat_map(|text| text.uri.iter().chain(&text.id));
        let reason = match &line.event {
            Event::Change(change) => change.reason(),
            _ => None,
        };
        let mut words = request.args.argv.iter().map(|argv| argv.join(" "));
        texts.chain(documents).map(String::as_str).chain(names).any(matches)
            || words.any(|words| matches(&words))
            || reason.is_some_and(|reason| self.0.is_match(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_pattern_is_limited() {
        assert!(Pattern::new("^nodes/(a|b)$").is_ok());
        assert!(matches!(Pattern::new(&"a".repeat(4097)), Err(PatternError::TooLong(4097))));
        assert!(matches!(Pattern::new("(a{1000}){1000}"), Err(PatternError::Regex(_))));
        assert!(matches!(Pattern::new("("), Err(PatternError::Regex(_))));
    }
}
