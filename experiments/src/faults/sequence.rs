//! A random sequence of commands with random crashes produces the same vault as the sequence
//! without the crashed commands, byte for byte, under the same clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextnest::files::vault::disk::Disk as Overseen;

use super::BEGIN;
use super::disk::{Fault, Watch};
use super::scenes::Form;
use crate::Options;
use crate::corpus::Draw;
use crate::inside::{Person, Said, scratch, write};
use crate::process::{Result, head, row};

const SEQUENCES: usize = 300;
const STEPS: usize = 40;
/// Most commands make fewer changes of the disk.
const CHANGES: usize = 45;
const DOCUMENTS: usize = 8;

/// An edit of a user, and the command that follows.
struct Step {
    edited: Vec<usize>,
    args: Vec<String>,
}

impl Step {
    fn draw(draw: &mut Draw, n: usize) -> Self {
        let edited = (0..DOCUMENTS).filter(|_| draw.below(3) == 0).collect();
        let one = format!("nodes/d{}", draw.below(DOCUMENTS));
        let (new, list) = (format!("nodes/new{n}"), format!("p{n}"));
        let words: Vec<&str> = match draw.below(12) {
            0 | 1 => vec!["publish", "--all"],
            2 | 3 => vec!["publish", "--changed"],
            4 | 5 => vec!["publish", &one],
            6 => vec!["add", &new, "--body", "# New\n"],
            7 => vec!["retire", &one],
            8 => vec!["mv", &one, &new],
            9 => vec!["pack", "add", &list, "--query", "type:document"],
            10 => vec!["index"],
            _ => vec!["checkpoint", "rebuild"],
        };
        Self { edited, args: words.into_iter().map(str::to_owned).collect() }
    }
}

/// A vault and its user.
struct World {
    root: PathBuf,
    person: Person,
}

impl World {
    fn new(dir: &Path, name: &str, form: Form) -> Result<Self> {
        let (root, home) = (dir.join(name).join("vault"), dir.join(name).join("home"));
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&home)?;
        let person = Person { home: Some(home), principal: "ana@example.com".into(), now: BEGIN };
        person.done(&root, &["init", ".", "--name", "vault"])?;
        write(&root, ".context/config.yaml", form.config())?;
        Ok(Self { root, person })
    }

    fn edit(&self, step: &Step, n: usize) -> Result<()> {
        for document in &step.edited {
            let path = format!("nodes/d{document}.md");
            let text = fs::read_to_string(self.root.join(&path));
            let text = text.unwrap_or_else(|_| format!("# Document {document}\n"));
            write(&self.root, &path, format!("{text}- step {n}\n"))?;
        }
        Ok(())
    }

    fn run(&self, args: &[String], overseer: Option<Arc<Watch>>) -> Said {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let disk = overseer.map_or_else(Overseen::default, |watch| Overseen::overseen(watch));
        self.person.ctx_on(disk, &self.root, &args)
    }

    fn head(&self) -> Result<String> {
        Ok(self.person.ctx(&self.root, &["head"]).stdout)
    }

    /// Returns every file except those of this machine only, and except the change log of a
    /// random writer.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let name = path.strip_prefix(&self.root)?.to_string_lossy().into_owned();
                match path.is_dir() {
                    true if [".context/local", ".context/audit"].contains(&name.as_str()) => {}
                    true => folders.push(path),
                    false => drop(files.insert(name, fs::read(path)?)),
                }
            }
        }
        Ok(files)
    }
}

#[derive(Default)]
struct Counts {
    commands: u64,
    crashed: u64,
    committed: u64,
    recoveries: u64,
    checkpoints: u64,
}

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let (sequences, steps) = if options.quick { (3, 10) } else { (SEQUENCES, STEPS) };
    let mut broken = Vec::new();
    let mut out = String::new();
    head(
        &mut out,
        "log | sequences | commands | killed | of these after the commit | recoveries killed | checkpoints compared",
    );
    for form in Form::ALL {
        let mut counts = Counts::default();
        for sequence in 0..sequences {
            let dir = scratch(&options.dir)?;
            let mut draw = Draw::new(options.seed.unwrap_or(3), sequence, form as usize);
            if let Err(why) = compare(dir.path(), form, &mut draw, steps, &mut counts) {
                broken.push(format!("sequence {sequence}, {} log: {why}", form.word()));
            }
        }
        let Counts { commands, crashed, committed, recoveries, checkpoints } = counts;
        let counts = [commands, crashed, committed, recoveries, checkpoints];
        let cells = counts.map(|n| n.to_string());
        row(&mut out, &[&[form.word().to_owned(), sequences.to_string()], &cells[..]].concat());
    }
    println!("{out}");
    Ok(broken)
}

fn compare(
    dir: &Path,
    form: Form,
    draw: &mut Draw,
    steps: usize,
    counts: &mut Counts,
) -> Result<()> {
    let mut crashing = World::new(dir, "crashing", form)?;
    let mut spared = World::new(dir, "spared", form)?;
    for n in 0..steps {
        let step = Step::draw(draw, n);
        for world in [&mut crashing, &mut spared] {
            world.person.now += 60_000;
            world.edit(&step, n)?;
        }
        counts.commands += 1;
        let before = crashing.head()?;
        let watch = (draw.below(3) == 0).then(|| fault(draw));
        let said = crashing.run(&step.args, watch.clone());
        let died = watch.is_some_and(|watch| watch.was_killed());
        // A pack is a live file, and not an event: it exists, or it does not.
        let is_made =
            step.args[0] == "pack" && crashing.root.join(format!("packs/p{n}.yml")).exists();
        let is_committed = is_made || crashing.head()? != before;
        if died {
            counts.crashed += 1;
            counts.committed += u64::from(is_committed);
            // A user recovers before an edit; that command may be killed, too.
            while draw.below(3) == 0 {
                counts.recoveries += 1;
                drop(crashing.run(&["recover".to_owned()], Some(fault(draw))));
            }
            crashing.person.done(&crashing.root, &["recover"])?;
        }
        if !died || is_committed {
            let other = spared.run(&step.args, None);
            // An interrupted command may already have made the files of an index.
            let is_told = step.args[0] != "index";
            if !died && is_told && (other.exit, &other.stdout) != (said.exit, &said.stdout) {
                let (one, other) = (said.complaint(), other.complaint());
                return Err(format!("step {n}: {one}\nwithout crashes: {other}").into());
            }
        }
        let (one, other) = (crashing.head()?, spared.head()?);
        if one != other {
            return Err(format!("step {n}, {:?}: head {one} is not {other}", step.args).into());
        }
    }
    for world in [&mut crashing, &mut spared] {
        world.person.now += 60_000;
        world.person.ctx(&world.root, &["publish", "--all"]);
        world.person.done(&world.root, &["index"])?;
        world.person.done(&world.root, &["verify", "--allow-drift"])?;
    }
    let list = crashing.person.done(&crashing.root, &["checkpoint", "list"])?.stdout;
    counts.checkpoints += list.lines().count() as u64;
    let (one, other) = (crashing.files()?, spared.files()?);
    let names = one.keys().chain(other.keys());
    match names.into_iter().find(|name| one.get(*name) != other.get(*name)) {
        None => Ok(()),
        Some(name) => {
            let text = |files: &BTreeMap<String, Vec<u8>>| {
                files.get(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            Err(format!("`{name}` is {:?}, not {:?}", text(&one), text(&other)).into())
        }
    }
}

fn fault(draw: &mut Draw) -> Arc<Watch> {
    let fault = [Fault::Dies, Fault::DiesWithin][draw.below(2)];
    Arc::new(Watch::new(Some((draw.below(CHANGES) as u64, fault))))
}
