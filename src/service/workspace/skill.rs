//! Writes a skill for agents: its place, and its text about a vault.

use std::path::{Component, Path, PathBuf};

use super::Workspace;
use super::call::Call;
use super::call::map::Mapped;
use crate::files::vault::Vault;
use crate::files::vault::config::Config;
use crate::files::vault::files::Files;
use crate::read::derived::skill::{self, About, Change, PackLine, Taught};
use crate::read::snapshot::portion::Portion;
use crate::record::audit::Traced;
use crate::service::report::failure::{Code, Failure};

/// The project that agents work in.
pub(crate) struct Project {
    pub(crate) folder: PathBuf,
    /// The folder of the vault, relative to the project; `.` for the project itself.
    pub(crate) vault: String,
    skills: String,
    files: Files,
}

/// The files to write.
pub(crate) struct Plan {
    /// The files, each with its change.
    pub(crate) files: Vec<(Taught, Change)>,
}

impl Workspace<'_> {
    /// Returns the project that contains a vault: the folder that is named, or else that of the git
    /// repository, or else the vault's.
    ///
    /// # Errors
    /// The folder does not contain the vault, or the folder of the skills is not in the project.
    pub(crate) fn project(
        &self,
        vault: &Vault,
        folder: Option<&str>,
        skills: &str,
    ) -> Result<Project, Failure> {
        let folder = match folder {
            Some(named) => {
                let path = self.environment.cwd.join(named);
                path.canonicalize().map_err(|why| {
                    Failure::new(Code::Usage, format!("`{named}` cannot be opened: {why}"))
                })?
            }
            None => self.top(vault).unwrap_or_else(|| vault.root().to_owned()),
        };
        let Some(inside) = vault.root().strip_prefix(&folder).ok().and_then(Path::to_str) else {
            let message = format!("`{}` does not contain the vault", folder.display());
            return Err(Failure::new(Code::Usage, message)
                .hint(format!("name a folder above {}", vault.root().display())));
        };
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let skills = skills.trim_end_matches('/');
        if skills.is_empty() || !Path::new(skills).components().all(is_plain) {
            let message = format!("`{skills}` is not a folder in the project");
            return Err(Failure::new(Code::Usage, message)
                .hint("name the folder where agents expect skills, such as `.claude/skills`"));
        }
        let vault = if inside.is_empty() { "." } else { inside }.to_owned();
        let files = Files::open(&folder)?.on(self.environment.disk.clone());
        Ok(Project { folder, vault, skills: skills.to_owned(), files })
    }
}

impl Project {
    /// Returns the files of the skill, and the change of each.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn plan(&self, about: &About) -> Result<Plan, Failure> {
        let texts = skill::texts(about, &self.skills);
        let changes = skill::plan(&self.files, &texts)?;
        Ok(Plan { files: texts.into_iter().zip(changes).collect() })
    }

    /// Writes the files.
    ///
    /// # Errors
    /// A file cannot be written. Those before it are.
    pub(crate) fn bring(&self, plan: &Plan) -> Result<(), Failure> {
        let each = |(one, change): &(Taught, Change)| skill::bring(&self.files, one, change);
        Ok(plan.files.iter().try_for_each(each)?)
    }
}

impl Plan {
    /// Returns the first file that was edited by hand, and the reason why it cannot be replaced.
    pub(crate) fn edited(&self) -> Option<(&Taught, &'static str)> {
        self.files.iter().find_map(|(one, change)| match change {
            Change::Edited(why) => Some((one, *why)),
            _ => None,
        })
    }
}

impl Call<'_> {
    /// Collects the published texts for a skill. If reading is limited, the skill names nothing,
    /// because its files have other readers.
    ///
    /// # Errors
    /// The log is not valid.
    pub(crate) fn skill(
        &mut self,
        mapped: &Mapped<'_>,
        folder: String,
    ) -> Result<Traced<About>, Failure> {
        let is_open = !mapped.snapshot.is_limited();
        let served = mapped.instructions.as_ref().filter(|_| is_open);
        let instructions = served.map(|served| Portion::whole(served).handed_out());
        let packs = mapped.packs.usable.iter().filter(|_| is_open);
        let packs: Vec<PackLine> = packs.map(|sealed| PackLine::of(&sealed.pack)).collect();
        self.recording.listed = Some(packs.len());
        let config = mapped.snapshot.config();
        let is_governed = config.is_some_and(Config::is_governed);
        let name = mapped.snapshot.name();
        let about = |instructions| About { name, folder, is_governed, packs, instructions };
        Ok(match instructions {
            Some(text) => text.map(|text| about(Some(text))),
            None => Traced::new(about(None), Vec::new()),
        })
    }
}
