//! A catalog in memory, made from texts that were read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Catalog, Mention, name_key};
use crate::document::id::Id;
use crate::document::links::LinkTarget;

/// The documents of one checkpoint with what they mention.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    documents: BTreeMap<Id, BTreeSet<Mention>>,
    /// Documents by the key of their last segment.
    named: HashMap<String, Vec<Id>>,
    /// Who mentions an id exactly, by its text.
    by_id: HashMap<String, Vec<(Id, Mention)>>,
    /// Who mentions a name, by its key.
    by_name: HashMap<String, Vec<(Id, Mention)>>,
}

impl Memory {
    /// Takes in documents, each with what it mentions.
    pub fn new(documents: impl IntoIterator<Item = (Id, BTreeSet<Mention>)>) -> Self {
        let mut memory = Self { documents: documents.into_iter().collect(), ..Self::default() };
        for (id, mentions) in &memory.documents {
            memory.named.entry(name_key(id.as_str())).or_default().push(id.clone());
            for mention in mentions {
                let list = match &mention.target {
                    LinkTarget::Document(target) => memory.by_id.entry(target.clone()),
                    LinkTarget::Name(name) => memory.by_name.entry(name_key(name)),
                };
                list.or_default().push((id.clone(), mention.clone()));
            }
        }
        memory
    }
}

impl Catalog for Memory {
    fn holds(&self, id: &Id) -> bool {
        self.documents.contains_key(id)
    }

    fn ids(&self) -> Vec<Id> {
        self.documents.keys().cloned().collect()
    }

    fn mentions(&self, id: &Id) -> BTreeSet<Mention> {
        self.documents.get(id).cloned().unwrap_or_default()
    }

    fn mentioned_by(&self, id: &Id) -> Vec<(Id, Mention)> {
        let exactly = self.by_id.get(id.as_str()).into_iter().flatten();
        exactly
            .chain(self.by_name.get(&name_key(id.as_str())).into_iter().flatten())
            .cloned()
            .collect()
    }

    fn named(&self, key: &str) -> Vec<Id> {
        self.named.get(key).cloned().unwrap_or_default()
    }
}
