//! Advice that goes with an error, a finding or a problem: what to do next.
//!
//! A hint names the operations of the product, not the words of one front end. The command line
//! turns a call into a command to type, another front end into the name of a tool or a link.

use std::borrow::Cow;

pub use super::verb::Verb;

/// One call of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The operation.
    pub verb: Verb,
    /// Its arguments; each may hold any character.
    pub arguments: Vec<Argument>,
    /// A file that takes the output as a patch.
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
    /// A call without arguments.
    pub fn new(verb: Verb) -> Self {
        Self { verb, arguments: Vec::new(), patches: None }
    }

    /// The same call with one more value.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.arguments.push(Argument::Value(value.into()));
        self
    }

    /// The same call, its output applied as a patch to a file.
    #[must_use]
    pub fn patching(mut self, path: impl Into<String>) -> Self {
        self.patches = Some(path.into());
        self
    }

    /// The same call with an option or a placeholder.
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

/// Advice: a text in which each `{}` stands for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    text: Cow<'static, str>,
    calls: Vec<Call>,
}

impl Hint {
    /// Advice that names one call, where the text has `{}`.
    pub fn call(text: &'static str, call: impl Into<Call>) -> Self {
        Self { text: Cow::Borrowed(text), calls: vec![call.into()] }
    }

    /// Advice that names several calls, in the order of their `{}`.
    pub fn calls(
        text: impl Into<Cow<'static, str>>,
        calls: impl IntoIterator<Item = Call>,
    ) -> Self {
        Self { text: text.into(), calls: calls.into_iter().collect() }
    }

    /// Its text, in which `{}` stands for a call.
    #[cfg(feature = "mcp")]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The same with another text.
    #[cfg(feature = "mcp")]
    pub(crate) fn told(self, change: impl FnOnce(&str) -> String) -> Self {
        Self { text: Cow::Owned(change(&self.text)), calls: self.calls }
    }

    /// The values of its calls of an operation.
    pub(crate) fn values_of(&self, verb: Verb) -> impl Iterator<Item = &str> {
        let calls = self.calls.iter().filter(move |call| call.verb == verb);
        calls.flat_map(|call| &call.arguments).filter_map(|argument| match argument {
            Argument::Value(value) => Some(value.as_str()),
            Argument::Word(_) => None,
        })
    }

    /// The advice with each call as `spell` spells it.
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
            // Where a front end submits what it would publish, the words follow.
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

/// Advice that names no call; `{}` in it is text.
impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), calls: Vec::new() }
    }
}

/// Advice that names no call; `{}` in it is text.
impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self { text: Cow::Owned(text), calls: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_stand_where_the_text_says() {
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
