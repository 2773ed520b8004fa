//! Which first segments of a URI are vaults: `namespace`, `federation`, `registry` and `allow` of
//! the configuration (paper, sections 6.4 and 6.5; `spec/vault.md`, section 12).
//!
//! A name is kept in lower case. It tells which vault is meant and nothing else: no connection is
//! ever opened because of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::values::yaml::{self, Node};

use super::config::{text_of, word};
use crate::values::model::layout;

/// The longest name of a vault in bytes.
const MAX_NAME: usize = 64;

/// Names that mean something else at the start of a path.
pub(crate) const TAKEN: [&str; 5] =
    ["tag", "search", layout::NODES, layout::SOURCES, layout::PACKS];

/// Whether URIs may name other vaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Federation {
    /// Every first segment is part of a path.
    #[default]
    Anonymous,
    /// Every vault of the registry may be named.
    Federated,
    /// Those that `allow` lists may be named.
    Scoped,
}

/// The vaults that a vault knows by name. Without federation there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorities {
    federation: Federation,
    namespace: Option<String>,
    registry: BTreeMap<String, String>,
    allowed: BTreeSet<String>,
}

/// Whose a name is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The vault that reads the URI.
    This,
    /// Another vault.
    Other {
        /// Where the registry says it is.
        location: String,
        /// Whether it may be used; in a scoped vault only what `allow` lists.
        allowed: bool,
    },
}

impl Federation {
    /// Every mode with its word in the configuration.
    const ALL: [(&'static str, Self); 3] =
        [("none", Self::Anonymous), ("federated", Self::Federated), ("scoped", Self::Scoped)];

    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("none", |(word, _)| word)
    }
}

impl Authorities {
    /// Whether URIs may name other vaults.
    pub fn federation(&self) -> Federation {
        self.federation
    }

    /// The vault's own name, whether or not URIs may carry it.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whose name this is, in any case; `None` for what is only the start of a path.
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

    /// The vault's own name, if URIs may carry it.
    pub fn own(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| self.federation != Federation::Anonymous)
    }

    /// Reads one of the four keys of the configuration.
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
                        return Err(key.error("the name is there twice; case does not matter"));
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

    /// What is odd about the four keys together.
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
            found.push(node.error("`allow` means something only with `federation: scoped`"));
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

/// The name of a vault: letters, digits, `-`, `_` and `.`, in lower case.
fn name(node: &Node) -> Result<String, yaml::Error> {
    let name = text_of(node)?.to_ascii_lowercase();
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let inner = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !starts || !inner || name.len() > MAX_NAME {
        let problem = "expected the name of a vault: letters, digits, `-`, `_` and `.`, at most 64";
        return Err(node.error(problem));
    }
    if TAKEN.contains(&name.as_str()) {
        return Err(node.error(format!("`{name}/` begins paths, so no vault has this name")));
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
    fn without_federation_no_name_is_a_vault() {
        let all = "namespace: Me\nregistry: {acme: /a}\n";
        let anonymous = read(all).unwrap().authorities;
        assert_eq!((anonymous.owner("me"), anonymous.own()), (None, None));
        let federated = read(&format!("{all}federation: federated\n")).unwrap().authorities;
        assert_eq!((federated.owner("ME"), federated.own()), (Some(Owner::This), Some("me")));
        assert_eq!(federated.owner("other"), None);
    }

    #[test]
    fn a_scoped_vault_allows_what_it_lists() {
        let config = "federation: scoped\nregistry: {a: /a, B: /b}\nallow: [b]\n";
        let scoped = read(config).unwrap().authorities;
        let allowed = |name| match scoped.owner(name) {
            Some(Owner::Other { allowed, .. }) => Some(allowed),
            _ => None,
        };
        assert_eq!((allowed("a"), allowed("b"), allowed("c")), (Some(false), Some(true), None));
    }

    #[test]
    fn names_that_cannot_work_are_refused_and_odd_ones_reported() {
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
        line 1, column 12: `nodes/` begins paths, so no vault has this name
        line 1, column 11: expected lines of `name: location`
        line 1, column 15: expected the location of a vault
        line 1, column 19: the name is there twice; case does not matter
        line 1, column 8: expected a list of names
        line 1, column 13: expected `none` or `federated` or `scoped`
        ");
        let odd = read("namespace: a\nregistry: {a: /x}\nallow: [b]\n").unwrap().warnings;
        let odd: Vec<String> = odd.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(odd.join("\n"), @"
        line 3, column 9: `allow` names a vault that `registry` does not have
        line 3, column 8: `allow` means something only with `federation: scoped`
        line 2, column 11: `registry` has the vault's own namespace, which means this vault
        ");
    }
}
