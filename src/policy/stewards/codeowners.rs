//! Conversion between `stewards.yaml` and `CODEOWNERS` of GitHub and GitLab: reviewers by path, as
//! far as a path can express them (`spec/stewards.md`, section 4).
//!
//! In `CODEOWNERS` the last pattern that matches decides, in `stewards.yaml` the narrowest scope.
//! So an export is ordered from broad to narrow, and an import skips lines that a later, broader
//! pattern overrides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Role, Scope, ScopeKind, Stewards, Stewardship};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, CONFIG, STEWARDS};
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::visible::shown;

/// Maximum number of lines of a file that are read.
pub const MAX_LINES: usize = 10_000;

/// Returns the reviewers of all scopes as a `CODEOWNERS` file.
///
/// Comments name the scopes and reviewers that the format cannot express.
pub fn export(stewards: &Stewards) -> String {
    let mut out = String::from(
        "# Reviewers of stewards.yaml, by `ctx steward export --codeowners`.\n\
         # Paths begin at the root of the vault; if that is a folder of the repository, add it to each.\n\
         # Not expressed: viewers and editors, scopes of tags, the number of reviewers, and that the\n\
         # paths of a vault are compared without case.\n",
    );
    let of = |kind| stewards.scopes().filter(move |at| at.scope.kind() == kind);
    for at in of(ScopeKind::Tag) {
        let _ = writeln!(out, "# not expressed: {}: {}", at.scope, names(stewards, at).join(" "));
    }
    for at in of(ScopeKind::Vault) {
        line(&mut out, "*", stewards, at);
    }
    let mut folders: Vec<&Stewardship> = of(ScopeKind::Folder).collect();
    folders.sort_by_key(|at| at.scope.folded().matches('/').count());
    for at in folders.into_iter().chain(of(ScopeKind::Document)) {
        match pattern(&at.scope) {
            Some(pattern) => line(&mut out, &pattern, stewards, at),
            None => {
                let _ = writeln!(out, "# not expressed: {}", shown(&at.scope.to_string()));
            }
        }
    }
    for at in of(ScopeKind::Vault) {
        line(&mut out, &format!("/{STEWARDS}"), stewards, at);
        line(&mut out, &format!("/{CONFIG}"), stewards, at);
    }
    out
}

/// Returns the reviewers at a scope whose names can be owners.
fn names(stewards: &Stewards, at: &Stewardship) -> Vec<String> {
    let reviewers = stewards.holders(at).into_iter();
    let reviewers = reviewers.filter(|holder| holder.role == Role::Reviewer);
    reviewers.map(|holder| holder.principal.to_string()).filter(|name| is_owner(name)).collect()
}

/// Returns true if a name can be an owner in `CODEOWNERS`: an address or a handle.
fn is_owner(name: &str) -> bool {
    name.contains('@') && !name.contains(|c: char| c.is_whitespace() || c == '#')
}

fn line(out: &mut String, pattern: &str, stewards: &Stewards, at: &Stewardship) {
    for holder in stewards.holders(at) {
        if holder.role == Role::Reviewer && !is_owner(holder.principal.as_str()) {
            let name = holder.principal.as_str();
            let _ = writeln!(out, "# not expressed: {}: no address: {}", at.scope, shown(name));
        }
    }
    let names = names(stewards, at);
    if names.is_empty() {
        let _ = writeln!(out, "# {}: no reviewer, so the pattern is without an owner", at.scope);
    }
    let blank = if names.is_empty() { "" } else { " " };
    let _ = writeln!(out, "{pattern}{blank}{}", names.join(" "));
}

/// Returns the pattern of a folder or document; `None` if the path contains special characters.
fn pattern(scope: &Scope) -> Option<String> {
    let path = match scope {
        Scope::Folder(folder) => format!("/{folder}/"),
        Scope::Document(id) => format!("/{}", id.live_path()),
        Scope::Tag(_) | Scope::Vault => return None,
    };
    let is_plain = !path.contains(['*', '?', '[', ']', '\\', '!']);
    is_plain.then(|| path.replace(' ', "\\ ").replace('#', "\\#"))
}

/// The content of a `CODEOWNERS` file as scopes.
#[derive(Debug, Default)]
pub struct Imported {
    /// Scopes with their reviewers, in the order of the file.
    pub mapped: Vec<Mapped>,
    /// Lines that cannot be expressed as a scope, in the order of the file.
    pub skipped: Vec<Skipped>,
}

/// A line that was converted to a scope with reviewers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Line number, from 1.
    pub line: usize,
    /// The scope.
    pub scope: Scope,
    /// The reviewers of the scope.
    pub reviewers: Vec<Principal>,
}

/// A line that was not converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Line number, from 1.
    pub line: usize,
    /// Text of the line, or its scope if another line overrides it.
    pub text: String,
    /// The reason, for people.
    pub why: String,
}

/// Reads a `CODEOWNERS` file.
///
/// `handles` are the principals of owners such as `@org/legal`. Each line is converted whole,
/// or skipped.
pub fn read(text: &str, handles: &BTreeMap<String, Vec<Principal>>) -> Imported {
    let mut found = Imported::default();
    for (n, text) in text.lines().enumerate() {
        let (line, text) = (n + 1, text.trim());
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mapped = match n < MAX_LINES {
            true => mapped(text, handles),
            false => Err(format!("only the first {MAX_LINES} lines are read")),
        };
        match mapped {
            Ok((scope, reviewers)) => found.mapped.push(Mapped { line, scope, reviewers }),
            Err(why) => found.skipped.push(Skipped { line, text: text.to_owned(), why }),
        }
        if n > MAX_LINES {
            break;
        }
    }
    found.leave_overridden_out();
    found.leave_own_files_out();
    found
}

impl Imported {
    /// Removes skipped lines that an export adds because in `CODEOWNERS` the last pattern decides.
    ///
    /// These lines assign the reviewers of the vault to the files that its stewards decide about
    /// anyway (STEW-10).
    fn leave_own_files_out(&mut self) {
        let vault = self.mapped.iter().rev().find(|one| one.scope.kind() == ScopeKind::Vault);
        let Some(vault) = vault else { return };
        let keys = |principals: &[Principal]| -> BTreeSet<PrincipalKey> {
            principals.iter().map(Principal::key).collect()
        };
        let of_vault = keys(&vault.reviewers);
        self.skipped.retain(|skipped| {
            let mut words = words(&skipped.text).into_iter();
            let path = words.next().unwrap_or_default();
            let is_own = [STEWARDS, CONFIG].iter().any(|file| path == format!("/{file}"));
            let owners: Result<Vec<Principal>, _> = words.map(|word| word.parse()).collect();
            !(is_own && owners.is_ok_and(|owners| keys(&owners) == of_vault))
        });
    }

    /// Skips lines that a later pattern for the same or more paths overrides.
    fn leave_overridden_out(&mut self) {
        // The lines are read from the last one, so that each known scope is of a later line.
        let mut later: BTreeMap<(ScopeKind, String), usize> = BTreeMap::new();
        let mut kept = Vec::new();
        for one in std::mem::take(&mut self.mapped).into_iter().rev() {
            let overriding = broader(&one.scope).into_iter().find_map(|key| later.get(&key));
            match overriding {
                Some(by) => {
                    let why = format!("line {by} comes later and matches the same paths");
                    let text = one.scope.to_string();
                    self.skipped.push(Skipped { line: one.line, text, why });
                }
                None => {
                    later.insert((one.scope.kind(), one.scope.folded()), one.line);
                    kept.push(one);
                }
            }
        }
        kept.reverse();
        self.mapped = kept;
        self.skipped.sort_by_key(|skipped| skipped.line);
    }
}

/// Returns the keys of a scope and of each scope whose paths include all of its paths.
fn broader(scope: &Scope) -> Vec<(ScopeKind, String)> {
    let folded = scope.folded();
    let mut keys = vec![(scope.kind(), folded.clone()), (ScopeKind::Vault, String::new())];
    let above = std::iter::successors(folded.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
    keys.extend(above.map(|(above, _)| (ScopeKind::Folder, above.to_owned())));
    keys
}

fn mapped(
    text: &str,
    handles: &BTreeMap<String, Vec<Principal>>,
) -> Result<(Scope, Vec<Principal>), String> {
    if text.starts_with('[') || text.starts_with("^[") {
        return Err("sections of GitLab are not mapped".to_owned());
    }
    let mut words = words(text).into_iter();
    let scope = scope(&words.next().unwrap_or_default())?;
    let mut reviewers: Vec<Principal> = Vec::new();
    for owner in words {
        let named: Vec<Principal> = match handles.get(&owner) {
            Some(principals) => principals.clone(),
            None if owner.starts_with('@') => {
                return Err(format!("`{owner}` is a handle; `--owner {owner}=ADDRESS` maps it"));
            }
            None => vec![owner.parse().map_err(|why| format!("`{owner}`: {why}"))?],
        };
        for principal in named {
            if reviewers.iter().all(|known| known.key() != principal.key()) {
                reviewers.push(principal);
            }
        }
    }
    match reviewers.is_empty() {
        true => Err("the line names no owner; in ctx the stewards of a broader scope decide then"
            .to_owned()),
        false => Ok((scope, reviewers)),
    }
}

/// Returns the pattern and the owners of a line, without a comment at its end.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let is_new = words.last().is_some_and(String::is_empty);
        match (c, words.last_mut()) {
            ('#', _) if is_new => break,
            ('\\', Some(word)) => match chars.next() {
                Some(escaped @ (' ' | '#')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => word.push('\\'),
            },
            (c, _) if c.is_whitespace() => {
                if !is_new {
                    words.push(String::new());
                }
            }
            (c, Some(word)) => word.push(c),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the scope with the paths of a pattern.
fn scope(pattern: &str) -> Result<Scope, String> {
    if matches!(pattern, "*" | "**" | "/**" | "**/*") {
        return Ok(Scope::Vault);
    }
    let path =
        pattern.strip_suffix("/**").map_or(pattern.to_owned(), |folder| format!("{folder}/"));
    if path.contains(['*', '?', '[', ']', '\\', '!']) {
        return Err("it is a pattern, but scopes are paths".to_owned());
    }
    let inner = path.strip_suffix('/').unwrap_or(&path);
    if !inner.contains('/') {
        return Err(format!(
            "it matches this name in any folder; write `/{path}` for the one in the root"
        ));
    }
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let is_file = !path.ends_with('/') && (layout::is_markdown(inner) || is_governance(inner));
    let scope = match is_file {
        false => Scope::parse(ScopeKind::Folder, inner),
        true if is_governance(inner) => Scope::parse(ScopeKind::Document, inner),
        true => {
            return DocumentId::of_document_file(inner)
                .map(Scope::Document)
                .map_err(|why| why.to_string());
        }
    };
    scope.map_err(|why| why.to_string())
}

fn is_governance(path: &str) -> bool {
    path.parse::<DocumentId>().is_ok_and(|id| !id.is_document())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_orders_from_broad_to_narrow_and_names_the_rest_in_comments() {
        let text = "vault: [{principal: ana@x, role: reviewer}, {principal: Bo, role: reviewer}]\n\
                    folders:\n  n/a b: [{group: g, role: reviewer}]\n  n: [{principal: cy@x, role: editor}]\n  \
                    'n*': [{principal: cy@x, role: reviewer}]\n\
                    tags: {s: [{principal: dee@x, role: reviewer}]}\n\
                    documents: {n/a b/c: [{principal: dee@x, role: reviewer}]}\n\
                    groups: {g: [eve@x, cy@x]}\n";
        let stewards = super::super::read(text).stewards.unwrap();
        let lines: Vec<String> = export(&stewards).lines().skip(4).map(str::to_owned).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        # not expressed: tag #s: dee@x
        # not expressed: vault: no address: Bo
        * ana@x
        # folder n/: no reviewer, so the pattern is without an owner
        /n/
        # not expressed: folder n*/
        /n/a\\ b/ cy@x eve@x
        /n/a\\ b/c.md dee@x
        # not expressed: vault: no address: Bo
        /stewards.yaml ana@x
        # not expressed: vault: no address: Bo
        /.context/config.yaml ana@x
        ");
    }

    #[test]
    fn import_maps_paths_and_reports_every_other_line() {
        let text = "# owners\n\n* ana@x # all\n/nodes/legal/ lee@x @org/legal\n/nodes/a\\ b/ lee@x\n\
                    nodes/hr/** hr@x HR@X\n/nodes/x.md kim@x\n/packs/p.yml kim@x\n/stewards.yaml kim@x\n\
                    *.md kim@x\ndocs/ kim@x\nREADME.md kim@x\n/nodes/y/ @octocat\n/nodes/z/\n[Legal] lee@x\n\
                    !/nodes/q/ a@x\n/nodes/hr/old/ old@x\n/nodes/hr/ new@x\n/nodes/v/ a:b@x\n";
        let legal = vec!["max@x".parse().unwrap()];
        let found = read(text, &BTreeMap::from([("@org/legal".to_owned(), legal)]));
        let mapped = found.mapped.iter().map(|one| {
            let names: Vec<&str> = one.reviewers.iter().map(Principal::as_str).collect();
            format!("{} {}: {}", one.line, one.scope, names.join(" "))
        });
        let skipped =
            found.skipped.iter().map(|one| format!("{} {}: {}", one.line, one.text, one.why));
        let all: Vec<String> = mapped.chain(skipped).collect();
        insta::assert_snapshot!(all.join("\n"), @"
        3 vault: ana@x
        4 folder nodes/legal/: lee@x max@x
        5 folder nodes/a b/: lee@x
        7 document nodes/x: kim@x
        8 document packs/p.yml: kim@x
        18 folder nodes/hr/: new@x
        6 folder nodes/hr/: line 18 comes later and matches the same paths
        9 /stewards.yaml kim@x: only the stewards of the vault decide about `stewards.yaml`
        10 *.md kim@x: it is a pattern, but scopes are paths
        11 docs/ kim@x: it matches this name in any folder; write `/docs/` for the one in the root
        12 README.md kim@x: it matches this name in any folder; write `/README.md` for the one in the root
        13 /nodes/y/ @octocat: `@octocat` is a handle; `--owner @octocat=ADDRESS` maps it
        14 /nodes/z/: the line names no owner; in ctx the stewards of a broader scope decide then
        15 [Legal] lee@x: sections of GitLab are not mapped
        16 !/nodes/q/ a@x: it is a pattern, but scopes are paths
        17 folder nodes/hr/old/: line 18 comes later and matches the same paths
        19 /nodes/v/ a:b@x: `a:b@x`: a principal cannot contain `:` or control characters, but found `:`
        ");
    }

    #[test]
    fn import_reads_back_an_export() {
        let text = "vault: [{principal: ana@x, role: reviewer}]\nfolders: {n/b: [{principal: b@x, role: \
                    reviewer}], n: [{principal: c@x, role: reviewer}]}\n";
        let stewards = super::super::read(text).stewards.unwrap();
        let found = read(&export(&stewards), &BTreeMap::new());
        let scopes: Vec<String> = found.mapped.iter().map(|one| one.scope.to_string()).collect();
        assert_eq!(scopes, ["vault", "folder n/", "folder n/b/"]);
        assert_eq!(found.skipped.len(), 0);
    }
}
