//! Bytes that a git filter stores in place of a text (`spec/document.md`, DOC-53). They are in the
//! working copy of a clone that lacks the program or its key.

/// A form of such bytes, with the command that restores the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// First bytes of the form.
    begin: &'static [u8],
    /// Description of the file, as "a pointer of Git LFS".
    pub file: &'static str,
    /// Command that writes the text into the file, with its effect.
    pub remedy: &'static str,
}

/// All forms that are recognised.
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

/// Returns the form of the bytes of a file; `None` if no filter wrote them.
pub(crate) fn filtered(bytes: &[u8]) -> Option<&'static Filtered> {
    ALL.iter().find(|one| bytes.starts_with(one.begin))
}
