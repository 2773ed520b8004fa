//! Bytes that a filter of git stores in the place of a text (`spec/document.md`, DOC-53): a clone
//! without the program, or without its key, has them in the working copy.

/// A form of such bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// How they begin.
    begin: &'static [u8],
    /// The file that has this form.
    pub file: &'static str,
    /// The command that writes the text into the file, with its effect.
    pub remedy: &'static str,
}

/// Each form that is recognised.
static ALL: [Filtered; 4] = [
    Filtered {
        begin: b"version https://git-lfs.github.com/spec/v",
        file: "a pointer of Git LFS",
        remedy: "`git lfs pull` writes the text",
    },
    Filtered {
        begin: b"\0GITCRYPT\0",
        file: "a file that git-crypt encrypted",
        remedy: "`git-crypt unlock` decrypts it",
    },
    Filtered {
        begin: b"/annex/objects/",
        file: "a pointer of git-annex",
        remedy: "`git annex get` writes the text",
    },
    Filtered {
        begin: b"U2FsdGVkX1",
        file: "a file that transcrypt encrypted",
        remedy: "`transcrypt` with the password decrypts it",
    },
];

/// Returns the form of the bytes of a file; `None` if they are not of a filter.
pub(crate) fn filtered(bytes: &[u8]) -> Option<&'static Filtered> {
    ALL.iter().find(|one| bytes.starts_with(one.begin))
}
