//! Writers that take turns: their publications per second, and how long the lock is idle between
//! two of them.

use std::fs::File;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use contextnest::files::vault::Vault;

use crate::corpus::Draw;
use crate::place::{Beside, Place};
use crate::process::{Options, Result, head, ms, percentile, row};
use crate::{documents, fine};

const WRITERS: usize = 16;
/// Milliseconds for which a writer holds the lock.
const HOLDS: [u64; 3] = [1, 10, 100];
const SEED: u64 = 42;

/// Lets processes publish different documents of one vault, all at once and one after the other.
pub(crate) fn writers(options: &Options, out: &mut String) -> Result<()> {
    let (writers, each) = (WRITERS.min(options.samples), documents(options).div_ceil(40));
    let total = writers * each;
    head(
        out,
        "writers | publications each | sync | publications a second | of one writer's | one publication, median | p95 | longest",
    );
    for args in [&["publish"][..], &["publish", "--no-sync"]] {
        let mut runs = [1, writers].map(|writers| (writers, Vec::new(), Vec::new()));
        for round in 0..options.events {
            for (writers, times, rates) in &mut runs {
                eprintln!("{writers} writers: `ctx {}`, round {round}", args.join(" "));
                let dir = options.dir.join(format!("writers-{writers}-{}-{round}", args.len()));
                let place = Place::new(&dir, "vault", total, Beside::All)?;
                let began = Instant::now();
                times.extend(publish_each(&place, *writers, args)?);
                rates.push(total as f64 / began.elapsed().as_secs_f64());
                place.ctx(&["verify"])?;
            }
        }
        let rate_of = |rates: &[f64]| {
            let mut rates = rates.to_vec();
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        };
        let alone = rate_of(&runs[0].2);
        for (writers, times, rates) in runs {
            let rate = rate_of(&rates);
            let [middle, most, longest] =
                [50, 95, 100].map(|percent| percentile_of(&times, percent));
            let sync = if args.len() == 1 { "yes" } else { "no" };
            row(
                out,
                &[
                    writers.to_string(),
                    (total / writers).to_string(),
                    sync.to_owned(),
                    format!("{rate:.0}"),
                    format!("{:.2}", rate / alone),
                    ms(middle),
                    ms(most),
                    ms(longest),
                ],
            );
        }
    }
    Ok(())
}

/// Publishes every document by its own process, `writers` at a time; returns the time of each.
fn publish_each(place: &Place, writers: usize, args: &[&str]) -> Result<Vec<Duration>> {
    let publish = |ids: &[String]| -> std::result::Result<Vec<Duration>, String> {
        let one = |id: &String| {
            let began = Instant::now();
            let args = [args, &[id, "--lock-timeout", "600"]].concat();
            place.ctx(&args).map_err(|why| why.to_string())?;
            Ok(began.elapsed())
        };
        ids.iter().map(one).collect()
    };
    let mut times = Vec::new();
    thread::scope(|scope| -> Result<()> {
        let chunks = place.ids.chunks(place.ids.len().div_ceil(writers));
        let at_work: Vec<_> = chunks.map(|ids| scope.spawn(move || publish(ids))).collect();
        for writer in at_work {
            times.extend(writer.join().map_err(|_| "a writer panicked")??);
        }
        Ok(())
    })?;
    Ok(times)
}

/// Like [`percentile`]; 100 is the longest.
fn percentile_of(times: &[Duration], percent: usize) -> Duration {
    match percent {
        100 => times.iter().copied().max().unwrap_or_default(),
        _ => percentile(times.to_vec(), percent),
    }
}

/// Measures the time from the release of the lock by one writer to its acquisition by the other.
pub(crate) fn hand_over(options: &Options, out: &mut String) -> Result<()> {
    let place = Place::new(&options.dir, "hand-over", 0, Beside::All)?;
    let vaults = [Vault::open(&place.root)?, Vault::open(&place.root)?];
    let bare = place.root.join("bare");
    File::create_new(&bare)?;
    head(out, "lock | held for | times | until the next has it, median | p95 | longest");
    let mut draw = Draw::new(SEED, 0, 0);
    for hold in HOLDS {
        let times = if hold < 100 { options.samples } else { options.samples.div_ceil(5) };
        for (name, is_ours) in [("of a vault", true), ("`flock` that waits", false)] {
            eprintln!("{name}, held for {hold} ms");
            let mut found = Vec::new();
            for _ in 0..times {
                // The pauses of the waiting writer must not synchronize with this one.
                let more = Duration::from_micros(draw.below(16_000) as u64);
                let hold = Duration::from_millis(hold) + more;
                found.push(match is_ours {
                    true => waited(hold, |n| Ok(vaults[n].lock("bench")?))?,
                    false => waited(hold, |_| {
                        let file = File::open(&bare)?;
                        file.lock()?;
                        Ok(file)
                    })?,
                });
            }
            let waits = [50, 95, 100].map(|percent| fine(percentile_of(&found, percent)));
            let cells = [name.to_owned(), format!("{hold} to {} ms", hold + 16), times.to_string()];
            row(out, &[&cells[..], &waits].concat());
        }
    }
    Ok(())
}

/// Holds a lock for a time while another thread waits for it; returns the waiting time after
/// the release.
fn waited<L>(hold: Duration, lock: impl Fn(usize) -> Result<L> + Sync) -> Result<Duration> {
    let barrier = Barrier::new(2);
    let first = lock(0)?;
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            barrier.wait();
            let held = lock(1).map_err(|why| why.to_string())?;
            let since = Instant::now();
            drop(held);
            Ok::<_, String>(since)
        });
        barrier.wait();
        thread::sleep(hold);
        let released = Instant::now();
        drop(first);
        let since = second.join().map_err(|_| "a writer panicked")??;
        Ok(since.saturating_duration_since(released))
    })
}
