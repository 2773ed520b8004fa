//! Declares sets of stable codes: a word, a value that goes with it, and a sentence with its
//! meaning. `spec/` repeats the sentence, and a test compares the two.

mod remedies;

/// Declares an enum of codes, each with its word, a value of another kind, and its meaning.
macro_rules! codes {
    (
        $(#[$doc:meta])* $value:ident: $kind:ty, $(#[$value_doc:meta])*
        $($variant:ident $code:literal $of:expr, $meaning:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// All codes, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            $(#[$value_doc])*
            pub fn $value(self) -> $kind {
                match self { $(Self::$variant => $of,)* }
            }

            /// Returns the meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }

        $crate::values::codes::serialize_as_words!(Code);
    };
}

pub(crate) use codes;

/// Declares enums whose values have one stable word each, in code and in reports.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident = $word:literal,)+
        }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$of])* $variant,)+
        }

        impl $name {
            /// Returns the stable word.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $crate::values::codes::serialize_as_words!($name);
    )+};
}

/// Serializes values as the words that `as_str` returns, with the schema of a string.
macro_rules! serialize_as_words {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        #[cfg(feature = "mcp")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string"})
            }
        }
    )+};
}

pub(crate) use {serialize_as_words, words};

/// A code of a problem of a document, a pack, a selector or a URI.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The stable word.
    pub code: &'static str,
    /// Kind of object that has the problem, such as "a document".
    pub of: &'static str,
    /// Meaning of the code, in one sentence.
    pub meaning: &'static str,
}

/// Returns the remedy for a failure or a problem with this code, in a governed or an ungoverned
/// vault; `None` for a finding, which has a remedy of its own.
pub fn remedy(code: &str, is_governed: bool) -> Option<&'static str> {
    let find = |remedies: &'static [(&str, &'static str)]| {
        let found = remedies.binary_search_by(|(known, _)| (*known).cmp(code)).ok()?;
        Some(remedies[found].1)
    };
    let governed = is_governed.then(|| find(remedies::GOVERNED)).flatten();
    governed.or_else(|| find(remedies::REMEDIES))
}

/// Returns all codes of problems, in the order of the specification.
pub fn problems() -> impl Iterator<Item = Meaning> {
    PROBLEMS.iter().map(|(code, of, meaning)| Meaning { code, of, meaning })
}

#[rustfmt::skip]
const PROBLEMS: &[(&str, &str, &str)] = &[
    ("base-unapproved", "a document or its history", "The published text that a submission is based on has no valid approval. This is a warning, but a text without frontmatter is refused."),
    ("config-spelling", "a document or its history", "A governance file cannot be edited in place without changing other lines."),
    ("dependency-cycle", "a document or its history", "Sources depend on each other in a cycle."),
    ("dependency-kind", "a document or its history", "A source depends on a document that is not a source."),
    ("dependency-missing", "a document or its history", "A published source depends on a document that is not published."),
    ("dependency-retired", "a document or its history", "A published source depends on a document that was retired."),
    ("dependency-unlisted", "a document or its history", "The text of a source links a source that it does not depend on. This is a warning."),
    ("document-missing", "a document or its history", "The live file is missing."),
    ("frontmatter-spelling", "a document or its history", "The frontmatter cannot be edited in place without changing other lines, or without deleting a comment, an anchor or a tag."),
    ("history-broken", "a document or its history", "The history does not verify, has a later time, or cannot be appended to."),
    ("history-unsealed", "a document or its history", "The history has a published or retired version that no checkpoint seals."),
    ("id-collision", "a document or its history", "Two ids differ only in case or Unicode form."),
    ("id-confusable", "a document or its history", "Two ids look alike. This is a warning."),
    ("copy", "a document or its history", "The name, and perhaps the text, is that of a copy of another document. This is a warning."),
    ("id-invalid", "a document or its history", "The name of the file is not a valid id."),
    ("id-taken", "a document or its history", "The new id has a history already."),
    ("instruction-file", "a document or its history", "Coding agents load a file with this name as instructions. This is a warning, and over MCP refuses a new document."),
    ("looks-like-diff", "a document or its history", "The text of a governance file begins like a diff from its previous version."),
    ("misplaced", "a document or its history", "No document can have this path: the layout, a rule of git or another vault leaves it out."),
    ("name-windows", "a document or its history", "Windows does not allow the name. This is a warning."),
    ("not-a-document", "a document or its history", "A governance file is not moved, and is retired by deleting it."),
    ("not-a-file", "a document or its history", "The path is not a regular file."),
    ("not-published", "a document or its history", "The document is not published."),
    ("approval-due", "a document or its history", "The approval of the published text is older than `review.max_age` of stewards.yaml. This is a warning."),
    ("scope-stuck", "a document or its history", "A scope of stewards.yaml has too few reviewers to approve a submission. This is a warning."),
    ("stale", "a document or its history", "The file was edited from another version than the published one."),
    ("symbolic-link", "a document or its history", "Symbolic links are not followed."),
    ("too-large", "a document or its history", "The text is larger than 16 MiB, or all texts that await a decision would exceed 64 MiB."),
    ("two-marks", "a document or its history", "The text begins with two byte order marks (U+FEFF)."),
    ("unpublished-changes", "a document or its history", "The live file differs from the published text."),
    ("unreadable", "a document or its history", "The file, or a `.gitignore` that applies to it, cannot be read."),
    ("uri-taken", "a document or its history", "No URI can name the document. This is a warning."),
    ("not-utf8", "a document", "The file is not UTF-8."),
    ("frontmatter-unclosed", "a document", "No line closes the frontmatter."),
    ("frontmatter-too-large", "a document", "The frontmatter is larger than 64 KiB."),
    ("frontmatter-yaml", "a document", "The frontmatter is not valid YAML, or has a key twice."),
    ("frontmatter-not-mapping", "a document", "The frontmatter is not a mapping of keys to values."),
    ("frontmatter-merge-key", "a document", "The frontmatter has the merge key `<<`."),
    ("frontmatter-format", "a document", "The frontmatter is TOML or JSON and cannot be read, or the reference implementation shares the vault and reads YAML only."),
    ("frontmatter-second", "a document", "The body begins with a block of fields, which is text. This is a warning."),
    ("original-frontmatter", "a document", "The file has `metadata.original_frontmatter`, which only published texts have."),
    ("title-invalid", "a document", "The title is empty, not text, or longer than 200 characters."),
    ("description-invalid", "a document", "The description is not text, or longer than 500 characters."),
    ("source-invalid", "a document", "The `source` mapping of a source node is missing or invalid."),
    ("type-unknown", "a document", "The type is not a word, or differs by one slip from a type that has a meaning. The document is read as `document`. This is a warning."),
    ("tag-grammar", "a document", "A tag has characters that tags cannot have. This is a warning."),
    ("field-foreign", "a document", "A field has a value that ctx ignores, or reads as another value. This is a warning."),
    ("date-invalid", "a document", "The end of validity, such as `valid_until`, is not a date. This is a warning."),
    ("expired", "a document", "The end of validity, such as `valid_until`, has passed. This is a warning."),
    ("not-for-use", "a document", "A field such as `status: rejected` marks the text as not for use. This is a warning."),
    ("source-ignored", "a document", "A `source` mapping has no effect without `type: source`. This is a warning."),
    ("server-unknown", "a document", "The configuration does not declare the server."),
    ("git-filtered", "a document", "The file contains data that a git filter stores in place of the text: a pointer of Git LFS or git-annex, or a file that git-crypt or transcrypt encrypted."),
    ("conflict-markers", "a document", "A merge left its conflict markers in the text; inside of a block of code this is a warning."),
    ("hidden-character", "a document", "The text has a character that a page does not show. This is a warning."),
    ("hidden-comment", "a document", "The text has a comment of HTML or MDX. This is a warning."),
    ("comment-unclosed", "a document", "No `%%` ends a comment, so that the rest of the text is not served. This is a warning."),
    ("placeholder", "a document", "A placeholder of a template was not replaced. This is a warning."),
    ("link-broken", "the links of a document", "The target of a link is neither a live nor a published document. This is a warning."),
    ("link-anchor", "the links of a document", "The target of a link has no such section. This is a warning."),
    ("link-ambiguous", "the links of a document", "A name in a link fits several documents. This is a warning."),
    ("image-missing", "the links of a document", "The file of an image is neither in the vault nor in its git repository. This is a warning."),
    ("links-truncated", "the links of a document", "The text exceeds the limits for reading links. This is a warning."),
    ("config", "a governance file", "A key of the configuration is unknown, or its value is invalid."),
    ("pack-yaml", "a governance file", "A pack is unreadable or not valid YAML. This is a warning."),
    ("pack-key", "a governance file", "A pack has an unknown key. This is a warning."),
    ("pack-value", "a governance file", "A key of a pack is missing, or its value is invalid. This is a warning."),
    ("pack-query", "a governance file", "The query of a pack is not a valid selector. This is a warning."),
    ("pack-uri", "a governance file", "An include or exclude is not a URI, or an exclude names a section. This is a warning."),
    ("pack-nested", "a governance file", "A pack contains another pack. This is a warning."),
    ("pack-pinned", "a governance file", "A pack names a checkpoint. This is a warning."),
    ("pack-foreign", "a governance file", "A pack names another vault. This is a warning."),
    ("pack-empty", "a governance file", "A pack has neither a query nor includes. This is a warning."),
    ("pack-unmatched", "a governance file", "The query of a pack, or the whole pack, selects no live document, or no live document has a tag of the query. This is a warning."),
    ("pack-dead", "a governance file", "A URI of a pack names no live document. This is a warning."),
    ("pack-anchor", "a governance file", "A URI of a pack names a section that the live document does not have. This is a warning."),
    ("pack-twice", "a governance file", "Two packs have the same id. This is a warning."),
    ("stewards-yaml", "a governance file", "`stewards.yaml` is not valid YAML."),
    ("stewards-key", "a governance file", "`stewards.yaml` has an unknown key."),
    ("stewards-value", "a governance file", "A value in `stewards.yaml` is missing or of the wrong kind."),
    ("stewards-role", "a governance file", "A role in `stewards.yaml` is not `viewer`, `editor` or `reviewer`."),
    ("stewards-principal", "a governance file", "A text in `stewards.yaml` cannot name a principal."),
    ("stewards-scope", "a governance file", "A key in `stewards.yaml` is not a folder, tag or id, or names a file that only the stewards of the vault decide about."),
    ("stewards-twice", "a governance file", "`stewards.yaml` has a scope, or a principal at one place, twice."),
    ("stewards-group", "a governance file", "`stewards.yaml` names a group that it does not define."),
    ("stewards-limit", "a governance file", "`stewards.yaml` is larger than 1 MiB, or has more than 10,000 entries."),
    ("selector-too-long", "a selector", "The selector is longer than 8192 bytes."),
    ("selector-too-deep", "a selector", "Parentheses are nested more than 64 deep."),
    ("selector-expected", "a selector", "Something else was expected at this place, or the selector ends too early."),
    ("selector-minus-joined", "a selector", "A `-` touches a word on one side only; a difference has blanks on both sides."),
    ("selector-minus-unary", "a selector", "A `-` has nothing on its left."),
    ("selector-reserved", "a selector", "The characters `*` and `/` are reserved."),
    ("selector-tag", "a selector", "A `#` is not followed by a tag."),
    ("selector-unknown-key", "a selector", "The filter does not exist."),
    ("selector-unknown-word", "a selector", "The filter does not have this value."),
    ("selector-bare-word", "a selector", "The word is neither a tag, a filter nor a URI."),
    ("selector-quote", "a selector", "A quoted text has no closing quote."),
    ("selector-pins", "a selector", "URIs are pinned to different checkpoints."),
    ("selector-section", "a selector", "A section cannot be used at this place."),
    ("selector-unsupported", "a selector", "The expression has no meaning in this place."),
    ("selector-too-large", "a selector", "With its packs the selector has more than 65536 terms, or more than 16 searches."),
    ("uri-scheme", "a URI", "The URI does not begin with `contextnest://`."),
    ("uri-too-long", "a URI", "The URI is longer than 8192 bytes."),
    ("uri-empty", "a URI", "The URI names the root of the vault."),
    ("uri-character", "a URI", "The URI has a character that URIs cannot contain, literal or encoded."),
    ("uri-percent", "a URI", "A `%` is not followed by two hexadecimal digits."),
    ("uri-not-utf8", "a URI", "The encoded bytes are not UTF-8."),
    ("uri-empty-segment", "a URI", "A segment of the path is empty."),
    ("uri-encoded-slash", "a URI", "A name or an anchor has an encoded slash, `%2F`."),
    ("uri-escape", "a URI", "The path leads out of the vault."),
    ("uri-pin", "a URI", "An `@` is not followed by the number of a checkpoint."),
    ("uri-not-a-document", "a URI", "A tag, folder or search has an `@` or a `#`."),
    ("uri-anchor", "a URI", "A `#` is not followed by the name of a section."),
    ("uri-tag", "a URI", "`tag/` is not followed by one tag."),
    ("uri-query", "a URI", "`search/` is not followed by one query."),
    ("uri-staged", "a URI", "The URI names a staged entry, which is not a document."),
    ("uri-id", "a URI", "The path is not a valid id."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_name_the_command_of_a_governed_vault() {
        assert!(remedies::GOVERNED.is_sorted_by_key(|(code, _)| *code));
        for (code, governed) in remedies::GOVERNED {
            assert!(!governed.contains("`ctx publish"), "{code}");
            assert_ne!(remedy(code, false), Some(*governed), "{code}");
            assert_eq!(remedy(code, true), Some(*governed), "{code}");
        }
        // `ctx publish` is correct in these remedies, even in a governed vault.
        let both = ["governed", "not-governed", "unknown-checkpoint"];
        for (code, text) in remedies::REMEDIES {
            let is_other = text.contains("`ctx publish") && !both.contains(code);
            let has_other = remedies::GOVERNED.iter().any(|(known, _)| known == code);
            assert_eq!(is_other, has_other, "{code}");
        }
    }
}
