//! Advice that accompanies an error, a finding or a problem: the next step.
//!
//! A hint names the operations of the product, not the words of one front end. The command line
//! turns a call into a command to type, another front end into the name of a tool or a link.

use std::borrow::Cow;

pub use super::verb::Verb;

/// One call of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Operation to call.
    pub verb: Verb,
    /// Arguments; each may contain any character.
    pub arguments: Vec<Argument>,
    /// File to which the output is applied as a patch.
    pub patches: Option<String>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value, such as the id of a document.
    Value(String),
    /// An option, or a placeholder in capitals that the reader replaces.
    Word(&'static str),
}

impl Call {
    /// Makes a call without arguments.
    pub fn new(verb: Verb) -> Self {
        Self { verb, arguments: Vec::new(), patches: None }
    }

    /// Adds a value.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.arguments.push(Argument::Value(value.into()));
        self
    }

    /// Sets the file to which the output is applied as a patch.
    #[must_use]
    pub fn patching(mut self, path: impl Into<String>) -> Self {
        self.patches = Some(path.into());
        self
    }

    /// Adds an option or a placeholder.
    #[must_use]
    pub fn word(mut self, word: &'static str) -> Self {
        self.arguments.push(Argument::Word(word));
        self
    }
}

impl From<Verb> for Call {
    fn from(verb: Verb) -> Self {
        Self::new(verb)
    }
}

/// Advice: a text in which each `{}` is replaced by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    text: Cow<'static, str>,
    calls: Vec<Call>,
}

impl Hint {
    /// Makes advice that names one call, at the `{}` of the text.
    pub fn call(text: &'static str, call: impl Into<Call>) -> Self {
        Self { text: Cow::Borrowed(text), calls: vec![call.into()] }
    }

    /// Makes advice that names several calls, in the order of their `{}`.
    pub fn calls(
        text: impl Into<Cow<'static, str>>,
        calls: impl IntoIterator<Item = Call>,
    ) -> Self {
        Self { text: text.into(), calls: calls.into_iter().collect() }
    }

    /// Returns the text, in which each `{}` is replaced by a call.
    #[cfg(feature = "mcp")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the advice with another text.
    #[cfg(feature = "mcp")]
    pub(crate) fn told(self, change: impl FnOnce(&str) -> String) -> Self {
        Self { text: Cow::Owned(change(&self.text)), calls: self.calls }
    }

    /// Returns the values that this advice passes to calls of an operation.
    pub(crate) fn values_of(&self, verb: Verb) -> impl Iterator<Item = &str> {
        let calls = self.calls.iter().filter(move |call| call.verb == verb);
        calls.flat_map(|call| &call.arguments).filter_map(|argument| match argument {
            Argument::Value(value) => Some(value.as_str()),
            Argument::Word(_) => None,
        })
    }

    /// Returns the advice as text, with each call as `spell` spells it.
    pub fn render(&self, spell: impl Fn(&Call) -> String) -> String {
        if self.calls.is_empty() {
            return self.text.clone().into_owned();
        }
        let mut calls = self.calls.iter();
        let mut out = String::new();
        for (n, part) in self.text.split("{}").enumerate() {
            let call = if n > 0 { calls.next() } else { None };
            let spelled = call.map(&spell).unwrap_or_default();
            out.push_str(&spelled);
            // If a front end spells a publication as a submission, the verb of the sentence
            // changes too.
            let is_submitted = call.is_some_and(|call| call.verb == Verb::Publish)
                && spelled.contains(Verb::Submit.as_str());
            match part.strip_prefix(" publishes").filter(|_| is_submitted) {
                Some(rest) => out.push_str(&format!(" submits{rest}")),
                None => out.push_str(part),
            }
        }
        out
    }
}

/// Advice without a call; `{}` in it is plain text.
impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), calls: Vec::new() }
    }
}

/// Advice without a call; `{}` in it is plain text.
impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self { text: Cow::Owned(text), calls: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_renders_calls_in_place_of_braces() {
        let spell = |call: &Call| format!("<{} {}>", call.verb.as_str(), call.arguments.len());
        let both = [Call::new(Verb::Diff).value("a {}").word("live"), Verb::Publish.into()];
        let hint = Hint::calls("see {}, then run {}.", both);
        assert_eq!(hint.render(spell), "see <diff 2>, then run <publish 0>.");
        let submits = |_: &Call| "`ctx submit x`".to_owned();
        let hint = Hint::call("{} publishes it; a reviewer publishes it", Verb::Publish);
        assert_eq!(hint.render(submits), "`ctx submit x` submits it; a reviewer publishes it");
        assert_eq!(Hint::from("no {} here").render(spell), "no {} here");
    }
}
