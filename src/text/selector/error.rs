//! Errors of selectors: a message of one line, an excerpt with a caret, and a hint.

use std::fmt;
use std::ops::Range;

use super::ast::StatusFilter;
use super::excerpt::{Quoted, caret};
use super::parse::{FILTERS, MAX_NESTING, MAX_SELECTOR_BYTES};
use crate::text::uri::{Target, Uri, UriError};
use crate::values::model::name::is_name;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::tag::{Tag, TagError};
use crate::values::model::transport::Transport;
use crate::values::text_util::nearest;

/// A place where a text breaks a rule of selectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ParseError {
    /// Rule that the text breaks.
    pub kind: ErrorKind,
    /// Bytes of the text that break it; empty if something is missing.
    pub span: Range<usize>,
}

/// A rule of selectors that a text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text has more than 8192 bytes.
    #[error("a selector has at most {MAX_SELECTOR_BYTES} bytes, but this one has {found}")]
    TooLong {
        /// Length in bytes.
        found: usize,
    },
    /// Parentheses are nested more than 64 deep.
    #[error("parentheses nest at most {MAX_NESTING} deep")]
    TooDeep,
    /// The grammar expects something else at this place.
    #[error("expected {expected}, but found {}", Quoted(.found))]
    Expected {
        /// Description of the expected element.
        expected: &'static str,
        /// Text at this place; empty at the end.
        found: String,
    },
    /// A `-` follows a word without a blank, before an operand.
    #[error("expected a blank before `-`, but found {}", Quoted(.left))]
    MinusJoined {
        /// Word before the `-`.
        left: String,
    },
    /// A `-` is not preceded by a set.
    #[error("expected a set before `-`")]
    MinusUnary,
    /// A sign of the paper's grammar is reserved.
    #[error("`{sign}` is reserved")]
    Reserved {
        /// Sign that was found.
        sign: char,
    },
    /// A `#` or `tag:` is not followed by a tag.
    #[error("expected a tag, but found {}", Quoted(.found))]
    Tag {
        /// Text at this place.
        found: String,
    },
    /// The filter does not exist.
    #[error("expected a tag, a filter, `pack:` or a URI, but found {}", Quoted(.found))]
    UnknownKey {
        /// Text at this place, with its colon.
        found: String,
    },
    /// The filter does not have this value.
    #[error("expected a {filter}, but found {}", Quoted(.found))]
    UnknownWord {
        /// Name of the filter: `type`, `status` or `transport`.
        filter: &'static str,
        /// Value that was found.
        found: String,
    },
    /// A word is not a leaf of selectors.
    #[error("expected a tag, a filter, a URI or `(`, but found {}", Quoted(.found))]
    BareWord {
        /// Word that was found.
        found: String,
    },
    /// A URI breaks a rule of URIs.
    #[error(transparent)]
    Uri(UriError),
    /// A quoted text does not end.
    #[error("expected a `\"` that ends the quoted text")]
    Quote,
    /// URIs are pinned to different checkpoints.
    #[error("a selector cannot name two checkpoints, but found {second} after {first}")]
    Pins {
        /// Checkpoint of the first pin.
        first: CheckpointNumber,
        /// Different checkpoint of a later pin.
        second: CheckpointNumber,
    },
    /// A section is on the right of a difference.
    #[error("a difference removes whole documents, not sections")]
    Section,
    /// A part of the paper's grammar is not allowed in this place.
    #[error("{0} selects nothing here: only an answer of `resolve` has staged results")]
    Unsupported(Feature),
}

/// A part of the paper's grammar that is not allowed in every selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// The filter `status:staged`.
    Staged,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Staged => "`status:staged`",
        })
    }
}

impl ParseError {
    /// All codes of selectors, in the order of the specification; errors of URIs keep their
    /// own codes.
    pub const CODES: [&'static str; 14] = [
        "selector-too-long",
        "selector-too-deep",
        "selector-expected",
        "selector-minus-joined",
        "selector-minus-unary",
        "selector-reserved",
        "selector-tag",
        "selector-unknown-key",
        "selector-unknown-word",
        "selector-bare-word",
        "selector-quote",
        "selector-pins",
        "selector-section",
        "selector-unsupported",
    ];

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ErrorKind::TooLong { .. } => "selector-too-long",
            ErrorKind::TooDeep => "selector-too-deep",
            ErrorKind::Expected { .. } => "selector-expected",
            ErrorKind::MinusJoined { .. } => "selector-minus-joined",
            ErrorKind::MinusUnary => "selector-minus-unary",
            ErrorKind::Reserved { .. } => "selector-reserved",
            ErrorKind::Tag { .. } => "selector-tag",
            ErrorKind::UnknownKey { .. } => "selector-unknown-key",
            ErrorKind::UnknownWord { .. } => "selector-unknown-word",
            ErrorKind::BareWord { .. } => "selector-bare-word",
            ErrorKind::Uri(why) => why.code(),
            ErrorKind::Quote => "selector-quote",
            ErrorKind::Pins { .. } => "selector-pins",
            ErrorKind::Section => "selector-section",
            ErrorKind::Unsupported(_) => "selector-unsupported",
        }
    }

    /// Returns the probable meaning, or advice on the spelling.
    pub fn hint(&self) -> Option<String> {
        let meant = |word: &str| format!("did you mean `{word}`?");
        match &self.kind {
            ErrorKind::MinusJoined { left } => Some(format!(
                "a `-` next to a word belongs to the word; for a difference write {}",
                Quoted(&format!("{} - ", left.trim_end_matches('-')))
            )),
            ErrorKind::MinusUnary => {
                Some("for all but some documents write `status:published - `".to_owned())
            }
            ErrorKind::Reserved { sign } => Some(match sign {
                '/' => "a folder is a path from the root of the vault, as in `nodes/policies/`",
                _ => {
                    "write `+` for both, `|` for either, ` - ` for all but, `nodes/` for a folder \
                     and `status:published` for all"
                }
            }
            .to_owned()),
            ErrorKind::Expected { expected: "a type", found } if is_name(found) => {
                Some(format!("write {}", Quoted(&format!("type:\"{found}\""))))
            }
            ErrorKind::Tag { found } if found.ends_with([',', '&', ';']) => {
                Some("write `+` for both, `|` for either and ` - ` for all but".to_owned())
            }
            ErrorKind::Tag { .. } => Some(TagError::Any.to_string()),
            ErrorKind::UnknownKey { found } => {
                let key = found.trim_end_matches(':');
                if FOLDERS.contains(&key) {
                    return Some("a folder is its path with `/` at the end: `nodes/policies/`".into());
                }
                if DOCUMENTS.contains(&key) {
                    return Some("a document is its URI: `contextnest://nodes/policies/returns`".into());
                }
                let keys = FILTERS.map(|key| format!("{key}:"));
                let near = nearest(found, keys.iter().map(String::as_str)).map(meant);
                near.or_else(|| Some(format!("the filters are `{}`", keys.join("`, `"))))
            }
            ErrorKind::UnknownWord { filter, found } => {
                let words = words(filter);
                let list = || format!("one of `{}`", words.join("`, `"));
                let near = nearest(found, words.iter().copied());
                Some(near.map_or_else(list, |word| meant(&format!("{filter}:{word}"))))
            }
            ErrorKind::BareWord { found } => as_atoms(found).map(|atoms| meant(&atoms)),
            ErrorKind::Quote => {
                Some("a quote in a quoted text is written twice: `\"\"`".to_owned())
            }
            ErrorKind::Pins { first, .. } => {
                Some(format!("pin every URI to `@{first}`, or resolve them one by one"))
            }
            ErrorKind::Section => Some("remove the `#` and the name after it".to_owned()),
            _ => None,
        }
    }

    /// Returns two lines: the part of `text` around the error, and carets beneath it.
    pub fn caret(&self, text: &str) -> String {
        caret(text, &self.span)
    }
}

/// Returns the words of a filter with a closed list.
fn words(filter: &str) -> Vec<&'static str> {
    match filter {
        "transport" => Transport::ALL.iter().map(|(word, _)| *word).collect(),
        _ => StatusFilter::ALL.iter().map(|(word, _)| *word).collect(),
    }
}

/// Filters of other languages for a folder; [`DOCUMENTS`] has those for a document.
const FOLDERS: [&str; 6] = ["folder", "path", "dir", "in", "under", "directory"];
const DOCUMENTS: [&str; 6] = ["id", "doc", "document", "file", "uri", "node"];

/// Returns the spelling that a bare word was probably meant to have, for the inside of a code span.
fn as_atoms(word: &str) -> Option<String> {
    let sign = match word {
        "AND" | "and" | "&" | "&&" | "," => Some("+"),
        "OR" | "or" => Some("|"),
        "NOT" | "not" | "!" => Some(" - "),
        "all" | "ALL" | "everything" => Some("status:published"),
        _ => None,
    };
    if let Some(sign) = sign {
        return Some(sign.to_owned());
    }
    if let Some((key, value)) = word.split_once('=') {
        let atom = format!("{}:{}", key.trim_end_matches('='), value.trim_start_matches('='));
        return super::parse(&atom).is_ok().then_some(atom);
    }
    let path = word.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    if Tag::plain(path).is_ok() {
        return Some(format!("#{path}"));
    }
    let plain = path.strip_suffix(".md").unwrap_or(path);
    let uri: Uri = format!("contextnest://{plain}").parse().ok()?;
    match &uri.target {
        Target::Tag(name) => Some(format!("#{name}")),
        Target::Folder(_) => Some(uri.to_string()),
        Target::Document { .. } if !path.contains('/') => None,
        Target::Document { .. } if plain == path && !path.contains(['@', '#']) => {
            Some(format!("{path}/` or `{uri}"))
        }
        Target::Document { .. } => Some(uri.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::text::selector::parse;

    fn report(text: &str) -> String {
        let why = parse(text).unwrap_err();
        let hint = why.hint().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
        format!("{}: {why}\n{}{hint}", why.code(), why.caret(text))
    }

    #[test]
    fn selector_errors_show_the_place_and_a_hint() {
        let cases = [
            "",
            "#a |",
            "(#a",
            "#a)",
            "#a-#b",
            "#payments-type:tool",
            "- #a",
            "#a * #b",
            "#12",
            "typ:tool",
            "type:a/b",
            "transport:mpc",
            "status:live",
            "type:",
            "transport:",
            "policy",
            "tag/x",
            "a OR b",
            "contextnest://a//b",
            "status:staged",
            "server:",
            "#a#b",
            "tag:a.b",
            "pack:",
            "server:\"a b",
            "server:\"\"",
            "contextnest://a@2 contextnest://b@3",
            "#a - (#b | contextnest://a#b)",
        ];
        let reports: Vec<String> = cases.iter().map(|text| report(text)).collect();
        insta::assert_snapshot!(reports.join("\n\n"), @r#"
        selector-expected: expected a tag, a filter, a URI or `(`, but found the end

        ^

        selector-expected: expected a tag, a filter, a URI or `(`, but found the end
        #a |
            ^

        selector-expected: expected `)`, but found the end
        (#a
           ^

        selector-expected: expected an operator or the end, but found `)`
        #a)
          ^

        selector-minus-joined: expected a blank before `-`, but found `#a`
        #a-#b
          ^
        hint: a `-` next to a word belongs to the word; for a difference write `#a - `

        selector-minus-joined: expected a blank before `-`, but found `#payments`
        #payments-type:tool
                 ^
        hint: a `-` next to a word belongs to the word; for a difference write `#payments - `

        selector-minus-unary: expected a set before `-`
        - #a
        ^
        hint: for all but some documents write `status:published - `

        selector-reserved: `*` is reserved
        #a * #b
           ^
        hint: write `+` for both, `|` for either, ` - ` for all but, `nodes/` for a folder and `status:published` for all

        selector-tag: expected a tag, but found `12`
        #12
        ^^^
        hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels

        selector-unknown-key: expected a tag, a filter, `pack:` or a URI, but found `typ:`
        typ:tool
        ^^^^
        hint: did you mean `type:`?

        selector-expected: expected a type, but found `a/b`
        type:a/b
             ^^^
        hint: write `type:"a/b"`

        selector-unknown-word: expected a transport, but found `mpc`
        transport:mpc
                  ^^^
        hint: one of `mcp`, `rest`, `cli`, `function`

        selector-unknown-word: expected a status, but found `live`
        status:live
               ^^^^
        hint: one of `draft`, `published`

        selector-expected: expected a type, but found the end
        type:
             ^

        selector-unknown-word: expected a transport, but found the end
        transport:
                  ^
        hint: one of `mcp`, `rest`, `cli`, `function`

        selector-bare-word: expected a tag, a filter, a URI or `(`, but found `policy`
        policy
        ^^^^^^
        hint: did you mean `#policy`?

        selector-bare-word: expected a tag, a filter, a URI or `(`, but found `tag/x`
        tag/x
        ^^^^^
        hint: did you mean `#x`?

        selector-bare-word: expected a tag, a filter, a URI or `(`, but found `a`
        a OR b
        ^
        hint: did you mean `#a`?

        uri-empty-segment: expected a name between two `/`
        contextnest://a//b
        ^^^^^^^^^^^^^^^^^^

        selector-unsupported: `status:staged` selects nothing here: only an answer of `resolve` has staged results
        status:staged
        ^^^^^^^^^^^^^

        selector-expected: expected the name of a server, but found the end
        server:
               ^

        selector-expected: expected a blank or an operator, but found `#`
        #a#b
          ^

        selector-tag: expected a tag, but found `a.b`
        tag:a.b
            ^^^
        hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels

        selector-expected: expected the id of a pack, but found the end
        pack:
             ^

        selector-quote: expected a `"` that ends the quoted text
        server:"a b
               ^^^^
        hint: a quote in a quoted text is written twice: `""`

        selector-expected: expected the name of a server, but found `""`
        server:""
               ^^

        selector-pins: a selector cannot name two checkpoints, but found 3 after 2
        contextnest://a@2 contextnest://b@3
                          ^^^^^^^^^^^^^^^^^
        hint: pin every URI to `@2`, or resolve them one by one

        selector-section: a difference removes whole documents, not sections
        #a - (#b | contextnest://a#b)
                   ^^^^^^^^^^^^^^^^^
        hint: remove the `#` and the name after it
        "#);
    }

    #[test]
    fn an_excerpt_is_short_and_harmless() {
        let chain = "#abcdefg | ".repeat(100);
        let cases = [
            "#a\n+ x\u{202e}y \u{65e5}\u{672c} \u{1b}[31m".to_owned(),
            "#\u{65e5}.\u{672c} + #b".to_owned(),
            format!("{chain}*"),
            format!("{chain}* | {chain}"),
            format!("oops {chain}"),
            format!("#{}", "\u{e9}".repeat(500)),
            "(".repeat(200),
        ];
        let reports: Vec<String> = cases.iter().map(|text| report(text)).collect();
        insta::assert_snapshot!(reports.join("\n\n"), @r"
        selector-bare-word: expected a tag, a filter, a URI or `(`, but found `x\u{202e}y`
        #a\n+ x\u{202e}y 日本 \u{1b}[31m
              ^^^^^^^^^^

        selector-tag: expected a tag, but found `日.本`
        #日.本 + #b
        ^^^^^^
        hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels

        selector-reserved: `*` is reserved
        … | #abcdefg | #abcdefg | #abcdefg | #abcdefg | #abcdefg | #abcdefg | *
                                                                              ^
        hint: write `+` for both, `|` for either, ` - ` for all but, `nodes/` for a folder and `status:published` for all

        selector-reserved: `*` is reserved
        …cdefg | #abcdefg | #abcdefg | * | #abcdefg | #abcdefg | #abcdefg | #ab…
                                       ^
        hint: write `+` for both, `|` for either, ` - ` for all but, `nodes/` for a folder and `status:published` for all

        selector-bare-word: expected a tag, a filter, a URI or `(`, but found `oops`
        oops #abcdefg | #abcdefg | #abcdefg | #abcdefg | #abcdefg | #abcdefg |…
        ^^^^
        hint: did you mean `#oops`?

        selector-tag: expected a tag, but found `éééééééééééééééééééééééééééééééééééééééé…`
        #ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        hint: a tag has letters, digits, `_` and `-`, not digits alone, and `/` between its levels

        selector-too-deep: parentheses nest at most 64 deep
        …((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((…
                                       ^
        ");
    }

    #[test]
    fn codes_are_unique() {
        let mut codes = super::ParseError::CODES.to_vec();
        codes.extend(crate::text::uri::UriError::CODES);
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }
}
