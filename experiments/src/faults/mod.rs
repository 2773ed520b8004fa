//! Nothing acknowledged is lost: every change of the disk that a command makes fails once, is torn
//! once, and kills the process once. After a simulated power cut, every prefix of the changes
//! survives completely, without its unsynced part, and in random parts.
//!
//! `reviewed` has commands of a governed vault: no text may be published without an approval, and a
//! step of a review happens completely or not at all.
//!
//! After each of these, the vault is at the state before or after the command; every acknowledged
//! success exists; nothing is damaged; and the next publication works.

mod disk;
mod full;
mod recovered;
mod reviewed;
mod scenes;
mod sequence;

pub(crate) use full::run as full;
pub(crate) use recovered::run as recovered;
pub(crate) use sequence::run as crashes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use contextnest::files::vault::disk::Disk as Overseen;
use serde_json::Value;

use self::disk::{Disk, Fault, Survival, Watch, folder_of};
use self::scenes::{Form, Scene, begin};
use crate::Options;
use crate::changes::Op;
use crate::corpus::Draw;
use crate::inside::{Person, scratch};
use crate::process::{Result, head, row};

/// Time of the first event: 2026-01-01.
const BEGIN: i64 = 1_767_225_600_000;
/// Number of random parts of the unsynced changes, for each command and form.
const PARTS: usize = 1000;
/// Maximum number of printed failures: more are not informative.
const SHOWN: usize = 20;

/// The counts of one command.
#[derive(Default)]
struct Counts {
    changes: u64,
    faults: u64,
    cuts: u64,
    old: u64,
    new: u64,
    told: u64,
    uncommitted: u64,
}

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let began = Instant::now();
    let dir = scratch(&options.dir)?;
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|word| name.contains(word));
    let jobs = scenes::all(options.quick).filter(|(scene, _)| is_wanted(scene.name));
    let jobs: Vec<(&Scene, Form)> = jobs.collect();
    let next = AtomicUsize::new(0);
    let work = |worker: usize| -> std::result::Result<Vec<(usize, Counts, Vec<String>)>, String> {
        // One thread, so that the n-th change is the same one each time.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|why| why.to_string())?;
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some((scene, form)) = jobs.get(n) else { return Ok(done) };
            eprintln!("faults: {}, {} log", scene.name, form.word());
            let base = dir.path().join(worker.to_string());
            let (counts, broken) = pool.install(|| {
                one((n, scene, *form), &base, options)
                    .map_err(|why| format!("{}, {} log: {why}", scene.name, form.word()))
            })?;
            done.push((n, counts, broken));
        }
    };
    let cores = std::thread::available_parallelism()?.get();
    let mut results = std::thread::scope(|scope| -> Result<Vec<_>> {
        let work = &work;
        let workers: Vec<_> = (0..cores).map(|n| scope.spawn(move || work(n))).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a worker panicked")??);
        }
        Ok(all)
    })?;
    results.sort_by_key(|(n, ..)| *n);
    let mut out = String::new();
    head(
        &mut out,
        "command | log | changes of the disk | faults | power cuts | state before | state after | reported as a success | uncommitted files kept",
    );
    let mut broken = Vec::new();
    for (n, c, found) in results {
        let (scene, form) = jobs[n];
        row(
            &mut out,
            &[
                scene.name.to_owned(),
                form.word().to_owned(),
                c.changes.to_string(),
                c.faults.to_string(),
                c.cuts.to_string(),
                c.old.to_string(),
                c.new.to_string(),
                c.told.to_string(),
                c.uncommitted.to_string(),
            ],
        );
        broken.extend(found);
    }
    println!("{out}");
    println!("{:.0} s", began.elapsed().as_secs_f64());
    let more = broken.len().saturating_sub(SHOWN);
    broken.truncate(SHOWN);
    if more > 0 {
        broken.push(format!("and {more} more"));
    }
    Ok(broken)
}

/// One command in one vault.
struct Case<'c> {
    scene: &'c Scene,
    form: Form,
    root: PathBuf,
    home: PathBuf,
    person: Person,
    /// The vault before the command.
    before: Disk,
    old: State,
    new: State,
    /// The steps of reviews before and after the command.
    steps: [reviewed::Steps; 2],
}

/// The state of a vault as every reader may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    checkpoints: String,
    texts: BTreeMap<String, String>,
}

impl<'c> Case<'c> {
    /// Makes the vault in a folder, runs the command once without a fault, and returns its changes
    /// of the disk as well.
    fn new(scene: &'c Scene, form: Form, base: &Path) -> Result<(Self, u64, Vec<Op>)> {
        let (root, home) = (base.join("vault"), base.join("home"));
        for folder in [&root, &home] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
        }
        let mut person =
            Person { home: Some(home.clone()), principal: scenes::ANA.into(), now: BEGIN };
        begin(scene, form, &person, &root)?;
        person = person.named(scene.who);
        person.now += 60_000;
        let before = Disk::read(&root, &home)?;
        let old = if scene.is_broken { State::default() } else { state(&person, &root)? };
        let old_steps = reviewed::steps(&person, &root, scene)?;
        let watch = Arc::new(Watch::new(None));
        let said = person.ctx_on(Overseen::overseen(watch.clone()), &root, &scene.args(form));
        if said.exit != 0 {
            return Err(said.complaint().into());
        }
        let (changes, made) = (watch.count(), watch.made());
        let new = state(&person, &root)?;
        if new.texts.is_empty() {
            return Err("no text is compared".into());
        }
        let steps = [old_steps, reviewed::steps(&person, &root, scene)?];
        Ok((Self { scene, form, root, home, person, before, old, new, steps }, changes, made))
    }
}

fn one(
    (number, scene, form): (usize, &Scene, Form),
    base: &Path,
    options: &Options,
) -> Result<(Counts, Vec<String>)> {
    let (case, changes, made) = Case::new(scene, form, base)?;
    let mut counts = Counts { changes, ..Counts::default() };
    let mut broken = Vec::new();
    let mut note = |what: String, outcome: Result<()>| {
        if let Err(why) = outcome {
            broken.push(format!("{}, {} log, {what}: {why}", scene.name, form.word()));
        }
    };
    let stride = options.size((1, 13, 53));
    // Each command begins at another change, since a brief run may test only one.
    let from = if options.brief { number * 7 % stride.min(made.len().max(1)) } else { 0 };
    for n in (from as u64..changes).step_by(stride) {
        for fault in Fault::ALL {
            let what = format!(
                "{} at change {n} ({:?})",
                fault.word(),
                short(made.get(usize::try_from(n)?))
            );
            note(what, case.fault(n, fault, &mut counts));
        }
    }
    let mut draw = Draw::new(options.seed.unwrap_or(1), made.len(), form as usize);
    // A reported success has to survive in every run.
    for end in (from..made.len()).step_by(stride).chain([made.len()]) {
        for survival in [Survival::All, Survival::None] {
            let what = format!("power cut after {end} changes, {survival:?} of the rest");
            note(what, case.cut(&made[..end], made.len(), survival, &mut draw, &mut counts));
        }
    }
    for part in 0..options.size((PARTS, 6, 2)) {
        let end = draw.below(made.len() + 1);
        let what = format!("power cut after {end} changes, part {part} of the rest");
        note(what, case.cut(&made[..end], made.len(), Survival::Some, &mut draw, &mut counts));
    }
    Ok((counts, broken))
}

fn short(op: Option<&Op>) -> Option<Op> {
    Some(match op?.clone() {
        Op::Write(path, at, bytes) => Op::Write(path, at, bytes[..bytes.len().min(20)].to_vec()),
        other => other,
    })
}

impl Case<'_> {
    /// Injects a fault at the n-th change.
    fn fault(&self, n: u64, fault: Fault, counts: &mut Counts) -> Result<()> {
        self.before.lay(&self.root, &self.home)?;
        let watch = Arc::new(Watch::new(Some((n, fault))));
        let disk = Overseen::overseen(watch.clone());
        let said = self.person.ctx_on(disk, &self.root, &self.scene.args(self.form));
        counts.faults += 1;
        let told = said.exit == 0 && !watch.was_killed();
        if !matches!(said.exit, 0 | 5) {
            return Err(said.complaint().into());
        }
        self.judge(told, told, counts)
    }

    /// Cuts the power after these changes, of `all`.
    fn cut(
        &self,
        made: &[Op],
        all: usize,
        survival: Survival,
        draw: &mut Draw,
        counts: &mut Counts,
    ) -> Result<()> {
        self.before.clone().after(made, survival, draw).lay(&self.root, &self.home)?;
        counts.cuts += 1;
        let log = self.form.log();
        let written = made.iter().position(|op| op.writes(log));
        let is_synced = written.is_some_and(|at| made[at..].iter().any(|op| op.syncs(log)));
        // The name of a new file is durable when its folder is.
        let is_named =
            |op: &Op| matches!(op, Op::Create(path) | Op::Rename(_, path) if path == log);
        let named = made.iter().rposition(is_named);
        let has_name = named.is_none_or(|at| made[at..].iter().any(|op| op.syncs(folder_of(log))));
        let is_durable = is_synced && has_name;
        let told = made.len() == all;
        self.judge(told, is_durable, counts)
    }

    /// Checks the result, and continues to work with it.
    fn judge(&self, told: bool, must_be_new: bool, counts: &mut Counts) -> Result<()> {
        counts.told += u64::from(told);
        if self.scene.is_broken && self.sound("").is_err() {
            // The log is as broken as before, and can still be repaired.
            if told || must_be_new {
                return Err("it is not repaired".into());
            }
            counts.old += 1;
            self.person.done(&self.root, &self.scene.args(self.form))?;
            self.sound("after doing it again")?;
            return match state(&self.person, &self.root)? == self.new {
                true => Ok(()),
                false => Err("another log than without the fault".into()),
            };
        }
        self.sound("right after it")?;
        let found = state(&self.person, &self.root)?;
        let is_event = self.old != self.new;
        match (found == self.old, found == self.new) {
            (false, false) => return Err(format!("neither before nor after: {found:?}").into()),
            (true, false) if must_be_new && is_event => {
                return Err("what was acknowledged is gone".into());
            }
            // The outcome of a step is known after the next writer has checked it.
            _ if self.scene.is_governed => {}
            (_, true) => counts.new += 1,
            (true, false) => counts.old += 1,
        }
        if self.scene.is_governed {
            let is_new = is_event && found == self.new;
            return self.judge_review(told, is_new, counts);
        }
        // Another user continues to work.
        let mut later = self.person.clone();
        later.now += 60_000;
        crate::inside::write(&self.root, "nodes/later.md", "# Later\n")?;
        later.done(&self.root, &["publish", "--all"])?;
        let said = later.ctx(&self.root, &["verify", "--json"]);
        if said.exit != 0 {
            return Err(format!("after the next publication: {}", said.complaint()).into());
        }
        let notes = said.json();
        let unfinished = codes(&notes).into_iter().filter(|code| code == "unfinished").count();
        if unfinished > 0 {
            later.done(&self.root, &["recover"])?;
            let said = later.ctx(&self.root, &["verify", "--json"]);
            if codes(&said.json()).iter().any(|code| code == "unfinished") {
                return Err(said.complaint().into());
            }
        }
        counts.uncommitted += u64::from(self.root.join(".context/local/recovered").exists());
        let is_done = self.scene.is_done(&self.root, self.form);
        if told && !is_done {
            return Err("it was reported as a success, but is not done".into());
        }
        if found == self.new && is_event && is_done {
            return Ok(());
        }
        // The missing work is repeated.
        later.now += 60_000;
        let again = later.ctx(&self.root, &self.scene.args(self.form));
        match again.exit {
            0 if !self.scene.is_done(&self.root, self.form) => Err("it is not done".into()),
            0 | 1 => self.sound("after doing it again"),
            _ => Err(again.complaint().into()),
        }
    }

    /// Checks that nothing is damaged or unsettled.
    fn sound(&self, when: &str) -> Result<()> {
        let said = self.person.ctx(&self.root, &["verify", "--json", "--allow-drift"]);
        if said.exit == 0 { Ok(()) } else { Err(format!("{when}: {}", said.complaint()).into()) }
    }
}

fn codes(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().filter_map(|f| f["code"].as_str().map(str::to_owned)).collect()
}

/// Returns the checkpoints, and the text of every document as it is served.
fn state(person: &Person, root: &Path) -> Result<State> {
    let checkpoints = person.done(root, &["checkpoint", "list", "--json"])?.stdout;
    let mut texts = BTreeMap::new();
    let served = person.done(root, &["resolve", "type:document", "--bodies", "--json"])?.json();
    for document in served["documents"].as_array().cloned().unwrap_or_default() {
        let (id, text) = (document["id"].as_str(), document["body"].as_str());
        if let (Some(id), Some(text)) = (id, text) {
            texts.insert(id.to_owned(), text.to_owned());
        }
    }
    Ok(State { checkpoints, texts })
}
