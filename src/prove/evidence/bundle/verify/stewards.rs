//! Checks the recorded steward of a text, and the time when its approval was due again. Both follow
//! from the governance files that the checkpoint seals (RES-29).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::manifest::{Manifest, text_path};
use super::approvals::Approvals;
use super::log::Log;
use super::versions::Versions;
use super::{Files, Judged, Verdict, contradicted, not_proved};
use crate::files::vault::config::Config;
use crate::policy::in_force::{File, InForce, Mode};
use crate::policy::rules::Rules;
use crate::policy::stewards::{self, Role};
use crate::read::snapshot::provenance::Settings;
use crate::record::audit;
use crate::text::document::Document;
use crate::text::document::obsidian::Markup;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::tag::Tag;

/// Settings that a checkpoint applies to every document; or the reason why they are not proved.
type Found = Result<Settings, (Verdict, String)>;

/// Governance files of the checkpoints of a bundle.
pub(super) struct Stewards<'b> {
    manifest: &'b Manifest,
    files: &'b Files<'b>,
    log: &'b Log,
    versions: &'b Versions,
    approvals: &'b Approvals<'b>,
    /// Number of the version of each governance file, by the checkpoint that must seal it.
    places: BTreeMap<(u64, &'b str), usize>,
    known: BTreeMap<u64, Found>,
    markups: BTreeMap<u64, Result<Markup, (Verdict, String)>>,
    /// Cached answers: true if a principal reviews a source by the rules of a checkpoint.
    reviewers: RefCell<BTreeMap<(DocumentId, u64, String), bool>>,
}

impl<'b> Stewards<'b> {
    pub(super) fn new(
        manifest: &'b Manifest,
        files: &'b Files<'b>,
        (log, versions, approvals): (&'b Log, &'b Versions, &'b Approvals<'b>),
    ) -> Self {
        let mut places = BTreeMap::new();
        let rules = DocumentId::rules();
        for (version, n) in manifest.versions.iter().zip(1..) {
            if rules.iter().any(|id| version.id == id.as_str()) {
                for checkpoint in &version.checkpoints {
                    let place = places.entry((*checkpoint, version.id.as_str()));
                    // If the manifest lists two versions for a checkpoint, its maps contain at most
                    // one of them.
                    let is_sealed = versions.sealed(n, *checkpoint) == Some(Verdict::Proved);
                    place.and_modify(|of| *of = if is_sealed { n } else { *of }).or_insert(n);
                }
            }
        }
        Self {
            manifest,
            files,
            log,
            versions,
            approvals,
            places,
            known: BTreeMap::new(),
            markups: BTreeMap::new(),
            reviewers: RefCell::default(),
        }
    }

    /// Compares the steward and due date that a line records with the version of the bundle.
    pub(super) fn judge(&mut self, text: &audit::Text, version: usize, checkpoint: u64) -> Judged {
        let (manifest, files, versions) = (self.manifest, self.files, self.versions);
        let Some(entry) = versions.entry(version) else {
            return not_proved("the version is not proved");
        };
        if entry.chain_hash.to_string() != text.chain_hash {
            return contradicted("the version has another chain hash");
        }
        let listed = &manifest.versions[version - 1];
        if versions.sealed(version, checkpoint) != Some(Verdict::Proved) {
            return not_proved(format!(
                "it is not proved that checkpoint {checkpoint} contains it"
            ));
        }
        let Ok(id) = listed.id.parse::<DocumentId>() else {
            return not_proved("the version has a malformed id");
        };
        let reviewed = versions.review(version)?;
        let sealed = files.get(&text_path(version))?;
        let settings = self.at(checkpoint)?;
        let tags = tags_of(&id, &String::from_utf8_lossy(sealed), settings);
        let (steward, review_due) = settings.answering(&id, &tags, reviewed);
        if text.steward.is_some() && text.steward != steward {
            return contradicted("`stewards.yaml` names another steward for it");
        }
        if text.review_due.is_some() && text.review_due != review_due.map(|due| due.to_string()) {
            return contradicted("its approval is due at another time");
        }
        Ok(())
    }

    /// Checks that a principal was a reviewer of a source at a time (STAGE-14, STAGE-19). The last
    /// rules of the bundle that were in force then decide, but none before the consumed checkpoint.
    pub(super) fn may_review(
        &self,
        source: &DocumentId,
        (consumed, time): (u64, &str),
        who: &str,
    ) -> Judged {
        let versions = self.manifest.versions.iter();
        let known = versions.flat_map(|version| version.checkpoints.iter().copied());
        let then = known.filter(|checkpoint| {
            *checkpoint == consumed
                || *checkpoint > consumed && !self.log.is_after(*checkpoint, time)
        });
        let Some(checkpoint) = then.max() else {
            return not_proved("the bundle does not contain the rules that were in force then");
        };
        let rules = self.rules_of(checkpoint)?;
        let Some(rules) = rules else { return Ok(()) };
        let key = (source.clone(), checkpoint, who.to_owned());
        let known = self.reviewers.borrow().get(&key).copied();
        let is_reviewer = known.unwrap_or_else(|| self.is_reviewer(rules, source, who));
        self.reviewers.borrow_mut().insert(key, is_reviewer);
        match is_reviewer {
            true => Ok(()),
            false => not_proved(format!("no proof shows that `{who}` was a reviewer of {source}")),
        }
    }

    /// Returns the rules in force after a checkpoint; `None` if the vault is then ungoverned.
    fn rules_of(&self, checkpoint: u64) -> Result<Option<&Rules>, (Verdict, String)> {
        self.log.at(checkpoint)?;
        let Some(in_force) = self.approvals.in_force()? else { return Ok(None) };
        match in_force.at(CheckpointNumber(checkpoint)) {
            Mode::Ungoverned => Ok(None),
            Mode::Governed(rules) => Ok(Some(rules)),
            Mode::Unreadable { .. } => not_proved("the rules in force cannot be read"),
        }
    }

    /// Returns true if a principal reviews a source, by any of its proved versions.
    fn is_reviewer(&self, rules: &Rules, source: &DocumentId, who: &str) -> bool {
        let versions = self.manifest.versions.iter().zip(1..);
        let mut of_source = versions.filter(|(version, _)| version.id == source.as_str());
        of_source.any(|(_, n)| {
            let text = self.versions.entry(n).and_then(|_| self.files.get(&text_path(n)).ok());
            let text = text.map(String::from_utf8_lossy);
            text.is_some_and(|text| rules.require(who, Role::Reviewer, [(source, &*text)]).is_ok())
        })
    }

    /// Returns the markup that a checkpoint prescribes for an artifact.
    pub(super) fn markup(
        &mut self,
        id: &DocumentId,
        checkpoint: u64,
    ) -> Result<Markup, (Verdict, String)> {
        if !id.is_markdown() {
            return Ok(Markup::Plain);
        }
        if let Some(known) = self.markups.get(&checkpoint) {
            return known.clone();
        }
        let config = self.config(checkpoint);
        let found = config.map(|config| config.as_ref().map(Markup::of).unwrap_or_default());
        self.markups.insert(checkpoint, found.clone());
        found
    }

    fn at(&mut self, checkpoint: u64) -> Result<&Settings, (Verdict, String)> {
        if !self.known.contains_key(&checkpoint) {
            let found = self.read(checkpoint);
            self.known.insert(checkpoint, found);
        }
        match &self.known[&checkpoint] {
            Ok(settings) => Ok(settings),
            Err(why) => Err(why.clone()),
        }
    }

    fn read(&self, checkpoint: u64) -> Found {
        let config = self.config(checkpoint)?;
        let stewards = match self.sealed(&DocumentId::stewards(), checkpoint)? {
            None => None,
            Some(Text::Sealed(text)) => stewards::read(&text).stewards,
            Some(Text::Unapproved(in_force)) => {
                let file = in_force.stewards_at(CheckpointNumber(checkpoint));
                file.and_then(File::read).cloned()
            }
        };
        Ok(Settings::read(config.as_ref(), || stewards))
    }

    /// Returns the configuration of a checkpoint; `None` if the checkpoint contains none.
    fn config(&self, checkpoint: u64) -> Result<Option<Config>, (Verdict, String)> {
        let sealed = self.sealed(&DocumentId::config(), checkpoint)?;
        Ok(sealed.map(|sealed| match sealed {
            Text::Sealed(text) => Config::parse(&text).unwrap_or_default(),
            Text::Unapproved(in_force) => {
                let file = in_force.config_at(CheckpointNumber(checkpoint));
                file.and_then(File::read).cloned().unwrap_or_default()
            }
        }))
    }

    /// Returns the text of a governance file that a checkpoint seals; `None` if it seals none.
    fn sealed(
        &self,
        id: &DocumentId,
        checkpoint: u64,
    ) -> Result<Option<Text<'b>>, (Verdict, String)> {
        self.log.at(checkpoint)?;
        if self.log.mark(checkpoint, id.as_str()).is_none() {
            return Ok(None);
        }
        let place = self.places.get(&(checkpoint, id.as_str())).copied();
        let is_proved = |n: &usize| self.versions.sealed(*n, checkpoint) == Some(Verdict::Proved);
        let Some(n) = place.filter(is_proved) else {
            return not_proved(format!(
                "the version at checkpoint {checkpoint} of {id} is not proved"
            ));
        };
        // A version that was not approved never came into force.
        if self.approvals.is_unapproved(n)
            && let Some(in_force) = self.approvals.in_force()?
        {
            return Ok(Some(Text::Unapproved(in_force)));
        }
        Ok(Some(Text::Sealed(String::from_utf8_lossy(self.files.get(&text_path(n))?))))
    }
}

/// Version of a governance file that a checkpoint seals.
enum Text<'b> {
    /// A version that is in force.
    Sealed(Cow<'b, str>),
    /// A version without a valid approval, and the rules in force in its place.
    Unapproved(&'b InForce),
}

/// Returns the tags of a version, by the markup of its checkpoint.
fn tags_of(id: &DocumentId, text: &str, settings: &Settings) -> Vec<Tag> {
    let document = id.is_document().then(|| Document::parse(text).ok()).flatten();
    let Some(Document { frontmatter: fields, parts, .. }) = document else { return Vec::new() };
    let more = settings.markup.additions(&fields, &text[parts.body..]).tags;
    fields.tags.into_iter().chain(more).collect()
}
