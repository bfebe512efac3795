//! Known calls, played through the installed command line exactly as the harness would start it.
//!
//! Nothing is captured: no VM has the name that these calls name, so that a ZVM that answers knows of none.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_setup::Event;
use serde_json::{Value, json};

use super::finding::{Finding, Severity};
use super::hooks::{self, Ours};
use super::own::{CALL, FOREIGN, NO_VM, SESSION, UNREADABLE};
use crate::environment;

/// The longest time for one call, whatever the entry's timeout is.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where somebody waits for a screen.
const LITTLE_PATIENCE: Duration = Duration::from_secs(10);
/// How often the process is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest answer that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// What the harness makes of what a hook leaves behind. The stricter one is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// It goes on as if there were no hook, since the hook failed.
    Ignored,
    /// It goes on: the hook has no objection.
    Passed,
    /// It asks a human.
    Asked,
    /// The call does not run.
    Blocked,
}

/// What may come of a call, from the mildest to the strictest.
#[derive(Debug, Clone, Copy)]
struct Expected(Effect, Effect);

/// One row of the decision table.
struct Row {
    name: &'static str,
    event: String,
    expected: Expected,
    /// Whether the policy decides, and not the host: another policy than the shipped one may see it otherwise.
    by_policy: bool,
}

/// What was seen.
pub(super) struct Played {
    row: Row,
    effect: Result<Effect, String>,
    says: String,
    /// Whether the call was blocked, and what has to be printed for that did not come.
    is_swallowed: bool,
    /// The exit code that was left, where it is not the one that the program leaves with such an answer.
    other_code: Option<Option<i32>>,
}

/// Which calls are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those for which nothing is asked of Zerto.
    Offline,
    /// All of them.
    All,
    /// One whose answer is an exit code, and one whose answer is printed: both ways have to be open.
    Two,
}

/// The settings of the policy that rows depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stances {
    unknown_tool: Effect,
    control_plane: Effect,
}

impl Stances {
    /// As the policy's settings have them.
    pub(super) fn of(settings: &Value) -> Self {
        let effect = |key: &str| match settings[key].as_str() {
            Some("pass") => Effect::Passed,
            Some("deny") => Effect::Blocked,
            _ => Effect::Asked,
        };
        Self {
            unknown_tool: effect("unknown_tool"),
            control_plane: effect("control_plane"),
        }
    }
}

const NO_EVENT: &str = "an event that cannot be read";
const NO_MACHINE: &str = "a change that names no machine";

fn rows(stances: Stances, which: Which) -> Vec<Row> {
    let call = |tool: &str, input: Value| {
        json!({
            "session_id": SESSION,
            "transcript_path": "/nonexistent",
            "cwd": "/",
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": CALL
        })
    };
    let row = |name, event: Value, expected| Row {
        name,
        event: event.to_string(),
        expected,
        by_policy: true,
    };
    // A human may be asked; where nobody would answer, the configuration makes a deny of it.
    let asks = Expected(Effect::Asked, Effect::Blocked);
    let at_least = |effect| Expected(effect, Effect::Blocked.max(effect));
    let exactly = |effect| Expected(effect, effect);
    let stance = |effect| match effect {
        Effect::Passed => exactly(effect),
        effect => at_least(effect),
    };
    // Nothing of these two is known to the hook but their text.
    let blocked = |name, event: &str| Row {
        name,
        event: event.to_owned(),
        expected: exactly(Effect::Blocked),
        by_policy: false,
    };
    let mut rows = vec![
        blocked(NO_EVENT, UNREADABLE),
        blocked("a call of another harness", FOREIGN),
        row(
            "a call that only reads",
            call("mcp__esxi__listVMs", json!({})),
            exactly(Effect::Passed),
        ),
        row(NO_MACHINE, call("mcp__esxi__powerOff", json!({})), asks),
        row(
            "a change of a control plane",
            call("mcp__esxi__createVM", json!({ "name": NO_VM })),
            stance(stances.control_plane),
        ),
        row(
            "a tool that no catalog lists",
            call("mcp__holdpoint-doctor__unlisted", json!({})),
            stance(stances.unknown_tool),
        ),
        row(
            "a tool of the harness",
            call("Read", json!({ "file_path": "/nonexistent" })),
            exactly(Effect::Passed),
        ),
    ];
    if which == Which::Two {
        rows.retain(|row| [NO_EVENT, NO_MACHINE].contains(&row.name));
    }
    if which == Which::All {
        rows.push(row(
            "a change of a VM that Zerto does not know",
            call("mcp__esxi__powerOff", json!({ "name": NO_VM })),
            asks,
        ));
    }
    rows
}

/// Plays every row through an entry.
pub(super) fn play(ours: &Ours, project: &Path, stances: Stances, which: Which) -> Vec<Played> {
    if ours.event != Event::PreToolUse {
        return Vec::new();
    }
    let patience = if which == Which::Two {
        LITTLE_PATIENCE
    } else {
        PATIENCE
    };
    let mut played = Vec::new();
    for row in rows(stances, which) {
        let left = start(ours, project, &row.event, patience);
        // What cannot be started, or never ends, does so for every row.
        let is_hopeless = left.is_err();
        let known = left.as_ref().ok();
        played.push(Played {
            says: known.map(Left::says).unwrap_or_default(),
            // What only the host blocks may be blocked by the exit code alone.
            is_swallowed: row.by_policy && known.is_some_and(Left::is_swallowed),
            other_code: known.and_then(Left::other_code),
            effect: left.map(|left| left.effect()),
            row,
        });
        if is_hopeless {
            break;
        }
    }
    played
}

/// What a process left behind.
struct Left {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    code: Option<i32>,
}

/// Starts the entry's command as the harness does, with the variables of its settings, and waits for its end. Standard
/// input stays open meanwhile.
fn start(ours: &Ours, project: &Path, event: &str, patience: Duration) -> Result<Left, String> {
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
    fn effect(&self) -> Effect {
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
    fn is_swallowed(&self) -> bool {
        self.code == Some(2) && String::from_utf8_lossy(&self.stdout).trim().is_empty()
    }

    /// The exit code, where the program leaves another one with such an answer: with a deny 2, since that blocks whatever
    /// becomes of what it printed. Something around the program then takes its codes for its own.
    fn other_code(&self) -> Option<Option<i32>> {
        let is_right = match self.effect() {
            Effect::Blocked => self.code == Some(2),
            Effect::Asked | Effect::Passed => self.code == Some(0),
            Effect::Ignored => true,
        };
        (!is_right).then_some(self.code)
    }

    /// Its reason, or what else it said, in a line.
    fn says(&self) -> String {
        let answer: Value = serde_json::from_slice(&self.stdout).unwrap_or_default();
        let reason = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str();
        let stderr = String::from_utf8_lossy(&self.stderr);
        let stdout = String::from_utf8_lossy(&self.stdout);
        let said = reason.unwrap_or_else(|| {
            let first = |text: &str| !text.trim().is_empty();
            if first(&stderr) { &stderr } else { &stdout }
        });
        crate::text::clean_line(said.trim(), 300)
    }
}

impl Effect {
    const fn words(self) -> &'static str {
        match self {
            Self::Ignored => "an answer that the harness drops, so the call runs",
            Self::Passed => "no objection",
            Self::Asked => "an ask",
            Self::Blocked => "a deny",
        }
    }
}

/// Judges what was played through one entry. What has one cause is one finding: the first call that shows it, and how many
/// others do. Where it `is_explained` why changes are denied, calls that are held up are not told of again.
pub(super) fn judge(ours: &Ours, played: &[Played], is_shipped: bool, is_explained: bool) -> Vec<Finding> {
    let rows = played
        .iter()
        .filter_map(|played| of_row(ours, played, is_shipped));
    let (open, other): (Vec<Finding>, Vec<Finding>) = rows.partition(|finding| finding.lets_past);
    let mut findings: Vec<Finding> = first_of(open).into_iter().collect();
    if findings.is_empty() {
        findings.extend(of_codes(ours, played));
    }
    if findings.is_empty() && !is_explained {
        let (held_up, differing): (Vec<_>, Vec<_>) = other
            .into_iter()
            .partition(|finding| finding.severity == Severity::Broken);
        findings.extend(first_of(held_up));
        findings.extend(first_of(differing));
    }
    if findings.is_empty() && !is_explained && !played.is_empty() {
        let mut found = format!("{} known calls were answered as they have to be: ", played.len());
        for (number, played) in played.iter().enumerate() {
            let effect = played.effect.as_ref().map_or("", |effect| effect.words());
            let separator = if number == 0 { "" } else { "; " };
            let _ = write!(found, "{separator}{}, {effect}", played.row.name);
        }
        findings.push(Finding::good("selftest", found));
    }
    findings
}

/// The first of these, and how many more there are.
fn first_of(findings: Vec<Finding>) -> Option<Finding> {
    let more = findings.len().saturating_sub(1);
    let mut first = findings.into_iter().next()?;
    if more > 0 {
        let _ = write!(first.found, " (and so {more} of the other calls)");
    }
    Some(first)
}

/// Whether the program's exit codes reach the harness.
fn of_codes(ours: &Ours, played: &[Played]) -> Option<Finding> {
    let played = played.iter().find(|played| played.other_code.is_some())?;
    let code = match played.other_code.flatten() {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    };
    let found = format!(
        "{}, played through {}, got {} with {code}: something in '{}' takes the program's exit code",
        played.row.name,
        ours.place(),
        played
            .effect
            .as_ref()
            .map_or("no answer", |effect| effect.words()),
        crate::text::clean_line(&ours.command.text(), 200)
    );
    let matters = "a hook that fails before it has printed an answer, or is killed, then lets its call run";
    Some(
        Finding::broken("selftest", found, matters)
            .letting_past(true)
            .mended_by("holdpoint init writes the entry anew; a wrapper must hand the exit code through"),
    )
}

fn of_row(ours: &Ours, played: &Played, is_shipped: bool) -> Option<Finding> {
    let Row {
        name,
        expected: Expected(mildest, strictest),
        by_policy,
        ..
    } = played.row;
    let place = ours.place();
    let effect = match &played.effect {
        Ok(effect) if (mildest..=strictest).contains(effect) && !played.is_swallowed => return None,
        Ok(effect) => *effect,
        Err(why) => {
            return Some(
                Finding::broken(
                    "selftest",
                    format!("{name}, played through {place}: {why}"),
                    "the harness then lets the call run, unless onFailure says otherwise",
                )
                .letting_past(true)
                .mended_by("start that command line by hand with an event on standard input"),
            );
        }
    };
    let mut found = format!("{name}, played through {place}, got {}", effect.words());
    if !played.says.is_empty() {
        let _ = write!(found, ": {}", played.says);
    }
    if ours.start.is_wrapped {
        let line = crate::text::clean_line(&ours.command.text(), 200);
        let _ = write!(found, "; the command line is '{line}'");
    }
    if played.is_swallowed {
        found.push_str("; nothing of what the program prints comes out of that command line");
    }
    let is_open = effect < mildest;
    let matters = match (is_open, mildest) {
        (true, Effect::Blocked) => "what is forbidden is not stopped: the guard is not there",
        (true, _) => "a call that a human or a checkpoint should stand before runs",
        (false, _) => "calls are held up that there is nothing against; the reason says what is wrong",
    };
    // What another policy decides is that policy's affair, as long as the harness understands the answer.
    if by_policy && !is_shipped && effect != Effect::Ignored && !played.is_swallowed {
        return Some(Finding::notice(
            "selftest",
            found,
            "the shipped policy would answer otherwise",
        ));
    }
    let mend = if is_open {
        "holdpoint init writes the entry anew; a wrapper must hand everything through and print nothing"
    } else {
        "holdpoint explain < event.json tells the reasoning for one event"
    };
    Some(
        Finding::broken("selftest", found, matters)
            .letting_past(is_open)
            .mended_by(mend),
    )
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn only_what_the_policy_decides_may_differ_under_another_policy() {
        let rows = rows(Stances::of(&json!({"unknown_tool": "deny"})), Which::All);
        let forbidden = rows.iter().filter(|row| row.expected.0 == Effect::Blocked);
        let names: Vec<_> = forbidden.map(|row| (row.name, row.by_policy)).collect();
        assert_eq!(
            names,
            [
                ("an event that cannot be read", false),
                ("a call of another harness", false),
                ("a tool that no catalog lists", true)
            ]
        );
    }
}
