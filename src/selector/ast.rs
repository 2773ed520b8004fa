//! The tree of a selector, and the one text it prints as.
//!
//! Chains are n-ary nodes, so that a selector with thousands of operands is no deeper than one
//! with two. [`Expr::intersection`], [`Expr::difference`] and [`Expr::union`] join what the
//! operators' associativity makes one chain, which is what makes the printed text parse back to
//! an equal tree. Spans are kept for explanations and do not take part in equality.

use std::fmt;
use std::ops::Range;

use crate::document::frontmatter::{NodeType, Transport};
use crate::document::id::Id;
use crate::uri::{Target, Uri};

/// A selector that was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The whole expression.
    pub expr: Expr,
}

/// An expression and the bytes it was read from, which equality ignores.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub node: Node,
    /// Bytes in the selector's text.
    pub span: Range<usize>,
}

/// A node of a selector's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A set that the universe knows.
    Atom(Atom),
    /// Documents in every operand, of which there are at least two.
    Intersection(Vec<Expr>),
    /// Documents in the first operand and in none of the others.
    Difference(Box<Expr>, Vec<Expr>),
    /// Documents in any operand, of which there are at least two.
    Union(Vec<Expr>),
}

/// A set of documents that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// Documents with this tag, which has no `#`. Case matters.
    Tag(String),
    /// Documents of this type.
    Type(NodeType),
    /// Documents with this status.
    Status(StatusFilter),
    /// Source nodes with this transport.
    Transport(Transport),
    /// Source nodes of this server.
    Server(String),
    /// The document with this id.
    Document(Id),
    /// Documents beneath this folder, a path that ends in `/`.
    Folder(String),
}

/// The statuses that a selector can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusFilter {
    /// Not eligible; no published document is.
    Draft,
    /// Eligible; every published document is.
    Published,
}

impl StatusFilter {
    /// Every status with its word.
    pub const ALL: [(&'static str, Self); 2] =
        [("draft", Self::Draft), ("published", Self::Published)];

    /// The word in a selector.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
        }
    }
}

impl Atom {
    /// Whether membership depends on more than a document's id.
    pub fn needs_metadata(&self) -> bool {
        !matches!(self, Self::Document(_) | Self::Folder(_))
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(name) => write!(f, "#{name}"),
            Self::Type(word) => write!(f, "type:{}", word.as_str()),
            Self::Status(word) => write!(f, "status:{}", word.as_str()),
            Self::Transport(word) => write!(f, "transport:{}", word.as_str()),
            Self::Server(name) => write!(f, "server:{name}"),
            Self::Document(id) => Uri::document(id.clone()).fmt(f),
            Self::Folder(path) => {
                let target = Target::Folder(path.clone());
                Uri { target }.fmt(f)
            }
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Eq for Expr {}

impl Expr {
    /// An atom that was read from these bytes.
    pub fn atom(atom: Atom, span: Range<usize>) -> Self {
        let node = Node::Atom(atom);
        Self { node, span }
    }

    /// Whether a document is in the set, by the atoms that it is in.
    pub fn holds(&self, is_in: &impl Fn(&Atom) -> bool) -> bool {
        match &self.node {
            Node::Atom(atom) => is_in(atom),
            Node::Intersection(operands) => operands.iter().all(|o| o.holds(is_in)),
            Node::Union(operands) => operands.iter().any(|o| o.holds(is_in)),
            Node::Difference(first, others) => {
                first.holds(is_in) && !others.iter().any(|o| o.holds(is_in))
            }
        }
    }

    /// The intersection of `first` and `others`, in one chain.
    pub fn intersection(first: Self, others: Vec<Self>) -> Self {
        Self::chain(first, others, Node::Intersection, |node| match node {
            Node::Intersection(operands) => Ok(operands),
            node => Err(node),
        })
    }

    /// The union of `first` and `others`, in one chain.
    pub fn union(first: Self, others: Vec<Self>) -> Self {
        Self::chain(first, others, Node::Union, |node| match node {
            Node::Union(operands) => Ok(operands),
            node => Err(node),
        })
    }

    /// `first` without `others`; a difference on the left is part of the chain.
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

    /// An associative chain: operands that `same` takes apart are joined into it.
    fn chain(
        first: Self,
        others: Vec<Self>,
        make: fn(Vec<Self>) -> Node,
        same: fn(Node) -> Result<Vec<Self>, Node>,
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

    /// Whether membership depends on more than documents' ids.
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

    /// The tree as an s-expression, such as `(- (+ #a #b) #c)`.
    pub fn tree(&self) -> String {
        let list = |sign: &str, operands: &mut dyn Iterator<Item = &Self>| {
            let operands: Vec<String> = operands.map(Self::tree).collect();
            format!("({sign} {})", operands.join(" "))
        };
        match &self.node {
            Node::Atom(atom) => atom.to_string(),
            Node::Intersection(operands) => list("+", &mut operands.iter()),
            Node::Difference(left, right) => {
                list("-", &mut std::iter::once(left.as_ref()).chain(right))
            }
            Node::Union(operands) => list("|", &mut operands.iter()),
        }
    }

    /// How tightly the node's operator binds.
    fn level(&self) -> u8 {
        match self.node {
            Node::Union(_) => 0,
            Node::Difference(..) => 1,
            Node::Intersection(_) => 2,
            Node::Atom(_) => 3,
        }
    }

    /// Writes this operand, in parentheses if its operator binds less tightly than `least`.
    fn operand(&self, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.level() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

fn covered(first: &Expr, others: &[Expr]) -> Range<usize> {
    first.span.start..others.last().map_or(first.span.end, |last| last.span.end)
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, first, others) = match &self.node {
            Node::Atom(atom) => return atom.fmt(f),
            Node::Difference(left, right) => (" - ", Some(left.as_ref()), right.as_slice()),
            Node::Intersection(operands) => (" + ", operands.first(), tail(operands)),
            Node::Union(operands) => (" | ", operands.first(), tail(operands)),
        };
        let level = self.level();
        if let Some(first) = first {
            first.operand(level, f)?;
        }
        // Only a difference tells its right side from its left.
        let least = if level == 1 { level + 1 } else { level };
        for operand in others {
            f.write_str(sign)?;
            operand.operand(least, f)?;
        }
        Ok(())
    }
}

fn tail(operands: &[Expr]) -> &[Expr] {
    operands.get(1..).unwrap_or_default()
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
