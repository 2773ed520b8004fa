//! Hints for a missing file, or for a file that seems to be another one under a new name.

use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;

use crate::files::vault::git_past::NOT_SPARSE;
use crate::files::vault::left_out::Reason;

use super::{DocumentState, GovernanceState, Row};

fn call(verb: Verb, id: &DocumentId) -> Call {
    Call::new(verb).value(id.as_str())
}

impl Row {
    /// Returns the hints for a document whose file is missing, or for the file that seems to be it.
    pub(crate) fn hints(&self) -> Vec<Hint> {
        let Some(id) = &self.id else { return Vec::new() };
        let restore = || Hint::call("{} writes the file again", call(Verb::Restore, id));
        let retire = || Hint::call("{} withdraws the document", call(Verb::Retire, id));
        let is_unfit = |why: &&Reason| matches!(why, Reason::NotForUse { .. });
        let unfit = self.left_out.as_ref().filter(is_unfit);
        match (self.state, &self.moved) {
            (DocumentState::NotCheckedOut, _) => vec![NOT_SPARSE.into()],
            (DocumentState::Missing, None) => vec![restore(), retire()],
            (DocumentState::Missing, Some(new)) => {
                let moved = renamed(id, new).map_or_else(
                    || moved("its text is in another file; {} records the move", id, new),
                    |back| vec![back],
                );
                moved.into_iter().chain([restore(), retire()]).collect()
            }
            (DocumentState::Retired, Some(new)) => vec![left_behind(new)],
            (DocumentState::Withheld, _) if self.is_gone => vec![withheld(id)],
            (_, Some(old)) => renamed(old, id).map_or_else(
                || {
                    let hint =
                        "it has the text of a document whose file is missing; {} records the move";
                    moved(hint, old, id)
                },
                |back| vec![back],
            ),
            _ => unfit.and_then(|why| why.hint(id)).into_iter().collect(),
        }
    }
}

fn moved(text: &'static str, old: &DocumentId, new: &DocumentId) -> Vec<Hint> {
    vec![Hint::call(text, call(Verb::Mv, old).value(new.as_str()))]
}

/// Returns the hint for a file that a move left in place, because it had other changes.
fn left_behind(new: &DocumentId) -> Hint {
    let target = new.live_path();
    let hint = "copy the other changes of this file into that one, and delete it";
    format!("the document was moved to `{new}`, its text is in `{target}`: {hint}").into()
}

/// Returns the hint for a move that no event can record. Some file systems do not distinguish its
/// two names, such as those of a folder in another case.
fn renamed(old: &DocumentId, new: &DocumentId) -> Option<Hint> {
    old.collision_with(new)?;
    let (old, new) = (old.live_path(), new.live_path());
    let hint = "ids that differ only in case or Unicode form share one history on some systems";
    Some(format!("rename `{new}` back to `{old}`: {hint}").into())
}

/// Returns the hint for a document whose file and published text are both unreadable.
fn withheld(id: &DocumentId) -> Hint {
    Hint::calls(
        "its file is missing too; {} reports what is missing. Put the history back from git or a backup, \
         then run {}",
        [Verb::Verify.into(), call(Verb::Restore, id)],
    )
}

impl GovernanceState {
    /// Returns the hints for a governance file in this state, other than publishing it.
    pub(crate) fn hints(self, id: &DocumentId) -> Vec<Hint> {
        match self {
            Self::Deleted => vec![
                Hint::call("{} writes the file again", call(Verb::Restore, id)),
                Hint::call("{} withdraws it", call(Verb::Retire, id)),
            ],
            Self::NotCheckedOut => vec![NOT_SPARSE.into()],
            Self::New | Self::Changed | Self::Submitted | Self::Copy | Self::Unreadable => {
                Vec::new()
            }
        }
    }
}
