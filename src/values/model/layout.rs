//! All file names of a vault (`spec/vault.md`, section 1).

use std::borrow::Cow;

use super::id::fold;

/// Vault identity and instructions for agents.
pub const CONTEXT: &str = "CONTEXT.md";
/// Derived graph of the published documents.
pub const CONTEXT_YAML: &str = "context.yaml";
/// Assignments of stewards.
pub const STEWARDS: &str = "stewards.yaml";
/// Folder of configuration and local state.
pub const CONTEXT_DIR: &str = ".context";
/// Configuration of the vault.
pub const CONFIG: &str = ".context/config.yaml";
/// Folder of the change logs, with one or more files for each writer.
pub const AUDIT_DIR: &str = ".context/audit";
/// Folder of the access logs that are kept in the vault.
pub const ACCESS_DIR: &str = ".context/audit/access";
/// File that keeps local state out of git.
pub const CONTEXT_GITIGNORE: &str = ".context/.gitignore";
/// Content of that file.
pub const CONTEXT_GITIGNORE_TEXT: &str = "local/\n";
/// Folder of the lock file and of hints. No command trusts its content.
pub const LOCAL_DIR: &str = ".context/local";
/// Hint of what a writer is about to change.
pub const HINT: &str = ".context/local/event";
/// Numbered folders with uncommitted files of interrupted commands.
pub const RECOVERED: &str = ".context/local/recovered";
/// File that writers lock.
pub const LOCK: &str = ".context/local/lock";
/// Name of a file with the git attributes of its folder and the folders below.
pub const GITATTRIBUTES: &str = ".gitattributes";
/// Folder of knowledge documents.
pub const NODES: &str = "nodes";
/// Folder of source nodes.
pub const SOURCES: &str = "sources";
/// Folder of packs.
pub const PACKS: &str = "packs";
/// Extension of a pack.
pub const PACK_EXTENSION: &str = "yml";
/// Name of the folder with the histories of the files next to it.
pub const VERSIONS: &str = ".versions";
/// File of a history, inside the folder of its document.
pub const HISTORY: &str = "history.yaml";
/// The folder with the histories that a merge did not continue, in the folder of a history.
pub const ASIDE: &str = "aside";
/// Checkpoint log of vaults that `ctx` created.
pub const DELTA_LOG: &str = ".versions/checkpoints.jsonl";
/// Checkpoint log of vaults that the reference implementation created.
pub const FULL_LOG: &str = ".versions/context_history.yaml";
/// Files next to the log that contain other records of the reference implementation.
pub(crate) const FOREIGN_FILES: [&str; 2] =
    [".versions/chain_events.yaml", ".versions/context_latest.yaml"];

/// Names in the vault's root that are never documents.
pub const NEVER_DOCUMENTS: [&str; 4] = [CONTEXT, "CLAUDE.md", "AGENTS.md", "GEMINI.md"];
/// File that introduces a folder. In the root it is a document only if the configuration says so.
pub const README: &str = "README.md";
/// Generated index of a folder, never a document in any folder.
pub const INDEX: &str = "INDEX.md";

/// Names of files that coding agents load as instructions, in every folder. `*` matches any
/// beginning of a name (VAULT-67).
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

/// Returns true if coding agents load a file with this path as instructions: in any folder, in any
/// case, and even with another ending of Markdown.
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

/// File in which Obsidian records the folder of templates.
pub const TEMPLATES: &str = ".obsidian/templates.json";

/// Returns true if a file with this path is never a document, in any layout
/// (`spec/vault.md`, VAULT-20).
pub fn is_never_document(path: &str) -> bool {
    // The name of `CLAUDE.mdx` is reserved too.
    let path = &*with_plain_ending(path);
    path.split('/').any(|name| name.starts_with('.') || name == "node_modules")
        || path.rsplit('/').next() == Some(INDEX)
        || NEVER_DOCUMENTS.contains(&path)
}

/// Returns true for the root's `README.md`, even with another ending of Markdown.
pub fn is_readme(path: &str) -> bool {
    with_plain_ending(path) == README
}

/// Returns a path with `.md` in place of another ending of Markdown.
fn with_plain_ending(path: &str) -> Cow<'_, str> {
    match markdown_ending(path).filter(|ending| *ending != ENDING) {
        Some(ending) => format!("{}{ENDING}", &path[..path.len() - ending.len()]).into(),
        None => path.into(),
    }
}

/// Ending of Markdown that ids of documents omit.
pub const ENDING: &str = ".md";

/// Endings of Markdown, which are matched in any case.
const ENDINGS: [&str; 3] = [ENDING, ".markdown", ".mdx"];

/// Returns the ending of Markdown that a file name has, as it is written.
fn markdown_ending(name: &str) -> Option<&str> {
    let ending = &name[name.rfind('.')?..];
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)).then_some(ending)
}

/// Returns true if a file name has an ending of Markdown.
pub fn is_markdown(name: &str) -> bool {
    markdown_ending(name).is_some()
}

/// Returns true if the id of a document keeps the ending of its file, such as `.mdx` or `.MD`. The
/// argument is a path or an id.
pub fn keeps_ending(path: &str) -> bool {
    markdown_ending(path).is_some_and(|ending| ending != ENDING)
}

/// Text between the name of a replaced log and its number. The file is next to the new log.
pub const REPLACED: &str = ".replaced-";

/// Returns true if a file in the folder of a history is named like the text or the diff of
/// a version.
pub fn is_version_file(name: &str) -> bool {
    let number = name
        .strip_prefix('v')
        .and_then(|name| name.strip_suffix(".md").or_else(|| name.strip_suffix(".diff")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns true for the path of a recorded file: a log, a history with its texts, or staged
/// contents. Settings of git are not recorded files.
pub fn is_of_record(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let is_within =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    !name.starts_with(".git")
        && (parts.any(|part| part == VERSIONS) || is_within(AUDIT_DIR) || is_within(STAGING_DIR))
}

/// Returns true if a file with this path is a log that was replaced.
pub fn is_replaced_log(path: &str) -> bool {
    let number =
        [DELTA_LOG, FULL_LOG].iter().find_map(|log| path.strip_prefix(log)?.strip_prefix(REPLACED));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Attributes that keep git from changing bytes.
macro_rules! unchanged {
    ($files:literal) => {
        concat!($files, " -text -whitespace -ident -filter -working-tree-encoding")
    };
}

/// Attributes of histories and logs, for files below a folder. A live file that was moved looks to
/// git like a stored text, so git must not merge an edit into that text. Code hosts fold all of
/// them, and `ctx textconv` shows changes of histories and logs.
macro_rules! of_histories {
    ($files:literal, $folder:literal) => {
        concat!(
            unchanged!($files),
            " linguist-generated\n",
            $folder,
            "v*.md -merge\n",
            $folder,
            "history.yaml diff=ctx merge=ctx\n",
            $folder,
            "checkpoints.jsonl diff=ctx merge=ctx\n",
        )
    };
}

/// Attributes of all histories that keep git from changing them.
pub const GITATTRIBUTES_LINE: &str = concat!(unchanged!("**/.versions/**"), "\n");
/// The `.gitattributes` of the root. `ctx merge-driver` also merges live files and derived files.
pub const GITATTRIBUTES_TEXT: &str = concat!(
    "*.md merge=ctx\ncontext.yaml merge=ctx\n",
    of_histories!("**/.versions/**", "**/.versions/**/")
);
/// The `.gitattributes` of a folder of histories.
pub const HISTORY_ATTRIBUTES: &str = of_histories!("*", "");
/// Attributes of a folder of other logs, in the `.gitattributes` of that folder. Git reads this file
/// last, so it has precedence over those of the folders above.
pub const ATTRIBUTES_TEXT: &str =
    concat!(unchanged!("*"), " linguist-generated\n*.jsonl diff=ctx\n");

/// File that keeps git from converting change logs.
pub const AUDIT_ATTRIBUTES: &str = ".context/audit/.gitattributes";

/// Folder of staged results of sources.
pub const STAGING_DIR: &str = ".context/staging";
/// Folder of staging chains: a folder for each source, with a file for each writer.
pub const STAGING_CHAINS: &str = ".context/staging/chains";
/// Folder of payloads, each named by its digest.
pub const STAGING_OBJECTS: &str = ".context/staging/objects";
/// Mark that a command may have left a payload without an entry.
pub const STAGING_UNFINISHED: &str = ".context/local/staging-unfinished";
/// Prefix of the files in the folder of local state that each mark the beginning of a promotion:
/// the document may exist without the act on its entry.
pub const PROMOTING: &str = "promoting-";
/// Mark that a command began an act on staged entries: its lines may be in the chains without the
/// line of the change log.
pub const STAGING_ACT: &str = ".context/local/staging-act";
/// File that keeps git from converting the line ends of chains and payloads.
pub const STAGING_ATTRIBUTES: &str = ".context/staging/.gitattributes";

/// Limits on input (`spec/yaml.md`): a file beyond them is refused, not truncated.
pub mod limit {
    /// Maximum number of bytes of a document.
    pub const DOCUMENT: u64 = 16 << 20;
    /// Maximum number of bytes of all texts that await a decision, because a list of them reads
    /// them all.
    pub const AWAITING: usize = 64 << 20;
    /// Maximum number of bytes of the frontmatter of a document, a configuration, or a pack.
    pub const FRONTMATTER: usize = 64 << 10;
    /// Maximum number of bytes of `stewards.yaml`.
    pub const STEWARDS: usize = 1 << 20;
    /// Maximum number of bytes of a history, and of one entry of a checkpoint log.
    pub const HISTORY: u64 = 256 << 20;
    /// Maximum number of bytes of all texts that are rebuilt from one keyframe.
    pub const REBUILT: u64 = 2 << 30;
    /// Maximum number of bytes of all frontmatters of the texts that are rebuilt from one keyframe:
    /// reading YAML costs many times more than rebuilding it.
    pub const REBUILT_FRONTMATTER: u64 = 24 << 20;
    /// Maximum number of bytes of a checkpoint log. Delta logs grow with the changes; full logs
    /// grow quadratically.
    pub const LOG: u64 = 4 << 30;
    /// Maximum number of bytes of the payload of a staged entry.
    pub const STAGED: u64 = 64 << 20;
    /// Maximum number of bytes of one line of a history or log.
    pub const LINE: usize = 16 << 20;
}
