//! Files of a vault that a clone of the repository lacks or has with other bytes (`spec/vault.md`,
//! VAULT-64). No program is run: the rules of git are read here.

use std::collections::{HashMap, HashSet};

use super::Vault;
use super::attributes::Attributes;
use super::files::Files;
use super::ignored::{Ignoring, LIMIT, Rule, Rules};
use super::outside;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// Maximum number of rules that are reported.
const MOST: usize = 20;
/// Sample file names of a history, which do not depend on the name of its document.
const STORED: [&str; 3] = [layout::HISTORY, "v1.md", "v2.diff"];
/// File in the data of the repository that ignores files in this clone only.
const EXCLUDE: &str = "info/exclude";
/// File in the data of the repository with attributes for this clone only.
const ATTRIBUTES: &str = "info/attributes";

/// Files that a clone lacks or has with other bytes.
#[derive(Debug, Default)]
pub struct CloneFaults {
    /// Files that git leaves out, one entry for each rule.
    pub hidden: Vec<Hidden>,
    /// First `.versions` folder whose line ends git may convert, and the number of others.
    pub converted: Option<(String, usize)>,
}

/// Files that a rule leaves out of git.
#[derive(Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Path of the first file or folder.
    pub path: String,
    /// Name of the folder `.versions` or `.context`, if the path is that folder or in it.
    pub folder: Option<&'static str>,
    /// Number of other files and folders.
    pub more: usize,
    /// Rule that leaves them out.
    pub rule: Rule,
}

/// A file or folder that a rule leaves out, and the rule.
type Left = (String, Rule);

impl Vault {
    /// Returns the files of the log, the governance files and the histories of `ids` that a clone
    /// lacks or has with other bytes. `excludes` is the ignore file that the user configured for
    /// all repositories: its name and its bytes.
    pub fn clone_faults<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i DocumentId>,
        excludes: Option<&(String, Vec<u8>)>,
    ) -> CloneFaults {
        let Some(mut look) = Look::new(self, excludes) else { return CloneFaults::default() };
        for path in self.governance_files() {
            look.file(&path);
        }
        let log = [layout::FULL_LOG, layout::DELTA_LOG];
        look.file(log.into_iter().find(|log| self.files().exists(log)).unwrap_or(log[1]));
        look.attributes(layout::VERSIONS, "checkpoints.jsonl");
        for folder in [layout::AUDIT_DIR, layout::STAGING_DIR] {
            if self.files().exists(folder) {
                // The name of a writer in the form of AUDIT-1.
                look.file(&format!("{folder}/{:032}.jsonl", 0));
            }
        }
        ids.into_iter().for_each(|id| look.history(&id.history_dir()));
        look.faults
    }
}

/// A search for the faults of a clone.
struct Look<'v> {
    vault: &'v Vault,
    ignoring: Ignoring<'v>,
    /// Rules in the folders that were visited, or the rule that leaves the folder out.
    rules: HashMap<String, Result<Rules, Left>>,
    /// The `.versions` folders in which a history was checked.
    seen: HashSet<String>,
    attributes: HashMap<String, Attributes>,
    /// Attributes above the vault.
    above: Attributes,
    /// Attributes that have precedence over all others.
    over: Attributes,
    faults: CloneFaults,
}

impl<'v> Look<'v> {
    /// Begins a search; `None` if the vault is not part of a git work tree.
    fn new(vault: &'v Vault, excludes: Option<&(String, Vec<u8>)>) -> Option<Self> {
        let (top, data) = outside::work_tree(vault.root())?;
        let data = outside::common(&data);
        let mut first = Rules::default();
        if let Some((name, text)) = excludes {
            first = first.with(text, name.clone(), 0).unwrap_or(first);
        }
        if let Some(text) = outside::read_small(&data.join(EXCLUDE)) {
            first = first.with(&text, format!(".git/{EXCLUDE}"), 0).unwrap_or(first);
        }
        let ignoring = Ignoring::beneath(vault, first)?;
        let none = Attributes::default();
        let over = outside::read_small(&data.join(ATTRIBUTES));
        let over = over.map_or_else(Attributes::default, |text| none.with(&text, 0));
        let mut above = none;
        let files = Files::open(top).ok()?;
        let prefix = ignoring.prefix();
        for (at, _) in prefix.match_indices('/') {
            // Each folder above the vault, from the top.
            let folder = prefix[..at].rfind('/').map_or("", |end| &prefix[..=end]);
            let path = format!("{folder}{}", layout::GITATTRIBUTES);
            if let Ok(Some(text)) = files.read_optional(&path, LIMIT) {
                above = above.with(&text, folder.len());
            }
        }
        Some(Self {
            vault,
            ignoring,
            rules: HashMap::new(),
            seen: HashSet::new(),
            attributes: HashMap::new(),
            above,
            over,
            faults: CloneFaults::default(),
        })
    }

    fn file(&mut self, path: &str) {
        let found = match self.rules_of(folder_of(path)) {
            Ok(rules) => self.ignoring.rule(&rules, path, false).map(|rule| (path.into(), rule)),
            Err(left) => Some(left),
        };
        found.into_iter().for_each(|left| self.report(left));
    }

    /// Checks the folder of a history. For the first history of a `.versions` folder, checks its
    /// files too.
    fn history(&mut self, dir: &str) {
        let folder = folder_of(dir);
        let is_first = !self.seen.contains(folder);
        if is_first {
            self.seen.insert(folder.to_owned());
        }
        match self.rules_of(folder) {
            Err(left) if is_first => self.report(left),
            Err(_) => {}
            Ok(rules) => match self.ignoring.rule(&rules, dir, true) {
                Some(rule) => self.report((dir.to_owned(), rule)),
                None if is_first => {
                    for path in STORED.map(|name| format!("{dir}/{name}")) {
                        let rule = self.ignoring.rule(&rules, &path, false);
                        rule.into_iter().for_each(|rule| self.report((path.clone(), rule)));
                    }
                }
                None => {}
            },
        }
        if is_first && folder != layout::VERSIONS {
            let name = dir.rsplit('/').next().unwrap_or(dir);
            self.attributes(folder, &format!("{name}/v1.md"));
        }
    }

    /// Returns the rules in a folder, or the rule that leaves the folder out.
    fn rules_of(&mut self, folder: &str) -> Result<Rules, Left> {
        if let Some(known) = self.rules.get(folder) {
            return known.clone();
        }
        let found = match folder {
            "" => Ok(self.ignoring.enter(&self.ignoring.above(), folder)),
            _ => self.rules_of(folder_of(folder)).and_then(|above| {
                match self.ignoring.rule(&above, folder, true) {
                    Some(rule) => Err((folder.to_owned(), rule)),
                    None => Ok(self.ignoring.enter(&above, folder)),
                }
            }),
        };
        self.rules.insert(folder.to_owned(), found.clone());
        found
    }

    /// Checks if git may convert line ends in a `.versions` folder, with one of its files as
    /// a sample.
    fn attributes(&mut self, folder: &str, sample: &str) {
        let own = format!("{folder}/{}", layout::GITATTRIBUTES);
        let own = self.vault.files().read_optional(&own, LIMIT).ok().flatten();
        let is_ours = own.is_some_and(|own| own == layout::HISTORY_ATTRIBUTES.as_bytes());
        if is_ours && self.over.is_empty() || !self.vault.files().exists(folder) {
            return;
        }
        let attributes = self.attributes_of(folder);
        let history = sample.rsplit_once('/').map(|(name, _)| format!("{name}/{}", STORED[0]));
        let samples = [Some(sample.to_owned()), history];
        let prefix = self.ignoring.prefix();
        let mut paths = samples.iter().flatten().map(|name| format!("{prefix}{folder}/{name}"));
        let converts = |path: String| attributes.may_convert(&self.over, &path);
        if paths.any(converts) {
            match &mut self.faults.converted {
                Some((_, more)) => *more += 1,
                none => *none = Some((folder.to_owned(), 0)),
            }
        }
    }

    fn attributes_of(&mut self, folder: &str) -> Attributes {
        if let Some(known) = self.attributes.get(folder) {
            return known.clone();
        }
        let (above, within) = match folder {
            "" => (self.above.clone(), String::new()),
            _ => (self.attributes_of(folder_of(folder)), format!("{folder}/")),
        };
        let path = format!("{within}{}", layout::GITATTRIBUTES);
        let found = match self.vault.files().read_optional(&path, LIMIT) {
            Ok(Some(text)) => above.with(&text, self.ignoring.prefix().len() + within.len()),
            _ => above,
        };
        self.attributes.insert(folder.to_owned(), found.clone());
        found
    }

    fn report(&mut self, (path, rule): Left) {
        let has = |folder: &&str| path.split('/').any(|name| name == *folder);
        let folder = [layout::VERSIONS, layout::CONTEXT_DIR].into_iter().find(has);
        let hidden = &mut self.faults.hidden;
        let is_full = hidden.len() == MOST;
        match hidden.iter_mut().find(|other| other.rule == rule && other.folder == folder) {
            Some(hidden) if hidden.path == path => {}
            Some(hidden) => hidden.more += 1,
            None if !is_full => hidden.push(Hidden { path, folder, more: 0, rule }),
            None => {}
        }
    }
}

/// Returns the folder of a path; empty for the root.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
