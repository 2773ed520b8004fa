//! The governance files of a vault (VAULT-23): one row each.

use super::id::DocumentId;
use super::layout;

/// A file that governs the vault. It is stored verbatim, and its id is its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GovernanceFile {
    /// The configuration.
    Config,
    /// The assignments of stewards.
    Stewards,
    /// The instructions for agents.
    Instructions,
    /// A pack: a saved selector.
    Pack,
}

/// The properties that distinguish one governance file from the others.
struct Row {
    file: GovernanceFile,
    /// Path of the file; `None` for packs, because a vault can have many.
    path: Option<&'static str>,
    /// True if the file decides which rules are in force (REV-1). Only the stewards of the vault
    /// decide about it.
    is_rule: bool,
    /// True if a governed vault never retires the file (REV-3).
    is_kept: bool,
    /// True if the file is read as a Markdown document: agents do not read its comments.
    is_markdown: bool,
}

const TABLE: [Row; 4] = [
    Row {
        file: GovernanceFile::Config,
        path: Some(layout::CONFIG),
        is_rule: true,
        is_kept: true,
        is_markdown: false,
    },
    Row {
        file: GovernanceFile::Stewards,
        path: Some(layout::STEWARDS),
        is_rule: true,
        is_kept: true,
        is_markdown: false,
    },
    Row {
        file: GovernanceFile::Instructions,
        path: Some(layout::CONTEXT),
        is_rule: false,
        is_kept: true,
        is_markdown: true,
    },
    Row {
        file: GovernanceFile::Pack,
        path: None,
        is_rule: false,
        is_kept: false,
        is_markdown: false,
    },
];

/// Returns the paths of the governance files that have a fixed path, which excludes packs.
pub fn paths() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter_map(|row| row.path)
}

fn row(id: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| match row.path {
        Some(path) => path == id,
        None => is_pack(id),
    })
}

/// Returns true if a path is that of a pack: a file `packs/NAME.yml`.
fn is_pack(id: &str) -> bool {
    let name = id.strip_prefix("packs/");
    name.is_some_and(|name| name.ends_with(".yml") && !name.contains('/'))
}

impl DocumentId {
    /// Returns the governance file with this id; `None` for a document.
    pub fn governance(&self) -> Option<GovernanceFile> {
        row(self.as_str()).map(|row| row.file)
    }

    /// Returns the files that decide which rules are in force: the configuration and
    /// `stewards.yaml` (REV-1).
    pub fn rules() -> [Self; 2] {
        [Self::config(), Self::stewards()]
    }

    /// Returns the files that a governed vault never retires: they decide how documents are read,
    /// and by whom (REV-3).
    pub fn kept() -> [Self; 3] {
        [Self::config(), Self::stewards(), Self::instructions()]
    }

    /// Returns true if this file decides which rules are in force.
    pub fn is_rule(&self) -> bool {
        row(self.as_str()).is_some_and(|row| row.is_rule)
    }

    /// Returns true if a governed vault never retires this file (REV-3).
    pub fn is_kept(&self) -> bool {
        row(self.as_str()).is_some_and(|row| row.is_kept)
    }

    /// Returns true if this is read as a Markdown document: a document or the instructions.
    pub fn is_markdown(&self) -> bool {
        row(self.as_str()).is_none_or(|row| row.is_markdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_kept_files_follow_from_the_table() {
        let paths = TABLE.iter().filter(|row| row.is_rule).map(|row| row.path.unwrap_or_default());
        let rules = DocumentId::rules();
        assert!(rules.iter().map(DocumentId::as_str).eq(paths));
        assert!(rules.iter().all(|id| id.is_kept() && !id.is_document()));
        let paths = TABLE.iter().filter(|row| row.is_kept).filter_map(|row| row.path);
        assert!(DocumentId::kept().iter().map(DocumentId::as_str).eq(paths));
        let pack: DocumentId = "packs/a.yml".parse().unwrap();
        assert_eq!((pack.governance(), pack.is_kept()), (Some(GovernanceFile::Pack), false));
        let document: DocumentId = "packs/b/a.md".parse().unwrap();
        assert!(document.governance().is_none() && document.is_markdown());
    }
}
