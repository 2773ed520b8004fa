//! The one place of the library that runs a program: something on its stdin, an answer from its
//! stdout, within a time and a size. It never goes through a shell.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The most bytes that are kept of what a program says on stderr; the rest is read and dropped.
const MAX_SAID_BYTES: u64 = 4 << 10;
const PAUSE: Duration = Duration::from_millis(2);
/// How long the rest of a pipe is waited for once the program has ended.
const REST: Duration = Duration::from_secs(1);
/// How many bytes of a pipe are read at a time.
const CHUNK: usize = 64 << 10;

/// How long a program may take, and how much it may print.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The time.
    pub(super) time: Duration,
    /// The bytes of its output.
    pub(super) bytes: u64,
}

/// Why a program gave no answer, what it printed up to then, and what it said on stderr.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) why: Why,
    pub(crate) printed: Vec<u8>,
    pub(crate) said: String,
}

impl Failed {
    /// What happened, with the first line that the program said.
    pub(crate) fn sentence(&self) -> String {
        match self.said.lines().next() {
            Some(line) => format!("{}: {line}", self.why),
            None => self.why.to_string(),
        }
    }
}

/// What a program did instead of answering.
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

/// Runs a program, hands it `input` and gives back what it wrote. With `env`, these are all of its
/// variables.
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
    // Its own group: whatever it starts ends with it. The root, so that nothing that is in the
    // current folder, which may be the vault, is found by a relative name.
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
        // The group is gone, and with it every process of it that held the pipes. One that left the
        // group may hold them still: then what was printed up to now counts.
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

/// What comes out of a pipe, read in a thread.
struct Pipe {
    /// What came up to now.
    bytes: Arc<Mutex<Vec<u8>>>,
    /// How it ended, once.
    end: Receiver<io::Result<()>>,
}

impl Pipe {
    /// Waits for the end of the pipe, or for the limit; none if neither came.
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

/// Reads a pipe to its end in a thread; what is beyond `limit` is dropped.
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

/// A program and whatever it started; all of it is ended when this is dropped.
struct Group {
    child: Child,
}

impl Group {
    /// Waits for the program; `None` if there is no time left.
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
            // It may be gone already.
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
    fn a_program_answers_what_it_is_asked() {
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
    fn a_program_that_is_late_is_ended_with_all_that_it_started() {
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
    fn what_was_printed_before_a_failure_is_kept_up_to_the_limit() {
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
    fn a_program_sees_the_variables_that_it_is_given() {
        let argv = ["/usr/bin/env"].map(str::to_owned);
        let limits = Limits { time: ENOUGH, bytes: 1 << 10 };
        let env = BTreeMap::from([("A".to_owned(), "b c".to_owned())]);
        assert_eq!(run(&argv, b"", limits, Some(&env)).unwrap(), b"A=b c\n");
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
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
