//! `.context/config.yaml`: what a vault says about itself (`spec/vault.md`, section 12).
//!
//! Unknown keys are kept (the file is never rewritten) and warned about. Nothing in it makes
//! `ctx` run a program or open a connection.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::words::nearest;
use crate::yaml::{self, Dialect, Node};

/// Where documents lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `nodes/**`, `sources/**` and root files with frontmatter.
    Structured,
    /// Every Markdown file outside dot-folders and `node_modules`.
    Obsidian,
}

impl Layout {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Obsidian => "obsidian",
        }
    }
}

/// Whether publication needs a reviewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Governance {
    /// Documents are published by whoever writes them.
    #[default]
    Ungoverned,
    /// Publication needs a reviewer who is not the author.
    Governed,
}

/// Which form the checkpoint log of a new vault has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// `.versions/context_history.yaml`, whole maps.
    Full,
    /// `.versions/checkpoints.jsonl`, what changed.
    Delta,
}

/// The configuration of a vault.
#[derive(Clone, Debug)]
pub struct Config {
    /// The vault's name.
    pub name: Option<String>,
    /// What the vault is about.
    pub description: Option<String>,
    /// Recorded layout; where absent it depends on whether `nodes/` exists.
    pub layout: Option<Layout>,
    /// Paths that are no documents.
    pub exclude: GlobSet,
    /// The governance mode.
    pub governance: Governance,
    /// Every how many versions a full text is stored, where a history does not say.
    pub keyframe_interval: u64,
    /// The recorded form of the log; an existing log file decides.
    pub checkpoint_log: Option<LogForm>,
    /// Names of the servers that source nodes may use, as `servers` declares them.
    pub servers: Vec<String>,
    /// What to mend, with line and column.
    pub warnings: Vec<yaml::Error>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: None,
            description: None,
            layout: None,
            exclude: GlobSet::empty(),
            governance: Governance::default(),
            keyframe_interval: DEFAULT_KEYFRAME_INTERVAL,
            checkpoint_log: None,
            servers: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Every tenth version is a keyframe (paper, section 7.2).
pub const DEFAULT_KEYFRAME_INTERVAL: u64 = 10;

const KEYS: [&str; 17] = [
    "version",
    "name",
    "description",
    "layout",
    "exclude",
    "governance",
    "defaults",
    "versions",
    "index",
    "folders",
    "servers",
    "namespace",
    "federation",
    "registry",
    "allow",
    "staging",
    "search",
];

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The first place where it is not YAML, or a known key has a value that cannot be meant.
    pub fn parse(text: &str) -> Result<Self, yaml::Error> {
        let root = yaml::parse(text, Dialect::Format)?;
        let mut config = Self::default();
        if root.is_null() {
            return Ok(config);
        }
        let Some(entries) = root.entries() else {
            return Err(root.error("expected `key: value` lines"));
        };
        for (key, value) in entries {
            let name = key.text().unwrap_or_default();
            match name {
                "version" if value.number() != Some(1) => {
                    return Err(value.error("this program reads configuration version 1"));
                }
                "name" => config.name = Some(text_of(value)?),
                "description" => config.description = Some(text_of(value)?),
                "layout" => {
                    config.layout = Some(word(
                        value,
                        &[("structured", Layout::Structured), ("obsidian", Layout::Obsidian)],
                    )?);
                }
                "exclude" => config.exclude = globs(value)?,
                "governance" => {
                    config.governance = word(
                        value,
                        &[
                            ("ungoverned", Governance::Ungoverned),
                            ("governed", Governance::Governed),
                        ],
                    )?;
                }
                "versions" => config.versions(value)?,
                "servers" => {
                    let servers = value.entries().unwrap_or_default();
                    config.servers =
                        servers.iter().filter_map(|(k, _)| k.text()).map(str::to_owned).collect();
                }
                known if KEYS.contains(&known) => {}
                unknown => config.warnings.push(key.error(unknown_key(unknown, &KEYS))),
            }
        }
        Ok(config)
    }

    fn versions(&mut self, node: &Node) -> Result<(), yaml::Error> {
        for (key, value) in node.entries().unwrap_or_default() {
            match key.text().unwrap_or_default() {
                "keyframe_interval" => {
                    self.keyframe_interval = value
                        .number()
                        .filter(|k| (1..=1000).contains(k))
                        .ok_or_else(|| value.error("expected a number from 1 to 1000"))?;
                }
                "checkpoint_log" => {
                    self.checkpoint_log =
                        Some(word(value, &[("full", LogForm::Full), ("delta", LogForm::Delta)])?);
                }
                unknown => {
                    let known = ["keyframe_interval", "checkpoint_log"];
                    self.warnings.push(key.error(unknown_key(unknown, &known)));
                }
            }
        }
        Ok(())
    }
}

fn unknown_key(found: &str, known: &[&str]) -> String {
    let hint = nearest(found, known.iter().copied())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("unknown key `{}`{hint}", found.escape_debug())
}

fn text_of(node: &Node) -> Result<String, yaml::Error> {
    node.text().map(str::to_owned).ok_or_else(|| node.error("expected a text"))
}

fn word<T: Copy>(node: &Node, words: &[(&str, T)]) -> Result<T, yaml::Error> {
    let found = words.iter().find(|(w, _)| node.text() == Some(w));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let list: Vec<String> = words.iter().map(|(w, _)| format!("`{w}`")).collect();
        node.error(format!("expected {}", list.join(" or ")))
    })
}

fn globs(node: &Node) -> Result<GlobSet, yaml::Error> {
    let mut set = GlobSetBuilder::new();
    for item in node.items().ok_or_else(|| node.error("expected a list of patterns"))? {
        let glob = Glob::new(item.text().unwrap_or_default())
            .map_err(|e| item.error(format!("not a pattern: {e}")))?;
        set.add(glob);
    }
    set.build().map_err(|e| node.error(format!("not a set of patterns: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_are_read_and_unknown_ones_named() {
        let config = Config::parse(
            "version: 1\nname: X\nlayout: obsidian\nexclude: ['drafts/**']\nversions:\n  \
             keyframe_interval: 5\n  checkpoint_log: full\ngovernence: governed\n",
        )
        .unwrap();
        assert_eq!(config.layout, Some(Layout::Obsidian));
        assert_eq!((config.keyframe_interval, config.checkpoint_log), (5, Some(LogForm::Full)));
        assert!(config.exclude.is_match("drafts/a/b.md"));
        assert_eq!(
            config.warnings[0].to_string(),
            "line 8, column 1: unknown key `governence`; did you mean `governance`?"
        );
    }

    #[test]
    fn values_that_cannot_be_meant_are_refused() {
        for (text, expected) in [
            ("version: 2\n", "line 1, column 10: this program reads configuration version 1"),
            ("layout: flat\n", "line 1, column 9: expected `structured` or `obsidian`"),
            (
                "versions:\n  keyframe_interval: 0\n",
                "line 2, column 22: expected a number from 1 to 1000",
            ),
            ("- a\n", "line 1, column 1: expected `key: value` lines"),
            (
                "exclude: ['a{']\n",
                "line 1, column 11: not a pattern: error parsing glob 'a{': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
            ),
        ] {
            assert_eq!(Config::parse(text).unwrap_err().to_string(), expected);
        }
    }
}
