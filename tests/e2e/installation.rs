//! An installation with everything that `doctor` looks at, and what it says of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, chmod, run};

pub(crate) const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

/// An installation as `init` makes it, for a user with a client and a ZVM.
pub(crate) struct Installed {
    pub(crate) world: World,
    pub(crate) settings: Value,
}

impl Installed {
    pub(crate) fn new() -> Self {
        Self::with(HEALTHY)
    }

    pub(crate) fn with(scenario: &str) -> Self {
        let world = World::with_zvm(scenario);
        world.name_places(true);
        for folder in ["home", "home/.claude", "path"] {
            fs::create_dir_all(world.path(folder)).unwrap();
        }
        let mut installed = Self {
            settings: Value::Null,
            world,
        };
        installed.client("2.1.332 (Claude Code)");
        let entry = |event: &str| installed.entry(event);
        installed.settings = json!({
            "model": "opus",
            "hooks": {
                "PreToolUse": [{ "matcher": "mcp__.*", "hooks": [entry("PreToolUse")] }],
                "PostToolUse": [{ "matcher": "Bash|mcp__.*", "hooks": [entry("PostToolUse")] }],
                "PostToolUseFailure": [{ "matcher": "Bash|mcp__.*", "hooks": [entry("PostToolUseFailure")] }],
                "PreCompact": [{ "hooks": [entry("PreCompact")] }],
                "SessionStart": [{ "hooks": [entry("SessionStart")] }]
            }
        });
        installed
    }

    pub(crate) fn entry(&self, event: &str) -> Value {
        let mut entry = json!({
            "type": "command",
            "command": HOLDPOINT,
            "args": ["hook", "--config", self.world.path("config.toml")],
            "timeout": 360
        });
        if event == "PreToolUse" {
            entry["onFailure"] = json!("block");
        }
        entry
    }

    /// What the gate's entry says.
    pub(crate) fn gate(&mut self) -> &mut Value {
        &mut self.settings["hooks"]["PreToolUse"][0]["hooks"][0]
    }

    pub(crate) fn matcher(&mut self, matcher: &str) {
        self.settings["hooks"]["PreToolUse"][0]["matcher"] = json!(matcher);
    }

    /// Puts a script in the program's place.
    pub(crate) fn wrap(&mut self, script: &str) {
        let wrapper = self.world.path("path/holdpoint");
        fs::write(&wrapper, format!("#!/bin/sh\n{script}\n")).unwrap();
        chmod(&wrapper, 0o755);
        self.gate()["command"] = json!(wrapper);
    }

    pub(crate) fn client(&self, says: &str) {
        let client = self.world.path("path/claude");
        fs::write(&client, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        chmod(&client, 0o755);
    }

    pub(crate) fn settings_path(&self) -> PathBuf {
        self.world.path("home/.claude/settings.json")
    }

    pub(crate) fn write_settings(&self) {
        let text = serde_json::to_string_pretty(&self.settings).unwrap();
        fs::write(self.settings_path(), text).unwrap();
        chmod(&self.settings_path(), 0o600);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(HOLDPOINT);
        command
            .env_remove("HOLDPOINT_CONFIG")
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.world.path("path").display()),
            )
            .args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let outcome = run(self.command(arguments), b"");
        self.world.assert_secret_kept(&outcome);
        outcome
    }

    pub(crate) fn doctor(&self, arguments: &[&str]) -> Report {
        let outcome = self.run(&[&["doctor", "--json"], arguments].concat());
        Report::of(&outcome)
    }
}

/// What `doctor --json` said.
pub(crate) struct Report {
    pub(crate) value: Value,
    pub(crate) code: i32,
}

impl Report {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{outcome:?}"));
        Self {
            value,
            code: outcome.code.unwrap(),
        }
    }

    pub(crate) fn findings(&self) -> &[Value] {
        self.value["findings"].as_array().unwrap()
    }

    /// The worst finding of a check that is more than a notice, and holds these words.
    pub(crate) fn trouble(&self, check: &str, words: &str) -> Option<&Value> {
        let said = |finding: &&Value| {
            let text = finding.to_string();
            finding["check"] == check && finding["severity"] != "good" && text.contains(words)
        };
        self.findings().iter().find(said)
    }

    pub(crate) fn troubles(&self) -> Vec<&str> {
        let bad = |finding: &&Value| finding["severity"] == "caution" || finding["severity"] == "broken";
        let troubles = self.findings().iter().filter(bad);
        troubles
            .map(|finding| finding["check"].as_str().unwrap())
            .collect()
    }
}
