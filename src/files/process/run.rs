//! The only code of the library that runs a program: input on its stdin, an answer from its stdout,
//! within a limit of time and size. No program is run through a shell.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum number of bytes of stderr that are kept; the rest is read and dropped.
const MAX_SAID_BYTES: u64 = 4 << 10;
const PAUSE: Duration = Duration::from_millis(2);
/// Time to wait for the rest of a pipe after the program has ended.
const REST: Duration = Duration::from_secs(1);
/// Number of bytes of a pipe that are read at a time.
const CHUNK: usize = 64 << 10;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum time.
    pub(super) time: Duration,
    /// Maximum number of bytes of output.
    pub(super) bytes: u64,
}

/// A failed run: its reason, the output up to the failure, and the output on stderr.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) why: Why,
    pub(crate) printed: Vec<u8>,
    pub(crate) said: String,
}

impl Failed {
    /// Returns the reason, with the first line on stderr.
    pub(crate) fn sentence(&self) -> String {
        match self.said.lines().next() {
            Some(line) => format!("{}: {line}", self.why),
            None => self.why.to_string(),
        }
    }
}

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Why {
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("did not answer within {} seconds", .0.as_secs_f64())]
    Late(Duration),
    #[error("answered with more than {0} bytes")]
    Long(u64),
    #[error("failed: {0}")]
    Status(ExitStatus),
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
}

/// Runs a program with `input` on its stdin and returns its output. `env`, if given, has all of
/// its variables.
pub(super) fn run(
    argv: &[String],
    input: &[u8],
    limits: Limits,
    env: Option<&BTreeMap<String, String>>,
) -> Result<Vec<u8>, Failed> {
    let Limits { time, bytes: most } = limits;
    let began = Instant::now();
    let quiet = |why| Failed { why, printed: Vec::new(), said: String::new() };
    let (program, args) = match argv {
        [program, args @ ..] => (program, args),
        [] => return Err(quiet(Why::Start(io::ErrorKind::NotFound.into()))),
    };
    let mut command = Command::new(program);
    // A group of its own, so that everything that the program starts ends with it. The current
    // folder is the root, so that a relative name finds nothing in a vault.
    command.args(args).current_dir("/").process_group(0);
    if let Some(env) = env {
        command.env_clear().envs(env);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|why| quiet(Why::Start(why)))?;
    let mut group = Group { child };
    if let Some(mut stdin) = group.child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read its question may still answer.
        thread::spawn(move || stdin.write_all(&input));
    }
    let answer = reader(group.child.stdout.take(), most + 1);
    let said = reader(group.child.stderr.take(), MAX_SAID_BYTES);
    let left = || time.saturating_sub(began.elapsed());
    let outcome = match answer.wait(left()) {
        Some(Ok(())) if answer.length() > most => Err(Why::Long(most)),
        Some(Ok(())) => match group.wait(left) {
            Ok(Some(status)) if status.success() => Ok(answer.take()),
            Ok(Some(status)) => Err(Why::Status(status)),
            Ok(None) => Err(Why::Late(time)),
            Err(why) => Err(Why::Read(why)),
        },
        Some(Err(why)) => Err(Why::Read(why)),
        None => Err(Why::Late(time)),
    };
    outcome.map_err(|why| {
        drop(group);
        // The processes of the group that held the pipes have ended. A process that left the group
        // may still hold them: then the output up to now is returned.
        let rest = |pipe: &Pipe| {
            let _ = pipe.wait(REST);
            pipe.take()
        };
        let mut printed = rest(&answer);
        printed.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let said = String::from_utf8_lossy(&rest(&said)).into_owned();
        Failed { why, printed, said }
    })
}

/// The output of a pipe, read in a thread.
struct Pipe {
    /// Bytes that were read up to now.
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Receives the outcome once, when the pipe ends.
    end: Receiver<io::Result<()>>,
}

impl Pipe {
    /// Waits for the end of the pipe, or of the output up to the limit; `None` after `time`.
    fn wait(&self, time: Duration) -> Option<io::Result<()>> {
        self.end.recv_timeout(time).ok()
    }

    fn length(&self) -> u64 {
        self.lock().len() as u64
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a pipe to its end in a thread; bytes beyond `limit` are dropped.
fn reader(pipe: Option<impl Read + Send + 'static>, limit: u64) -> Pipe {
    let (sender, end) = mpsc::channel();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&bytes);
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let read = read_into(&shared, &mut (&mut pipe).take(limit));
        // The caller may have given up.
        let _ = sender.send(read);
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    Pipe { bytes, end }
}

fn read_into(bytes: &Mutex<Vec<u8>>, pipe: &mut impl Read) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&chunk[..read]);
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

/// A program and its descendants, which are killed when this is dropped.
struct Group {
    child: Child,
}

impl Group {
    /// Waits for the program; `None` after the time has run out.
    fn wait(&mut self, left: impl Fn() -> Duration) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if left().is_zero() {
                return Ok(None);
            }
            thread::sleep(PAUSE.min(left()));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // The group may have ended already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], time: Duration) -> Result<Vec<u8>, Failed> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        run(&argv, input, Limits { time, bytes: 1 << 20 }, None)
    }

    const ENOUGH: Duration = Duration::from_secs(20);

    #[test]
    fn run_returns_the_answer_of_a_program() {
        assert_eq!(sh("cat", b"a question", ENOUGH).unwrap(), b"a question");
        let much = vec![b'x'; 1 << 20];
        assert_eq!(sh("cat", &much, ENOUGH).unwrap().len(), 1 << 20);
        assert_eq!(
            sh("echo yes", &much, ENOUGH).unwrap(),
            b"yes\n",
            "who does not read may answer"
        );
    }

    #[test]
    fn run_kills_a_late_program_and_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let alive = dir.path().join("alive");
        let script = format!("(sleep 1; touch {}) & echo busy >&2; wait", alive.display());
        let began = Instant::now();
        let failed = sh(&script, b"", Duration::from_millis(300)).unwrap_err();
        assert_eq!(failed.why.to_string(), "did not answer within 0.3 seconds");
        assert_eq!(failed.said, "busy\n");
        thread::sleep(Duration::from_millis(1500).saturating_sub(began.elapsed()));
        assert!(!alive.exists(), "the child of the program lives on");
        let closed = sh("exec >&-; sleep 5", b"", Duration::from_millis(200)).unwrap_err();
        assert!(matches!(closed.why, Why::Late(_)));
    }

    #[test]
    fn run_keeps_output_before_a_failure_up_to_the_limit() {
        let failed = sh("echo part; exit 3", b"", ENOUGH).unwrap_err();
        assert_eq!(failed.printed, b"part\n");
        let failed = sh("echo part; sleep 5", b"", Duration::from_millis(300)).unwrap_err();
        assert_eq!(
            (failed.printed.as_slice(), &*failed.sentence()),
            (b"part\n".as_slice(), "did not answer within 0.3 seconds",)
        );
        // A process that left the group holds the pipe.
        let failed = sh("setsid sleep 3 & echo part", b"", Duration::from_millis(300)).unwrap_err();
        assert_eq!(failed.printed, b"part\n");
        let argv = ["/bin/sh", "-c", "echo 1234567"].map(str::to_owned);
        let limits = Limits { time: ENOUGH, bytes: 4 };
        let failed = run(&argv, b"", limits, None).unwrap_err();
        assert_eq!(
            (failed.printed.as_slice(), &*failed.sentence()),
            (b"1234".as_slice(), "answered with more than 4 bytes",)
        );
    }

    #[test]
    fn run_passes_only_the_given_variables() {
        let argv = ["/usr/bin/env"].map(str::to_owned);
        let limits = Limits { time: ENOUGH, bytes: 1 << 10 };
        let env = BTreeMap::from([("A".to_owned(), "b c".to_owned())]);
        assert_eq!(run(&argv, b"", limits, Some(&env)).unwrap(), b"A=b c\n");
    }

    #[test]
    fn run_reports_programs_that_do_not_answer() {
        for (script, expected) in [
            ("echo '{}'; echo why >&2; exit 3", "failed: exit status: 3 [why]"),
            ("kill -9 $$", "failed: signal: 9 (SIGKILL) []"),
            ("yes", "answered with more than 1048576 bytes []"),
            ("yes >&2 & sleep 0.1; exit 1", "failed: exit status: 1"),
        ] {
            let failed = sh(script, b"", ENOUGH).unwrap_err();
            let told = format!("{} [{}]", failed.why, failed.said.trim());
            assert!(told.starts_with(expected), "{told}");
            assert!(failed.said.len() <= 4096);
        }
        let limits = Limits { time: ENOUGH, bytes: 1 };
        let none = run(&["/does/not/exist".to_owned()], b"", limits, None).unwrap_err();
        assert!(none.why.to_string().starts_with("cannot be started: "));
    }
}
