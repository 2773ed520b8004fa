//! Reads one published document, or a section of it.

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

/// The data that an answer needs.
pub(crate) const NEED: Need = Need::Versions;

/// A document as a checkpoint seals it, and the section that was asked for.
pub(crate) struct Reading {
    pub(crate) served: Served,
    /// The section; `None` for the whole document.
    pub(crate) section: Option<Section>,
}

impl Call<'_> {
    /// Reads the document that an id, a URI or a path names; with `#ANCHOR` a section of it.
    ///
    /// # Errors
    /// The document or section is not published at the checkpoint, or the chain does not vouch
    /// for it.
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

    /// Returns the sections of the document, or those inside of the section that was read.
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
    /// Returns the report with the text.
    pub(crate) fn report(&self) -> Traced<DocumentReport<'_>> {
        match &self.section {
            None => DocumentReport::whole(&self.served),
            Some(section) => DocumentReport::of_section(&self.served, section),
        }
    }

    /// The report with the text, and the text as a block for a model.
    #[cfg(feature = "mcp")]
    pub(crate) fn report_with_block(&self) -> Traced<(DocumentReport<'_>, String)> {
        let portion = Portion { section: self.section.as_ref(), ..Portion::whole(&self.served) };
        self.report().map(|report| (report, portion.alone()))
    }

    /// The report with these sections in place of the text.
    pub(crate) fn outlined<'r>(&'r self, sections: &'r [Section]) -> OutlineReport<'r> {
        OutlineReport::new(&self.served, sections)
    }
}
