//! The answer of a tool: as text and as structured content, because a client passes only one of
//! them to its model (MCP-4); its size (MCP-5), and its bytes, which are recorded (MCP-8).

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::offer::Profile;
use super::{paths, spelling};
use crate::read::snapshot::tokens::Tokenizer;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::{Report, harmless, to_json_compact};
use crate::service::workspace::Options;
use crate::service::workspace::call::{Call, Note};
use crate::values::text_util::beginning;

/// Maximum number of tokens of an answer, unless the call asks for more.
pub(super) const BUDGET: u64 = 25_000;

/// Maximum length of the message of a failure, in bytes.
const MESSAGE: usize = 2_000;
/// The end of a text that was cut.
const CUT: &str = " ...";

/// The report of a tool.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    text: String,
    structured: Value,
    /// The names of the members that are texts, and the texts; `None` without such members.
    texts: Option<(&'static [&'static str], String)>,
}

/// The limit of an answer in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Maximum number of tokens.
    pub(super) tokens: u64,
    /// Vocabulary that counts tokens, besides four bytes each.
    pub(super) tokenizer: Tokenizer,
}

/// A list of a report, and the member that counts its entries that do not fit.
pub(super) type Cut = (&'static str, &'static str);

/// Withheld documents, as a list that is cut.
pub(super) const WITHHELD: Cut = ("withheld", "withheld_omitted");
/// Staged results, as a list that is cut.
pub(super) const STAGED: Cut = ("staged", "staged_omitted");

/// No entry of a list, with its comma, has fewer bytes.
const SHORTEST: u64 = 8;

impl From<u64> for Size {
    fn from(tokens: u64) -> Self {
        Self { tokens, tokenizer: Tokenizer::default() }
    }
}

impl Size {
    /// How many tokens a text has: those of the tokenizer, or a token for every four bytes if these
    /// are more.
    fn count(self, text: &str) -> u64 {
        let bytes = Tokenizer::Bytes.count(text);
        match self.tokenizer {
            Tokenizer::Bytes => bytes,
            named => named.count(text).max(bytes),
        }
    }
}

impl Answer {
    /// A report without texts of documents: its text is its JSON.
    pub(super) fn of(call: &Call<'_>, report: &impl Report) -> Self {
        let text = json_of(call, report);
        let structured = serde_json::from_str(&text).unwrap_or_default();
        Self { text, structured, texts: None }
    }

    /// A report whose members with these names are texts of documents. In its text they are left out
    /// of the JSON, and follow it as `texts`, each between two lines that say what it is.
    pub(super) fn with_texts(
        call: &Call<'_>,
        report: &impl Report,
        (names, texts): (&'static [&'static str], &str),
    ) -> Self {
        let structured = serde_json::from_str(&json_of(call, report)).unwrap_or_default();
        Self { text: String::new(), structured, texts: Some((names, texts.to_owned())) }.written()
    }

    /// The answer with the text of what its structured content says.
    fn written(mut self) -> Self {
        self.text = match &self.texts {
            None => harmless(self.structured.to_string()),
            Some((names, texts)) => {
                let mut about = self.structured.clone();
                leave_out(&mut about, names);
                format!("{}\n\n{texts}", harmless(about.to_string()))
            }
        };
        self
    }

    /// How many tokens the larger of its two forms has.
    pub(super) fn tokens(&self, size: Size) -> u64 {
        size.count(&self.text).max(size.count(&self.structured.to_string()))
    }

    /// Returns true if the answer does not exceed the limit.
    pub(super) fn fits(&self, size: Size) -> bool {
        self.tokens(size) <= size.tokens
    }

    /// How many entries a list of it has.
    pub(super) fn entries(&self, list: &str) -> usize {
        self.structured[list].as_array().map_or(0, Vec::len)
    }

    /// The answer with as many entries of its lists as fit, the first ones of each; the others are
    /// counted. A list is cut before those that are named after it. None of them has texts.
    pub(super) fn cut(mut self, size: Size, lists: &[Cut]) -> Self {
        for (list, counter) in lists {
            if self.fits(size) {
                break;
            }
            if self.entries(list) == 0 {
                continue;
            }
            let Value::Array(all) = self.structured[*list].take() else { continue };
            let before = self.structured[*counter].as_u64().unwrap_or(0);
            let first = |n: usize| {
                let mut answer = self.clone();
                answer.structured[*list] = all[..n].into();
                answer.structured[*counter] = (before + (all.len() - n) as u64).into();
                answer.written()
            };
            // All of them do not fit.
            let most = size.tokens.saturating_mul(4) / SHORTEST;
            let (mut kept, mut over) =
                (0, all.len().min(usize::try_from(most).unwrap_or(all.len())));
            while kept + 1 < over {
                let middle = usize::midpoint(kept, over);
                match first(middle).fits(size) {
                    true => kept = middle,
                    false => over = middle,
                }
            }
            self = first(kept);
        }
        self
    }

    /// Returns the answer if it does not exceed the limit.
    ///
    /// # Errors
    /// An answer that is too large; `smaller` is the hint.
    pub(super) fn within(self, size: Size, smaller: &'static str) -> Result<Self, Failure> {
        check_tokens(self.tokens(size), size.tokens, smaller).map(|()| self)
    }

    /// The bytes that are recorded of it: content and structured content in JCS form (RFC 8785).
    pub(super) fn bytes(&self) -> Vec<u8> {
        let sent = json!({
            "content": [{"type": "text", "text": self.text}],
            "structuredContent": self.structured,
        });
        // Only numbers that JSON has no form for could fail, and reports have none.
        serde_jcs::to_vec(&sent).unwrap_or_default()
    }

    /// Its text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Returns the result of the call.
    pub(super) fn result(self) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.text)]);
        result.structured_content = Some(self.structured);
        result
    }
}

/// The JSON of a report without its texts, the members with these names.
pub(super) fn about(call: &Call<'_>, report: &impl Report, names: &[&str]) -> Value {
    let mut about = serde_json::from_str(&json_of(call, report)).unwrap_or_default();
    leave_out(&mut about, names);
    about
}

/// Refuses an answer that exceeds the limit.
///
/// # Errors
/// An answer that is too large; `smaller` is the hint.
pub(super) fn check_tokens(tokens: u64, limit: u64, smaller: &'static str) -> Result<(), Failure> {
    if tokens <= limit {
        return Ok(());
    }
    let message = format!("the answer has {tokens} tokens, but may have {limit}");
    Err(Failure::new(Code::AnswerTooLarge, message).hint(smaller))
}

/// Returns a failure as a result: its code, message and hints. A long message is cut, because it
/// may repeat an argument of the client.
pub(super) fn failed(failure: Failure, profile: Profile) -> CallToolResult {
    let (text, structured) = told(failure, profile);
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = structured;
    result
}

/// Returns a failure as text, and as JSON.
pub(super) fn told(mut failure: Failure, profile: Profile) -> (String, Option<Value>) {
    if failure.message.len() > MESSAGE {
        failure.message = beginning(&failure.message, MESSAGE - CUT.len()).to_owned() + CUT;
    }
    let report = failure.report(spelling::of(profile));
    let json = to_json_compact(&report, &[], None);
    (report.to_string(), serde_json::from_str(&json).ok())
}

/// Adds the notes of a call to its failure: a truncated log may be the cause of a missing document.
pub(super) fn noted(call: &Call<'_>, mut failure: Failure) -> Failure {
    failure.details.extend(notes(call));
    failure
}

fn json_of(call: &Call<'_>, report: &impl Report) -> String {
    let notes: Vec<String> = notes(call).collect();
    to_json_compact(report, &notes, call.may_not_read)
}

/// Returns the notes of a call, as texts.
fn notes(call: &Call<'_>) -> impl Iterator<Item = String> {
    let Options { vault, is_remote, .. } = &call.workspace.options;
    let root = vault.as_deref().filter(|_| *is_remote);
    let told = move |note: String| root.map_or(note.clone(), |root| paths::note(&note, root));
    call.notes().iter().filter_map(said).map(told)
}

/// A note in words; `None` if the report says it itself.
fn said(note: &Note) -> Option<String> {
    match note {
        Note::Unreadable(..) => None,
        note => Some(note.text(spelling::of(Profile::Reader))),
    }
}

/// Takes members with these names out of a value, wherever they are.
fn leave_out(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, value| !(names.contains(&name.as_str()) && value.is_string()));
            members.values_mut().for_each(|value| leave_out(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| leave_out(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_left_out_wherever_they_are() {
        let mut value = json!({"body": "a", "n": 1, "documents": [{"id": "x", "body": "b"}]});
        leave_out(&mut value, &["body"]);
        assert_eq!(value, json!({"n": 1, "documents": [{"id": "x"}]}));
    }

    #[test]
    fn long_message_of_a_failure_is_cut() {
        for (text, cut) in
            [("x".repeat(2_000), false), ("x".repeat(2_001), true), ("é".repeat(5_000), true)]
        {
            let (_, told) = told(Failure::new(Code::Usage, text), Profile::Reader);
            let told = told.unwrap()["message"].as_str().unwrap().to_owned();
            assert!((1_999..=2_000).contains(&told.len()) && told.ends_with(CUT) == cut);
        }
    }

    #[test]
    fn an_answer_that_is_too_large_says_how_to_ask_for_less() {
        let answer = Answer { text: "x".repeat(400), structured: json!({}), texts: None };
        let why = answer.within(99.into(), "lower `limit`").unwrap_err();
        assert_eq!(why.code, Code::AnswerTooLarge);
        assert_eq!(why.message, "the answer has 100 tokens, but may have 99");
    }
}
