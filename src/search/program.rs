//! The one place of the library that runs a program: something on its stdin, an answer from its
//! stdout, within a time and a size. It never goes through a shell.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The most bytes of an answer.
pub(super) const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// The most bytes that are kept of what a program says on stderr; the rest is read and dropped.
const MAX_SAID_BYTES: u64 = 4 << 10;
const PAUSE: Duration = Duration::from_millis(2);

/// Why a program gave no answer, and what it said on stderr.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) why: Why,
    pub(super) said: String,
}

/// What a program did instead of answering.
#[derive(Debug, thiserror::Error)]
pub(super) enum Why {
    #[error("cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("did not answer within {} seconds", .0.as_secs_f64())]
    Late(Duration),
    #[error("answered with more than {MAX_ANSWER_BYTES} bytes")]
    Long,
    #[error("failed: {0}")]
    Status(ExitStatus),
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
}

/// Runs a program, hands it `input` and gives back what it wrote.
pub(super) fn ask(argv: &[String], input: &[u8], time: Duration) -> Result<Vec<u8>, Failed> {
    let began = Instant::now();
    let quiet = |why| Failed { why, said: String::new() };
    let (program, args) = match argv {
        [program, args @ ..] => (program, args),
        [] => return Err(quiet(Why::Start(io::ErrorKind::NotFound.into()))),
    };
    let mut command = Command::new(program);
    // Its own group: whatever it starts ends with it. The root, so that nothing that is in the
    // current folder, which may be the vault, is found by a relative name.
    command.args(args).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|why| quiet(Why::Start(why)))?;
    let mut group = Group { child };
    if let Some(mut stdin) = group.child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read its question may still answer.
        thread::spawn(move || stdin.write_all(&input));
    }
    let answer = reader(group.child.stdout.take(), MAX_ANSWER_BYTES + 1);
    let said = reader(group.child.stderr.take(), MAX_SAID_BYTES);
    let left = || time.saturating_sub(began.elapsed());
    let outcome = match answer.recv_timeout(left()) {
        Ok(Ok(bytes)) if bytes.len() as u64 > MAX_ANSWER_BYTES => Err(Why::Long),
        Ok(Ok(bytes)) => match group.wait(left) {
            Ok(Some(status)) if status.success() => Ok(bytes),
            Ok(Some(status)) => Err(Why::Status(status)),
            Ok(None) => Err(Why::Late(time)),
            Err(why) => Err(Why::Read(why)),
        },
        Ok(Err(why)) => Err(Why::Read(why)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(Why::Late(time)),
    };
    outcome.map_err(|why| {
        drop(group);
        // The group is gone, and with it every process that held the pipe.
        let said = said.recv_timeout(Duration::from_secs(1)).ok().and_then(Result::ok);
        Failed { why, said: String::from_utf8_lossy(&said.unwrap_or_default()).into_owned() }
    })
}

/// Reads a pipe to its end in a thread; what is beyond `limit` is dropped.
fn reader(pipe: Option<impl Read + Send + 'static>, limit: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut bytes = Vec::new();
        let read = pipe.by_ref().take(limit).read_to_end(&mut bytes).map(|_| bytes);
        // The caller may have given up.
        let _ = sender.send(read);
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
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
        ask(&argv, input, time)
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
        let none = ask(&["/does/not/exist".to_owned()], b"", ENOUGH).unwrap_err();
        assert!(none.why.to_string().starts_with("cannot be started: "));
    }
}
