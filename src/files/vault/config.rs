//! `.context/config.yaml`: the configuration of a vault (`spec/vault.md`, section 12).
//!
//! Unknown keys are kept, because the file is never rewritten, and cause a warning. No key makes
//! `ctx` run a program or open a connection.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::values::codes::words;
use crate::values::model::layout::limit;
use crate::values::model::transport::Transport;
use crate::values::model::visible::Invisible;
use crate::values::text_util::nearest;
use crate::values::yaml::{self, Dialect, Node};

use super::audit::Audit;
use super::federation::Authorities;
use super::review::{Reads, Review};
use super::site::SiteLinks;
use super::staging::Staging;

words! {
    /// The layout: where documents are in the vault.
    pub enum Layout {
        /// `nodes/**`, `sources/**` and root files with frontmatter.
        Structured = "structured",
        /// Every Markdown file outside dot-folders and `node_modules`.
        Obsidian = "obsidian",
    }
}

/// The effect of publishing on the frontmatter of live files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FrontmatterMode {
    /// Publishing sets and inserts fields.
    #[default]
    Managed,
    /// Publishing does not change live files.
    Untouched,
}

/// The governance mode: who can publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Governance {
    /// Authors publish their own documents.
    #[default]
    Ungoverned,
    /// Publication needs a reviewer who is not the author.
    Governed,
}

words! {
    /// The form of the checkpoint log of a new vault.
    pub enum LogForm {
        /// `.versions/context_history.yaml`, with the complete maps of each checkpoint.
        Full = "full",
        /// `.versions/checkpoints.jsonl`, with the changes of each checkpoint.
        Delta = "delta",
    }
}

impl LogForm {
    /// Returns true if the reference implementation reads and writes this form too. Only such a log
    /// may contain an id that is dropped from the maps and added again.
    pub fn is_shared(self) -> bool {
        self == Self::Full
    }

    /// Returns the other form.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Full => Self::Delta,
            Self::Delta => Self::Full,
        }
    }
}

/// A server that source nodes fetch from. `ctx` never connects to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name of the server in source nodes.
    pub name: String,
    /// Address of the server, if configured.
    pub url: Option<String>,
    /// Protocol, if it is a known one.
    pub transport: Option<Transport>,
}

/// The settings for writing derived files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Maximum number of documents for which a publication writes derived files; 0 turns this off.
    pub auto: u64,
    /// True if each folder has a list of its own.
    pub folders: bool,
}

impl Index {
    /// Returns true if a publication with this number of documents writes derived files.
    pub fn is_automatic(self, documents: usize) -> bool {
        self.auto > 0 && documents as u64 <= self.auto
    }
}

impl Default for Index {
    fn default() -> Self {
        Self { auto: 2000, folders: false }
    }
}

/// The configuration of a vault.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the vault.
    pub name: Option<String>,
    /// Description of the vault.
    pub description: Option<String>,
    /// Configured layout; if `None`, it depends on whether `nodes/` exists.
    pub layout: Option<Layout>,
    /// Paths that are not documents.
    pub exclude: GlobSet,
    /// True if the root's `README.md` is a document.
    pub readme: bool,
    /// Effect of publishing on the frontmatter of live files.
    pub frontmatter: FrontmatterMode,
    /// Documents in which hidden text is not reported.
    pub hidden_text_exclude: GlobSet,
    /// Governance mode.
    pub governance: Governance,
    /// Rules of review in a governed vault, and who may read.
    pub review: Review,
    /// Number of versions from one keyframe to the next, if a history does not record one.
    pub keyframe_interval: u64,
    /// Configured form of the log; the file of an existing log has precedence.
    pub checkpoint_log: Option<LogForm>,
    /// Servers that source nodes may use.
    pub servers: Vec<Server>,
    /// Settings for writing derived files.
    pub index: Index,
    /// Folders of the vault that links from the root of a web site lead to.
    pub links: SiteLinks,
    /// Settings for recording accesses and changes; `None` if changes are not recorded.
    pub audit: Option<Audit>,
    /// Settings for keeping results of sources.
    pub staging: Staging,
    /// Vaults that URIs can name.
    pub authorities: Authorities,
    /// True if `search` names a back-end that only the user may choose.
    pub search_ignored: bool,
    /// Warnings, with line and column.
    pub warnings: Vec<yaml::Error>,
    /// Error for a `review` in the form of the reference implementation, which is not applied; only
    /// in an ungoverned configuration. It makes the configuration unusable, except for the vaults
    /// of REV-29.
    pub(crate) foreign_review: Option<yaml::Error>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: None,
            description: None,
            layout: None,
            exclude: GlobSet::empty(),
            readme: false,
            frontmatter: FrontmatterMode::default(),
            hidden_text_exclude: GlobSet::empty(),
            governance: Governance::default(),
            review: Review::default(),
            keyframe_interval: DEFAULT_KEYFRAME_INTERVAL,
            checkpoint_log: None,
            servers: Vec::new(),
            index: Index::default(),
            links: SiteLinks::default(),
            audit: None,
            staging: Staging::default(),
            authorities: Authorities::default(),
            search_ignored: false,
            warnings: Vec::new(),
            foreign_review: None,
        }
    }
}

/// Default distance of keyframes: every tenth version (paper, section 7.2).
pub const DEFAULT_KEYFRAME_INTERVAL: u64 = 10;

/// Message about a `review` that is not a mapping.
const FOREIGN_REVIEW: &str = "a `review` of the reference implementation is not applied; delete the \
                              line, or run `ctx govern on` for reviews by ctx";

const KEYS: [&str; 24] = [
    "version",
    "name",
    "description",
    "layout",
    "exclude",
    "readme",
    "frontmatter",
    "hidden_text",
    "governance",
    "reads",
    "review",
    "defaults",
    "versions",
    "index",
    "folders",
    "links",
    "servers",
    "namespace",
    "federation",
    "registry",
    "allow",
    "staging",
    "search",
    "audit",
];

impl Config {
    /// Returns true if the configuration makes the vault governed.
    pub(crate) fn is_governed(&self) -> bool {
        self.governance == Governance::Governed
    }

    /// Returns true if only stewards may read (REV-21).
    pub(crate) fn is_limited(&self) -> bool {
        self.is_governed() && self.review.reads == Reads::Stewards
    }

    /// Returns true if a checkpoint binds the change log of its maker (AUDIT-25). That log names
    /// the other chains that checkpoints bind (STAGE-21).
    pub(crate) fn binds_changes(&self) -> bool {
        self.staging.bind || self.audit.is_some_and(|audit| audit.bind)
    }

    /// Parses a configuration.
    ///
    /// A foreign `review` is not an error here: a caller that applies a live configuration checks
    /// `foreign_review`, as [`super::Vault`] does.
    ///
    /// # Errors
    /// The first place where the text is not YAML, or a known key has an invalid value; or the text
    /// has more than 64 KiB.
    pub fn parse(text: &str) -> Result<Self, yaml::Error> {
        if text.len() > limit::FRONTMATTER {
            let problem = "a configuration has at most 64 KiB".to_owned();
            return Err(yaml::Error { line: 1, column: 1, problem });
        }
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
                "name" => {
                    config.name = Some(text_of(value)?);
                    config.invisible("name", value);
                }
                "description" => config.description = Some(text_of(value)?),
                "layout" => {
                    config.layout = Some(word(
                        value,
                        &[("structured", Layout::Structured), ("obsidian", Layout::Obsidian)],
                    )?);
                }
                "exclude" => config.exclude = globs(value)?,
                "readme" => config.readme = word(value, &[("true", true), ("false", false)])?,
                "frontmatter" => {
                    config.frontmatter = word(
                        value,
                        &[
                            ("managed", FrontmatterMode::Managed),
                            ("untouched", FrontmatterMode::Untouched),
                        ],
                    )?;
                }
                "hidden_text" => config.hidden_text(value)?,
                "governance" => {
                    config.governance = word(
                        value,
                        &[
                            ("ungoverned", Governance::Ungoverned),
                            ("governed", Governance::Governed),
                        ],
                    )?;
                }
                "reads" => config.review.reads = Review::reads(value)?,
                "review" if Review::is_foreign(value) => {
                    config.foreign_review = Some(value.error(FOREIGN_REVIEW));
                }
                "review" => {
                    let warnings = config.review.read(value)?;
                    config.warnings.extend(warnings);
                }
                "versions" => config.versions(value)?,
                "index" => config.index(value)?,
                "links" => config.links = SiteLinks::read(value)?,
                "servers" => {
                    let servers = value.entries().unwrap_or_default();
                    config.servers = servers.iter().filter_map(|(k, v)| server(k, v)).collect();
                    servers.iter().for_each(|(name, _)| config.invisible("servers", name));
                }
                "audit" => {
                    let (audit, warnings) = Audit::read(value)?;
                    config.audit = Some(audit);
                    config.warnings.extend(warnings);
                }
                "staging" => {
                    let (staging, warnings) = Staging::read(value)?;
                    config.staging = staging;
                    config.warnings.extend(warnings);
                }
                "search" => config.search_ignored = !is_builtin(value),
                "namespace" | "federation" | "registry" | "allow" => {
                    config.authorities.read(name, value)?;
                }
                known if KEYS.contains(&known) => {}
                unknown => config.warnings.push(key.error(unknown_key(unknown, &KEYS))),
            }
        }
        config.warnings.extend(config.authorities.warnings(&root));
        let protects = config.is_governed() || config.review.reads == Reads::Stewards;
        match config.foreign_review.take() {
            // A setting that protects fails closed.
            Some(why) if protects => Err(why),
            why => Ok(Self { foreign_review: why, ..config }),
        }
    }

    /// Adds a warning if a name has invisible characters.
    fn invisible(&mut self, key: &str, name: &Node) {
        if let Some(found) = name.text().and_then(Invisible::first_in_name) {
            let message = format!("the name in `{key}` has the invisible {found}");
            self.warnings.push(name.error(message));
        }
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

    fn hidden_text(&mut self, node: &Node) -> Result<(), yaml::Error> {
        for (key, value) in node.entries().unwrap_or_default() {
            match key.text().unwrap_or_default() {
                "exclude" => self.hidden_text_exclude = globs(value)?,
                unknown => self.warnings.push(key.error(unknown_key(unknown, &["exclude"]))),
            }
        }
        Ok(())
    }

    fn index(&mut self, node: &Node) -> Result<(), yaml::Error> {
        for (key, value) in node.entries().unwrap_or_default() {
            match key.text().unwrap_or_default() {
                "auto" => {
                    let expected = || value.error("expected a number of documents");
                    self.index.auto = value.number().ok_or_else(expected)?;
                }
                "folders" => {
                    let expected = || value.error("expected `true` or `false`");
                    self.index.folders = value.boolean().ok_or_else(expected)?;
                }
                unknown => {
                    self.warnings.push(key.error(unknown_key(unknown, &["auto", "folders"])));
                }
            }
        }
        Ok(())
    }
}

fn server(name: &Node, node: &Node) -> Option<Server> {
    let text = |key: &str| node.get(key).filter(|n| !n.is_null()).and_then(Node::text);
    Some(Server {
        name: name.text()?.to_owned(),
        url: text("url").map(str::to_owned),
        transport: text("transport").and_then(Transport::from_word),
    })
}

/// Returns true if a vault may configure this search back-end.
fn is_builtin(search: &Node) -> bool {
    let allowed = |(key, value): &(Node, Node)| {
        key.text() == Some("backend") && value.text() == Some("builtin")
    };
    search.is_null() || search.entries().is_some_and(|entries| entries.iter().all(allowed))
}

pub(crate) fn unknown_key(found: &str, known: &[&str]) -> String {
    let hint = nearest(found, known.iter().copied())
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("unknown key `{}`{hint}", found.escape_debug())
}

pub(crate) fn text_of(node: &Node) -> Result<String, yaml::Error> {
    node.text().map(str::to_owned).ok_or_else(|| node.error("expected a text"))
}

pub(crate) fn word<T: Copy>(node: &Node, words: &[(&str, T)]) -> Result<T, yaml::Error> {
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
    fn config_reads_known_keys_and_reports_unknown_ones() {
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
    fn servers_and_derived_files_are_configured() {
        let config = Config::parse(
            "index: {auto: 0, folders: true, folder: x}\nfederation: scoped\nnamespace: a\nservers:\n  \
             jira: {url: 'https://x', transport: mcp}\n  hr: ~\n",
        )
        .unwrap();
        assert_eq!(config.index, Index { auto: 0, folders: true });
        assert!(!config.index.is_automatic(0) && Index::default().is_automatic(2000));
        assert!(!Index::default().is_automatic(2001));
        assert_eq!(
            (config.authorities.federation().as_str(), config.authorities.namespace()),
            ("scoped", Some("a"))
        );
        let url = Some("https://x".to_owned());
        let jira = Server { name: "jira".to_owned(), url, transport: Some(Transport::Mcp) };
        let hr = Server { name: "hr".to_owned(), url: None, transport: None };
        assert_eq!(config.servers, [jira, hr]);
        assert!(config.warnings[0].problem.contains("did you mean `folders`"));
        assert!(Config::parse("index: {auto: many}\n").is_err());
    }

    #[test]
    fn config_accepts_a_foreign_review_unless_a_setting_protects() {
        for value in ["'on'", "off", "[a]", "true"] {
            let text = format!("name: x\nreview: {value}\n");
            let why = Config::parse(&text).unwrap().foreign_review.unwrap();
            assert_eq!((why.line, why.column), (2, 9), "{value}");
            for protects in ["governance: governed\n", "reads: stewards\n"] {
                assert!(Config::parse(&format!("{text}{protects}")).is_err(), "{value}");
                assert!(Config::parse(&format!("{protects}{text}")).is_err(), "{value}");
            }
        }
        for text in ["review: {bar_author: true}\n", "review: ~\n", "review:\n"] {
            assert_eq!(Config::parse(text).unwrap().foreign_review, None, "{text}");
        }
        assert!(Config::parse("review: {bar_author: on}\n").is_err());
    }

    #[test]
    fn config_refuses_invalid_values() {
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
