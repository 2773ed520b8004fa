//! A full disk: a small file system in memory with an increasing number of free pages, from none
//! until the command has enough room.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::Command;

use super::{Case, Counts, scenes};
use crate::Options;
use crate::process::{Result, head, row};

const PAGE: usize = 4096;
/// Larger than any of these vaults.
const SIZE: &str = "size=6m";

/// A file system that is removed with this value.
struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system; `None` if the user may not mount.
    fn new(dir: PathBuf) -> Result<Option<Self>> {
        fs::create_dir_all(&dir)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "tmpfs"])
            .arg(&dir)
            .output()
            .is_ok_and(|output| output.status.success());
        Ok(mounted.then_some(Self(dir)))
    }

    /// Fills everything but this number of pages.
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

/// Number of pages of the whole file system.
const PAGES: u64 = 1536;

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let Some(mount) = Mount::new(options.dir.join("full"))? else {
        println!("a full disk: not run, because this user may not mount a file system\n");
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
    /// Runs the command with this number of free pages; returns true if it had enough room.
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
        // A success may still have lacked room for the after-commit steps.
        Ok(said.exit == 0 && !said.stderr.contains("warning: "))
    }
}
