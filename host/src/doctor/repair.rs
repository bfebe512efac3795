//! What `--fix` does: only what takes nothing away that anybody could want.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Examination;
use super::finding::Repair;
use crate::private;

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
        Repair::Mode { path, mode } => private::set_mode(path, *mode).map_err(|error| error.to_string()),
        Repair::EndLine(path) => OpenOptions::new()
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(b"\n"))
            .map_err(|error| error.to_string()),
        Repair::Compile(file) => install(file, examination.named_config.as_deref()),
        Repair::Hooks(path) => hooks(path, examination),
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
