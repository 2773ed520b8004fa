//! Completeness: every bit of every file of a record is flipped, and `verify` must find it. Any bit
//! that it misses must be proved to keep the meaning (`explain`).
//!
//! `vaults` makes small vaults, where every bit is flipped, and larger ones, where random bits are.
//! None of their heads is trusted, so that findings come from the files.

mod explain;
mod vaults;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use contextnest::files::vault::Vault;
use contextnest::model::timestamp::Timestamp;
use contextnest::prove::verify::{Class, Finding, Report, Request, verify};

use crate::Options;
use crate::corpus::Draw;
use crate::honest::Kind;
use crate::inside::{copy, scratch};
use crate::process::{Result, head, ms, row};
use vaults::{Role, Target};

/// Number of random bits of all larger vaults together.
const RANDOM: usize = 100_000;
const RANDOM_QUICK: usize = 2_000;
const RANDOM_BRIEF: usize = 500;
/// Of the small vaults, a quick run flips one bit in this number; a brief run has the second.
const STRIDE_QUICK: usize = 131;
const STRIDE_BRIEF: usize = 521;
/// Services in a larger vault, with ten documents each.
const SERVICES: usize = 5;
const SERVICES_QUICK: usize = 2;
/// Maximum time of one verification.
const MOST: Duration = Duration::from_secs(1);
/// Maximum number of printed bits: more are not informative.
const SHOWN: usize = 20;

/// Runs the experiment, prints its table, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    let began = Instant::now();
    let dir = scratch(&options.dir)?;
    let stride = options.size((1, STRIDE_QUICK, STRIDE_BRIEF));
    let random = options.size((RANDOM, RANDOM_QUICK, RANDOM_BRIEF));
    let services = options.size((SERVICES, SERVICES_QUICK, SERVICES_QUICK));
    let mut table = String::new();
    head(
        &mut table,
        "vault | files | bits | damage | unsettled | working copy | note | not found, and why not \
         | unexplained | longest verification",
    );
    print!("{table}");
    let (mut broken, mut bits) = (Vec::new(), 0);
    for is_large in [false, true] {
        for kind in Kind::ALL {
            let size = if is_large { "larger" } else { "small" };
            let name = format!("{}, {size}", kind.word());
            eprintln!("mutation: {name}");
            let vault = Flipped::make(kind, is_large.then_some(services), &dir.path().join(size))?;
            let flips = match is_large {
                false => vault.every(stride),
                true => vault.random(random / Kind::ALL.len(), options.seed.unwrap_or(42)),
            };
            bits += flips.len();
            let counted = vault.flip(&flips)?;
            // Each vault is reported when it is done, because all of them take a while.
            let mut table = String::new();
            for (role, count) in &counted.by_role {
                row(&mut table, &count.cells(&name, *role));
            }
            print!("{table}");
            broken.extend(counted.broken.into_iter().map(|why| format!("{name}: {why}")));
        }
    }
    println!("\n{bits} bits, {:.0} s.\n", began.elapsed().as_secs_f64());
    let more = broken.len().saturating_sub(SHOWN);
    broken.truncate(SHOWN);
    if more > 0 {
        broken.push(format!("and {more} more"));
    }
    Ok(broken)
}

/// One bit of one file.
#[derive(Clone, Copy)]
struct Flip {
    target: usize,
    byte: usize,
    mask: u8,
}

/// A vault in one copy for each thread.
struct Flipped {
    kind: Kind,
    copies: Vec<std::path::PathBuf>,
    targets: Vec<Target>,
    now: Timestamp,
}

impl Flipped {
    fn make(kind: Kind, services: Option<usize>, dir: &Path) -> Result<Self> {
        let copy_of = |thread: usize| dir.join(format!("{}-{thread}", kind.word()));
        let first = copy_of(0);
        let now = Timestamp::from_millis(vaults::make(kind, services, &first)?);
        let mut copies = vec![first];
        for thread in 1..std::thread::available_parallelism()?.get() {
            let other = copy_of(thread);
            copy(&copies[0], &other)?;
            copies.push(other);
        }
        let targets = vaults::targets(&copies[0])?;
        Ok(Self { kind, copies, targets, now })
    }

    /// Returns every bit, or one in `stride`.
    fn every(&self, stride: usize) -> Vec<Flip> {
        let mut all = Vec::new();
        for (target, file) in self.targets.iter().enumerate() {
            for byte in 0..file.bytes.len() {
                all.extend((0..8).map(|bit| Flip { target, byte, mask: 1 << bit }));
            }
        }
        all.into_iter().step_by(stride).collect()
    }

    /// Returns random bits, equally many of each role, since one log can outweigh all texts.
    fn random(&self, count: usize, seed: u64) -> Vec<Flip> {
        let mut draw = Draw::new(seed, 1, 0);
        let mut roles: Vec<Role> = self.targets.iter().map(|target| target.role).collect();
        roles.sort_unstable();
        roles.dedup();
        let flip = |n: usize| {
            let role = roles[n % roles.len()];
            let of_role = || self.targets.iter().enumerate().filter(|(_, t)| t.role == role);
            let mut at = draw.below(of_role().map(|(_, t)| t.bytes.len()).sum());
            for (target, file) in of_role() {
                if at < file.bytes.len() {
                    return Flip { target, byte: at, mask: 1 << draw.below(8) };
                }
                at -= file.bytes.len();
            }
            Flip { target: 0, byte: 0, mask: 1 }
        };
        (0..count).map(flip).collect()
    }

    /// Flips each of these bits in turn, on one thread for each copy.
    fn flip(&self, flips: &[Flip]) -> Result<Counted> {
        let whole = report(&self.copies[0], self.now).map_err(|why| format!("untouched: {why}"))?;
        if !whole.verdict.is_whole() {
            return Err(format!("the untouched vault is not whole: {:?}", whole.findings).into());
        }
        let threads = self.copies.len();
        let part = |thread: usize| {
            let own = flips.iter().skip(thread).step_by(threads);
            // Each thread verifies alone: distributing small work costs more than the work.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let pool = pool.map_err(|why| why.to_string())?;
            pool.install(|| self.work(&self.copies[thread], own, &whole.findings))
        };
        let parts: Vec<std::result::Result<Counted, String>> = std::thread::scope(|scope| {
            let running: Vec<_> =
                (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
            let done = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            done.map(|part| part.unwrap_or_else(|_| Err("a thread panicked".to_owned()))).collect()
        });
        let mut all = Counted::default();
        for part in parts {
            all.add(part?);
        }
        Ok(all)
    }

    fn work<'f>(
        &self,
        root: &Path,
        flips: impl Iterator<Item = &'f Flip>,
        untouched: &[Finding],
    ) -> std::result::Result<Counted, String> {
        let mut counted = Counted::default();
        let mut open: Option<(usize, File)> = None;
        for flip in flips {
            let target = &self.targets[flip.target];
            if open.as_ref().is_none_or(|(of, _)| *of != flip.target) {
                let file = OpenOptions::new().write(true).open(root.join(&target.path));
                open = Some((flip.target, file.map_err(|why| why.to_string())?));
            }
            let Some((_, file)) = &open else { continue };
            let byte = target.bytes[flip.byte];
            let put = |byte: u8| {
                file.write_all_at(&[byte], flip.byte as u64).map_err(|why| why.to_string())
            };
            put(byte ^ flip.mask)?;
            let began = Instant::now();
            let found = catch_unwind(AssertUnwindSafe(|| report(root, self.now)));
            let took = began.elapsed();
            put(byte)?;
            let place = format!("{}, byte {}, mask {:#04x}", target.path, flip.byte, flip.mask);
            let count = counted.by_role.entry(target.role).or_default();
            count.bits += 1;
            count.longest = count.longest.max(took);
            if took > MOST {
                counted.broken.push(format!("{place}: it took {took:?}"));
            }
            match found {
                Err(_) => counted.broken.push(format!("{place}: panic")),
                Ok(Err(why)) => counted.broken.push(format!("{place}: {why}")),
                Ok(Ok(report)) => {
                    let new = report.findings.iter().filter(|f| !untouched.contains(f));
                    let why = match new.map(|finding| finding.code.class()).min() {
                        Some(class) => {
                            *count.found.entry(class).or_default() += 1;
                            continue;
                        }
                        None => self.why(root, target, flip, untouched),
                    };
                    if let Some(why) = why {
                        *count.explained.entry(why).or_default() += 1;
                    } else {
                        count.unexplained += 1;
                        counted.broken.push(format!("{place}: not found"));
                    }
                }
            }
        }
        Ok(counted)
    }

    fn why(
        &self,
        root: &Path,
        target: &Target,
        flip: &Flip,
        untouched: &[Finding],
    ) -> Option<&'static str> {
        let mut after = target.bytes.clone();
        after[flip.byte] ^= flip.mask;
        // If nothing vouches for a file, the report on the untouched vault says so.
        let is_sealed = !untouched.iter().any(|finding| {
            finding.code == contextnest::prove::verify::Code::PolicyUnsealed
                && finding.id == target.id
        });
        explain::explain(self.kind, root, target, &after, is_sealed)
    }
}

fn report(root: &Path, now: Timestamp) -> std::result::Result<Report, String> {
    let vault = Vault::open(root).map_err(|why| why.to_string())?;
    verify(&vault, &Request::whole(now)).map_err(|why| why.to_string())
}

/// The results of some flips.
#[derive(Default)]
struct Counted {
    by_role: BTreeMap<Role, Count>,
    broken: Vec<String>,
}

#[derive(Default)]
struct Count {
    bits: usize,
    /// Counts by the gravest new finding.
    found: BTreeMap<Class, usize>,
    explained: BTreeMap<&'static str, usize>,
    unexplained: usize,
    longest: Duration,
}

impl Counted {
    fn add(&mut self, other: Self) {
        for (role, count) in other.by_role {
            let sum = self.by_role.entry(role).or_default();
            sum.bits += count.bits;
            sum.unexplained += count.unexplained;
            sum.longest = sum.longest.max(count.longest);
            for (class, n) in count.found {
                *sum.found.entry(class).or_default() += n;
            }
            for (why, n) in count.explained {
                *sum.explained.entry(why).or_default() += n;
            }
        }
        self.broken.extend(other.broken);
    }
}

impl Count {
    fn cells(&self, vault: &str, role: Role) -> Vec<String> {
        let found = |class| self.found.get(&class).copied().unwrap_or(0).to_string();
        let why: Vec<String> = self.explained.iter().map(|(why, n)| format!("{n} {why}")).collect();
        vec![
            vault.to_owned(),
            role.word().to_owned(),
            self.bits.to_string(),
            found(Class::Damage),
            found(Class::Unsettled),
            found(Class::WorkingCopy),
            found(Class::Note),
            if why.is_empty() { "0".to_owned() } else { why.join("; ") },
            self.unexplained.to_string(),
            ms(self.longest),
        ]
    }
}
