//! The main job, for everybody to see: real events through the real process against a simulated ZVM.
//!
//! Plays what was captured from Claude Code and one event for each row of the decision table, prints what came out, and
//! fails where that is not what the design says.

#![expect(clippy::unwrap_used, reason = "a demonstration has nobody to tell")]

use test_support as support;

use std::process::ExitCode;

use serde_json::{Value, json};
use support::{Outcome, World, before, fixture};

const HOLDPOINT: &str = env!("CARGO_BIN_EXE_holdpoint");

/// A site with something of everything.
const SITE: &str = "
[[vpgs]]
name = 'APP'
cadence_ms = 1000
vms = [{ name = 'a' }, { name = 'b' }, { name = 'web01' }]
[[vpgs]]
name = 'DB-EAST'
instant = true
vms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-7' }]
[[vpgs]]
name = 'DB-WEST'
cadence_ms = 2000
vms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-7' }]
[[vpgs]]
name = 'FULL'
outcome = 'refused'
reason = 'The journal of VPG FULL has reached its hard limit'
vms = [{ name = 'mail01' }, { name = 'half', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-8' }]
[[vpgs]]
name = 'HALF'
instant = true
vms = [{ name = 'half', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-8' }]
[[vpgs]]
name = 'CLOUD'
outcome = 'never-surfaces'
vms = [{ name = 'cloud01' }]
[[vpgs]]
name = 'MOVING'
status = 6
sub_status = 19
vms = [{ name = 'moving01' }]
[[vpgs]]
name = 'TWIN-A'
vms = [{ name = 'twin', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1' }]
[[vpgs]]
name = 'TWIN-B'
vms = [{ name = 'twin', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-2' }]
";

/// One line of the table: what is played where, and what the design says of it.
struct Row {
    situation: &'static str,
    shown: String,
    event: Value,
    world: Place,
    wanted: &'static str,
}

/// Where an event is played.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The site above.
    Site,
    /// A ZVM that nobody answers for.
    Unreachable,
    /// The site above, with a wrong password.
    WrongPassword,
    /// A configuration that cannot be read.
    Broken,
}

fn main() -> ExitCode {
    let site = World::with_zvm(SITE);
    let own = format!(
        "deadline_seconds = 6\npolicy.catalogs = ['{}']",
        site.path("falcon.toml").display()
    );
    site.write_private(
        "falcon.toml",
        &std::fs::read_to_string(fixture("catalogs/falcon.toml")).unwrap(),
    );
    let mut differ = 0;
    println!("Captured from Claude Code 2.1.197, and a line for each row of the decision table.\n");
    print_line(["situation", "event", "verdict", "wire answer", "checkpoint", "ms"]);
    print_line(["---"; 6]);
    let mut told = Vec::new();
    for row in rows() {
        arrange(&site, &own, row.world);
        let before = site.log().len();
        let outcome = site.hook(HOLDPOINT, &row.event);
        let line = site.log().into_iter().nth(before).unwrap_or_default();
        let got = wire(&outcome);
        let as_wanted = got == row.wanted;
        differ += usize::from(!as_wanted);
        let checkpoints = line["checkpoints"].as_array().map_or_else(String::new, |seen| {
            seen.iter()
                .map(|seen| seen["checkpoint"].as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        });
        print_line([
            row.situation,
            &row.shown,
            line["verdict"].as_str().unwrap_or("-"),
            &if as_wanted {
                got.clone()
            } else {
                format!("{got}, but wanted: {}", row.wanted)
            },
            &checkpoints,
            &format!("{:.1}", outcome.took.as_secs_f64() * 1_000.0),
        ]);
        if outcome.stdout.contains("PreToolUse")
            && !told.iter().any(|(wire, _): &(String, String)| *wire == got)
        {
            told.push((got, outcome.text()));
        }
    }
    println!("\nWhat the model or the human is told, one of each kind:");
    for (wire, text) in told {
        println!("\n{wire}:\n  {text}");
    }
    let tagged = site.sim.as_ref().unwrap().checkpoints();
    println!(
        "\n{} checkpoints were inserted; the journal's newest tag: {}",
        tagged.len(),
        tagged.last().unwrap().tag
    );
    if differ > 0 {
        println!("\n{differ} answers differ from the design.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn arrange(site: &World, own: &str, place: Place) {
    site.write_private(
        "password",
        if place == Place::WrongPassword {
            "wrong"
        } else {
            support::PASSWORD
        },
    );
    match place {
        Place::Site => site.configure(own),
        // A log-in that is kept from an earlier call would be good for its life.
        Place::WrongPassword => site.configure(&format!("{own}\nzerto.keep_token = false")),
        Place::Broken => site.configure_bare("zerto.ulr = 'https://zvm.example'"),
        Place::Unreachable => site.configure_bare(&format!(
            "{own}\nzerto.url = 'https://127.0.0.1:1'\nzerto.username = 'admin'\nzerto.secret_file = '{}'",
            site.path("password").display()
        )),
    }
}

/// The answer as the harness sees it, in a few words.
fn wire(outcome: &Outcome) -> String {
    let code = outcome
        .code
        .map_or_else(|| "signal".into(), |code| code.to_string());
    let stderr = if outcome.stderr.is_empty() {
        ""
    } else {
        " + stderr"
    };
    match outcome.decision().as_str() {
        "silence" => format!("nothing{stderr}, exit {code}"),
        "context" => format!("additionalContext{stderr}, exit {code}"),
        decision => format!("JSON {decision}{stderr}, exit {code}"),
    }
}

const NOTHING: &str = "nothing, exit 0";
const CONTEXT: &str = "additionalContext, exit 0";
const ASK: &str = "JSON ask, exit 0";
const DENY: &str = "JSON deny + stderr, exit 2";

fn rows() -> Vec<Row> {
    let mut rows = captured();
    let mut row = |situation, tool: &str, input: Value, world, wanted| {
        let shown = format!("{} {input}", tool.trim_start_matches("mcp__"));
        rows.push(Row {
            situation,
            shown,
            event: before(tool, input),
            world,
            wanted,
        });
    };
    row(
        "only reads",
        "mcp__esxi__listVMs",
        json!({}),
        Place::Site,
        NOTHING,
    );
    row(
        "checkpoint seen",
        "mcp__esxi__powerOff",
        json!({ "name": "web01" }),
        Place::Site,
        CONTEXT,
    );
    row(
        "in two VPGs",
        "mcp__esxi__powerOff",
        json!({ "name": "db1" }),
        Place::Site,
        CONTEXT,
    );
    row(
        "capture refused",
        "mcp__esxi__powerOff",
        json!({ "name": "mail01" }),
        Place::Site,
        DENY,
    );
    row(
        "partly captured",
        "mcp__esxi__powerOff",
        json!({ "name": "half" }),
        Place::Site,
        DENY,
    );
    row(
        "VPG in no state for it",
        "mcp__esxi__powerOff",
        json!({ "name": "moving01" }),
        Place::Site,
        DENY,
    );
    row(
        "not confirmed in time",
        "mcp__esxi__powerOff",
        json!({ "name": "cloud01" }),
        Place::Site,
        DENY,
    );
    row(
        "ZVM unreachable",
        "mcp__esxi__powerOff",
        json!({ "name": "web01" }),
        Place::Unreachable,
        DENY,
    );
    row(
        "credentials bad",
        "mcp__esxi__powerOff",
        json!({ "name": "web01" }),
        Place::WrongPassword,
        DENY,
    );
    row(
        "no such VM",
        "mcp__esxi__powerOff",
        json!({ "name": "nowhere" }),
        Place::Site,
        ASK,
    );
    row(
        "several VMs of the name",
        "mcp__esxi__powerOff",
        json!({ "name": "twin" }),
        Place::Site,
        ASK,
    );
    row(
        "no machine named",
        "mcp__esxi__powerOff",
        json!({}),
        Place::Site,
        ASK,
    );
    row(
        "a pattern",
        "mcp__ansible-mcp__ansible-task",
        json!({ "host_pattern": "web*" }),
        Place::Site,
        ASK,
    );
    row(
        "preview only",
        "mcp__ansible-mcp__ansible-auto-heal",
        json!({ "host_pattern": "all", "dry_run": true }),
        Place::Site,
        NOTHING,
    );
    row(
        "an opaque id",
        "mcp__defender__defender_isolate_machine",
        json!({ "machineId": "0a1b" }),
        Place::Site,
        ASK,
    );
    row(
        "dispatched command",
        "mcp__vmware-mcp__govc_run",
        json!({ "command": "vm.power", "flags": { "off": true }, "args": ["web01"] }),
        Place::Site,
        CONTEXT,
    );
    row("in no catalog", "mcp__nobody__knows", json!({}), Place::Site, ASK);
    row(
        "no MCP tool",
        "Bash",
        json!({ "command": "ls" }),
        Place::Site,
        NOTHING,
    );
    row(
        "fault before a call",
        "mcp__esxi__listVMs",
        json!({}),
        Place::Broken,
        DENY,
    );
    rows
}

/// The captured events, in the order of their names.
fn captured() -> Vec<Row> {
    let mut files: Vec<_> = std::fs::read_dir(fixture("claude-code-2.1.197"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let row = |file: std::path::PathBuf| {
        let event: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let changes = event["hook_event_name"] == "PreToolUse" && event["tool_name"] != "Bash";
        let shown = file.file_stem().unwrap().to_string_lossy().into_owned();
        // The second failure of its session: from then on the model is told how many there were.
        let tells = shown == "PostToolUseFailure.mcp-fails";
        Row {
            situation: "captured",
            shown,
            event,
            world: Place::Site,
            wanted: if changes || tells { CONTEXT } else { NOTHING },
        }
    };
    files.into_iter().map(row).collect()
}

fn print_line(cells: [&str; 6]) {
    let widths = [23, 62, 7, 27, 15, 8];
    let line: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| {
            if *cell == "---" {
                return "-".repeat(width);
            }
            let cut: String = if cell.chars().count() > width && width > 30 {
                cell.chars().take(width - 1).chain(['…']).collect()
            } else {
                (*cell).to_owned()
            };
            format!("{cut:<width$}")
        })
        .collect();
    println!("{}", line.join(" | ").trim_end());
}
