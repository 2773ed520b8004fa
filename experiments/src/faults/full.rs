//! A disk that is full: a small file system in memory with so many pages free that a command comes
//! just so far, from none on until it has room enough.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Command;

use super::{Case, Counts, scenes};
use crate::Options;
use crate::process::{Result, head, row};

const PAGE: usize = 4096;
/// More than any of these vaults takes.
const SIZE: &str = "size=6m";

/// A file system of its own, gone with its owner.
struct Mount(PathBuf);

impl Mount {
    /// None where the user may not mount anything.
    fn new(dir: PathBuf) -> Result<Option<Self>> {
        fs::create_dir_all(&dir)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "tmpfs"])
            .arg(&dir)
            .output()
            .is_ok_and(|output| output.status.success());
        Ok(mounted.then_some(Self(dir)))
    }

    /// Takes all room but so many pages.
    fn fill(&self, free: u64) -> Result<()> {
        let path = self.0.join("fill");
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        while file.write_all(&[1; PAGE]).is_ok() {}
        let pages = file.metadata()?.len() / PAGE as u64;
        Ok(file.set_len((pages - free.min(pages)) * PAGE as u64)?)
    }

    fn empty(&self) -> io::Result<()> {
        fs::remove_file(self.0.join("fill"))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

/// In pages: the whole file system.
const PAGES: u64 = 1536;

/// Runs the experiment, prints its table, and gives the claims that did not hold.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let Some(mount) = Mount::new(options.dir.join("full"))? else {
        println!("a full disk: not run, because nobody may mount a file system here\n");
        return Ok(Vec::new());
    };
    let mut out = String::new();
    head(
        &mut out,
        "command | log | runs | room for all from | failed | state before | state after | uncommitted files kept",
    );
    let mut broken = Vec::new();
    for (scene, form) in scenes::all(options.quick) {
        let (case, ..) = Case::new(scene, form, &mount.0)?;
        let (mut counts, mut runs, mut failed, mut free) = (Counts::default(), 0, 0, 0);
        loop {
            runs += 1;
            match case.in_pages(&mount, free, &mut counts) {
                Ok(true) => break,
                Ok(false) => failed += 1,
                Err(why) => broken.push(format!(
                    "{}, {} log, {free} pages free: {why}",
                    scene.name,
                    form.word()
                )),
            }
            if broken.len() >= super::SHOWN || free > PAGES {
                return Ok(broken);
            }
            free += if options.quick { 17 } else { 1 };
        }
        let counts = [runs, free, failed, counts.old, counts.new, counts.uncommitted];
        let cells = counts.map(|n: u64| n.to_string());
        row(&mut out, &[&[scene.name.to_owned(), form.word().to_owned()], &cells[..]].concat());
    }
    println!("{out}");
    Ok(broken)
}

impl Case<'_> {
    /// Runs the command with so many pages free; says whether it had room.
    fn in_pages(&self, mount: &Mount, free: u64, counts: &mut Counts) -> Result<bool> {
        self.before.lay(&self.root, &self.home)?;
        mount.fill(free)?;
        let said = self.person.ctx(&self.root, &self.scene.args(self.form));
        // Reading needs no room.
        let look = self.person.ctx(&self.root, &["verify", "--json", "--allow-drift"]);
        mount.empty()?;
        if !matches!(said.exit, 0 | 5) {
            return Err(said.complaint().into());
        }
        if look.exit != 0 && !self.scene.is_broken {
            return Err(format!("while it is full: {}", look.complaint()).into());
        }
        self.judge(said.exit == 0, said.exit == 0, counts)?;
        // A success may still have had no room for what follows the commit.
        Ok(said.exit == 0 && !said.stderr.contains("warning: "))
    }
}
