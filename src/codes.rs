//! The one way in which sets of stable codes are declared: a word, what belongs to it, and a
//! sentence that says what it means, which `spec/` repeats and a test compares.

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
            /// Every code, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            $(#[$value_doc])*
            pub fn $value(self) -> $kind {
                match self { $(Self::$variant => $of,)* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

pub(crate) use codes;
