//! `ctx recover` after a kill: wherever one of the verbs that write is killed, `recover --dry-run` lists
//! what `recover` does, a second `recover` has nothing to do, `verify` finds nothing unfinished, and a
//! content that was being erased is gone or still has its entry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextnest::model::timestamp::Timestamp;
use contextnest::vault::disk::Disk as Overseen;
use serde_json::Value;

use super::disk::{Disk, Fault, Watch};
use super::reviewed::{BO, edit, governed, submitted};
use super::scenes::{self, ANA, Form, Scene, begin, published};
use super::{BEGIN, codes};
use crate::Options;
use crate::inside::{Person, Said, files, scratch, write};
use crate::process::{Result, head, row};

/// In a command: the URI of the first staged entry.
const ENTRY: &str = "ENTRY";
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
/// Notes of what an interrupted command left.
const LEFT: [&str; 5] =
    ["unfinished", "interrupted", "staged-unclaimed", "staged-torn", "audit-torn"];

/// The verbs that no scene of another experiment has.
static VERBS: [Scene; 13] = [
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

/// The first staged entry.
fn entry(person: &Person, root: &Path) -> Result<String> {
    let list = person.done(root, &["stage", "list", "--all", "--json"])?.json();
    Ok(list["staged"][0]["uri"].as_str().ok_or("no entry")?.to_owned())
}

/// A vault that is ready for a verb, and who gives it.
struct Ready {
    root: PathBuf,
    home: PathBuf,
    person: Person,
    args: Vec<String>,
    before: Disk,
    changes: u64,
}

impl Ready {
    fn new(scene: &Scene, form: Form, base: &Path) -> Result<Self> {
        let (root, home) = (base.join("vault"), base.join("home"));
        for folder in [&root, &home] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
        }
        let ana = Person { home: Some(home.clone()), principal: ANA.into(), now: BEGIN };
        begin(scene, form, &ana, &root)?;
        let mut person = ana.named(scene.who);
        person.now += 60_000;
        let uri = if scene.args.contains(&ENTRY) { entry(&ana, &root)? } else { String::new() };
        let args = scene.args(form).into_iter();
        let args =
            args.map(|arg| if arg == ENTRY { uri.clone() } else { arg.to_owned() }).collect();
        let before = Disk::read(&root, &home)?;
        let mut ready = Self { root, home, person, args, before, changes: 0 };
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
        // The command may have a clock of its own.
        let mut later = self.person.clone();
        let named = self.args.iter().skip_while(|arg| *arg != "--now").nth(1);
        let named = named.and_then(|now| now.parse::<Timestamp>().ok());
        later.now = named.map_or(later.now, Timestamp::millis) + 60_000;
        let recover = |more: &[&str]| -> Result<Value> {
            let args = [&["recover", "--json"], more].concat();
            let mut report = later.done(&self.root, &args)?.json();
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
        let said = later.ctx(&self.root, &["verify", "--json", "--allow-drift"]);
        let found = codes(&said.json());
        if said.exit != 0 || found.iter().any(|code| LEFT.contains(&code.as_str())) {
            return Err(format!("after `recover`: {}", said.complaint()).into());
        }
        let again = recover(&[])?;
        let empty = again.as_object().into_iter().flatten().filter(|(key, _)| *key != "schema");
        if empty.filter_map(|(_, value)| value.as_array()).any(|list| !list.is_empty()) {
            return Err(format!("a second `recover` did {again}").into());
        }
        self.has_no_content_without_entry(&later)
    }

    /// No file has the result of a source but those of live entries.
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

/// Runs the experiment, prints its table, and gives the claims that did not hold.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let dir = scratch(&options.dir)?;
    let mut out = String::new();
    head(&mut out, "command | log | changes of the disk | kills");
    let mut broken = Vec::new();
    let stride = if options.quick { 7 } else { 1 };
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|word| name.contains(word));
    let own = VERBS.iter().map(|scene| (scene, Form::Delta));
    let all = scenes::all(true).filter(|(scene, form)| *form == Form::Delta && !scene.is_broken);
    // Which change is the n-th one must not depend on threads.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|why| why.to_string())?;
    for (at, (scene, form)) in own.chain(all).filter(|(scene, _)| is_wanted(scene.name)).enumerate()
    {
        eprintln!("recovered: {}", scene.name);
        let ready =
            Ready::new(scene, form, dir.path()).map_err(|why| format!("{}: {why}", scene.name))?;
        let mut kills = 0_u64;
        for n in (at as u64 % stride..ready.changes).step_by(usize::try_from(stride)?) {
            for fault in [Fault::Dies, Fault::DiesWithin] {
                kills += 1;
                let outcome = pool.install(|| ready.kill(n, fault).map_err(|why| why.to_string()));
                if let Err(why) = outcome {
                    broken.push(format!("{}, {} at change {n}: {why}", scene.name, fault.word()));
                }
            }
        }
        let cells = [scene.name.to_owned(), form.word().to_owned(), ready.changes.to_string()];
        row(&mut out, &[&cells[..], &[kills.to_string()]].concat());
    }
    println!("{out}");
    Ok(broken)
}
