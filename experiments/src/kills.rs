//! Real processes: killed at random moments, and many at once.
//!
//! `kills` lets a process publish 1, 50 or 2,000 documents and kills it at a random moment, 500
//! times; after each, the vault is at the state before or after, and the next publication works.
//! After each kill only files that were edited before may differ, and `recover --dry-run` lists
//! what `recover` does. The same holds for submissions and approvals of a governed vault, where no
//! text is ever served without an approval. `writers` lets 16 processes publish 25 documents each,
//! and eight read, edit and publish the same one with `--expect-version`, while others read and
//! verify; none may be lost, and no reader may see a mixture. Then threads of one process do the
//! same through the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Options;
use crate::corpus::Draw;
use crate::process::{CTX, Result, head, row};
use crate::threads;

/// Number of documents that are published at once, and number of kills.
const KILLS: [(usize, usize); 3] = [(1, 250), (50, 200), (2000, 50)];
const QUICK_KILLS: [(usize, usize); 2] = [(1, 8), (50, 4)];
/// Number of documents that are submitted and approved at once, and number of kills.
const REVIEW_KILLS: [(usize, usize); 2] = [(1, 50), (50, 50)];
const QUICK_REVIEW_KILLS: [(usize, usize); 2] = [(1, 3), (20, 3)];
const WRITERS: usize = 16;
const EACH: usize = 25;
const RIVALS: usize = 8;
const TURNS: usize = 10;

/// A vault, and the home of its users.
struct Place {
    root: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new(dir: &Path, name: &str) -> Result<Self> {
        let (root, home) = (dir.join(name), dir.join(format!("{name}.home")));
        fs::create_dir_all(root.join("nodes"))?;
        fs::create_dir_all(&home)?;
        let place = Self { root, home };
        place.done(&["init", "."])?;
        Ok(place)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(CTX);
        command.args(args).current_dir(&self.root).env_clear().env("HOME", &self.home);
        command.env("CTX_PRINCIPAL", "ana@example.com").stdin(Stdio::null());
        command
    }

    fn start(&self, args: &[&str]) -> Result<Child> {
        Ok(self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
    }

    fn output(&self, args: &[&str]) -> Result<Output> {
        Ok(self.command(args).output()?)
    }

    fn done(&self, args: &[&str]) -> Result<Value> {
        let output = self.output(args)?;
        match output.status.code() {
            Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap_or_default()),
            _ => Err(complaint(args, &output).into()),
        }
    }

    /// Checks that nothing is damaged or unsettled, and only files that were edited before differ.
    fn sound(&self) -> Result<Value> {
        let args = ["verify", "--json", "--allow-drift"];
        let output = self.output(&args)?;
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let mut findings = report["findings"].as_array().into_iter().flatten();
        let is_wrong = |found: &Value| {
            // The experiment edits every document before it publishes or submits them.
            found["class"] != "note" && found["code"] != "drift"
        };
        match output.status.success() && !findings.any(is_wrong) {
            true => Ok(report),
            false => Err(complaint(&args, &output).into()),
        }
    }

    /// Recovers, and checks that `recover --dry-run` lists the same.
    fn recover_as_listed(&self) -> Result<()> {
        let listed = |args: &[&str]| -> Result<Value> {
            let mut report = self.done(args)?;
            for key in ["dry_run", "folder"] {
                report.as_object_mut().map(|report| report.remove(key));
            }
            Ok(report)
        };
        let planned = listed(&["recover", "--dry-run", "--json"])?;
        let made = listed(&["recover", "--json"])?;
        match planned == made {
            true => Ok(()),
            false => Err(format!("`recover` did {made}, but listed {planned}").into()),
        }
    }

    fn checkpoints(&self) -> Result<u64> {
        let list = self.sound()?;
        list["checkpoints"].as_u64().ok_or_else(|| "no number of checkpoints".into())
    }
}

fn complaint(args: &[&str], output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(1500).collect::<String>();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("`ctx {}`: {}\n{out}{err}", args.join(" "), output.status)
}

/// Kills publications, prints the table, and returns the claims that failed.
pub(crate) fn kills(options: &Options) -> Result<Vec<String>> {
    let mut out = String::new();
    head(
        &mut out,
        "documents | killed | before the commit | after it | too late | uncommitted files kept",
    );
    let mut broken = Vec::new();
    let rounds: &[(usize, usize)] = if options.quick { &QUICK_KILLS } else { &KILLS };
    for (documents, times) in rounds {
        let place = Place::new(&options.dir, &format!("kills-{documents}"))?;
        let mut draw = Draw::new(options.seed.unwrap_or(7), *documents, *times);
        // The last line differs in each round.
        let edit = |round: &str| -> Result<()> {
            for n in 0..*documents {
                let path = place.root.join(format!("nodes/d{n}.md"));
                let text = fs::read_to_string(&path).unwrap_or_else(|_| "round\n".to_owned());
                let body = text.rfind("round").unwrap_or(0);
                fs::write(path, format!("{}round {round}\n", &text[..body]))?;
            }
            Ok(())
        };
        let mut usual = Duration::MAX;
        for warm in ["a", "b", "c"] {
            edit(warm)?;
            let began = Instant::now();
            place.done(&["publish", "--all"])?;
            usual = usual.min(began.elapsed());
        }
        let mut counts = [0; 3];
        for round in 1..=*times {
            eprintln!("kills: {documents} documents, {round} of {times}");
            if let Err(why) = kill_one(&place, &mut draw, usual, round, &edit, &mut counts) {
                broken.push(format!("{documents} documents, round {round}: {why}"));
                break;
            }
        }
        let kept = fs::read_dir(place.root.join(".context/local/recovered"));
        let kept = kept.map_or(0, Iterator::count);
        let counts = counts.map(|n: u64| n.to_string());
        let [before, after, late] = counts;
        row(
            &mut out,
            &[documents.to_string(), times.to_string(), before, after, late, kept.to_string()],
        );
    }
    println!("{out}");
    broken.extend(reviews(options)?);
    Ok(broken)
}

/// Kills submissions and approvals, prints the table, and returns the claims that failed.
fn reviews(options: &Options) -> Result<Vec<String>> {
    let mut out = String::new();
    head(&mut out, "documents | step | killed | not done | done | too late");
    let mut broken = Vec::new();
    let rounds: &[(usize, usize)] = if options.quick { &QUICK_REVIEW_KILLS } else { &REVIEW_KILLS };
    for (documents, times) in rounds {
        let place = Place::new(&options.dir, &format!("kills-reviews-{documents}"))?;
        let mut vault = Reviewed::new(place, *documents)?;
        let mut draw = Draw::new(options.seed.unwrap_or(9), *documents, *times);
        let mut counts = [[0_u64; 3]; 2];
        let warm = vault.round(0, None, &mut counts)?;
        for round in 1..=*times {
            eprintln!("kills: a review of {documents} documents, {round} of {times}");
            let killed = vault.round(round, Some((&mut draw, warm)), &mut counts);
            if let Err(why) = killed {
                broken.push(format!("a review of {documents} documents, round {round}: {why}"));
                break;
            }
        }
        for (step, counts) in ["submit", "approve"].iter().zip(counts) {
            let cells = [documents.to_string(), (*step).to_owned(), times.to_string()];
            row(&mut out, &[&cells[..], &counts.map(|n| n.to_string())].concat());
        }
    }
    println!("{out}");
    Ok(broken)
}

/// A governed vault with documents that are submitted and approved together.
struct Reviewed {
    place: Place,
    ids: Vec<String>,
    /// The word in the served texts.
    served: String,
}

impl Reviewed {
    fn new(place: Place, documents: usize) -> Result<Self> {
        let ids: Vec<String> = (0..documents).map(|n| format!("nodes/d{n}")).collect();
        for id in &ids {
            fs::write(place.root.join(format!("{id}.md")), "# Document\n\nround 0\n")?;
        }
        place.done(&["publish", "--all"])?;
        let reviewer =
            |who: &str| format!("  - {{principal: {who}@example.com, role: reviewer}}\n");
        let editor = "  - {principal: ana@example.com, role: editor}\n";
        let text = format!("version: 1\nvault:\n{}{}{editor}", reviewer("bo"), reviewer("kim"));
        fs::write(place.root.join("stewards.yaml"), text)?;
        place.done(&["govern", "on"])?;
        Ok(Self { place, ids, served: "round 0".to_owned() })
    }

    /// Edits, submits and approves everything; both steps are killed at a random moment of their
    /// usual time, and then repeated. Returns their times.
    fn round(
        &mut self,
        round: usize,
        mut kill: Option<(&mut Draw, [Duration; 2])>,
        counts: &mut [[u64; 3]; 2],
    ) -> Result<[Duration; 2]> {
        let word = format!("round {}", round + 1);
        for id in &self.ids {
            let path = self.place.root.join(format!("{id}.md"));
            let text = fs::read_to_string(&path)?;
            let body = text.rfind("round").unwrap_or(0);
            fs::write(path, format!("{}{word}\n", &text[..body]))?;
        }
        let ids: Vec<&str> = self.ids.iter().map(String::as_str).collect();
        let submit = [&["submit", "--change", "all"], &ids[..]].concat();
        let approve = ["approve", "--change", "all", "--as", "bo@example.com"];
        let mut took = [Duration::ZERO; 2];
        for (n, args) in [&submit[..], &approve].into_iter().enumerate() {
            let began = Instant::now();
            if let Some((draw, usual)) = &mut kill {
                let (was_over, is_done) = self.kill(args, n, (draw, usual[n]), &word)?;
                counts[n][if was_over { 2 } else { usize::from(is_done) }] += 1;
                if was_over && !is_done {
                    return Err(format!("`{}` was done, and is not", args[0]).into());
                }
                if is_done {
                    continue;
                }
            }
            self.place.done(args)?;
            took[n] = began.elapsed();
        }
        self.served = word;
        self.place.done(&["verify"])?;
        match self.is_served(&self.served)? {
            true => Ok(took),
            false => Err(format!("`{}` is not served", self.served).into()),
        }
    }

    /// Kills a step; returns whether it had ended, and whether its work is done.
    fn kill(
        &self,
        args: &[&str],
        n: usize,
        (draw, usual): (&mut Draw, Duration),
        word: &str,
    ) -> Result<(bool, bool)> {
        let mut child = self.place.start(args)?;
        std::thread::sleep(usual * u32::try_from(draw.below(1_000))? / 1000);
        let was_over = child.try_wait()?.is_some();
        child.kill()?;
        child.wait()?;
        self.place.sound()?;
        let is_new = n == 1 && self.is_served(word)?;
        if !is_new && !self.is_served(&self.served)? {
            return Err("documents of two rounds are served".into());
        }
        // The next writer determines the outcome of a step.
        self.place.recover_as_listed()?;
        self.place.sound()?;
        let report = self.place.done(&["review", "--all", "--json", "--as", "kim@example.com"])?;
        let waiting = report["waiting"].as_array().map_or(0, Vec::len);
        let expected = if is_new || n == 0 { 0 } else { self.ids.len() };
        match (waiting == self.ids.len(), waiting == expected) {
            (true, _) if n == 0 => Ok((was_over, true)),
            (_, true) => Ok((was_over, is_new)),
            _ => Err(format!("{waiting} submissions await a decision").into()),
        }
    }

    /// Returns true if every document is served as of this round.
    fn is_served(&self, word: &str) -> Result<bool> {
        let output = self.place.done(&["resolve", "type:document", "--bodies", "--json"])?;
        let documents: Vec<&Value> = output["documents"].as_array().into_iter().flatten().collect();
        let ends = |one: &Value| one["body"].as_str().is_some_and(|b| b.trim_end().ends_with(word));
        Ok(documents.len() == self.ids.len() && documents.into_iter().all(ends))
    }
}

fn kill_one(
    place: &Place,
    draw: &mut Draw,
    usual: Duration,
    round: usize,
    edit: &dyn Fn(&str) -> Result<()>,
    counts: &mut [u64; 3],
) -> Result<()> {
    edit(&round.to_string())?;
    let before = place.checkpoints()?;
    let mut child = place.start(&["publish", "--all"])?;
    let thousandth = u32::try_from(draw.below(1_000))?;
    std::thread::sleep(usual * thousandth / 1000);
    let was_over = child.try_wait()?.is_some();
    child.kill()?;
    child.wait()?;
    let after = place.checkpoints()?;
    match (was_over, after - before) {
        (true, 1) => counts[2] += 1,
        (false, 0) => counts[0] += 1,
        (false, 1) => counts[1] += 1,
        (was_over, n) => return Err(format!("{n} checkpoints more, over: {was_over}").into()),
    }
    // In every other round, the next publication recovers by itself.
    if round.is_multiple_of(2) {
        place.recover_as_listed()?;
        place.sound()?;
    }
    // The next publication includes everything that was not published.
    place.done(&["publish", "--all"])?;
    let report = place.done(&["verify", "--json"])?;
    let served = place.output(&["read", "nodes/d0"])?;
    let text = String::from_utf8_lossy(&served.stdout).into_owned();
    if !text.ends_with(&format!("round {round}\n")) {
        return Err(format!("round {round} is not served: {text}\n{report}").into());
    }
    Ok(())
}

/// Runs many writers at once, prints the table, and returns the claims that failed.
pub(crate) fn writers(options: &Options) -> Result<Vec<String>> {
    let mut out = String::new();
    head(
        &mut out,
        "what | at once | publications | refused and repeated | looks meanwhile | seconds",
    );
    let mut broken = Vec::new();
    for by in [By::Processes, By::Threads] {
        distinct(options, by, &mut out, &mut broken)?;
        rivals(options, by, &mut out, &mut broken)?;
    }
    println!("{out}");
    Ok(broken)
}

/// The kind of writers: processes of `ctx`, or threads of this one through the library.
#[derive(Clone, Copy)]
enum By {
    Processes,
    Threads,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Threads => "threads",
        }
    }
}

/// The result of a writer: its number of refusals.
type Count = std::result::Result<u64, String>;

/// Runs writers of different documents.
fn distinct(options: &Options, by: By, out: &mut String, broken: &mut Vec<String>) -> Result<()> {
    let (writers, each) = if options.quick { (4, 4) } else { (WRITERS, EACH) };
    let place = Place::new(&options.dir, &format!("writers-{}", by.word()))?;
    let began = Instant::now();
    let publish = |id: &str| -> Result<()> {
        match by {
            By::Threads => Ok(threads::publish_new(&place.root, id)?),
            By::Processes => {
                fs::write(place.root.join(format!("{id}.md")), "# Text\n")?;
                place.done(&["publish", id, "--lock-timeout", "600"]).map(drop)
            }
        }
    };
    let work = |writer: usize| -> Count {
        for n in 0..each {
            publish(&format!("nodes/w{writer}-{n}")).map_err(|why| why.to_string())?;
        }
        Ok(0)
    };
    let (_, looks) = beside(&place, writers, &work, broken);
    let total = writers * each;
    let found = place.checkpoints()?;
    if found != total as u64 {
        broken.push(format!("{found} checkpoints of {total} publications"));
    }
    let listed = String::from_utf8(place.output(&["resolve", "type:document", "--ids"])?.stdout)?;
    if listed.lines().count() != total {
        broken.push(format!("{total} documents were published, not {listed}"));
    }
    let counts = [writers as u64, total as u64, 0, looks];
    tell(out, "a document each", by, counts, began);
    Ok(())
}

/// Runs writers that read, edit and publish the same document.
fn rivals(options: &Options, by: By, out: &mut String, broken: &mut Vec<String>) -> Result<()> {
    let turns = if options.quick { 3 } else { TURNS };
    let place = Place::new(&options.dir, &format!("rivals-{}", by.word()))?;
    fs::write(place.root.join("nodes/one.md"), "# One\n")?;
    place.done(&["publish", "nodes/one"])?;
    let began = Instant::now();
    let append = |line: &str| -> Result<bool> {
        match by {
            By::Processes => append(&place, line),
            By::Threads => Ok(threads::append(&place.root, "nodes/one", line)?),
        }
    };
    let work = |writer: usize| -> Count {
        let mut refused = 0;
        for turn in 0..turns {
            // A refused writer reads again.
            while !append(&line(writer, turn)).map_err(|why| why.to_string())? {
                refused += 1;
            }
        }
        Ok(refused)
    };
    let (refused, looks) = beside(&place, RIVALS, &work, broken);
    let text = String::from_utf8(place.output(&["read", "nodes/one"])?.stdout)?;
    for (writer, turn) in (0..RIVALS).flat_map(|writer| (0..turns).map(move |turn| (writer, turn)))
    {
        let line = line(writer, turn);
        match text.matches(&line).count() {
            1 => {}
            n => broken.push(format!("`{}` is there {n} times", line.trim())),
        }
    }
    let (found, total) = (place.checkpoints()?, RIVALS * turns);
    if found != total as u64 + 1 {
        broken.push(format!("{found} checkpoints of {} publications", total + 1));
    }
    tell(out, "the same document", by, [RIVALS as u64, total as u64, refused, looks], began);
    Ok(())
}

/// Returns the line that a writer adds in a turn.
fn line(writer: usize, turn: usize) -> String {
    format!("- {writer} in turn {turn}\n")
}

/// Adds a row to the table: the number of writers, publications, refusals, and reads.
fn tell(out: &mut String, what: &str, by: By, counts: [u64; 4], began: Instant) {
    let [at_once, publications, refused, looks] = counts;
    let at_once = format!("{at_once} {}", by.word());
    let seconds = format!("{:.1}", began.elapsed().as_secs_f64());
    let numbers = [publications, refused, looks].map(|n| n.to_string());
    let [publications, refused, looks] = numbers;
    row(out, &[what.to_owned(), at_once, publications, refused, looks, seconds]);
}

/// Reads the published text, adds a line, and publishes it if the published text is still the same;
/// returns true if it was.
fn append(place: &Place, line: &str) -> Result<bool> {
    static EDITOR: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let read = place.done(&["read", "nodes/one", "--json"])?;
    let version = read["version"].as_u64().ok_or("no version")?.to_string();
    let text = String::from_utf8(place.output(&["show", "nodes/one", &version])?.stdout)?;
    // There is one file, and its editor records the version that it was edited from.
    let _editing = EDITOR.lock().map_err(|_| "an editor panicked")?;
    fs::write(place.root.join("nodes/one.md"), format!("{text}{line}"))?;
    let args = ["publish", "nodes/one", "--expect-version", &version, "--lock-timeout", "600"];
    let output = place.output(&args)?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(4) => Ok(false),
        _ => Err(complaint(&args, &output).into()),
    }
}

/// Runs writers, and in parallel two processes that read and verify; returns the sum of the counts
/// of the writers, and the number of reads.
fn beside(
    place: &Place,
    writers: usize,
    work: &(dyn Fn(usize) -> Count + Sync),
    broken: &mut Vec<String>,
) -> (u64, u64) {
    let (over, looks) = (AtomicBool::new(false), AtomicU64::new(0));
    let look = |args: &[&str], allowed: &[i32]| -> Vec<String> {
        let mut seen = Vec::new();
        while !over.load(Ordering::Relaxed) && seen.len() < 3 {
            match place.output(args) {
                Ok(output) if output.status.code().is_some_and(|c| allowed.contains(&c)) => {}
                Ok(output) => seen.push(complaint(args, &output)),
                Err(why) => seen.push(why.to_string()),
            }
            looks.fetch_add(1, Ordering::Relaxed);
        }
        seen
    };
    let mut sum = 0;
    std::thread::scope(|scope| {
        let look = &look;
        let lookers = [
            scope.spawn(move || look(&["verify", "--allow-drift"], &[0])),
            scope.spawn(move || look(&["resolve", "type:document", "--json"], &[0])),
        ];
        let at_work: Vec<_> = (0..writers).map(|n| scope.spawn(move || work(n))).collect();
        for writer in at_work {
            match writer.join() {
                Ok(Ok(count)) => sum += count,
                Ok(Err(why)) => broken.push(why),
                Err(_) => broken.push("a writer panicked".to_owned()),
            }
        }
        over.store(true, Ordering::Relaxed);
        for looker in lookers {
            broken.extend(looker.join().unwrap_or_else(|_| vec!["a reader panicked".to_owned()]));
        }
    });
    (sum, looks.into_inner())
}
