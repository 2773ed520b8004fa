//! The graph as the index knows it, one posting list a question.

use std::cell::Cell;
use std::collections::BTreeSet;

use roaring::RoaringBitmap;

use crate::document::id::Id;
use crate::document::links::{LinkKind, LinkTarget};
use crate::graph::{Catalog, Mention, name_key};
use crate::index::{At, Damaged};

/// The catalog of a checkpoint. It answers with nothing once the index turned out to be damaged,
/// which [`Linked::sound`] says in the end.
pub(super) struct Linked<'i> {
    at: At<'i>,
    /// Documents that may not be served now, whatever they said when they were indexed.
    without: &'i BTreeSet<Id>,
    damaged: Cell<bool>,
}

impl<'i> Linked<'i> {
    pub(super) fn new(at: At<'i>, without: &'i BTreeSet<Id>) -> Self {
        Self { at, without, damaged: Cell::new(false) }
    }

    /// Whether every answer was one.
    pub(super) fn sound(&self) -> Result<(), Damaged> {
        if self.damaged.get() { Err(Damaged) } else { Ok(()) }
    }

    fn answer<T: Default>(&self, answer: Result<T, Damaged>) -> T {
        answer.unwrap_or_else(|Damaged| {
            self.damaged.set(true);
            T::default()
        })
    }

    /// The documents of those rows that hold, in byte order.
    fn ids_of(&self, rows: Result<RoaringBitmap, Damaged>) -> Vec<Id> {
        let rows = rows.and_then(|rows| self.at.holding(rows));
        let ids = |rows: RoaringBitmap| rows.iter().map(|row| Ok(self.at.held(row)?.id)).collect();
        let mut ids: Vec<Id> = self.answer(rows.and_then(ids));
        ids.retain(|id| !self.without.contains(id));
        ids.sort_unstable();
        ids
    }

    /// The documents of some rows that hold, each with those of its mentions that are wanted.
    fn mentioning(
        &self,
        rows: Result<RoaringBitmap, Damaged>,
        wanted: &dyn Fn(&Mention) -> bool,
    ) -> Result<Vec<(Id, Mention)>, Damaged> {
        let mut found = Vec::new();
        for row in &self.at.holding(rows?)? {
            let held = self.at.held(row)?;
            if self.without.contains(&held.id) {
                continue;
            }
            let mentions = held.metadata.map(|m| m.mentions).unwrap_or_default();
            let mentions = mentions.into_iter().filter(|m| wanted(m));
            found.extend(mentions.map(|mention| (held.id.clone(), mention)));
        }
        Ok(found)
    }
}

impl Catalog for Linked<'_> {
    fn holds(&self, id: &Id) -> bool {
        let row = self.at.get(id.as_str());
        !self.without.contains(id) && self.answer(row).is_some_and(|held| held.metadata.is_some())
    }

    fn ids(&self) -> Vec<Id> {
        self.ids_of(self.at.known())
    }

    fn mentions(&self, id: &Id) -> BTreeSet<Mention> {
        let metadata = self.answer(self.at.get(id.as_str())).and_then(|held| held.metadata);
        metadata.map(|m| m.mentions).unwrap_or_default()
    }

    fn mentioned_by(&self, id: &Id) -> Vec<(Id, Mention)> {
        let mut found = Vec::new();
        for (_, kind) in LinkKind::ALL {
            let exactly = LinkTarget::Document(id.as_str().to_owned());
            let exactly = Mention { kind, target: exactly };
            let rows = self.at.linking(kind, id.as_str());
            found.extend(self.answer(self.mentioning(rows, &|m| *m == exactly)));
        }
        let key = name_key(id.as_str());
        let by_name = |m: &Mention| match &m.target {
            LinkTarget::Name(name) => name_key(name) == key,
            LinkTarget::Document(_) => false,
        };
        found.extend(self.answer(self.mentioning(self.at.naming(&key), &by_name)));
        found
    }

    fn named(&self, key: &str) -> Vec<Id> {
        self.ids_of(self.at.named(key))
    }
}
