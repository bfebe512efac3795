//! The process that follows the answer: it waits for the hook's end, and does each of its works in a child under limits, so
//! that the log hears of one that was killed.

use std::io::Write as _;
use std::time::{Duration, Instant};

use holdpoint_config::Config;
use holdpoint_recording::{self as recording, Recorded};
use holdpoint_runtime::verdict::FaultKind;

use super::process::{self, Limits};
use super::{DENIED, Task, fault_line, shadow, tell, tell_of_fault};
use crate::exit::ExitCode;
use crate::log::Log;
use crate::watchdog;

/// How long writing a record may take. A disk that is this slow is out of order.
const RECORD: Duration = Duration::from_secs(10);
/// What a file may grow beyond the size at which the next one is begun, in bytes.
const BEYOND: u64 = 64 * 1024 * 1024;
/// For how long after its deadline the hook is waited for. It has always ended by then.
const HOOK: Duration = Duration::from_secs(2);

/// Does what is to be done after an answer.
pub fn run() -> ExitCode {
    let mut task = match process::take_over().and_then(|bytes| Ok(serde_json::from_slice::<Task>(&bytes)?)) {
        Ok(task) => task,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: cannot follow an answer: {error}\nhelp: the hook starts this command itself, with what it needs"
            );
            return ExitCode::FAILED;
        }
    };
    let left = Duration::from_millis(task.left_ms);
    // Its own share of the processor begins when the answer is out.
    if process::hook_has_blocked(left + HOOK) {
        task.decided.answered = DENIED.into();
    }
    match std::mem::take(&mut task.sources).config() {
        Ok(config) => follow(&task, &config, left),
        // What it would say is not even where the log is.
        Err(_) => return ExitCode::FAILED,
    }
    ExitCode::OK
}

fn follow(task: &Task, config: &Config, left: Duration) {
    let decided = &task.decided;
    if config.record.enabled {
        let limits = limits(config, RECORD);
        let done = process::in_child(&limits, || record(decided, config, RECORD));
        if let Err(cause) = done {
            tell_of_fault(
                config,
                decided,
                FaultKind::Record,
                &format!("the record may be lost: {cause}"),
            );
        }
    }
    if config.policy.shadow().is_some() && !task.interrupted {
        let time = left.mul_f64(config.policy.shadow_share());
        let done = process::in_child(&limits(config, time), || shadow::look_on(decided, config, time));
        if let Err(cause) = done {
            tell(config, &shadow::fault_line(decided, config, &cause));
        }
    }
}

fn limits(config: &Config, time: Duration) -> Limits {
    let record = recording::Files::of(&config.record).map_or(0, |files| files.largest_bytes);
    Limits {
        time,
        file: config.log.largest_bytes().max(record).saturating_add(BEYOND),
    }
}

/// Whatever happens to this process from now on ends it with a line in the log, as far as the process lives to write it.
pub(super) fn guard(config: &Config, time: Duration, line: impl Fn(&str) -> Vec<u8>) {
    watchdog::answers_nobody(ExitCode::OK);
    if let Ok(log) = Log::of(&config.log) {
        watchdog::leave_lines(&log.path, |ends| ends.map(|(_, why)| line(why)));
    }
    watchdog::arm(Instant::now() + time);
}

fn record(decided: &Recorded, config: &Config, time: Duration) {
    let failed = |cause: &str| fault_line(decided, FaultKind::Record, cause);
    guard(config, time, failed);
    let written = write(decided.clone(), config);
    watchdog::withdraw_lines();
    if let Err(cause) = written {
        tell(config, &failed(&cause));
    }
}

fn write(mut decided: Recorded, config: &Config) -> Result<(), String> {
    recording::Rules::of(&config.record).apply(&mut decided);
    let mut line = serde_json::to_vec(&decided).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let files = recording::Files::of(&config.record).map_err(|error| error.to_string())?;
    files
        .append(&line, &decided.at)
        .map_err(|error| format!("{} cannot be written ({error})", files.directory.display()))
}
