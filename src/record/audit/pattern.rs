//! Regular expressions over the lines of an audit log: request, principal, labels, documents
//! and reasons.

use regex::{Regex, RegexBuilder};

use super::event::{Event, Query};
use super::line::Line;

/// A compiled pattern. Matching takes time in proportion to the text, for any pattern.
#[derive(Debug)]
pub struct Pattern(Regex);

/// Reason why a text is not a valid pattern.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The pattern is too long; contains its length in bytes.
    #[error("it has {0} bytes, but may have {max}", max = Pattern::MAX_BYTES)]
    TooLong(usize),
    /// The pattern is not a valid regular expression, or its automaton is too large.
    #[error("{0}")]
    Regex(#[from] regex::Error),
}

impl Pattern {
    /// Maximum length in bytes.
    const MAX_BYTES: usize = 4096;
    /// Maximum size of the automaton in bytes. Even a short text, such as `(a{1000}){1000}`, can
    /// exceed it.
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

    /// Returns true if a line records a searched part only by its hash: the query, or the arguments
    /// of the command.
    pub fn is_hidden_from(line: &Line) -> bool {
        let query = match &line.event {
            Event::Access(access) => Some(&access.query),
            Event::Listing(listing) => Some(&listing.query),
            _ => None,
        };
        line.request.args.sha256.is_some()
            || query.is_some_and(|query| query.query_sha256.is_some())
    }

    /// Returns true if the pattern matches one of these parts of the line: the query, the arguments
    /// of the command (joined by blanks), the principal, a label, the URI or id of a text, the
    /// source, server, tools or error of a hydration, the id or file of a change, or its reason.
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
    fn pattern_limits_length_and_memory() {
        assert!(Pattern::new("^nodes/(a|b)$").is_ok());
        assert!(matches!(Pattern::new(&"a".repeat(4097)), Err(PatternError::TooLong(4097))));
        assert!(matches!(Pattern::new("(a{1000}){1000}"), Err(PatternError::Regex(_))));
        assert!(matches!(Pattern::new("("), Err(PatternError::Regex(_))));
    }
}
