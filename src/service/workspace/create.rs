//! Makes files that are not published yet: packs.

use super::Workspace;
use crate::files::vault::Vault;
use crate::read::working;
use crate::record::trusted_head;
use crate::service::report::failure::{Code, Failure};
use crate::text::pack::{self, Pack};
use crate::values::model::id::DocumentId;
use crate::write::commit::expect::{self, Expect};
use crate::write::publish::review;

/// Returns the file of a pack with this name.
pub(crate) fn file_of(name: &str) -> Result<DocumentId, Failure> {
    let file = DocumentId::of_governance_file(&format!("packs/{name}.yml"))?;
    if !file.is_pack() || name.starts_with('.') {
        return Err(Failure::new(Code::Usage, format!("`{file}` is not the name of a pack file"))
            .hint("a name cannot contain `/` or begin with a dot"));
    }
    Ok(file)
}

/// Refuses a write without an event if the published versions are not the expected ones. The caller
/// holds the lock.
pub(crate) fn check(vault: &Vault, ids: &[&DocumentId], expect: Expect) -> Result<(), Failure> {
    if expect == Expect::default() {
        return Ok(());
    }
    let log = trusted_head::open_log_locked(vault)?;
    let chronicle = log.sound()?;
    Ok(expect::check((vault, &chronicle), ids, expect, review::may_name(vault, &chronicle))?)
}

impl Workspace<'_> {
    /// Writes a new pack file. Fails if the file exists, or another live pack has the same id.
    pub(crate) fn create_pack(
        &self,
        vault: &Vault,
        (file, pack): (&DocumentId, &Pack),
        expect: Expect,
    ) -> Result<(), Failure> {
        let text = pack::write(pack);
        if let Some(problem) = pack::read(&text, &vault.config().authorities).problems.first() {
            return Err(Failure::new(Code::Usage, problem.kind.to_string()).hint(problem.hint()));
        }
        let _lock = vault.lock(&self.holder()?)?;
        check(vault, &[file], expect)?;
        let same = |other: &working::packs::PackFile| other.reading.id.as_ref() == Some(&pack.id);
        if let Some(other) = working::packs::read_all(vault).into_iter().find(same) {
            let message = format!("`{}` has the id `{}` already", other.path, pack.id);
            return Err(Failure::new(Code::Exists, message).hint("choose another id with `--id`"));
        }
        let path = file.live_path();
        if vault.files().exists(&path) {
            return Err(Failure::new(Code::Exists, format!("the file `{path}` exists already"))
                .hint("edit the file, or choose another name"));
        }
        Ok(vault.files().create_durable(&path, text.as_bytes())?)
    }
}
