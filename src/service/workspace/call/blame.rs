//! Where each line of a published text comes from.

use std::ops::Range;

use super::{Call, Places};
use crate::prove::evidence::blame::Blame;
use crate::read::snapshot::seals::Seals;
use crate::read::snapshot::{Need, Served, Snapshot};
use crate::record::chain::replay;
use crate::service::report::blame::{BlameReport, BlameSectionsReport, Blamed};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::lines::lines;
use crate::service::workspace::moment::Moment;
use crate::service::workspace::version::published;
use crate::text::document::sections::Section;
use crate::text::uri::Class;

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Versions;

/// A published text, the versions of its lines, and the section that was asked for.
pub(crate) struct Attributed {
    served: Served,
    section: Option<Section>,
    blame: Blame,
    seals: Seals,
}

impl Call<'_> {
    /// Attributes the lines of the document that an id, a URI or a path names.
    ///
    /// # Errors
    /// The document or section is not published, or a version of its history does not verify.
    pub(crate) fn blame(
        &mut self,
        (vault, source): Places<'_>,
        id: &str,
        at: Option<Moment>,
    ) -> Result<Attributed, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let named = self.workspace.named_at(vault, source, id)?.at(at)?;
        let snapshot = Snapshot::of(vault, source, named.checkpoint)?;
        let served = published(vault, &snapshot, &named.id)?;
        let section = named.anchor.map(|anchor| served.section(&anchor)).transpose()?;
        let history = replay::load(vault.files(), &named.id)?;
        let blame = Blame::of(vault.files(), &served, &history)?;
        let seals = source.seals(vault, &named.id, &history)?;
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(id.to_owned());
        Ok(Attributed { served, section, blame, seals })
    }

    /// Returns the report of at most `most` lines: those of `range` (`START,END`), those of the
    /// section, or all. `sealed`: the lines are handed out with their comments.
    ///
    /// # Errors
    /// The range is invalid, or used together with a section.
    pub(crate) fn blame_lines<'r>(
        &mut self,
        attributed: &'r Attributed,
        (range, most): (Option<&str>, usize),
        sealed: bool,
    ) -> Result<BlameReport<'r>, Failure> {
        let Attributed { served, section, blame, .. } = attributed;
        let range: Range<usize> = match (range, section) {
            (None, None) => 0..blame.attribution.lines(),
            (None, Some(section)) => Blame::lines_of(&served.text, section.range.clone()),
            (Some(range), None) => lines(range, blame.attribution.lines())?,
            (Some(_), Some(section)) => {
                let message =
                    format!("`#{}` and a range of lines both choose lines", section.anchor);
                let hint = "use either the section or the range, not both";
                return Err(Failure::new(Code::Usage, message).hint(hint));
            }
        };
        let start = range.start;
        let report = attributed.blamed().lines((range, most), section.as_ref());
        self.release(served.lines(start..start + report.lines.len(), sealed));
        Ok(report)
    }

    /// Returns how many lines of each section come from which version.
    pub(crate) fn blame_sections<'r>(
        &mut self,
        attributed: &'r Attributed,
    ) -> BlameSectionsReport<'r> {
        self.recording.listed = Some(1);
        attributed.blamed().sections(attributed.section.as_ref())
    }
}

impl Attributed {
    fn blamed(&self) -> Blamed<'_> {
        Blamed { served: &self.served, blame: &self.blame, seals: &self.seals }
    }
}
