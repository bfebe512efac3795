//! One call through the installed command line: started as the harness starts it, and read as the harness reads it.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_common::environment;
use serde_json::Value;

use super::Effect;
use crate::doctor::hooks::{self, Ours};

/// How often the process is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest answer that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// What a process left behind.
pub(super) struct Left {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    code: Option<i32>,
}

/// Starts the entry's command as the harness does, with the variables of its settings, and waits for its end. Standard
/// input stays open meanwhile.
pub(super) fn start(ours: &Ours, project: &Path, event: &str, patience: Duration) -> Result<Left, String> {
    let variables = hooks::variables(ours.level, &ours.file, project);
    let filled = |text: &String| {
        variables.iter().fold(text.clone(), |text, (name, value)| {
            text.replace(&format!("${{{name}}}"), &value.display().to_string())
        })
    };
    let mut command = match &ours.command.args {
        Some(args) => {
            let mut command = Command::new(filled(&ours.command.command));
            command.args(args.iter().map(filled));
            command
        }
        None => shell(&ours.command),
    };
    let of_harness = variables.iter().filter(|(name, _)| name.starts_with("CLAUDE_"));
    let mut child = command
        .current_dir(project)
        .envs(environment::applied())
        .envs(of_harness.map(|(name, value)| (name, value)))
        .env("CLAUDECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("it cannot be started ({error})"))?;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // It may have ended already; its answer tells.
        let _ = stdin.write_all(event.as_bytes());
    }
    let timeout = ours
        .command
        .timeout
        .unwrap_or(f64::MAX)
        .min(patience.as_secs_f64());
    let left = wait(child, Duration::from_secs_f64(timeout.max(0.0)));
    drop(stdin);
    left
}

fn shell(command: &holdpoint_setup::Command) -> Command {
    let (program, flags): (_, &[&str]) = match command.shell.as_deref() {
        Some("powershell") if cfg!(windows) => ("powershell", &["-NoProfile", "-Command"]),
        Some("powershell") => ("pwsh", &["-NoProfile", "-Command"]),
        Some("bash") => ("bash", &["-c"]),
        _ if cfg!(windows) => ("cmd", &["/C"]),
        _ => ("sh", &["-c"]),
    };
    let mut started = Command::new(program);
    started.args(flags).arg(&command.command);
    started
}

fn wait(mut child: Child, timeout: Duration) -> Result<Left, String> {
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let until = Instant::now() + timeout;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not answer within {} s", timeout.as_secs()));
            }
            Err(error) => return Err(format!("it cannot be waited for ({error})")),
        }
    };
    // Whatever it left running may hold the pipes open; what was written by its end is there.
    let rest = Duration::from_secs(2);
    Ok(Left {
        stdout: stdout.recv_timeout(rest).unwrap_or_default(),
        stderr: stderr.recv_timeout(rest).unwrap_or_default(),
        code: status.code(),
    })
}

/// Reads in a thread, so that a full pipe keeps nobody.
fn read(stream: Option<impl std::io::Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(LONGEST).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

impl Left {
    /// What Claude Code makes of it.
    pub(super) fn effect(&self) -> Effect {
        if self.code == Some(2) {
            return Effect::Blocked;
        }
        let text = String::from_utf8_lossy(&self.stdout);
        if text.trim().is_empty() {
            return if self.code == Some(0) {
                Effect::Passed
            } else {
                Effect::Ignored
            };
        }
        // Text before the object, or after it, makes it no object; and one bad word spoils all of it.
        let Ok(Value::Object(answer)) = serde_json::from_str(text.trim()) else {
            return Effect::Ignored;
        };
        let output = &answer.get("hookSpecificOutput").cloned().unwrap_or_default();
        if output["hookEventName"] != "PreToolUse" {
            return Effect::Ignored;
        }
        match output.get("permissionDecision").map(Value::as_str) {
            None => Effect::Passed,
            Some(Some("ask")) => Effect::Asked,
            Some(Some("deny")) => Effect::Blocked,
            Some(_) => Effect::Ignored,
        }
    }

    /// Whether a call is blocked, and nothing was printed that the harness could read.
    pub(super) fn is_swallowed(&self) -> bool {
        self.code == Some(2) && String::from_utf8_lossy(&self.stdout).trim().is_empty()
    }

    /// The exit code, where the program leaves another one with such an answer: with a deny 2, since that blocks whatever
    /// becomes of what it printed. Something around the program then takes its codes for its own.
    pub(super) fn other_code(&self) -> Option<Option<i32>> {
        let is_right = match self.effect() {
            Effect::Blocked => self.code == Some(2),
            Effect::Asked | Effect::Passed => self.code == Some(0),
            Effect::Ignored => true,
        };
        (!is_right).then_some(self.code)
    }

    /// Its reason, or what else it said, in a line.
    pub(super) fn says(&self) -> String {
        let answer: Value = serde_json::from_slice(&self.stdout).unwrap_or_default();
        let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str();
        let stderr = String::from_utf8_lossy(&self.stderr);
        let stdout = String::from_utf8_lossy(&self.stdout);
        let said = reason.unwrap_or_else(|| {
            let first = |text: &str| !text.trim().is_empty();
            if first(&stderr) { &stderr } else { &stdout }
        });
        holdpoint_common::safe_text::clean_line(said.trim(), 300)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn left(stdout: &str, code: Option<i32>) -> Effect {
        Left {
            stdout: stdout.into(),
            stderr: Vec::new(),
            code,
        }
        .effect()
    }

    #[test]
    fn an_answer_is_read_as_the_harness_reads_it() {
        let decision = |word: &str| {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word}})
                .to_string()
        };
        assert_eq!(left("", Some(0)), Effect::Passed);
        assert_eq!(left(&decision("ask"), Some(0)), Effect::Asked);
        assert_eq!(left(&decision("deny"), Some(0)), Effect::Blocked);
        assert_eq!(left("", Some(2)), Effect::Blocked);
        assert_eq!(left("nonsense", Some(2)), Effect::Blocked);
        // The ways in which a harness takes a hook for absent.
        assert_eq!(left("", Some(1)), Effect::Ignored);
        assert_eq!(left("", Some(101)), Effect::Ignored);
        assert_eq!(left("", None), Effect::Ignored);
        assert_eq!(left(&decision("prompt"), Some(0)), Effect::Ignored);
        assert_eq!(
            left(&format!("starting …\n{}", decision("deny")), Some(0)),
            Effect::Ignored
        );
        assert_eq!(
            left(&format!("{0}{0}", decision("deny")), Some(0)),
            Effect::Ignored
        );
        assert_eq!(
            left(
                "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}",
                Some(0)
            ),
            Effect::Ignored
        );
    }

    #[test]
    fn an_exit_code_that_is_not_the_programs_is_noticed() {
        let deny = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}"#;
        let other = |stdout: &str, code| {
            let left = Left {
                stdout: stdout.into(),
                stderr: Vec::new(),
                code,
            };
            left.other_code()
        };
        assert_eq!(other(deny, Some(0)), Some(Some(0)));
        assert_eq!(other(deny, None), Some(None));
        assert_eq!(other(deny, Some(2)), None);
        assert_eq!(other("", Some(2)), None);
        assert_eq!(other("", Some(0)), None);
        assert_eq!(other(&deny.replace("deny", "ask"), Some(1)), Some(Some(1)));
    }
}
