//! Every file name of a vault, stated once (`spec/vault.md`, section 1).

use std::borrow::Cow;

use super::id::fold;

/// Vault identity and instructions for agents.
pub const CONTEXT: &str = "CONTEXT.md";
/// The graph of the published documents, derived.
pub const CONTEXT_YAML: &str = "context.yaml";
/// Stewardship assignments.
pub const STEWARDS: &str = "stewards.yaml";
/// Folder of configuration and local state.
pub const CONTEXT_DIR: &str = ".context";
/// Configuration.
pub const CONFIG: &str = ".context/config.yaml";
/// The change logs, one file or more of each writer.
pub const AUDIT_DIR: &str = ".context/audit";
/// The logs of accesses that are kept in the vault.
pub const ACCESS_DIR: &str = ".context/audit/access";
/// Keeps local state out of git.
pub const CONTEXT_GITIGNORE: &str = ".context/.gitignore";
/// What it says.
pub const CONTEXT_GITIGNORE_TEXT: &str = "local/\n";
/// Lock file and hints; nothing that anyone believes.
pub const LOCAL_DIR: &str = ".context/local";
/// A word about what a writer is about to touch.
pub const HINT: &str = ".context/local/event";
/// What an interrupted writer left behind, in numbered folders.
pub const RECOVERED: &str = ".context/local/recovered";
/// The lock that writers hold.
pub const LOCK: &str = ".context/local/lock";
/// Name of a file that says how git converts the files in its folder and below.
pub const GITATTRIBUTES: &str = ".gitattributes";
/// Knowledge documents.
pub const NODES: &str = "nodes";
/// Source nodes.
pub const SOURCES: &str = "sources";
/// Context packs.
pub const PACKS: &str = "packs";
/// Extension of a pack.
pub const PACK_EXTENSION: &str = "yml";
/// Name of the folder that holds the histories of the files beside it.
pub const VERSIONS: &str = ".versions";
/// A history inside the folder of its document.
pub const HISTORY: &str = "history.yaml";
/// Checkpoint log of vaults that `ctx` made.
pub const DELTA_LOG: &str = ".versions/checkpoints.jsonl";
/// Checkpoint log of vaults that the reference implementation made.
pub const FULL_LOG: &str = ".versions/context_history.yaml";
/// Files beside the log in which the reference implementation keeps records of its own.
pub(crate) const FOREIGN_FILES: [&str; 2] =
    [".versions/chain_events.yaml", ".versions/context_latest.yaml"];

/// Names in the vault's root that are never documents.
pub const NEVER_DOCUMENTS: [&str; 4] = [CONTEXT, "CLAUDE.md", "AGENTS.md", "GEMINI.md"];
/// The introduction to a folder of files; in the root a document only if the configuration says so.
pub const README: &str = "README.md";
/// A generated folder index, never a document in any folder.
pub const INDEX: &str = "INDEX.md";

/// Names of files that coding agents load as instructions, in whichever folder they are; with `*`, the
/// ends of such names (VAULT-67).
pub const INSTRUCTIONS: [&str; 17] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "AGENT.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    "CRUSH.md",
    "WARP.md",
    "SKILL.md",
    "copilot-instructions.md",
    "*.instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    ".goosehints",
];

/// Whether coding agents load a file of this path as instructions, in any folder and in any case, also
/// with an ending of Markdown in the place of its own.
pub fn is_instructions(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = fold(&with_plain_ending(name));
    let is_it = |known: &&str| {
        let known = known.to_ascii_lowercase();
        match known.strip_prefix('*') {
            Some(end) => name.ends_with(end),
            None => name == known || name.strip_suffix(ENDING) == Some(&known),
        }
    };
    INSTRUCTIONS.iter().any(is_it)
}

/// Obsidian's setting of the folder with templates.
pub const TEMPLATES: &str = ".obsidian/templates.json";

/// Whether a file of this path is never a document, in whichever layout (`spec/vault.md`,
/// VAULT-20).
pub fn is_never_document(path: &str) -> bool {
    // Of `CLAUDE.mdx` the name is reserved too.
    let path = &*with_plain_ending(path);
    path.split('/').any(|name| name.starts_with('.') || name == "node_modules")
        || path.rsplit('/').next() == Some(INDEX)
        || NEVER_DOCUMENTS.contains(&path)
}

/// Whether this is the root's `README.md`, or one with another ending of Markdown.
pub fn is_readme(path: &str) -> bool {
    with_plain_ending(path) == README
}

/// A path with `.md` in the place of another ending of Markdown.
fn with_plain_ending(path: &str) -> Cow<'_, str> {
    match markdown_ending(path).filter(|ending| *ending != ENDING) {
        Some(ending) => format!("{}{ENDING}", &path[..path.len() - ending.len()]).into(),
        None => path.into(),
    }
}

/// The ending of documents whose ids are without it.
pub const ENDING: &str = ".md";

/// The endings of Markdown, in any case.
const ENDINGS: [&str; 3] = [ENDING, ".markdown", ".mdx"];

/// The ending of Markdown that a file name has, as it is written.
fn markdown_ending(name: &str) -> Option<&str> {
    let ending = &name[name.rfind('.')?..];
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)).then_some(ending)
}

/// Whether a file name has an ending of Markdown.
pub fn is_markdown(name: &str) -> bool {
    markdown_ending(name).is_some()
}

/// Whether the id of a document keeps the ending of its file, which is `.mdx`, `.MD` or the like;
/// asked of a path or of an id.
pub fn keeps_ending(path: &str) -> bool {
    markdown_ending(path).is_some_and(|ending| ending != ENDING)
}

/// What stands between the name of a log that was replaced and its number, beside the new one.
pub const REPLACED: &str = ".replaced-";

/// Whether a file in the folder of a history is named as the text or the diff of a version is.
pub fn is_version_file(name: &str) -> bool {
    let number = name
        .strip_prefix('v')
        .and_then(|name| name.strip_suffix(".md").or_else(|| name.strip_suffix(".diff")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns true for the path of a file of the record: a log, a history with its texts, or staged
/// contents. Settings of git are not part of it.
pub fn is_of_record(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let is_within =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    !name.starts_with(".git")
        && (parts.any(|part| part == VERSIONS) || is_within(AUDIT_DIR) || is_within(STAGING_DIR))
}

/// Whether a file of this path is a log that was replaced.
pub fn is_replaced_log(path: &str) -> bool {
    let number =
        [DELTA_LOG, FULL_LOG].iter().find_map(|log| path.strip_prefix(log)?.strip_prefix(REPLACED));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Attributes of all histories, in the root's `.gitattributes`.
pub const GITATTRIBUTES_LINE: &str =
    "**/.versions/** -text -whitespace -ident -filter -working-tree-encoding\n";
/// Attributes of a folder whose bytes git must not convert, in the `.gitattributes` of that folder:
/// git reads this file last, whatever the files above say.
pub const ATTRIBUTES_TEXT: &str = "* -text -whitespace -ident -filter -working-tree-encoding\n";

/// Keeps git from converting change logs.
pub const AUDIT_ATTRIBUTES: &str = ".context/audit/.gitattributes";

/// Staged results of sources.
pub const STAGING_DIR: &str = ".context/staging";
/// Their chains: a folder for each source, a file in it for each writer.
pub const STAGING_CHAINS: &str = ".context/staging/chains";
/// Their payloads, each named by its digest.
pub const STAGING_OBJECTS: &str = ".context/staging/objects";
/// Marks that a command may have left a payload that no entry claims.
pub const STAGING_UNFINISHED: &str = ".context/local/staging-unfinished";
/// Begins the names of files in the folder of local state that each mark a promotion that a command
/// began: the document may be there without the act upon its entry.
pub const PROMOTING: &str = "promoting-";
/// Marks an act upon staged entries that a command began: its lines may be in the chains without the
/// line of the change log.
pub const STAGING_ACT: &str = ".context/local/staging-act";
/// What keeps git from converting line ends of chains and payloads.
pub const STAGING_ATTRIBUTES: &str = ".context/staging/.gitattributes";

/// Limits on what is read (`spec/yaml.md`): beyond them a file is refused, not truncated.
pub mod limit {
    /// A document.
    pub const DOCUMENT: u64 = 16 << 20;
    /// The texts that await a decision, together: a list of them reads them all.
    pub const AWAITING: usize = 64 << 20;
    /// The frontmatter of a document, a configuration, a pack.
    pub const FRONTMATTER: usize = 64 << 10;
    /// The assignments of stewards.
    pub const STEWARDS: usize = 1 << 20;
    /// A version history, and a checkpoint log's single entry.
    pub const HISTORY: u64 = 256 << 20;
    /// Texts that are rebuilt from one keyframe on, in bytes.
    pub const REBUILT: u64 = 2 << 30;
    /// Frontmatters of the texts that are rebuilt from one keyframe on, in bytes: to read YAML
    /// costs many times more than to rebuild it.
    pub const REBUILT_FRONTMATTER: u64 = 24 << 20;
    /// A checkpoint log. Delta logs grow by what changes; full logs are quadratic.
    pub const LOG: u64 = 4 << 30;
    /// The payload of a staged entry.
    pub const STAGED: u64 = 64 << 20;
    /// One line of a history or log.
    pub const LINE: usize = 16 << 20;
}
