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

/// The way of a text to publication in a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The command publishes the text.
    Publishes,
    /// The command submits the text, and a reviewer publishes it.
    Submits,
}

impl Mode {
    /// Returns the operation for a text that is to be published: `submit` in place of `publish`.
    pub fn verb(self, verb: Verb) -> Verb {
        match (self, verb) {
            (Self::Submits, Verb::Publish) => Verb::Submit,
            _ => verb,
        }
    }

    /// Returns the name of that operation in the third person.
    fn publishes(self) -> &'static str {
        match self {
            Self::Publishes => "publishes",
            Self::Submits => "submits",
        }
    }
}

/// How a front end spells the calls of advice about a vault.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    words: fn(&Call) -> String,
    mode: Mode,
}

impl Spell {
    /// Spells each call as `words` does. In a vault in which texts are submitted, a call of `publish`
    /// is one of `submit`.
    pub fn new(words: fn(&Call) -> String, mode: Mode) -> Self {
        Self { words, mode }
    }

    /// Returns a call in words.
    pub fn call(self, call: &Call) -> String {
        let verb = self.mode.verb(call.verb);
        if verb == call.verb {
            return (self.words)(call);
        }
        let mut submit = Call { verb, ..call.clone() };
        for argument in &mut submit.arguments {
            if *argument == Argument::Word("--all") {
                *argument = Argument::Word("--changed");
            }
        }
        (self.words)(&submit)
    }
}

/// Advice: a text in which each `{}` stands for a call, and `{publishes}` for what a call of `publish`
/// does in the mode of the vault.
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

    /// Returns the advice as text, with each call as `spell` spells it, and `{publishes}` as the mode of the vault has it.
    pub fn render(&self, spell: Spell) -> String {
        if self.calls.is_empty() {
            return self.text.clone().into_owned();
        }
        let mut calls = self.calls.iter();
        let mut out = String::new();
        for (n, part) in self.text.split("{}").enumerate() {
            let call = if n > 0 { calls.next() } else { None };
            out.push_str(&call.map(|call| spell.call(call)).unwrap_or_default());
            for (n, words) in part.split("{publishes}").enumerate() {
                if n > 0 {
                    out.push_str(spell.mode.publishes());
                }
                out.push_str(words);
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
    fn calls_stand_where_the_text_says() {
        let words = |call: &Call| format!("<{} {}>", call.verb.as_str(), call.arguments.len());
        let spell = Spell::new(words, Mode::Publishes);
        let both = [Call::new(Verb::Diff).value("a {}").word("live"), Verb::Publish.into()];
        let hint = Hint::calls("see {}, then run {}.", both);
        assert_eq!(hint.render(spell), "see <diff 2>, then run <publish 0>.");
        assert_eq!(Hint::from("no {} here").render(spell), "no {} here");
    }
    #[test]
    fn advice_of_publishing_names_submitting_where_texts_are_submitted() {
        let words = |call: &Call| format!("{} {:?}", call.verb.as_str(), call.arguments);
        let all = Call::new(Verb::Publish).word("--all");
        let hint = Hint::call("{} {publishes} it; a reviewer publishes it", all);
        let in_mode = |mode| hint.render(Spell::new(words, mode));
        let published = "publish [Word(\"--all\")] publishes it; a reviewer publishes it";
        assert_eq!(in_mode(Mode::Publishes), published);
        let submitted = "submit [Word(\"--changed\")] submits it; a reviewer publishes it";
        assert_eq!(in_mode(Mode::Submits), submitted);
    }
}
