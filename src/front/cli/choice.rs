//! Options that take one of several words.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Returns a parser of these words, each with its value.
pub(super) fn choice<T, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.each_ref().map(|(word, _)| *word)).try_map(move |given| {
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|(_, value)| value.clone()).ok_or("unknown word")
    })
}
