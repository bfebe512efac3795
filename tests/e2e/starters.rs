//! Entries that start the hook by another program (`sudo`, PowerShell): recognised as Holdpoint's, and judged by what they do.

use std::fs;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::installation::Installed;
use crate::support::chmod;

/// What stands in a program's place: it passes over its options, as the real one would, and starts the rest.
const SUDO: &str = "while :; do case \"$1\" in -*) shift;; *) break;; esac; done\nexec \"$@\"";
const POWERSHELL: &str = "while :; do case \"$1\" in\n\
                          -c|-Command) shift; exec sh -c \"$*\";;\n\
                          -File) shift; exec sh \"$@\";;\n\
                          *) shift;; esac; done";

fn put(installed: &Installed, name: &str, script: &str) -> String {
    let path = installed.world.path("path").join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    chmod(&path, 0o755);
    path.display().to_string()
}

/// An installation with another program in front of the hook. `line` is the gate's command line, with `{}` for the hook.
fn started_by(line: &str) -> Installed {
    let mut installed = Installed::new();
    put(&installed, "sudo", SUDO);
    put(&installed, "pwsh", POWERSHELL);
    put(&installed, "powershell.exe", POWERSHELL);
    let script = put(&installed, "holdpoint.ps1", &format!("exec {HOLDPOINT} \"$@\""));
    // PowerShell reads it.
    chmod(script.as_ref(), 0o644);
    let config = installed.world.path("config.toml").display().to_string();
    let hook = format!("{HOLDPOINT} hook --config {config}");
    let script = format!("{script} hook --config {config}");
    let gate = installed.gate().as_object_mut().unwrap();
    gate.remove("args");
    gate.insert(
        "command".into(),
        json!(line.replace("{}", &hook).replace("{script}", &script)),
    );
    installed.write_settings();
    installed
}

/// The checks with a caution or worse, and whether `status` says armed.
fn found(installed: &Installed) -> (Vec<String>, bool) {
    let report = installed.doctor(&["--offline"]);
    let status: Value = serde_json::from_str(&installed.run(&["status", "--json"]).stdout).unwrap();
    let mut checks: Vec<String> = report.troubles().into_iter().map(str::to_owned).collect();
    checks.dedup();
    (checks, status["armed"] == true)
}

#[test]
fn an_entry_that_starts_the_hook_by_another_program_is_holdpoints() {
    for (line, expected) in [
        ("sudo {}", vec!["hook.shell"]),
        ("sudo -n {}", vec!["hook.shell"]),
        ("sudo -n -- {}", vec!["hook.shell"]),
        ("pwsh -c \"{}\"", vec!["hook.shell"]),
        ("pwsh -NoProfile -Command {}", vec!["hook.shell"]),
        ("powershell.exe -NoProfile -Command '{}'", vec!["hook.shell"]),
        // The script is another file than this program.
        (
            "powershell.exe -NoProfile -File {script}",
            vec!["hook.program", "hook.shell"],
        ),
    ] {
        let installed = started_by(line);
        assert_eq!(
            found(&installed),
            (expected.into_iter().map(str::to_owned).collect(), true),
            "{line}"
        );
    }
}

#[test]
fn what_another_program_makes_of_the_answer_counts() {
    for line in [
        "sudo -n sh -c '{} || true'",
        "pwsh -c \"{} || true\"",
        "powershell.exe -Command '{}; exit 0'",
    ] {
        let (checks, armed) = found(&started_by(line));
        assert!(
            !armed && checks.contains(&"selftest".to_owned()),
            "{line}: {checks:?}"
        );
    }
}

#[test]
fn a_line_of_another_program_that_starts_no_hook_is_not_holdpoints() {
    for line in [
        "sudo systemctl restart holdpoint.service",
        "pwsh -c 'Get-Content /var/log/holdpoint'",
        "powershell.exe -File /opt/guard.ps1",
    ] {
        let (checks, armed) = found(&started_by(line));
        assert!(
            !armed && checks.contains(&"hook.missing".to_owned()),
            "{line}: {checks:?}"
        );
    }
}
