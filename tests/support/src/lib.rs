//! What tests, the demo and the benchmarks share: a home directory of their own, a simulated ZVM, and the real process.

mod sources;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
pub use sources::{files, repository};
use zvm_sim::{Scenario, Sim};

/// The password in every scenario; nothing that the host writes may hold it.
pub const PASSWORD: &str = "s3cret-\u{e4}\"\\";

/// A place to run the hook in: nothing outside it is read or written.
pub struct World {
    directory: tempfile::TempDir,
    /// The ZVM, where there is one.
    pub sim: Option<Sim>,
    /// Whether the configuration names every folder, as one of `init`'s does.
    names_places: AtomicBool,
}

impl World {
    /// A configuration without a ZVM.
    pub fn without_zvm() -> Self {
        let world = Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
            sim: None,
            names_places: AtomicBool::new(false),
        };
        std::fs::create_dir(world.path("project")).expect("an empty directory");
        world.configure("");
        world
    }

    /// A ZVM as the scenario describes it, and a configuration that trusts its certificate authority.
    pub fn with_zvm(scenario: &str) -> Self {
        let mut scenario = Scenario::from_toml(scenario).expect("a scenario");
        PASSWORD.clone_into(&mut scenario.login.password);
        let mut world = Self::without_zvm();
        let sim = Sim::start(scenario).expect("a simulated ZVM");
        std::fs::write(world.path("ca.pem"), sim.ca_pem()).expect("a file");
        world.write_private("password", PASSWORD);
        world.sim = Some(sim);
        world.configure("");
        world
    }

    /// Writes the configuration: what reaches the ZVM, then these lines.
    pub fn configure(&self, lines: &str) {
        let zerto = self.sim.as_ref().map_or_else(String::new, |sim| {
            format!(
                "zerto.url = '{}'\nzerto.username = 'admin'\nzerto.secret_file = '{}'\nzerto.ca_file = '{}'\n",
                sim.url(),
                self.path("password").display(),
                self.path("ca.pem").display()
            )
        });
        let places = self.places(lines);
        self.write_private("config.toml", &format!("{zerto}{places}{lines}\n"));
    }

    /// Writes the configuration with or without every folder named in it; also from now on.
    pub fn name_places(&self, named: bool) {
        self.names_places.store(named, Ordering::Relaxed);
        self.configure("");
    }

    /// Every folder where it is by custom, unless these lines say otherwise.
    fn places(&self, lines: &str) -> String {
        if !self.names_places.load(Ordering::Relaxed) {
            return String::new();
        }
        [
            ("zerto.directory", "state/holdpoint/zerto"),
            ("policy.store", "share/holdpoint/policies"),
            ("log.path", "state/holdpoint/decisions.log"),
            ("session.directory", "state/holdpoint/sessions"),
            ("record.directory", "state/holdpoint/records"),
            ("receipts.directory", "state/holdpoint/receipts"),
        ]
        .iter()
        .filter(|(key, _)| !lines.contains(key))
        .map(|(key, below)| format!("{key} = '{}'\n", self.path("home/.local").join(below).display()))
        .collect()
    }

    /// Writes the configuration, all of it.
    pub fn configure_bare(&self, text: &str) {
        self.write_private("config.toml", text);
    }

    /// A path in this world.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file that only its owner may read.
    pub fn write_private(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        chmod(&path, 0o600);
    }

    /// The hook's process as a harness starts it, with nothing in its environment but this world.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("HOLDPOINT_CONFIG", self.path("config.toml"))
            .current_dir(self.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The program in a folder of its own, `bin`, with something beside it that takes the compiler's place: it hands out
    /// `bin/code`, the engine's bytes, made before, as the code of whatever file it is given; for the bench, `bin/metered`.
    pub fn with_compiler(&self, holdpoint: &str) -> PathBuf {
        std::fs::create_dir(self.path("bin")).expect("an empty directory");
        let program = self.path("bin/holdpoint");
        if std::fs::hard_link(holdpoint, &program).is_err() {
            std::fs::copy(holdpoint, &program).expect("a copy");
        }
        let compiler = self.path("bin/holdpoint-compile");
        let folder = self.path("bin");
        let script = format!(
            "#!/bin/bash\n\
             magic=hpcwasm3 code=code\n\
             if [ \"$1\" = --metered ]; then shift; magic=hpmeter3 code=metered; fi\n\
             digest=$(sha256sum \"$1\" | cut -c1-64)\n\
             {{ cat \"{}/$code\"; printf $magic; printf \"$(sed 's/../\\\\x&/g' <<< \"$digest\")\"; }} \
              > \"${{1%.wasm}}.cwasm\"\n",
            folder.display()
        );
        std::fs::write(&compiler, script).expect("a file");
        chmod(&compiler, 0o700);
        program
    }

    /// Hands an event to the hook and waits for its end.
    pub fn hook(&self, holdpoint: &str, event: &Value) -> Outcome {
        self.hook_bytes(holdpoint, event.to_string().as_bytes())
    }

    /// Hands bytes to the hook and waits for its end.
    pub fn hook_bytes(&self, holdpoint: &str, bytes: &[u8]) -> Outcome {
        let mut command = self.command(holdpoint);
        command.arg("hook");
        let outcome = run(command, bytes);
        self.assert_secret_kept(&outcome);
        outcome
    }

    /// The password stands in nothing that the host has written.
    #[track_caller]
    pub fn assert_secret_kept(&self, outcome: &Outcome) {
        // Its beginning, which looks the same in every way of writing it.
        let (beginning, _) = PASSWORD.split_at(7);
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        for text in [&outcome.stdout, &outcome.stderr, &log] {
            assert!(!text.contains(beginning), "the password is told: {text}");
        }
    }

    fn log_path(&self) -> PathBuf {
        self.path("home/.local/state/holdpoint/decisions.log")
    }

    /// Waits until what follows the answers in this world is done: it has processes of its own, which the harness does
    /// not wait for.
    pub fn settle(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        // A process is not to be told by its arguments while it starts, so that one look does not do.
        let mut quiet = 0;
        while quiet < 4 {
            assert!(Instant::now() < until, "what follows an answer does not end");
            quiet = if self.following().is_empty() { quiet + 1 } else { 0 };
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The processes that follow the answers in this world.
    pub fn following(&self) -> Vec<u32> {
        let home = format!("HOME={}\0", self.path("home").display());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let follows = |id: &u32| {
            let read = |file: &str| std::fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
            let environment = [read("environ"), b"\0".to_vec()].concat();
            read("cmdline") == b"holdpoint\0follow-answer\0"
                && environment
                    .windows(home.len())
                    .any(|part| part == home.as_bytes())
        };
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(follows)
            .collect()
    }

    /// The decision log's lines, with those of what follows the answers.
    pub fn log(&self) -> Vec<Value> {
        let config = std::fs::read_to_string(self.path("config.toml")).unwrap_or_default();
        if config.contains("shadow") || config.contains("record.enabled") {
            self.settle();
        }
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }

    /// The one line that the decision log has.
    pub fn logged(&self) -> Value {
        let mut lines = self.log();
        assert_eq!(lines.len(), 1, "one line a decision: {lines:#?}");
        lines.remove(0)
    }
}

/// What the process left behind.
#[derive(Debug)]
pub struct Outcome {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code; none where a signal ended the process.
    pub code: Option<i32>,
    /// From start to end.
    pub took: Duration,
}

impl Outcome {
    /// The harness's decision word in the answer, or `silence` or `context`.
    pub fn decision(&self) -> String {
        if self.stdout.is_empty() {
            return "silence".into();
        }
        let answer: Value = serde_json::from_str(&self.stdout).expect("one JSON object");
        let output = &answer["hookSpecificOutput"];
        match output["permissionDecision"].as_str() {
            Some(decision) => {
                assert_eq!(output["hookEventName"], "PreToolUse", "{}", self.stdout);
                decision.to_owned()
            }
            None => {
                assert!(output["additionalContext"].is_string(), "{}", self.stdout);
                "context".into()
            }
        }
    }

    /// The text in the answer, whichever it is.
    pub fn text(&self) -> String {
        let answer: Value = serde_json::from_str(&self.stdout).expect("one JSON object");
        let output = &answer["hookSpecificOutput"];
        let text = output["permissionDecisionReason"]
            .as_str()
            .or_else(|| output["additionalContext"].as_str());
        text.expect("a text").to_owned()
    }
}

/// No objection: nothing was written, and the exit code is 0.
#[track_caller]
pub fn assert_silent(outcome: &Outcome) {
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code),
        ("", "", Some(0))
    );
}

/// A human is asked, with these words among others.
#[track_caller]
pub fn assert_asks(outcome: &Outcome, words: &str) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.stderr.as_str(), outcome.code),
        ("ask", "", Some(0)),
        "{outcome:?}"
    );
    assert!(outcome.text().contains(words), "{outcome:?}");
}

/// The strongest form of a deny: the object, the reason on standard error and the code.
#[track_caller]
pub fn assert_denies(outcome: &Outcome, words: &str) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("deny", Some(2)),
        "{outcome:?}"
    );
    assert!(outcome.text().contains(words), "{outcome:?}");
    assert_eq!(outcome.stderr, format!("{}\n", outcome.text()));
}

/// The form of a deny that needs no knowledge of the event.
#[track_caller]
pub fn assert_blocks(outcome: &Outcome, words: &str) {
    assert_eq!(
        (outcome.stdout.as_str(), outcome.code),
        ("", Some(2)),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains(words), "{outcome:?}");
}

/// Runs a process with these bytes on its standard input, which stays open until the process ends, as some harnesses
/// leave it.
pub fn run(mut command: Command, bytes: &[u8]) -> Outcome {
    let started = Instant::now();
    let mut child = command.spawn().expect("the process starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        // The hook may end before it has read everything.
        let _ = stdin.write_all(&bytes);
        stdin
    });
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("the process ends");
    let took = started.elapsed();
    drop(writer.join());
    Outcome {
        stdout: String::from_utf8(stdout).expect("UTF-8"),
        stderr: String::from_utf8(stderr).expect("UTF-8"),
        code: status.code(),
        took,
    }
}

/// An event as Claude Code sends it before a call.
pub fn before(tool: &str, input: Value) -> Value {
    json!({
        "session_id": "5569fb1c-2017-44e5-9105-c1592c0afb51",
        "transcript_path": "/home/dev/.claude/projects/p/5569fb1c.jsonl",
        "cwd": "/home/dev/project",
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "toolu_00000001abcdefgh"
    })
}

/// A file among the fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures")
        .join(name)
}

/// Sets a file's mode.
pub fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a file of ours");
}
