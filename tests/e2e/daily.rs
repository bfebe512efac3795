//! Daily use: `status`, `explain`, completions and manual pages; plain in a pipe, dressed on a terminal.

use std::fs;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, run};

const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

fn run_with(world: &World, arguments: &[&str], input: &str) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.args(arguments);
    let outcome = run(command, input.as_bytes());
    world.assert_secret_kept(&outcome);
    outcome
}

fn explained(world: &World, event: &Value) -> Value {
    let outcome = run_with(world, &["explain", "--json"], &event.to_string());
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// Which verdict each state of the world leads to.
fn branches(explanation: &Value) -> Vec<(&str, &str)> {
    let branches = explanation["branches"].as_array().unwrap().iter();
    branches
        .map(|branch| {
            (
                branch["if"].as_str().unwrap_or("always"),
                branch["verdict"].as_str().unwrap(),
            )
        })
        .collect()
}

fn power_off() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

#[test]
fn a_change_is_explained_without_asking_zerto_or_leaving_a_trace() {
    let world = World::with_zvm(HEALTHY);
    let explanation = explained(&world, &power_off());
    assert_eq!(
        explanation["notes"],
        json!(["esxi/powerOff changes machines: \"jp-ubuntu\" (by bright8192/esxi-mcp-server)"])
    );
    assert_eq!(
        explanation["asked"][0],
        json!({ "what": "vms-by-name", "name": "jp-ubuntu" })
    );
    assert_eq!(explanation["asked"][1]["what"], "capture");
    assert_eq!(
        branches(&explanation),
        [
            ("seen", "pass"),
            ("unknown", "ask"),
            ("several", "ask"),
            ("elsewhere", "ask"),
            ("unready", "deny"),
            ("refused", "deny"),
            ("not-seen", "deny"),
            ("unreachable", "deny"),
            ("unauthorized", "deny"),
        ]
    );
    assert_eq!(world.sim.as_ref().unwrap().requests(), []);
    assert_eq!(world.log(), Vec::<Value>::new());
}

#[test]
fn what_does_not_depend_on_zerto_has_one_answer() {
    let world = World::without_zvm();
    let read = explained(&world, &before("mcp__esxi__listVMs", json!({})));
    assert_eq!(branches(&read), [("always", "pass")]);
    assert_eq!(read["asked"], json!([]));
    let unlisted = explained(&world, &before("mcp__nobody__knows", json!({})));
    assert_eq!(branches(&unlisted), [("always", "ask")]);
    world.configure("ask.deny_in_modes = ['bypassPermissions']");
    let unlisted = explained(&world, &before("mcp__nobody__knows", json!({})));
    assert_eq!(branches(&unlisted), [("always", "deny")]);
    let start = explained(
        &world,
        &json!({ "hook_event_name": "SessionStart", "session_id": "s" }),
    );
    assert_eq!(branches(&start), [("always", "silent")]);
}

#[test]
fn the_tally_is_a_branch_where_the_policy_looks_at_it() {
    let world = World::with_zvm(HEALTHY);
    world.configure("policy.session_ask_level = 2");
    let explanation = explained(&world, &power_off());
    assert!(
        branches(&explanation).contains(&("strained", "ask")),
        "{explanation:#}"
    );
}

#[test]
fn what_would_be_a_fault_is_explained_as_one() {
    let world = World::without_zvm();
    world.configure("deadline_seconds = 0");
    let explanation = explained(&world, &power_off());
    assert_eq!(branches(&explanation), [("always", "deny")]);
    assert_eq!(explanation["branches"][0]["fault"], "configuration");
    world.configure("");
    let explanation = explained(&world, &json!({ "hook_event_name": 1 }));
    assert_eq!(branches(&explanation), [("always", "block")]);
    let outcome = run_with(&world, &["explain"], "hello");
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(3)));
    assert!(outcome.stderr.contains("JSON object"), "{}", outcome.stderr);
}

#[test]
fn a_person_reads_the_explanation_in_lines() {
    let world = World::with_zvm(HEALTHY);
    let outcome = run_with(&world, &["explain"], &power_off().to_string());
    for words in [
        "reads it esxi/powerOff changes machines",
        "asks for VMs named 'jp-ubuntu'",
        "pass   if the checkpoint is seen in every VPG",
        "deny   if the ZVM cannot be reached",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
}

#[test]
fn the_status_tells_what_was_decided_and_captured_lately() {
    let world = World::with_zvm(HEALTHY);
    let nothing = run_with(&world, &["status"], "");
    assert_eq!(nothing.code, Some(5), "{nothing:?}");
    assert!(
        nothing.stdout.contains("NOT ARMED"),
        "no hook is installed: {}",
        nothing.stdout
    );
    assert!(
        nothing.stdout.contains("Nothing was decided yet"),
        "{}",
        nothing.stdout
    );

    for _ in 0..2 {
        world.hook(HOLDPOINT, &power_off());
    }
    world.hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
    let requests = world.sim.as_ref().unwrap().requests().len();
    let outcome = run_with(&world, &["status", "--json"], "");
    let status: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(status["armed"], false);
    assert_eq!(status["verdicts"], json!({ "pass": 3 }));
    assert_eq!(status["decisions"].as_array().unwrap().len(), 3);
    assert_eq!(status["decisions"][0]["tool"], "mcp__esxi__listVMs");
    assert_eq!(status["checkpoints"][0]["name"], "jp-ubuntu");
    assert_eq!(status["checkpoints"][0]["count"], 2);
    assert!(status["policy"].as_str().unwrap().starts_with("shipped sha256:"));
    assert_eq!(status["zvm"], world.sim.as_ref().unwrap().url());
    let missing = status["findings"].as_array().unwrap().iter();
    assert!(
        missing.clone().any(|finding| finding["check"] == "hook.missing"),
        "{status:#}"
    );
    assert_eq!(
        world.sim.as_ref().unwrap().requests().len(),
        requests,
        "nobody is asked"
    );

    let screen = run_with(&world, &["status"], "").stdout;
    assert!(screen.contains("MACHINE    CALLS"), "{screen}");
    assert!(!screen.contains('\u{1b}'), "a pipe gets plain text: {screen}");
}

#[test]
fn every_shell_gets_completions_that_it_can_read() {
    let world = World::without_zvm();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = run_with(&world, &["completions", shell], "");
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)), "{shell}");
        for word in ["doctor", "explain", "--capture"] {
            let word = if shell == "fish" {
                word.trim_start_matches("--")
            } else {
                word
            };
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let file = world.path("completions");
            fs::write(&file, &outcome.stdout).unwrap();
            let mut bash = world.command("/bin/bash");
            bash.arg("-n").arg(file);
            let checked = run(bash, b"");
            assert_eq!((checked.stderr.as_str(), checked.code), ("", Some(0)));
        }
    }
    let outcome = run_with(&world, &["completions", "tcsh"], "");
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let world = World::without_zvm();
    let folder = world.path("man/man1");
    let outcome = run_with(&world, &["man", folder.to_str().unwrap()], "");
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
    for page in [
        "holdpoint.1",
        "holdpoint-hook.1",
        "holdpoint-doctor.1",
        "holdpoint-policy-install.1",
        "holdpoint-session-show.1",
    ] {
        let text = fs::read_to_string(folder.join(page)).unwrap_or_else(|_| panic!("{page}"));
        assert!(text.contains(".TH"), "{page}");
    }
    let main = fs::read_to_string(folder.join("holdpoint.1")).unwrap();
    assert!(main.contains("Exit codes"), "{main}");
    fs::write(world.path("file"), "").unwrap();
    let outcome = run_with(&world, &["man", world.path("file").to_str().unwrap()], "");
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(3)));
    assert!(outcome.stderr.contains("holdpoint: "), "{}", outcome.stderr);
}

/// What comes out where standard output is a terminal of this width.
#[cfg(target_os = "linux")]
fn on_a_terminal(world: &World, columns: u16, arguments: &[&str], no_colour: bool) -> String {
    use std::process::Stdio;
    let quoted: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
    let line = format!("stty cols {columns}; exec {HOLDPOINT} {}", quoted.join(" "));
    let mut command = world.command("/usr/bin/script");
    command
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null());
    if no_colour {
        command.env("NO_COLOR", "1");
    }
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[cfg(target_os = "linux")]
#[ignore = "needs script"]
#[test]
fn a_terminal_gets_colour_and_lines_that_fit_unless_it_wants_none() {
    let world = World::with_zvm(HEALTHY);
    world.hook(HOLDPOINT, &power_off());
    let dressed = on_a_terminal(&world, 60, &["status"], false);
    assert!(dressed.contains("\u{1b}[31mNOT ARMED\u{1b}[0m"), "{dressed:?}");
    let table = dressed.split("Last decisions").nth(1).unwrap();
    let longest = table
        .lines()
        .map(|line| plain(line).chars().count())
        .max()
        .unwrap();
    assert!((30..=60).contains(&longest), "{longest}: {table:?}");
    let plain_text = on_a_terminal(&world, 60, &["status"], true);
    assert!(!plain_text.contains('\u{1b}'), "{plain_text:?}");
    assert_eq!(plain(&dressed), plain_text);
}

#[cfg(target_os = "linux")]
#[ignore = "needs script"]
#[test]
fn the_tag_of_a_checkpoint_is_not_cut_on_a_terminal() {
    let machine = "sql-prod-07.example.com";
    let world = World::with_zvm(&HEALTHY.replace("jp-ubuntu", machine));
    let event = before("mcp__esxi__powerOff", json!({ "name": machine }));
    assert_eq!(world.hook(HOLDPOINT, &event).decision(), "context");
    let tag = world.logged()["tag"].as_str().unwrap().to_owned();
    assert!(tag.ends_with(machine) && tag.len() > 60, "{tag}");
    for columns in [60, 80, 100, 200] {
        let screen = on_a_terminal(&world, columns, &["status"], true);
        let table = screen.split("Checkpoints of").nth(1).unwrap();
        let lines: Vec<String> = table.lines().map(plain).collect();
        assert!(
            lines.iter().all(|line| line.chars().count() <= columns.into()),
            "{columns}: {table}"
        );
        let words: Vec<&str> = table.split_whitespace().collect();
        assert!(words.join(" ").contains(&tag), "{columns}: {tag}: {table}");
        assert!(table.contains(machine), "{columns}: {table}");
        let decisions = screen.split("Last decisions").nth(1).unwrap();
        let at = decisions
            .lines()
            .nth(2)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap();
        assert!(at.ends_with('Z'), "{columns}: {decisions}");
        // Where there is room, it stands in the row.
        let is_in_row = lines
            .iter()
            .any(|line| line.starts_with(machine) && line.ends_with(&tag));
        assert_eq!(is_in_row, columns == 200, "{columns}: {table}");
    }
}

#[cfg(target_os = "linux")]
#[ignore = "needs script"]
#[test]
fn receipts_fit_a_terminal_and_the_newest_comes_last() {
    let world = World::with_zvm(HEALTHY);
    world.configure("receipts.mode = 'audit'");
    assert_eq!(run_with(&world, &["receipts", "keygen"], "").code, Some(0));
    world.hook(HOLDPOINT, &power_off());
    world.hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
    let text = on_a_terminal(&world, 80, &["receipts", "list"], true);
    let lines: Vec<String> = text.lines().map(plain).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        lines[2].contains("esxi/powe") && lines[3].contains("esxi/listVMs"),
        "{text}"
    );
    assert!(text.contains("pending: not seen again"), "{text}");
    let status: Value =
        serde_json::from_str(&run_with(&world, &["receipts", "list", "--json"], "").stdout).unwrap();
    let id = status[0]["checkpoints"][0]["id"].as_str().unwrap();
    assert!(text.contains(&format!(" {id} ")), "{id}: {text}");
    for arguments in [&["receipts", "show", "jp-ubuntu"][..], &["receipts", "verify"]] {
        let text = on_a_terminal(&world, 80, arguments, true);
        let prose = text.lines().filter(|line| !line.contains("/v1/"));
        for line in prose.filter(|line| line.trim().contains(' ')) {
            assert!(plain(line).chars().count() <= 84, "{line:?} in {text}");
        }
    }
}

/// The name alone, with standard input as a shell redirects it.
#[cfg(target_os = "linux")]
#[ignore = "needs script"]
#[test]
fn the_name_alone_says_what_it_is_where_a_person_types_it() {
    let world = World::without_zvm();
    let typed = |line: &str| {
        let mut command = world.command("/usr/bin/script");
        command.args(["-qec", line, "/dev/null"]).env("TERM", "xterm");
        run(command, b"")
    };
    for line in [HOLDPOINT.to_owned(), format!("{HOLDPOINT} 2>&1 >/dev/null")] {
        let outcome = typed(&line);
        assert!(outcome.took.as_secs() < 10, "{line}: {outcome:?}");
        assert_eq!(outcome.code, Some(2), "{line}: {outcome:?}");
        for words in [
            "a hold point for AI agents",
            "holdpoint init",
            "holdpoint doctor",
            "holdpoint status",
            "holdpoint --help",
        ] {
            assert!(outcome.stdout.contains(words), "{line}: {words}: {outcome:?}");
        }
        assert_eq!(world.log(), Vec::<Value>::new(), "nothing was decided");
    }
    // An event, nothing at all, and what is no terminal make it the hook.
    let event = world.path("event.json");
    fs::write(&event, before("mcp__nobody__knows", json!({})).to_string()).unwrap();
    let outcome = typed(&format!("{HOLDPOINT} < {}", event.display()));
    assert!(
        outcome.stdout.contains("\"ask\"") && outcome.code == Some(0),
        "{outcome:?}"
    );
    let outcome = typed(&format!("{HOLDPOINT} < /dev/null"));
    assert!(
        outcome.stdout.contains("empty") && outcome.code == Some(2),
        "{outcome:?}"
    );
    assert_eq!(world.log().len(), 2);
}

/// A line without escape sequences of colours.
#[cfg(target_os = "linux")]
fn plain(text: &str) -> String {
    let mut parts = text.trim_end_matches('\r').split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        line + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}
