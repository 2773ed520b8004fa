//! Names of vaults at the start of a URI: `namespace`, `federation`, `registry` and `allow` of the
//! configuration (paper, sections 6.4 and 6.5; `spec/vault.md`, section 12).
//!
//! A name is kept in lower case. It only identifies a vault: no connection is ever opened because
//! of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::values::yaml::{self, Node};

use super::config::{text_of, word};
use crate::values::model::layout;

/// Maximum length of the name of a vault in bytes.
const MAX_NAME: usize = 64;

/// Names that have another meaning at the start of a path.
pub(crate) const TAKEN: [&str; 5] =
    ["tag", "search", layout::NODES, layout::SOURCES, layout::PACKS];

/// The mode of naming other vaults in URIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Federation {
    /// Every first segment is part of a path.
    #[default]
    Anonymous,
    /// URIs may name every vault of the registry.
    Federated,
    /// URIs may name the vaults that `allow` lists.
    Scoped,
}

/// The names of vaults in a configuration. An anonymous vault has none in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorities {
    federation: Federation,
    namespace: Option<String>,
    registry: BTreeMap<String, String>,
    allowed: BTreeSet<String>,
}

/// The vault that a name belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The vault that reads the URI.
    This,
    /// Another vault.
    Other {
        /// Location in the registry.
        location: String,
        /// True if URIs may use it; in a scoped vault only the names in `allow`.
        allowed: bool,
    },
}

impl Federation {
    /// All modes with their words in the configuration.
    const ALL: [(&'static str, Self); 3] =
        [("none", Self::Anonymous), ("federated", Self::Federated), ("scoped", Self::Scoped)];

    /// Returns the word in the configuration.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("none", |(word, _)| word)
    }
}

impl Authorities {
    /// Returns the mode of naming other vaults.
    pub fn federation(&self) -> Federation {
        self.federation
    }

    /// Returns the vault's own name, even if URIs cannot use it.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the vault with a name, in any case; `None` if the text is only the start of a path.
    pub fn owner(&self, name: &str) -> Option<Owner> {
        if self.federation == Federation::Anonymous {
            return None;
        }
        let name = name.to_ascii_lowercase();
        if self.namespace.as_ref() == Some(&name) {
            return Some(Owner::This);
        }
        let location = self.registry.get(&name)?.clone();
        let allowed = self.federation == Federation::Federated || self.allowed.contains(&name);
        Some(Owner::Other { location, allowed })
    }

    /// Returns the vault's own name, if URIs can use it.
    pub fn own(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| self.federation != Federation::Anonymous)
    }

    /// Parses one of the four keys of the configuration.
    pub(super) fn read(&mut self, key: &str, value: &Node) -> Result<(), yaml::Error> {
        match key {
            "namespace" => self.namespace = Some(name(value)?),
            "federation" => {
                self.federation = word(value, &Federation::ALL)?;
            }
            "registry" => {
                let entries = value.entries().filter(|_| !value.is_null());
                let expected = || value.error("expected lines of `name: location`");
                for (key, location) in entries.ok_or_else(expected)? {
                    let place = text_of(location)?;
                    if place.is_empty() || place.chars().any(char::is_control) {
                        return Err(location.error("expected the location of a vault"));
                    }
                    if self.registry.insert(name(key)?, place).is_some() {
                        return Err(key.error("duplicate name; case does not matter"));
                    }
                }
            }
            _ => {
                let items = value.items().ok_or_else(|| value.error("expected a list of names"))?;
                self.allowed = items.iter().map(name).collect::<Result<_, _>>()?;
            }
        }
        Ok(())
    }

    /// Returns warnings about contradictions between the four keys.
    pub(super) fn warnings(&self, root: &Node) -> Vec<yaml::Error> {
        let mut found = Vec::new();
        let allow = root.get("allow");
        for item in allow.and_then(Node::items).unwrap_or_default() {
            let known = name(item).is_ok_and(|name| self.registry.contains_key(&name));
            if !known {
                found.push(item.error("`allow` names a vault that `registry` does not have"));
            }
        }
        if let Some(node) = allow
            && self.federation != Federation::Scoped
        {
            found.push(node.error("`allow` has no effect without `federation: scoped`"));
        }
        if let (Some(name), Some(node)) = (&self.namespace, root.get("registry"))
            && self.registry.contains_key(name)
        {
            found.push(
                node.error("`registry` has the vault's own namespace, which means this vault"),
            );
        }
        found
    }
}

/// Parses the name of a vault: letters, digits, `-`, `_` and `.`, in lower case.
fn name(node: &Node) -> Result<String, yaml::Error> {
    let name = text_of(node)?.to_ascii_lowercase();
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let inner = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !starts || !inner || name.len() > MAX_NAME {
        let problem = "expected the name of a vault: letters, digits, `-`, `_` and `.`, at most 64";
        return Err(node.error(problem));
    }
    if TAKEN.contains(&name.as_str()) {
        return Err(node.error(format!("`{name}/` begins paths, so a vault cannot have this name")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::Config;

    fn read(text: &str) -> Result<Config, yaml::Error> {
        Config::parse(text)
    }

    #[test]
    fn anonymous_vaults_read_no_name_as_a_vault() {
        let all = "namespace: Me\nregistry: {acme: /a}\n";
        let anonymous = read(all).unwrap().authorities;
        assert_eq!((anonymous.owner("me"), anonymous.own()), (None, None));
        let federated = read(&format!("{all}federation: federated\n")).unwrap().authorities;
        assert_eq!((federated.owner("ME"), federated.own()), (Some(Owner::This), Some("me")));
        assert_eq!(federated.owner("other"), None);
    }

    #[test]
    fn scoped_vaults_allow_only_listed_names() {
        let config = "federation: scoped\nregistry: {a: /a, B: /b}\nallow: [b]\n";
        let scoped = read(config).unwrap().authorities;
        let allowed = |name| match scoped.owner(name) {
            Some(Owner::Other { allowed, .. }) => Some(allowed),
            _ => None,
        };
        assert_eq!((allowed("a"), allowed("b"), allowed("c")), (Some(false), Some(true), None));
    }

    #[test]
    fn federation_refuses_invalid_names_and_reports_odd_ones() {
        let errors: Vec<String> = [
            "namespace: a/b\n",
            "namespace: nodes\n",
            "registry: [a]\n",
            "registry: {a: ''}\n",
            "registry: {a: /x, A: /y}\n",
            "allow: all\n",
            "federation: open\n",
        ]
        .iter()
        .map(|text| read(text).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"), @"
        line 1, column 12: expected the name of a vault: letters, digits, `-`, `_` and `.`, at most 64
        line 1, column 12: `nodes/` begins paths, so a vault cannot have this name
        line 1, column 11: expected lines of `name: location`
        line 1, column 15: expected the location of a vault
        line 1, column 19: duplicate name; case does not matter
        line 1, column 8: expected a list of names
        line 1, column 13: expected `none` or `federated` or `scoped`
        ");
        let odd = read("namespace: a\nregistry: {a: /x}\nallow: [b]\n").unwrap().warnings;
        let odd: Vec<String> = odd.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(odd.join("\n"), @"
        line 3, column 9: `allow` names a vault that `registry` does not have
        line 3, column 8: `allow` has no effect without `federation: scoped`
        line 2, column 11: `registry` has the vault's own namespace, which means this vault
        ");
    }
}
