//! Installations whose log or receipts are broken: `doctor` names each of them.

use std::fs;

use serde_json::json;

use crate::HOLDPOINT;
use crate::broken_table::{case, examine};
use crate::installation::Installed;
use crate::support::{before, chmod};

#[test]
fn what_the_guard_writes_is_looked_at() {
    const LOG: &str = "home/.local/state/holdpoint/decisions.log";
    fn decided(installed: &Installed) {
        let outcome = installed
            .world
            .hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
        assert_eq!(outcome.code, Some(0));
    }
    examine(&[
        case(
            |installed| fs::create_dir_all(installed.world.path(LOG)).unwrap(),
            "log",
            "caution",
            "cannot be written",
        ),
        case(
            |installed| {
                decided(installed);
                chmod(&installed.world.path(LOG), 0o644);
            },
            "log.private",
            "caution",
            "read by others",
        ),
        case(
            |installed| {
                decided(installed);
                let log = installed.world.path(LOG);
                let text = fs::read_to_string(&log).unwrap();
                fs::write(&log, text.trim_end()).unwrap();
            },
            "log.torn",
            "caution",
            "has no end",
        ),
    ]);
}

/// Begins receipts, and has as many written.
fn with_receipts(installed: &Installed, mode: &str, many: usize) {
    installed.world.configure(&format!("receipts.mode = '{mode}'"));
    let config = installed.world.path("config.toml").display().to_string();
    assert_eq!(
        installed.run(&["receipts", "--config", &config, "keygen"]).code,
        Some(0)
    );
    for _ in 0..many {
        let outcome = installed
            .world
            .hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
        assert_eq!(outcome.code, Some(0));
    }
}

#[test]
fn receipts_that_cannot_go_on_or_do_not_hold_together_are_found() {
    const KEY: &str = "home/.local/state/holdpoint/receipts/key.pem";
    const LOG: &str = "home/.local/state/holdpoint/receipts/000000000001.jsonl";
    fn lines(installed: &Installed, change: fn(&mut Vec<String>)) {
        let log = installed.world.path(LOG);
        let text = fs::read_to_string(&log).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(&log, lines.join("\n") + "\n").unwrap();
    }
    examine(&[
        case(
            |installed| {
                with_receipts(installed, "gate", 1);
                fs::remove_file(installed.world.path(KEY)).unwrap();
            },
            "receipts.key",
            "broken",
            "move",
        ),
        case(
            |installed| {
                with_receipts(installed, "audit", 1);
                fs::remove_file(installed.world.path(KEY)).unwrap();
            },
            "receipts.key",
            "caution",
            "leave no receipt",
        ),
        case(
            |installed| installed.world.configure("receipts.mode = 'gate'"),
            "receipts.key",
            "broken",
            "holdpoint receipts keygen",
        ),
        case(
            |installed| {
                with_receipts(installed, "gate", 1);
                chmod(&installed.world.path(KEY), 0o644);
            },
            "receipts.key",
            "broken",
            "read by others",
        ),
        case(
            |installed| {
                with_receipts(installed, "gate", 1);
                chmod(installed.world.path(KEY).parent().unwrap(), 0o777);
            },
            "receipts",
            "broken",
            "chmod go-w",
        ),
        case(
            |installed| {
                with_receipts(installed, "audit", 3);
                lines(installed, |lines| drop(lines.remove(1)));
            },
            "receipts.chain",
            "broken",
            "#3 does not continue #1",
        ),
        case(
            |installed| {
                with_receipts(installed, "audit", 3);
                lines(installed, |lines| {
                    lines[2] = lines[2].replace("listVMs", "listVMx");
                });
            },
            "receipts.chain",
            "broken",
            "#3 is not as its key signed it",
        ),
        case(
            |installed| {
                with_receipts(installed, "audit", 3);
                lines(installed, |lines| lines[1] = "{}".into());
            },
            "receipts.chain",
            "broken",
            "the line before #3",
        ),
    ]);
}
