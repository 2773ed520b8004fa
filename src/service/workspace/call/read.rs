//! One published document, or a section of it.

use super::{Call, Places};
#[cfg(feature = "mcp")]
use crate::read::snapshot::portion::Portion;
use crate::read::snapshot::{Need, Served, Snapshot};
use crate::record::audit::Traced;
use crate::service::report::document::{DocumentReport, OutlineReport};
use crate::service::report::failure::Failure;
use crate::service::workspace::moment::Moment;
use crate::service::workspace::version::published;
use crate::text::document::sections::Section;
use crate::text::uri::Class;

/// What it takes to answer.
pub(crate) const NEED: Need = Need::Versions;

/// A document as a checkpoint seals it, and the section that was asked for.
pub(crate) struct Reading {
    /// The document.
    pub(crate) served: Served,
    /// The section; none of the whole document.
    pub(crate) section: Option<Section>,
}

impl Call<'_> {
    /// The document that an id, a URI or a path names, with `#ANCHOR` a section of it.
    ///
    /// # Errors
    /// No such document or section is published then, or the chain does not vouch for it.
    pub(crate) fn read(
        &mut self,
        (vault, source): Places<'_>,
        id: &str,
        at: Option<Moment>,
    ) -> Result<Reading, Failure> {
        let at = self.workspace.checkpoint_at((vault, source), at)?;
        let named = self.workspace.named_at(vault, source, id)?.at(at)?;
        self.recording.class = Some(Class::Direct);
        self.recording.query = Some(id.to_owned());
        let snapshot = Snapshot::of(vault, source, named.checkpoint)?;
        let served = published(vault, &snapshot, &named.id)?;
        let section = named.anchor.map(|anchor| served.section(&anchor)).transpose()?;
        Ok(Reading { served, section })
    }

    /// The sections of what was read: of the document, or those inside of its section.
    pub(crate) fn outline(&mut self, reading: &Reading) -> Vec<Section> {
        self.recording.listed = Some(1);
        let mut sections = reading.served.sections();
        sections.retain(|section| {
            reading.section.as_ref().is_none_or(|whole| {
                whole.range.start <= section.range.start && section.range.end <= whole.range.end
            })
        });
        sections
    }
}

impl Reading {
    /// The report with the text.
    pub(crate) fn report(&self) -> Traced<DocumentReport<'_>> {
        match &self.section {
            None => DocumentReport::whole(&self.served),
            Some(section) => DocumentReport::of_section(&self.served, section),
        }
    }

    /// The report with these sections in place of the text.
    pub(crate) fn outlined<'r>(&'r self, sections: &'r [Section]) -> OutlineReport<'r> {
        OutlineReport::new(&self.served, sections)
    }

    /// What was asked for, as a part of an answer.
    #[cfg(feature = "mcp")]
    pub(crate) fn portion(&self) -> Portion<'_> {
        Portion { section: self.section.as_ref(), ..Portion::whole(&self.served) }
    }
}
