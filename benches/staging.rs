//! `cargo bench --bench staging`: the cost of staging a result, of listing the staged results of a
//! session, and of collecting some of them, in a vault with many.
//!
//! Results have 4 KB of different bytes; each of ten sources has a tenth of them, and a session
//! has 100. The floor of a recording is the bare write and sync of its bytes: the content under
//! another name, renamed, it and its folder synced, then the line at the end of a file, synced.
//! Both take turns in this process. The floor of a collection is the bare removal of the same
//! number of files of 4 KB. The commands are whole processes, and take turns with the same command
//! in a vault without staged results. The result is Markdown on stdout; progress goes to stderr.
//!
//! ```text
//! cargo bench --bench staging -- [--sizes 1000,100000] [--dir DIR] [--quick]
//! ```

#![allow(clippy::disallowed_methods, reason = "the bench writes its own files")]
#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "process.rs"]
mod process;

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use contextnest::files::vault::Vault;
use contextnest::files::vault::outside::{self, StateFolder};
use contextnest::model::number::{CheckpointNumber, Version};
use contextnest::model::timestamp::Timestamp;
use contextnest::record::audit::Labels;
use contextnest::record::staging::{Hydrated, stage};

use process::{Options, Result, command, ctx, head, median, ms, output, row, settle, timed, us};

/// Number of sources.
const SOURCES: usize = 10;
/// Number of entries in a session.
const SESSION: usize = 100;
/// Length of a result in bytes, and about that of its line.
const RESULT: usize = 4096;
const LINE: usize = 800;
/// Retention of most entries, in days.
const KEPT: u64 = 3_000;
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Numbers of entries that are collected at a time.
const COLLECTED: [usize; 3] = [10, 100, 1000];
const PRINCIPAL: &str = "bench@example.com";

const SOURCE: &str = "title: Prices\ntype: source\ntags: [prices]\nsource:\n  transport: mcp\n  \
                      server: shop\n  tools: [list_prices]\n";

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[1_000, 100_000])?;
    options.in_folder(|options| -> Result<()> {
        let (mut recording, mut listing) = (String::new(), String::new());
        let mut collecting = String::new();
        head(&mut recording, "entries | a result staged | its bare writes | ratio | `source record` | the same, not staged | more");
        head(
            &mut listing,
            "entries | command | time | nothing staged | more | after a recording | without a cache",
        );
        head(&mut collecting, "entries | collected | `stage gc` | nothing staged | more | bare removal | more, for each");
        for size in &options.sizes {
            let vault = Bench::new(options, *size)?;
            vault.record(&mut recording)?;
            vault.list(&mut listing)?;
            vault.collect(&mut collecting)?;
        }
        println!("{recording}\n{listing}\n{collecting}");
        Ok(())
    })?
}

/// A vault with staged results, and one without.
struct Bench<'o> {
    options: &'o Options,
    size: usize,
    root: PathBuf,
    empty: PathBuf,
    now: i64,
}

impl<'o> Bench<'o> {
    fn new(options: &'o Options, size: usize) -> Result<Self> {
        let made = |name: String, size| -> Result<PathBuf> {
            let root = options.dir.join(name);
            fs::create_dir_all(&root)?;
            let root = root.canonicalize()?;
            shop(&root, size)?;
            Ok(root)
        };
        let (root, empty) = (made(size.to_string(), size)?, made(format!("{size}-empty"), size)?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let bench = Self { options, size, root, empty, now: i64::try_from(now)? };
        eprintln!("{size} entries: stage");
        bench.fill()?;
        settle(&bench.root)?;
        Ok(bench)
    }

    fn vault(&self) -> Result<Vault> {
        let home = self.root.with_extension("state");
        let checked_out = outside::checked_out(&self.root);
        let dir = outside::folder_of(&home, &self.root, checked_out.as_deref());
        let repository = checked_out.as_ref().and_then(|_| outside::repository(&self.root));
        let state = StateFolder { home, dir, checked_out, repository };
        Ok(Vault::open(&self.root)?.with_state(Some(state)))
    }

    /// Returns the days after which each group of entries may be collected, and the number of
    /// its entries.
    fn groups(&self) -> Vec<(u64, usize)> {
        let sizes = COLLECTED.into_iter().filter(|size| size * 4 <= self.size.max(40));
        let all = sizes.flat_map(|size| std::iter::repeat_n(size, self.options.events));
        all.enumerate().map(|(n, size)| (10 + n as u64, size)).collect()
    }

    /// Stages the first entry of each source as `ctx` does, and writes the others in the same form:
    /// staging all of them would take longer than all measurements.
    fn fill(&self) -> Result<()> {
        let vault = self.vault()?.without_sync();
        let mut days: Vec<u64> = Vec::new();
        for (after, size) in self.groups() {
            days.extend(std::iter::repeat_n(after, size));
        }
        let at = |n| Ok::<_, Box<dyn Error>>(self.now - i64::try_from(self.size - n)?);
        for source in 0..SOURCES {
            let of = (0..self.size).filter(|n| n / SESSION % SOURCES == source);
            let mut of = of.map(|n| (n, days.get(n).copied().unwrap_or(KEPT)));
            let Some((n, days)) = of.next() else { continue };
            let place = (&vault, outside::random as fn() -> [u8; 16]);
            let first = (hydrated(n, days), &content(n)[..]);
            stage(place, first, Timestamp::from_millis(at(n)?))?;
            let folder = self.root.join(format!(".context/staging/chains/sources/prices-{source}"));
            let path = fs::read_dir(folder)?.next().ok_or("no chain")??.path();
            let mut line: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
            let mut out = BufWriter::new(OpenOptions::new().append(true).open(&path)?);
            for (n, days) in of {
                self.add(&mut line, n, (at(n)?, days))?;
                out.write_all(&serde_jcs::to_vec(&line)?)?;
                out.write_all(b"\n")?;
            }
            out.flush()?;
            remember(&self.root.with_extension("state"), &line)?;
        }
        Ok(())
    }

    /// Writes a content, and turns the line before it into the line of its entry.
    fn add(&self, line: &mut Value, n: usize, (at, days): (i64, u64)) -> Result<()> {
        let content = content(n);
        let raw = digest(&content);
        let path = format!(".context/staging/objects/{}/{}", &raw[7..9], &raw[9..]);
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(path, &content)?;
        let until = Timestamp::from_millis(at + i64::try_from(days)? * DAY);
        line["prev"] = line["hash"].take();
        line["seq"] = (line["seq"].as_u64().unwrap_or_default() + 1).into();
        line["at"] = Timestamp::from_millis(at).to_string().into();
        line["session"] = format!("s-{}", n / SESSION).into();
        line["bytes"] = content.len().into();
        line["content_hash"] = raw.clone().into();
        line["raw_hash"] = raw.into();
        line["retention_until"] = until.to_string().into();
        line.as_object_mut().ok_or("no object")?.remove("hash");
        line["hash"] = digest(&serde_jcs::to_vec(line)?).into();
        Ok(())
    }

    fn record(&self, out: &mut String) -> Result<()> {
        eprintln!("{} entries: record", self.size);
        let vault = self.vault()?;
        let (mut staged, mut floors) = (Vec::new(), Vec::new());
        let (mut commands, mut others) = (Vec::new(), Vec::new());
        let floor = Floor::new(&self.root)?;
        for turn in 0..=2 * self.options.repetitions {
            let (n, at) = (self.size + turn, Timestamp::from_millis(self.now + turn as i64));
            let (hydrated, bytes) = (hydrated(n, KEPT), content(n));
            let place = (&vault, outside::random as fn() -> [u8; 16]);
            // Earlier writes must not be waited for here.
            settle(&self.root)?;
            let time = timed(|| Ok(stage(place, (hydrated, &bytes), at).map(drop)?))?;
            settle(&self.root)?;
            let bare = timed(|| floor.write(n, &bytes))?;
            let command = timed(|| self.record_one("prices", n))?;
            let other = timed(|| self.record_one("weather", n))?;
            if turn > 0 {
                staged.push(time);
                floors.push(bare);
                commands.push(command);
                others.push(other);
            }
        }
        let [time, bare, command, other] = [staged, floors, commands, others].map(median);
        row(
            out,
            &[
                self.size.to_string(),
                us(time),
                us(bare),
                format!("{:.2}", time.as_secs_f64() / bare.as_secs_f64()),
                ms(command),
                ms(other),
                us(command.saturating_sub(other)),
            ],
        );
        Ok(())
    }

    /// Records a result of a source in its own process.
    fn record_one(&self, source: &str, n: usize) -> Result<()> {
        let id = format!("sources/{source}-0");
        let session = format!("r-{n}");
        let args = ["source", "record", &id, "--session", &session, "--tools", "list_prices"];
        let mut command = command(&self.root, &[&args[..], &["--server", "shop"]].concat());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        child.stdin.take().ok_or("no input")?.write_all(&content(n * SOURCES + 7_000_000))?;
        match child.wait()?.success() {
            true => Ok(()),
            false => Err("source record failed".into()),
        }
    }

    fn list(&self, out: &mut String) -> Result<()> {
        let session = format!("s-{}", self.size / SESSION / 2);
        let listed = ["stage", "list", "--session", &session];
        let resolved = ["resolve", "#prices", "--session", &session];
        for args in [&listed, &resolved] {
            let name = args[..2].join(" ");
            eprintln!("{} entries: {name}", self.size);
            let run = |root: &Path| timed(|| output(&mut command(root, args)).map(drop));
            let (mut times, mut empties) = (Vec::new(), Vec::new());
            let (mut after, mut bare) = (Vec::new(), Vec::new());
            run(&self.root)?;
            for n in 0..self.options.repetitions.min(7) {
                self.record_one("prices", self.size + 100 + n)?;
                after.push(run(&self.root)?);
            }
            for _ in 0..self.options.repetitions.min(3) {
                let mut command = command(&self.root, args);
                command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
                bare.push(timed(|| output(&mut command).map(drop))?);
            }
            // A file that was written a moment ago is read again.
            std::thread::sleep(Duration::from_millis(2_500));
            run(&self.root)?;
            for _ in 0..self.options.repetitions {
                times.push(run(&self.root)?);
                empties.push(run(&self.empty)?);
            }
            let [time, empty, after, bare] = [times, empties, after, bare].map(median);
            row(
                out,
                &[
                    self.size.to_string(),
                    format!("`{name}`"),
                    ms(time),
                    ms(empty),
                    ms(time.saturating_sub(empty)),
                    ms(after),
                    ms(bare),
                ],
            );
        }
        Ok(())
    }

    fn collect(&self, out: &mut String) -> Result<()> {
        eprintln!("{} entries: collect", self.size);
        let mut times: Vec<(usize, [Vec<Duration>; 3])> = Vec::new();
        let floor = Floor::new(&self.root)?;
        for (after, size) in self.groups() {
            let now = self.now + i64::try_from(after)? * DAY + DAY / 2;
            let now = Timestamp::from_millis(now).to_string();
            let args = ["stage", "gc", "--now", &now];
            let run = |root: &Path| timed(|| output(&mut command(root, &args)).map(drop));
            floor.fill(size)?;
            settle(&self.root)?;
            let found = [run(&self.root)?, run(&self.empty)?, timed(|| floor.remove(size))?];
            if times.last().is_none_or(|(of, _)| *of != size) {
                times.push((size, Default::default()));
            }
            let last = times.last_mut().map(|(_, times)| times.iter_mut());
            last.into_iter().flatten().zip(found).for_each(|(times, time)| times.push(time));
        }
        for (size, times) in times {
            let [time, empty, bare] = times.map(median);
            let more = time.saturating_sub(empty);
            let each = more.saturating_sub(bare) / u32::try_from(size)?;
            let cells = [self.size.to_string(), size.to_string(), ms(time), ms(empty), ms(more)];
            row(out, &[&cells[..], &[ms(bare), us(each)]].concat());
        }
        Ok(())
    }
}

/// Makes a vault with sources whose results are staged, and one whose results are not.
fn shop(root: &Path, size: usize) -> Result<()> {
    ctx(root, &["init", ".", "--name", "Shop"])?;
    let config = root.join(".context/config.yaml");
    let before = fs::read_to_string(&config)?;
    let more = "servers:\n  shop:\n    transport: mcp\nstaging: {enabled: true}\n";
    fs::write(&config, format!("{before}{more}"))?;
    fs::create_dir_all(root.join("sources"))?;
    for n in 0..SOURCES.min(size) {
        let text = format!("---\n{SOURCE}---\n# Prices\n\nCall it.\n");
        fs::write(root.join(format!("sources/prices-{n}.md")), text)?;
    }
    let text = format!("---\n{SOURCE}  stage: never\n---\n# Weather\n\nCall it.\n");
    fs::write(root.join("sources/weather-0.md"), text)?;
    ctx(root, &["publish", "--all"])
}

/// Records a line as the last one of its chain in this user's state.
fn remember(state: &Path, line: &Value) -> Result<()> {
    let source = line["source"].as_str().and_then(|uri| uri.split(['/', '@']).nth(3));
    let heading = format!("source sources/{}\n", source.ok_or("no source")?);
    for path in folders_below(state)? {
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Some(tail) = text.strip_prefix(&heading) {
                let writer = tail.split(' ').next().ok_or("no writer")?;
                let hash = line["hash"].as_str().ok_or("no hash")?;
                fs::write(&path, format!("{heading}{writer} {} {hash} 0\n", line["seq"]))?;
            }
        }
    }
    Ok(())
}

/// Returns the folders of staging chains in the state of all vaults.
fn folders_below(state: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![state.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true if path.ends_with("staging") => found.push(path),
                true => folders.push(path),
                false => {}
            }
        }
    }
    Ok(found)
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns a JSON value in its canonical form.
fn content(n: usize) -> Vec<u8> {
    let mut text = format!("{{\"n\":{n},\"of\":\"");
    while text.len() < RESULT - 2 {
        text.push_str(&format!("{:x} ", (n + text.len()).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }
    text.truncate(RESULT - 2);
    text.push_str("\"}");
    text.into_bytes()
}

fn hydrated(n: usize, days: u64) -> Hydrated {
    let source = format!("sources/prices-{}", n / SESSION % SOURCES);
    let labels = Labels { session: Some(format!("s-{}", n / SESSION)), ..Labels::default() };
    Hydrated {
        source: source.parse().expect("an id"),
        checkpoint: CheckpointNumber(1),
        version: Version(1),
        principal: Some(PRINCIPAL.to_owned()),
        labels,
        media_type: Some("application/json".to_owned()),
        tools: vec!["list_prices".to_owned()],
        server: Some("shop".to_owned()),
        cache: Some("miss".to_owned()),
        ttl: Some(60),
        depends_on: Vec::new(),
        days,
    }
}

/// The bare writes of a recording.
struct Floor {
    dir: PathBuf,
    lines: File,
}

impl Floor {
    fn new(root: &Path) -> Result<Self> {
        let dir = root.with_extension("floor");
        fs::create_dir_all(&dir)?;
        let lines = OpenOptions::new().create(true).append(true).open(dir.join("lines"))?;
        Ok(Self { dir, lines })
    }

    /// Writes files of 4 KB, which are removed later.
    fn fill(&self, count: usize) -> Result<()> {
        (0..count).try_for_each(|n| Ok(fs::write(self.dir.join(format!("gone-{n}")), content(n))?))
    }

    fn remove(&self, count: usize) -> Result<()> {
        (0..count).try_for_each(|n| Ok(fs::remove_file(self.dir.join(format!("gone-{n}")))?))
    }

    fn write(&self, n: usize, bytes: &[u8]) -> Result<()> {
        let (aside, name) = (self.dir.join("aside"), self.dir.join(n.to_string()));
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        fs::rename(aside, name)?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()?;
        (&self.lines).write_all(&[b'x'; LINE])?;
        Ok(self.lines.sync_all()?)
    }
}
