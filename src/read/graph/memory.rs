//! A catalog in memory, made from texts that were read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Catalog, Mention, name_key, resolve};
use crate::files::vault::site::SiteLinks;
use crate::text::document::links::{LinkKind, LinkTarget, Names, site_targets};
use crate::values::model::id::{DocumentId, fold};

/// Documents of one checkpoint with their mentions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    documents: BTreeMap<DocumentId, BTreeSet<Mention>>,
    sites: SiteLinks,
    /// Documents by the key of their last segment.
    named: HashMap<String, Arc<Names>>,
    /// Mentions of an id, by its folded text, with the document that contains each.
    by_id: HashMap<String, Vec<(DocumentId, Mention)>>,
    /// Mentions of a name, by its key.
    by_name: HashMap<String, Vec<(DocumentId, Mention)>>,
    aliases: HashMap<DocumentId, Vec<String>>,
    /// Documents by the folded text of an alias.
    aliased: HashMap<String, Arc<Names>>,
}

impl Memory {
    /// Makes a catalog of documents with their mentions, and of the targets of links from the root.
    pub(crate) fn new(
        documents: impl IntoIterator<Item = (DocumentId, BTreeSet<Mention>)>,
        sites: SiteLinks,
    ) -> Self {
        let documents = documents.into_iter().collect();
        let mut memory = Self { documents, sites, ..Self::default() };
        let mut named: HashMap<String, Vec<DocumentId>> = HashMap::new();
        for (id, mentions) in &memory.documents {
            named.entry(name_key(id.as_str())).or_default().push(id.clone());
            for mention in mentions {
                match &mention.target {
                    LinkTarget::Document(target) => {
                        let list = memory.by_id.entry(fold(target)).or_default();
                        list.push((id.clone(), mention.clone()));
                    }
                    LinkTarget::Site(path) => {
                        let mut targets = site_targets(path, &memory.sites).into_iter();
                        if let Some(target) = targets.find(|id| memory.documents.contains_key(id)) {
                            let list = memory.by_id.entry(target.folded()).or_default();
                            list.push((id.clone(), mention.clone()));
                        }
                    }
                    LinkTarget::Name(name) => {
                        let list = memory.by_name.entry(name_key(name)).or_default();
                        list.push((id.clone(), mention.clone()));
                    }
                }
            }
        }
        let names = named.into_iter().map(|(key, ids)| (key, Arc::new(Names::new(ids))));
        memory.named = names.collect();
        memory
    }

    /// Adds the aliases of the documents.
    pub(crate) fn with_aliases(
        mut self,
        aliases: impl IntoIterator<Item = (DocumentId, Vec<String>)>,
    ) -> Self {
        self.aliases = aliases.into_iter().collect();
        let mut aliased: HashMap<String, Vec<DocumentId>> = HashMap::new();
        for (id, names) in &self.aliases {
            for name in names {
                aliased.entry(fold(name)).or_default().push(id.clone());
            }
        }
        let names = aliased.into_iter().map(|(key, ids)| (key, Arc::new(Names::new(ids))));
        self.aliased = names.collect();
        self
    }
}

impl Catalog for Memory {
    fn holds(&self, id: &DocumentId) -> bool {
        self.documents.contains_key(id)
    }

    fn sites(&self) -> &SiteLinks {
        &self.sites
    }

    fn ids(&self) -> Vec<DocumentId> {
        self.documents.keys().cloned().collect()
    }

    fn mentions(&self, id: &DocumentId) -> BTreeSet<Mention> {
        self.documents.get(id).cloned().unwrap_or_default()
    }

    fn mentioned_by(&self, id: &DocumentId) -> Vec<(DocumentId, LinkKind)> {
        let all = self.by_id.get(&id.folded()).into_iter().flatten();
        let own = all.filter(|(from, mention)| resolve(self, from, mention).as_ref() == Some(id));
        own.map(|(from, mention)| (from.clone(), mention.kind)).collect()
    }

    fn naming(&self, key: &str) -> Vec<(DocumentId, Mention)> {
        self.by_name.get(key).cloned().unwrap_or_default()
    }

    fn named(&self, key: &str) -> Arc<Names> {
        self.named.get(key).map(Arc::clone).unwrap_or_default()
    }

    fn aliases(&self, id: &DocumentId) -> Vec<String> {
        self.aliases.get(id).cloned().unwrap_or_default()
    }

    fn aliased(&self, folded: &str) -> Arc<Names> {
        self.aliased.get(folded).map(Arc::clone).unwrap_or_default()
    }
}
