//! What `--fix` does: only what takes nothing away that anybody could want.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdpoint_common::access;
use holdpoint_common::append::{self, Links};
use holdpoint_config::DEFAULT_DEADLINE_SECONDS;
use holdpoint_setup::{Event, Hook};

use super::Examination;
use super::finding::Repair;
use super::hooks::Program;
use crate::init;

/// Does what the findings say can be done, each thing once. Answers what was done, and what could not be and why.
pub fn repair(examination: &Examination) -> Vec<Result<String, String>> {
    let mut wanted: Vec<&Repair> = Vec::new();
    for repair in examination
        .findings
        .iter()
        .filter_map(|finding| finding.repair.as_ref())
    {
        if !wanted.contains(&repair) {
            wanted.push(repair);
        }
    }
    let mut done = Vec::new();
    for repair in wanted {
        done.push(match apply(repair, examination) {
            Ok(()) => Ok(repair.to_string()),
            Err(why) => Err(format!("{repair}: {why}")),
        });
    }
    done
}

fn apply(repair: &Repair, examination: &Examination) -> Result<(), String> {
    match repair {
        Repair::Mode { path, mode } => access::set_mode(path, *mode).map_err(|error| error.to_string()),
        Repair::EndLine(path) => append::open(path, OpenOptions::new().append(true), Links::Followed)
            .and_then(|(mut file, _)| file.write_all(b"\n"))
            .map_err(|error| error.to_string()),
        Repair::Compile(file) => install(file, examination.named_config.as_deref()),
        Repair::Hooks(path) => hooks(path, examination),
        Repair::Places(path, places) => init::add_places(path, places).map_err(|error| error.to_string()),
    }
}

/// Installs the kept policy again, which compiles it.
fn install(file: &Path, config: Option<&Path>) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.args(["policy", "install"]).arg(file);
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The longest timeout that is kept, in seconds.
const LONGEST: f64 = 86_400.0;
/// The least time between the deadline and the entry's timeout, in seconds.
const MARGIN: u64 = 30;

/// Brings the entries in a settings file up to date, as `init` does it.
fn hooks(path: &Path, examination: &Examination) -> Result<(), String> {
    let own = examination.entries.iter().filter(|ours| ours.file == path);
    let gate = own.min_by_key(|ours| ours.event != Event::PreToolUse);
    let program = match gate {
        Some(gate) if gate.program == Program::This => gate.path.clone(),
        _ => std::env::current_exe().map_err(|error| error.to_string())?,
    };
    // What a shell would replace in its line stays as it is in a list.
    let is_plain =
        |args: &Vec<String>| args.len() > 1 && args.iter().all(|arg| !arg.contains(['$', '`', '~']));
    let stated = gate.map(|gate| gate.start.args.clone());
    let args = stated.filter(is_plain).unwrap_or_else(|| {
        let config = examination.config_file.iter();
        let config = config.flat_map(|path| ["--config".into(), path.display().to_string()]);
        ["hook".to_owned()].into_iter().chain(config).collect()
    });
    let deadline = examination
        .config
        .as_ref()
        .map_or(DEFAULT_DEADLINE_SECONDS, |config| config.deadline().as_secs_f64());
    let least = deadline.ceil() as u64 + MARGIN;
    // One that was meant in milliseconds is none.
    let timeout = gate
        .and_then(|gate| gate.command.timeout)
        .filter(|timeout| *timeout <= LONGEST);
    let hook = Hook {
        program: program.display().to_string(),
        args,
        timeout_seconds: timeout.map_or(least, |seconds| least.max(seconds as u64)),
        matcher: None,
        managed_only: false,
    };
    let readers = holdpoint_setup::file::Readers::Owner;
    holdpoint_setup::file::install(path, &hook, &crate::init::copies_of(path), readers)
        .map(drop)
        .map_err(|error| error.to_string())
}
