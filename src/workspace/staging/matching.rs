//! The staged entries that a selector selects (STAGE-13, SEL-9).

use std::collections::HashMap;

use super::view::StagedView;
use crate::audit::Labels;
use crate::document::Document;
use crate::document::frontmatter::Frontmatter;
use crate::model::id::DocumentId;
use crate::model::number::Version;
use crate::resolve::plan::{Leaf, Part};
use crate::selector::{Atom, Expr, Node, StatusFilter, Term};
use crate::staging::StagedEntry;
use crate::trust;
use crate::vault::Vault;
use crate::workspace::Workspace;
use crate::workspace::ask::Asked;
use crate::workspace::version::any_text_of;
use crate::report::failure::Failure;
use crate::model::layout::STAGING_CHAINS;

/// What is known of the sources of entries, at the versions that were consumed.
type Sources = HashMap<(DocumentId, u64), Option<Frontmatter>>;

impl Workspace<'_> {
    /// The entries of an answer at the head: those of this session and principal that the selector
    /// selects, and with `status:staged` in it also those of others. None where there is nothing to
    /// look for.
    ///
    /// # Errors
    /// The chains, or what is in force, cannot be read.
    pub(crate) fn staged_of(
        &self,
        vault: &Vault,
        labels: &Labels,
        asked: &Asked<'_>,
    ) -> Result<Option<(StagedView, Vec<StagedEntry>)>, Failure> {
        let names_staged = asked.names_staged();
        if (!names_staged && labels.session_implicit) || !vault.files().exists(STAGING_CHAINS) {
            return Ok(None);
        }
        let view = self.staged(vault, labels)?;
        let log = trust::open_log(vault)?;
        let chronicle = log.sound()?;
        let mut sources = Sources::new();
        let mut found = Vec::new();
        for entry in view.visible() {
            if !entry.is_live() || !(view.is_own(entry) || names_staged) {
                continue;
            }
            let key = (entry.source.clone(), entry.entry.source_version);
            let fields = sources.entry(key).or_insert_with(|| {
                let version = Version(entry.entry.source_version);
                let text = any_text_of(vault, &chronicle, &entry.source, version).ok();
                text.and_then(|(text, _)| Some(Document::parse(&text).ok()?.frontmatter))
            });
            if of_terms(&asked.plan.expr, entry, fields.as_ref()) {
                found.push(entry.clone());
            }
        }
        Ok(Some((view, found)))
    }
}

impl Asked<'_> {
    /// Whether the selector names staged entries.
    pub(crate) fn names_staged(&self) -> bool {
        let terms = self.selector.expr.leaves();
        terms.iter().any(|(term, _)| **term == Term::Set(Atom::Status(StatusFilter::Staged)))
    }
}

/// Whether an expression selects an entry.
fn of<A>(expr: &Expr<A>, leaf: &dyn Fn(&A) -> bool) -> bool {
    match &expr.node {
        Node::Atom(atom) => leaf(atom),
        Node::Intersection(operands) => operands.iter().all(|operand| of(operand, leaf)),
        Node::Union(operands) => operands.iter().any(|operand| of(operand, leaf)),
        Node::Difference(first, others) => {
            of(first, leaf) && !others.iter().any(|operand| of(operand, leaf))
        }
    }
}

fn of_terms(expr: &Expr<Leaf>, entry: &StagedEntry, fields: Option<&Frontmatter>) -> bool {
    of(expr, &|leaf: &Leaf| {
        // What a search finds is published.
        let is_search = matches!(&leaf.term, Term::Uri(uri) if uri.class() == crate::uri::Class::Delegated);
        !is_search && of(&leaf.stands_for, &|part: &Part| is_in(&part.atom, entry, fields))
    })
}

/// Whether an entry is in a set: it has type, tags and URI of its source, and is staged.
fn is_in(atom: &Atom, entry: &StagedEntry, fields: Option<&Frontmatter>) -> bool {
    let has = |test: &dyn Fn(&Frontmatter) -> bool| fields.is_some_and(test);
    let source = |test: &dyn Fn(&crate::document::frontmatter::SourceBlock) -> bool| {
        fields.and_then(|fields| fields.source.as_ref()).is_some_and(test)
    };
    match atom {
        Atom::Status(status) => *status == StatusFilter::Staged,
        Atom::Document(id) => *id == entry.source,
        Atom::Folder(path) => entry.source.as_str().starts_with(path.as_str()),
        Atom::Tag(tag) => has(&|fields| fields.tags.contains(tag)),
        Atom::Type(node_type) => has(&|fields| fields.node_type == *node_type),
        Atom::Transport(transport) => source(&|block| block.transport == Some(*transport)),
        Atom::Server(server) => source(&|block| block.server.as_ref() == Some(server)),
    }
}
