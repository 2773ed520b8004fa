//! The tree of a selector, and the one text it is printed as.
//!
//! An [`Expr`] is set algebra over leaves of some kind. A selector consists of [`Term`]s, including
//! packs and URIs; evaluation uses [`Atom`]s, which are sets of a universe. [`Expr::expand`]
//! replaces the leaves of one kind with expressions of the other.
//!
//! Chains are n-ary nodes, so that the depth of a selector does not depend on the number of
//! operands. [`Expr::intersection`], [`Expr::difference`] and [`Expr::union`] merge operands into
//! one chain according to associativity, so that the printed text parses to an equal tree. Spans
//! are kept for explanations and ignored by equality.

use std::fmt;
use std::ops::Range;

use crate::text::document::frontmatter::NodeType;
use crate::text::uri::{Target, Uri};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::tag::Tag;
use crate::values::model::transport::Transport;

/// A parsed selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Whole expression.
    pub expr: Expr<Term>,
    /// Checkpoint that its URIs are pinned to, which must be the same for all.
    pub checkpoint: Option<CheckpointNumber>,
}

/// An expression and the bytes it was read from, which equality ignores.
#[derive(Clone, Debug)]
pub struct Expr<A = Atom> {
    /// Kind of the node, with its operands.
    pub node: Node<A>,
    /// Bytes in the text of the selector.
    pub span: Range<usize>,
}

/// A node of a selector's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<A = Atom> {
    /// A leaf: a named set.
    Atom(A),
    /// Documents in every operand; there are at least two operands.
    Intersection(Vec<Expr<A>>),
    /// Documents in the first operand and in none of the others.
    Difference(Box<Expr<A>>, Vec<Expr<A>>),
    /// Documents in any operand; there are at least two operands.
    Union(Vec<Expr<A>>),
}

/// A set in a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A tag or a filter.
    Set(Atom),
    /// The documents that a URI names; a tag of the vault itself is a [`Term::Set`].
    Uri(Uri),
    /// The documents that the pack with this id selects.
    Pack(String),
}

/// A set of documents in a universe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// Documents with this tag, which has no `#`. Case matters.
    Tag(Tag),
    /// Documents of this type.
    Type(NodeType),
    /// Documents with this status.
    Status(StatusFilter),
    /// Source nodes with this transport.
    Transport(Transport),
    /// Source nodes of this server.
    Server(String),
    /// The document with this id.
    Document(DocumentId),
    /// Documents beneath this folder, a path that ends in `/`.
    Folder(String),
}

/// The statuses that a selector can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusFilter {
    /// Not eligible, which no published document is.
    Draft,
    /// Eligible, as every published document is.
    Published,
    /// A staged result, which no document is.
    Staged,
}

impl StatusFilter {
    /// All statuses that a document may have, with their words.
    pub const ALL: [(&'static str, Self); 2] =
        [("draft", Self::Draft), ("published", Self::Published)];

    /// Returns the word in a selector.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Staged => "staged",
        }
    }
}

impl Atom {
    /// Returns true if membership depends on more than a document's id.
    pub fn needs_metadata(&self) -> bool {
        !matches!(self, Self::Document(_) | Self::Folder(_))
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(name) => write!(f, "#{name}"),
            Self::Type(word) => write!(f, "type:{}", Word(word.as_str())),
            Self::Status(word) => write!(f, "status:{}", word.as_str()),
            Self::Transport(word) => write!(f, "transport:{}", word.as_str()),
            Self::Server(name) => write!(f, "server:{}", Word(name)),
            Self::Document(id) => Uri::document(id.clone()).fmt(f),
            Self::Folder(path) => Uri::from(Target::Folder(path.clone())).fmt(f),
        }
    }
}

impl Term {
    /// Returns the set that the term names by itself; `None` for packs, searches and other vaults.
    pub fn atom(&self) -> Option<Atom> {
        match self {
            Self::Set(atom) => Some(atom.clone()),
            Self::Pack(_) => None,
            Self::Uri(uri) => match uri.local().ok()? {
                Target::Tag(name) => Some(Atom::Tag(name.clone())),
                Target::Folder(path) => Some(Atom::Folder(path.clone())),
                Target::Document { id, .. } => Some(Atom::Document(id.clone())),
                Target::Search(_) => None,
            },
        }
    }
}

impl From<Uri> for Term {
    fn from(uri: Uri) -> Self {
        match uri {
            Uri { authority: None, target: Target::Tag(name) } => Self::Set(Atom::Tag(name)),
            uri => Self::Uri(uri),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(atom) => atom.fmt(f),
            Self::Pack(id) => write!(f, "pack:{}", Word(id)),
            Self::Uri(uri) => {
                let text = uri.to_string();
                // In the query of a search a blank is written `+`, which is an operator
                // in selectors.
                if text.contains('+') { write!(f, "{}", Quote(&text)) } else { f.write_str(&text) }
            }
        }
    }
}

/// A type, or the name of a server or pack, in quotes if it needs them.
struct Word<'n>(&'n str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain_name(self.0) { f.write_str(self.0) } else { Quote(self.0).fmt(f) }
    }
}

/// A text in quotes, with each inner quote doubled.
struct Quote<'t>(&'t str);

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

/// Returns true if a type, or the name of a server or pack, does not need quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

impl<A: PartialEq> PartialEq for Expr<A> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<A: Eq> Eq for Expr<A> {}

impl<A> Expr<A> {
    /// Makes a leaf that was read from these bytes.
    pub fn atom(atom: A, span: Range<usize>) -> Self {
        let node = Node::Atom(atom);
        Self { node, span }
    }

    /// Returns the intersection of `first` and `others`, in one chain.
    pub fn intersection(first: Self, others: Vec<Self>) -> Self {
        Self::chain(first, others, Node::Intersection, |node| match node {
            Node::Intersection(operands) => Ok(operands),
            node => Err(node),
        })
    }

    /// Returns the union of `first` and `others`, in one chain.
    pub fn union(first: Self, others: Vec<Self>) -> Self {
        Self::chain(first, others, Node::Union, |node| match node {
            Node::Union(operands) => Ok(operands),
            node => Err(node),
        })
    }

    /// Returns `first` without `others`; a difference on the left is part of the chain.
    pub fn difference(first: Self, others: Vec<Self>) -> Self {
        if others.is_empty() {
            return first;
        }
        let span = covered(&first, &others);
        let node = match first.node {
            Node::Difference(left, mut right) => {
                right.extend(others);
                Node::Difference(left, right)
            }
            _ => Node::Difference(Box::new(first), others),
        };
        Self { node, span }
    }

    /// Makes an associative chain; operands that `same` accepts are merged into it.
    fn chain(
        first: Self,
        others: Vec<Self>,
        make: fn(Vec<Self>) -> Node<A>,
        same: fn(Node<A>) -> Operands<A>,
    ) -> Self {
        if others.is_empty() {
            return first;
        }
        let span = covered(&first, &others);
        let mut operands = Vec::with_capacity(others.len() + 1);
        for operand in std::iter::once(first).chain(others) {
            match same(operand.node) {
                Ok(inner) => operands.extend(inner),
                Err(node) => operands.push(Self { node, span: operand.span }),
            }
        }
        let node = make(operands);
        Self { node, span }
    }

    /// Replaces each leaf with another expression.
    ///
    /// # Errors
    /// The first error of `put`, from left to right.
    pub fn expand<B, E>(
        &self,
        put: &mut impl FnMut(&A, &Range<usize>) -> Result<Expr<B>, E>,
    ) -> Result<Expr<B>, E> {
        let mut all = |operands: &[Self]| -> Result<Vec<Expr<B>>, E> {
            operands.iter().map(|operand| operand.expand(put)).collect()
        };
        Ok(match &self.node {
            Node::Atom(leaf) => return put(leaf, &self.span),
            Node::Difference(left, right) => {
                let first = all(std::slice::from_ref(left))?;
                joined(first.into_iter().chain(all(right)?), Expr::difference)
            }
            Node::Intersection(operands) => joined(all(operands)?, Expr::intersection),
            Node::Union(operands) => joined(all(operands)?, Expr::union),
        })
    }

    /// Returns the leaves with the bytes they were read from, from left to right.
    pub fn leaves(&self) -> Vec<(&A, &Range<usize>)> {
        let (mut found, mut left) = (Vec::new(), vec![self]);
        while let Some(expr) = left.pop() {
            match &expr.node {
                Node::Atom(leaf) => found.push((leaf, &expr.span)),
                _ => left.extend(expr.operands().into_iter().rev()),
            }
        }
        found
    }

    /// Returns the operands of the operator; empty for a leaf.
    pub fn operands(&self) -> Vec<&Self> {
        match &self.node {
            Node::Atom(_) => Vec::new(),
            Node::Difference(left, right) => std::iter::once(left.as_ref()).chain(right).collect(),
            Node::Intersection(operands) | Node::Union(operands) => operands.iter().collect(),
        }
    }

    /// Returns the sign of the operator; `None` for a leaf.
    pub fn sign(&self) -> Option<char> {
        match self.node {
            Node::Atom(_) => None,
            Node::Intersection(_) => Some('+'),
            Node::Difference(..) => Some('-'),
            Node::Union(_) => Some('|'),
        }
    }

    /// Returns the precedence of the node's operator.
    fn level(&self) -> u8 {
        match self.node {
            Node::Union(_) => 0,
            Node::Difference(..) => 1,
            Node::Intersection(_) => 2,
            Node::Atom(_) => 3,
        }
    }
}

impl<A> Expr<A> {
    /// Returns true if a document is in the set, by the leaves that contain it.
    pub fn holds(&self, is_in: &impl Fn(&A) -> bool) -> bool {
        match &self.node {
            Node::Atom(atom) => is_in(atom),
            Node::Intersection(operands) => operands.iter().all(|o| o.holds(is_in)),
            Node::Union(operands) => operands.iter().any(|o| o.holds(is_in)),
            Node::Difference(first, others) => {
                first.holds(is_in) && !others.iter().any(|o| o.holds(is_in))
            }
        }
    }
}

impl<A> Expr<A> {
    /// Returns false only if a document cannot be in the set, for all possible values of
    /// unknown leaves.
    pub(crate) fn may_hold(&self, is_in: &impl Fn(&A) -> Option<bool>) -> bool {
        self.known(is_in) != Some(false)
    }

    fn known(&self, is_in: &impl Fn(&A) -> Option<bool>) -> Option<bool> {
        match &self.node {
            Node::Atom(atom) => is_in(atom),
            Node::Intersection(operands) => all(operands.iter().map(|o| o.known(is_in))),
            Node::Union(operands) => not(all(operands.iter().map(|o| not(o.known(is_in))))),
            Node::Difference(first, others) => {
                let others = others.iter().map(|o| not(o.known(is_in)));
                all(std::iter::once(first.known(is_in)).chain(others))
            }
        }
    }
}

fn not(known: Option<bool>) -> Option<bool> {
    known.map(|known| !known)
}

/// Returns true if all values are true, false if one is false, and else `None`.
fn all(mut found: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    found
        .try_fold(Some(true), |all, one| match one {
            Some(false) => None,
            Some(true) => Some(all),
            None => Some(None),
        })
        .unwrap_or(Some(false))
}

impl Expr {
    /// Returns true if membership depends on more than documents' ids.
    pub fn needs_metadata(&self) -> bool {
        match &self.node {
            Node::Atom(atom) => atom.needs_metadata(),
            Node::Intersection(operands) | Node::Union(operands) => {
                operands.iter().any(Self::needs_metadata)
            }
            Node::Difference(left, right) => {
                left.needs_metadata() || right.iter().any(Self::needs_metadata)
            }
        }
    }
}

impl<A: fmt::Display> Expr<A> {
    /// Returns the tree as an s-expression, such as `(- (+ #a #b) #c)`.
    pub fn tree(&self) -> String {
        match &self.node {
            Node::Atom(leaf) => leaf.to_string(),
            _ => {
                let operands: Vec<String> = self.operands().into_iter().map(Self::tree).collect();
                format!("({} {})", self.sign().unwrap_or_default(), operands.join(" "))
            }
        }
    }

    /// Writes this operand, in parentheses if its precedence is lower than `least`.
    fn operand(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.level() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

/// The operands of a node, or the node if it has another operator.
type Operands<A> = Result<Vec<Expr<A>>, Node<A>>;

/// Merges operands into one chain; an empty list becomes an empty union.
fn joined<B>(
    operands: impl IntoIterator<Item = Expr<B>>,
    chain: fn(Expr<B>, Vec<Expr<B>>) -> Expr<B>,
) -> Expr<B> {
    let mut operands = operands.into_iter();
    match operands.next() {
        Some(first) => chain(first, operands.collect()),
        None => Expr { node: Node::Union(Vec::new()), span: 0..0 },
    }
}

fn covered<A>(first: &Expr<A>, others: &[Expr<A>]) -> Range<usize> {
    first.span.start..others.last().map_or(first.span.end, |last| last.span.end)
}

impl<A: fmt::Display> fmt::Display for Expr<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Node::Atom(leaf) = &self.node {
            return leaf.fmt(f);
        }
        let level = self.level();
        // Only a difference is not commutative.
        let right = if level == 1 { level + 1 } else { level };
        for (n, operand) in self.operands().into_iter().enumerate() {
            if n == 0 {
                operand.operand(level, f)?;
            } else {
                write!(f, " {} ", self.sign().unwrap_or_default())?;
                operand.operand(right, f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
