//! `ctx recover` after a kill at any point of every verb that writes: `recover --dry-run` lists
//! what `recover` does, a second `recover` has nothing to do, `verify` finds nothing unfinished, a
//! content that was being erased is gone or still has its entry, and the change log has exactly one
//! line for each act on a staged entry (if changes are recorded).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextnest::files::vault::disk::Disk as Overseen;
use contextnest::model::timestamp::Timestamp;
use serde_json::Value;

use super::disk::{Disk, Fault, Watch};
use super::reviewed::{BO, edit, governed, submitted};
use super::scenes::{self, ANA, Form, Scene, begin, published};
use super::{BEGIN, codes};
use crate::Options;
use crate::inside::{Person, Said, files, scratch, write};
use crate::process::{Result, head, row};

/// In a command, stands for the URI of the first staged entry.
const ENTRY: &str = "ENTRY";
/// In a command, stands for the name of the first hold.
const HELD: &str = "HELD";
/// The result of a source.
const RESULT: &str = "{\"secret\": \"4711-4711-4711\"}";
const RECORD: &[&str] = &[
    "source",
    "record",
    "sources/prices",
    "--session",
    "s1",
    "--tools",
    "list_prices",
    "--server",
    "shop",
];
/// Notes about uncommitted files of an interrupted command.
const LEFT: [&str; 6] = [
    "unfinished",
    "interrupted",
    "staged-unclaimed",
    "staged-unproved",
    "staged-torn",
    "audit-torn",
];
/// Milliseconds from the vault of the reference implementation until after the retention
/// of accesses.
const LATER: i64 = 365 * 86_400_000;
/// Path of the vault that the reference implementation made.
const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/interop/deleted");

/// The verbs that the scenes of other experiments do not cover.
static VERBS: [Scene; 18] = [
    Scene::by("source record", ANA, RECORD, shop),
    Scene::by("stage pin", ANA, &["stage", "pin", ENTRY], staged),
    Scene::by("stage unpin", ANA, &["stage", "unpin", ENTRY], |person, root| {
        staged(person, root)?;
        person.done(root, &["stage", "pin", &entry(person, root)?]).map(drop)
    }),
    Scene::by("stage promote", ANA, &["stage", "promote", ENTRY, "--to", "nodes/promoted"], staged),
    Scene::by(
        "stage promote, governed",
        ANA,
        &["stage", "promote", ENTRY, "--to", "nodes/promoted"],
        |person, root| {
            write(root, "stewards.yaml", super::reviewed::stewards(1))?;
            staged(person, root)?;
            person.done(root, &["govern", "on"]).map(drop)
        },
    ),
    Scene::by("stage discard", ANA, &["stage", "discard", ENTRY], staged),
    Scene::by("stage gc", ANA, &["stage", "gc", "--now", "2030-01-01T00:00:00.000Z"], staged),
    Scene::by("stage erase", ANA, &["stage", "erase", ENTRY, "--reason", "personal"], |p, root| {
        staged(p, root)?;
        record(p, root).map(drop)
    }),
    Scene::by("restore", ANA, &["restore", "nodes/d0", "--force"], |person, root| {
        published(person, root)?;
        edit(root, 1, "second")
    }),
    Scene::by("comment", BO, &["comment", "nodes/d0", "why?"], |person, root| {
        submitted(person, root, 1)
    }),
    Scene::by(
        "steward assign",
        ANA,
        &["steward", "assign", "zoe@example.com", "viewer", "--whole-vault"],
        published,
    ),
    Scene::by("govern off", ANA, &["govern", "off"], |person, root| governed(person, root, 1)),
    Scene::by("head trust", ANA, &["head", "trust"], published),
    Scene::by("audit begin", ANA, &["audit", "begin"], |person, root| {
        let config = std::fs::read_to_string(root.join(".context/config.yaml"))?;
        write(root, ".context/config.yaml", config.replace("audit:\n", ""))?;
        published(person, root)
    }),
    Scene {
        is_broken: true,
        ..Scene::by("rebuild a lost log", ANA, &["checkpoint", "rebuild"], |person, root| {
            published(person, root)?;
            for log in [Form::Delta, Form::Full].map(|form| root.join(form.log())) {
                if log.exists() {
                    std::fs::remove_file(log)?;
                }
            }
            Ok(())
        })
    },
    Scene::by("trace hold", ANA, HOLD, read_twice),
    Scene::by(
        "trace hold lift",
        ANA,
        &["trace", "hold", "lift", HELD, "--reason", "over"],
        |p, root| {
            read_twice(p, root)?;
            p.done(root, HOLD).map(drop)
        },
    ),
    Scene::by("trace prune", ANA, &["trace", "prune"], read_twice),
];

const HOLD: &[&str] = &["trace", "hold", "place", "--document", "nodes/d0", "--reason", "case"];

/// The verbs that begin without a vault of ctx.
static FRESH: [Scene; 5] = [
    Scene::by("init", ANA, &["init", "."], |_, _| Ok(())),
    Scene::by("init with a starter", ANA, &["init", ".", "--starter", "policy"], |_, root| {
        write(root, "README.md", "# Read me\n")
    }),
    Scene::by("demo", ANA, &["demo", "tour"], |_, _| Ok(())),
    Scene::by("demo, governed", ANA, &["demo", "--governed", "tour"], |_, _| Ok(())),
    Scene::by("checkpoint adopt", ANA, &["checkpoint", "adopt"], |_, root| {
        crate::inside::copy(Path::new(FOREIGN), root)
    }),
];

fn shop(person: &Person, root: &Path) -> Result<()> {
    let config = std::fs::read_to_string(root.join(".context/config.yaml"))?;
    let more = "servers:\n  shop:\n    transport: mcp\nstaging: {enabled: true}\n";
    write(root, ".context/config.yaml", config + more)?;
    let source = "---\ntitle: Prices\ntype: source\nsource:\n  transport: mcp\n  server: shop\n  tools: [list_prices]\n---\nCall it.\n";
    write(root, "sources/prices.md", source)?;
    published(person, root)
}

fn staged(person: &Person, root: &Path) -> Result<()> {
    shop(person, root)?;
    record(person, root).map(drop)
}

fn record(person: &Person, root: &Path) -> Result<Said> {
    let said = person.given(RESULT.as_bytes(), root, RECORD);
    if said.exit == 0 { Ok(said) } else { Err(said.complaint().into()) }
}

/// Adds accesses of two sessions, in a vault that records its changes.
fn read_twice(person: &Person, root: &Path) -> Result<()> {
    published(person, root)?;
    if !root.join(".context/audit").exists() {
        person.done(root, &["audit", "begin"])?;
    }
    for session in ["s1", "s2"] {
        person.done(root, &["read", "nodes/d0", "--session", session])?;
    }
    Ok(())
}

/// Returns the name of the first hold.
fn held(person: &Person, root: &Path) -> Result<String> {
    let list = person.done(root, &["trace", "hold", "list", "--json"])?.json();
    Ok(list["holds"][0]["id"].as_str().ok_or("no hold")?.to_owned())
}

/// Returns the first staged entry.
fn entry(person: &Person, root: &Path) -> Result<String> {
    let list = person.done(root, &["stage", "list", "--all", "--json"])?.json();
    Ok(list["staged"][0]["uri"].as_str().ok_or("no entry")?.to_owned())
}

/// A verb, and the initial state of its vault.
struct Row {
    scene: &'static Scene,
    form: Form,
    /// True if the scene makes the whole vault, so that none is needed before it.
    is_fresh: bool,
}

impl Row {
    /// Returns the rows of a run; a short run has few rows of kinds that others cover.
    fn all(is_quick: bool) -> impl Iterator<Item = Self> {
        let of = |is_fresh| move |(scene, form)| Self { scene, form, is_fresh };
        let own =
            VERBS.iter().flat_map(|scene| [Form::Delta, Form::Full].map(|form| (scene, form)));
        let fresh = FRESH.iter().map(|scene| (scene, Form::Delta));
        let all = scenes::all(is_quick).filter(|(_, form)| *form != Form::Untouched);
        own.map(of(false)).chain(fresh.map(of(true))).chain(all.map(of(false)))
    }

    /// Returns the distance between the changes of the disk that are tested.
    fn stride(&self, options: &Options) -> u64 {
        match (self.form, self.scene.args[0]) {
            (_, "demo") => options.size((1, 70, 140)),
            (Form::Full, _) => options.size((1, 28, 112)),
            _ => options.size((1, 7, 28)),
        }
    }
}

/// A vault that is prepared for a verb, and its principal.
struct Ready {
    root: PathBuf,
    /// Path of the vault.
    vault: PathBuf,
    /// The command to repeat right after the kill, for a scene that makes the vault or repairs
    /// its log.
    again: Option<Vec<String>>,
    home: PathBuf,
    person: Person,
    args: Vec<String>,
    before: Disk,
    changes: u64,
}

impl Ready {
    fn new(&Row { scene, form, is_fresh }: &Row, base: &Path) -> Result<Self> {
        let (root, home) = (base.join("vault"), base.join("home"));
        for folder in [&root, &home] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
        }
        let ana = Person { home: Some(home.clone()), principal: ANA.into(), now: BEGIN };
        match is_fresh {
            true => (scene.prepare)(&ana, &root)?,
            false => begin(scene, form, &ana, &root)?,
        }
        let mut person = ana.named(scene.who);
        let is_later = ["trace prune", "checkpoint adopt"].contains(&scene.name);
        person.now += if is_later { LATER } else { 60_000 };
        let uri = if scene.args.contains(&ENTRY) { entry(&ana, &root)? } else { String::new() };
        let args = scene.args(form).into_iter();
        let hold = if scene.args.contains(&HELD) { held(&ana, &root)? } else { String::new() };
        let args = args.map(|arg| match arg {
            ENTRY => uri.clone(),
            HELD => hold.clone(),
            arg => arg.to_owned(),
        });
        let before = Disk::read(&root, &home)?;
        let vault = if scene.args[0] == "demo" { root.join("tour") } else { root.clone() };
        let makes = ["demo", "init"].contains(&scene.args[0]);
        let args: Vec<String> = args.collect();
        let again = match (makes, scene.is_broken) {
            (true, _) => Some(vec!["init".to_owned(), ".".to_owned()]),
            (_, is_broken) => is_broken.then(|| args.clone()),
        };
        let mut ready = Self { root, vault, again, home, person, args, before, changes: 0 };
        let watch = Arc::new(Watch::new(None));
        let said = ready.run(&watch);
        if said.exit != 0 {
            return Err(said.complaint().into());
        }
        ready.changes = watch.count();
        Ok(ready)
    }

    fn run(&self, watch: &Arc<Watch>) -> Said {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let disk = Overseen::overseen(watch.clone());
        self.person.ctx_with(RESULT.as_bytes(), disk, &self.root, &args)
    }

    /// Kills the verb at its n-th change, and recovers.
    fn kill(&self, n: u64, fault: Fault) -> Result<()> {
        self.before.lay(&self.root, &self.home)?;
        let watch = Arc::new(Watch::new(Some((n, fault))));
        self.run(&watch);
        if !watch.was_killed() {
            return Ok(());
        }
        // The command may have its own clock.
        let mut later = self.person.clone();
        let named = self.args.iter().skip_while(|arg| *arg != "--now").nth(1);
        let named = named.and_then(|now| now.parse::<Timestamp>().ok());
        later.now = named.map_or(later.now, Timestamp::millis) + 60_000;
        if let Some(again) = &self.again {
            std::fs::create_dir_all(&self.vault)?;
            let args: Vec<&str> = again.iter().map(String::as_str).chain(["--json"]).collect();
            let said = later.ctx(&self.vault, &args);
            if said.exit != 0 && said.json()["code"] != "exists" {
                return Err(said.complaint().into());
            }
        }
        let recover = |more: &[&str]| -> Result<Value> {
            let args = [&["recover", "--json"], more].concat();
            let mut report = later.done(&self.vault, &args)?.json();
            for key in ["dry_run", "folder"] {
                report.as_object_mut().map(|report| report.remove(key));
            }
            Ok(report)
        };
        let planned = recover(&["--dry-run"])?;
        let made = recover(&[])?;
        if planned != made {
            return Err(format!("`recover` did {made}, but listed {planned}").into());
        }
        let said = later.ctx(&self.vault, &["verify", "--json", "--allow-drift"]);
        let mut found = codes(&said.json());
        // The demo lacks a state directory, so nothing proves who made the event without a line
        // (TXN-25).
        let is_tour = self.args[0] == "demo";
        found.retain(|code| !is_tour || code != "audit-missing");
        let is_left = |code: &String| LEFT.contains(&code.as_str());
        if said.exit != 0 && !(is_tour && found.is_empty()) || found.iter().any(is_left) {
            return Err(format!("after `recover`: {}", said.complaint()).into());
        }
        let again = recover(&[])?;
        let empty = again.as_object().into_iter().flatten().filter(|(key, _)| *key != "schema");
        if empty.filter_map(|(_, value)| value.as_array()).any(|list| !list.is_empty()) {
            return Err(format!("a second `recover` did {again}").into());
        }
        if is_tour {
            // As its hint says, a user who removes the folders can repeat it.
            std::fs::remove_dir_all(&self.root)?;
            std::fs::create_dir_all(&self.root)?;
            later.ctx(&self.root, &["head", "forget", "tour"]);
            let said = self.run(&Arc::new(Watch::new(None)));
            return if said.exit == 0 { Ok(()) } else { Err(said.complaint().into()) };
        }
        self.has_a_line_for_each_act()?;
        self.has_no_content_without_entry(&later)
    }

    /// Checks that the change log has the acts of the staging chains, each the same number of
    /// times, if changes are recorded.
    fn has_a_line_for_each_act(&self) -> Result<()> {
        let config = std::fs::read_to_string(self.root.join(".context/config.yaml"));
        if !config.unwrap_or_default().contains("audit:") {
            return Ok(());
        }
        let (mut acts, mut recorded) = (Vec::new(), Vec::new());
        for path in files(&self.root)? {
            let is_chain = path.starts_with(".context/staging/chains/");
            if !is_chain && !path.starts_with(".context/audit/") {
                continue;
            }
            let text = std::fs::read_to_string(self.root.join(&path))?;
            for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let entry = &line["entry"];
                match (is_chain, entry["writer"].as_str(), line["staged"].as_array()) {
                    (true, Some(writer), _) => {
                        let name = format!("{}-{}", &writer[..8], entry["seq"]);
                        acts.push((line["kind"].to_string(), name));
                    }
                    (false, _, Some(staged)) => recorded.extend(staged.iter().map(|uri| {
                        let name = uri.as_str().and_then(|uri| uri.rsplit('/').next());
                        (line["action"].to_string(), name.unwrap_or_default().to_owned())
                    })),
                    _ => {}
                }
            }
        }
        acts.sort();
        recorded.sort();
        match acts == recorded {
            true => Ok(()),
            false => Err(format!("the chains have {acts:?}, the change log {recorded:?}").into()),
        }
    }

    /// Checks that only the files of live entries contain the result of a source.
    fn has_no_content_without_entry(&self, person: &Person) -> Result<()> {
        if !self.args.iter().any(|arg| arg == "erase") {
            return Ok(());
        }
        let list = person.done(&self.root, &["stage", "list", "--all", "--json"])?.json();
        let staged = list["staged"].as_array().cloned().unwrap_or_default();
        let is_live = staged.iter().any(|one| one["state"] == "staged" || one["state"] == "live");
        let secret = &RESULT.as_bytes()[..20];
        let has_it = |path: &String| {
            let bytes = std::fs::read(self.root.join(path)).unwrap_or_default();
            bytes.windows(secret.len()).any(|part| part == secret)
        };
        match files(&self.root)?.into_iter().find(has_it) {
            Some(path) if !is_live => Err(format!("`{path}` has the erased content").into()),
            _ => Ok(()),
        }
    }
}

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let dir = scratch(&options.dir)?;
    let mut out = String::new();
    head(&mut out, "command | log | changes of the disk | kills");
    let mut broken = Vec::new();
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|word| name.contains(word));
    // The number of a change must not depend on threads.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|why| why.to_string())?;
    let rows = Row::all(options.quick).filter(|one| is_wanted(one.scene.name));
    for (at, one) in rows.enumerate() {
        let (name, form) = (one.scene.name, one.form.word());
        eprintln!("recovered: {name}, {form}");
        let ready = Ready::new(&one, dir.path()).map_err(|why| format!("{name}, {form}: {why}"))?;
        let stride = one.stride(options);
        let mut kills = 0_u64;
        // Each row begins at another existing change.
        let from = at as u64 % stride % ready.changes.max(1);
        for n in (from..ready.changes).step_by(usize::try_from(stride)?) {
            for fault in [Fault::Dies, Fault::DiesWithin] {
                kills += 1;
                let outcome = pool.install(|| ready.kill(n, fault).map_err(|why| why.to_string()));
                if let Err(why) = outcome {
                    let what = format!("{name}, {form} log, {} at change {n}", fault.word());
                    broken.push(format!("{what}: {why}"));
                }
            }
        }
        let cells = [name.to_owned(), form.to_owned(), ready.changes.to_string()];
        row(&mut out, &[&cells[..], &[kills.to_string()]].concat());
    }
    println!("{out}");
    Ok(broken)
}
