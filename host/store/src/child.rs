//! Another program, run to its end or to a time limit.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

/// So much of what a program says is read, in bytes.
const MOST_SAID: u64 = 64 * 1024;
/// So many characters of what it says about a failure are passed on.
const MOST_TOLD: usize = 300;
/// The pause between two looks whether it ended.
const PAUSE: Duration = Duration::from_millis(5);
/// How long its output is waited for after its end: something that it started may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Why a program did not do its work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChildError {
    /// It could not be started.
    #[error("cannot be started ({0})")]
    Start(io::Error),
    /// It took too long and was ended.
    #[error("was not done within {} ms and was ended", .0.as_millis())]
    Late(Duration),
    /// It failed.
    #[error("{status}{}{said}", if .said.is_empty() { "" } else { ": " })]
    Failed {
        /// Its exit code, or the signal that ended it.
        status: ExitStatus,
        /// The beginning of what it wrote to its standard error.
        said: String,
    },
}

/// Runs the program with this standard input, and gives the first 64 KiB of its standard output. Where it is late, it and
/// whatever it started are ended.
///
/// # Errors
///
/// Where it cannot be started, fails, or takes longer than `timeout`.
pub fn run(command: &mut Command, input: &[u8], timeout: Duration) -> Result<Vec<u8>, ChildError> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(ChildError::Start)?;
    let output = listen(child.stdout.take());
    let errors = listen(child.stderr.take());
    if let Some(mut stdin) = child.stdin.take() {
        // Short enough for the pipe to take it whole. A program that reads nothing may be right to.
        let _ = stdin.write_all(input);
    }
    let status = wait(&mut child, timeout)?;
    let heard = |from: Receiver<Vec<u8>>| from.recv_timeout(LAST_WORDS).unwrap_or_default();
    if !status.success() {
        let said: String = String::from_utf8_lossy(&heard(errors))
            .chars()
            .map(|character| if character.is_control() { ' ' } else { character })
            .take(MOST_TOLD)
            .collect();
        return Err(ChildError::Failed {
            status,
            said: said.trim().to_owned(),
        });
    }
    Ok(heard(output))
}

fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MOST_SAID).read_to_end(&mut said);
        }
        // Nobody listens any more where the program was late.
        let _ = sender.send(said);
    });
    receiver
}

fn wait(child: &mut Child, timeout: Duration) -> Result<ExitStatus, ChildError> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(status) = child.try_wait().map_err(ChildError::Start)? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            end(child);
            return Err(ChildError::Late(timeout));
        }
        thread::sleep(PAUSE);
    }
}

/// Ends the program and everything in its group.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        // It may have ended by itself meanwhile; it cannot have been replaced, for nobody waited for it yet.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
