//! Warnings about files of a vault that a clone of the repository lacks or converts.

use std::path::{Path, PathBuf};

use super::Workspace;
use crate::files::vault::Vault;
use crate::files::vault::cloned::Hidden;
use crate::files::vault::ignored;
use crate::files::vault::outside;
use crate::values::model::id::DocumentId;
use crate::values::model::layout;

/// The configuration file of git for the whole machine.
const SYSTEM: &str = "/etc/gitconfig";

impl Workspace<'_> {
    /// Returns warnings if git leaves out of a clone, or may convert there, the record of these
    /// artifacts, the log or governance files (VAULT-64).
    pub(crate) fn clone_warnings<'i>(
        &self,
        vault: &Vault,
        ids: impl IntoIterator<Item = &'i DocumentId>,
    ) -> Vec<String> {
        let faults = vault.clone_faults(ids, self.excludes().as_ref());
        let mut warnings: Vec<String> = faults.hidden.iter().map(hidden).collect();
        warnings.extend(faults.converted.map(|(folder, more)| {
            let more = and_more(more);
            let line = layout::GITATTRIBUTES_LINE.trim_end();
            format!(
                "git may convert the files in {folder}{more} of a clone, which damages it: add the line `{line}` at the end of .gitattributes"
            )
        }));
        warnings
    }

    /// Returns the ignore file that the user configured for all repositories, with its path.
    ///
    /// The configuration of the repository is not read, because it could name any file.
    fn excludes(&self) -> Option<(String, Vec<u8>)> {
        let var = |name: &str| self.environment.var(name);
        let home = var("HOME").map(PathBuf::from);
        let configuration = outside::config_folder(var);
        let folder = configuration.as_deref().and_then(Path::parent).map(|dir| dir.join("git"));
        let global = match var("GIT_CONFIG_GLOBAL") {
            Some(named) => vec![PathBuf::from(named)],
            None => [
                folder.as_ref().map(|dir| dir.join("config")),
                home.as_ref().map(|home| home.join(".gitconfig")),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        let system = (var("GIT_CONFIG_NOSYSTEM").is_none()).then(|| PathBuf::from(SYSTEM));
        let texts = system.into_iter().chain(global).filter_map(|path| outside::read_small(&path));
        let named =
            texts.filter_map(|text| excludes_file(&String::from_utf8_lossy(&text))).next_back();
        let path = match named {
            Some(named) => match named.strip_prefix("~/") {
                Some(within) => home?.join(within),
                None => PathBuf::from(named),
            },
            None => folder?.join("ignore"),
        };
        Some((path.display().to_string(), outside::read_small(&path)?))
    }
}

/// Returns the value of `core.excludesFile` in a configuration of git.
fn excludes_file(text: &str) -> Option<String> {
    let (mut is_core, mut found) = (false, None);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_core = section.trim_end_matches(']').trim().eq_ignore_ascii_case("core");
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_core)
            && key.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found.filter(|path| !path.is_empty())
}

fn hidden(Hidden { path, folder, more, rule }: &Hidden) -> String {
    let file = match rule.file.ends_with(ignored::NAME) {
        true => rule.file.as_str(),
        false => ignored::NAME,
    };
    let remedy = match folder {
        Some(folder) => {
            format!("add the lines `!{folder}/` and `!**/{folder}/**` at the end of {file}")
        }
        None => "change the rule".to_owned(),
    };
    let (lack, more) = (if *more > 0 { "them" } else { "it" }, and_more(*more));
    format!("git ignores {path}{more}, by {rule}, so that clones lack {lack}: {remedy}")
}

fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excludes_file_is_the_last_value_in_the_core_section() {
        for (text, expected) in [
            ("[core]\n\texcludesFile = ~/.ignore\n", Some("~/.ignore")),
            ("[user]\n\texcludesfile = /a\n", None),
            ("[core]\nexcludesfile=/a\n[CORE]\nExcludesFile = \"/b c\"\n", Some("/b c")),
            ("[core \"x\"]\nexcludesfile=/a\n", None),
            ("[core]\nexcludesfile=\n", None),
        ] {
            assert_eq!(excludes_file(text).as_deref(), expected, "{text:?}");
        }
    }
}
