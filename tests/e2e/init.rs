//! Setting up, as an operator does it: from nothing to a guarded call, again, and back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use zvm_sim::Sim;

use crate::HOLDPOINT;
use crate::support::{Outcome, PASSWORD, World, before, chmod, run};

pub(crate) const HEALTHY: &str = "[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

/// A user with a ZVM, and without anything of Holdpoint's.
pub(crate) struct User {
    pub(crate) world: World,
}

impl User {
    pub(crate) fn new() -> Self {
        let world = World::with_zvm(HEALTHY);
        fs::create_dir_all(world.path("home/.claude")).unwrap();
        fs::remove_file(world.path("config.toml")).unwrap();
        Self { world }
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = self.world.command(program);
        command.env_remove("HOLDPOINT_CONFIG");
        command
    }

    pub(crate) fn url(&self) -> String {
        self.world.sim.as_ref().unwrap().url()
    }

    pub(crate) fn init(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.command(HOLDPOINT);
        command.arg("init").args(arguments);
        let outcome = run(command, b"");
        self.world.assert_secret_kept(&outcome);
        outcome
    }

    /// Everything that a script has to say, and these.
    pub(crate) fn init_with(&self, arguments: &[&str]) -> Outcome {
        let (url, secret) = (self.url(), self.world.path("password").display().to_string());
        let all = [
            "--level",
            "user",
            "--url",
            &url,
            "--username",
            "admin",
            "--secret-file",
            &secret,
        ];
        self.init(&[&all, arguments].concat())
    }

    pub(crate) fn ca_file(&self) -> String {
        self.world.path("ca.pem").display().to_string()
    }

    pub(crate) fn settings_path(&self) -> PathBuf {
        self.world.path("home/.claude/settings.json")
    }

    pub(crate) fn config_path(&self) -> PathBuf {
        self.world.path("home/.config/holdpoint/config.toml")
    }

    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.config_path()).unwrap()
    }

    /// Starts what stands in the settings before a call, as the harness does.
    pub(crate) fn call(&self) -> Outcome {
        let settings: Value = serde_json::from_slice(&fs::read(self.settings_path()).unwrap()).unwrap();
        self.call_of(&settings)
    }

    pub(crate) fn call_of(&self, settings: &Value) -> Outcome {
        self.call_tool(settings, "mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
    }

    /// The same for a call of any tool.
    pub(crate) fn call_tool(&self, settings: &Value, tool: &str, arguments: Value) -> Outcome {
        let entry = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
        let mut command = self.command(entry["command"].as_str().unwrap());
        let words = entry["args"].as_array().unwrap();
        command.args(words.iter().map(|word| word.as_str().unwrap()));
        let event = before(tool, arguments);
        let outcome = run(command, event.to_string().as_bytes());
        self.world.assert_secret_kept(&outcome);
        outcome
    }
}

#[track_caller]
pub(crate) fn assert_done(outcome: &Outcome) {
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
}

#[track_caller]
pub(crate) fn assert_failed(outcome: &Outcome, words: &str) {
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains(words), "{outcome:?}");
}

#[test]
fn from_nothing_to_a_guarded_call_and_back() {
    let user = User::new();
    let before_it = "{\n  \"model\": \"opus\"\n}\n";
    fs::write(user.settings_path(), before_it).unwrap();
    let ca = user.ca_file();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    let mode = fs::metadata(user.config_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        user.config().contains("# The file that holds the secret"),
        "{}",
        user.config()
    );
    let call = user.call();
    assert_eq!(
        (call.decision().as_str(), call.code),
        ("context", Some(0)),
        "{call:?}"
    );

    // A second time, also with nothing said but where, everything is as it was.
    let settings = fs::read_to_string(user.settings_path()).unwrap();
    let config = user.config();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    assert_done(&user.init(&["--level", "user"]));
    assert_eq!(fs::read_to_string(user.settings_path()).unwrap(), settings);
    assert_eq!(user.config(), config);

    let out = user.init(&["--uninstall"]);
    assert_done(&out);
    assert!(out.stdout.contains("byte for byte"), "{}", out.stdout);
    assert_eq!(fs::read_to_string(user.settings_path()).unwrap(), before_it);
    assert_eq!(fs::read_dir(user.world.path("home/.claude")).unwrap().count(), 1);
    assert!(user.init(&["--uninstall"]).stdout.contains("no hook"));
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_shown_and_has_to_be_accepted() {
    let user = User::new();
    let sha256 = user.world.sim.as_ref().unwrap().certificate_sha256();
    assert_failed(&user.init_with(&[]), &format!("--pin sha256:{sha256}"));
    let wrong = format!("sha256:{}", "0a".repeat(32));
    assert_failed(&user.init_with(&["--pin", &wrong]), "another certificate");
    assert!(!user.config_path().exists() && !user.settings_path().exists());
    assert!(
        user.world.sim.as_ref().unwrap().requests().is_empty(),
        "nothing was sent to a stranger"
    );

    assert_done(&user.init_with(&["--trust-on-first-use"]));
    assert!(user.config().contains(&sha256), "{}", user.config());
    assert_eq!(user.call().decision(), "context");
    // What was accepted once stays.
    let config = user.config();
    assert_done(&user.init_with(&[]));
    assert_eq!(user.config(), config);
    assert_done(&user.init_with(&["--pin", &format!("sha256:{sha256}")]));
}

#[test]
fn what_a_script_leaves_open_is_named_and_nothing_is_written() {
    let user = User::new();
    let url = user.url();
    let nothing = user.init(&[]);
    for option in ["--level", "--url", "--username", "--secret-file"] {
        assert_failed(&nothing, option);
    }
    assert_failed(&user.init(&["--level", "user"]), "--url");
    assert_failed(&user.init(&["--level", "user", "--url", &url]), "--username");
    assert_failed(
        &user.init(&["--level", "user", "--url", &url, "--username", "admin"]),
        "--secret-file",
    );
    let http = [
        "--level",
        "user",
        "--url",
        "http://zvm",
        "--username",
        "a",
        "--secret-env",
        "ZVM",
    ];
    let refused = user.init(&http);
    assert_failed(&refused, "https://");
    assert_eq!(refused.stdout, "", "nothing else is told before");
    assert_failed(&user.init(&["--url", "http://zvm"]), "https://");
    assert!(!user.config_path().exists() && !user.settings_path().exists());
}

#[test]
fn a_settings_file_that_the_harness_would_skip_is_refused() {
    let user = User::new();
    let ca = user.ca_file();
    for (text, words) in [
        ("// mine\n{}", "comments"),
        ("{\"model\": 5}", "model"),
        ("{", "no JSON"),
    ] {
        fs::write(user.settings_path(), text).unwrap();
        assert_failed(&user.init_with(&["--ca-file", &ca]), words);
        assert_eq!(fs::read_to_string(user.settings_path()).unwrap(), text);
        assert!(!user.config_path().exists());
    }
    // Read, and its hooks switched off: installed, and said.
    fs::write(user.settings_path(), "{\"disableAllHooks\": true}").unwrap();
    let outcome = user.init_with(&["--ca-file", &ca]);
    assert_done(&outcome);
    assert!(
        outcome.stdout.contains("does not run") && outcome.stdout.contains("disableAllHooks"),
        "{outcome:?}"
    );
}

#[test]
fn an_operators_configuration_keeps_its_comments_and_keys() {
    let user = User::new();
    fs::create_dir_all(user.config_path().parent().unwrap()).unwrap();
    let old = "# ours\n[zerto]\nurl = 'https://old.example' # site A\nusername = 'admin'\nsecret_env = 'ZVM_PASSWORD'\n\n\
               [policy.machines]\n\"0a1b\" = 'web01' # sensor\n";
    fs::write(user.config_path(), old).unwrap();
    chmod(&user.config_path(), 0o600);
    let ca = user.ca_file();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    let config = user.config();
    for kept in [
        "# ours\n",
        "# site A\n",
        "\"0a1b\" = 'web01' # sensor\n",
        "username = \"admin\"\n",
    ] {
        assert!(config.contains(kept), "{config}");
    }
    assert!(
        !config.contains("old.example") && !config.contains("secret_env") && !config.contains("receipts"),
        "{config}"
    );
    assert_eq!(user.call().decision(), "context");
}

#[test]
fn the_original_hooks_configuration_is_taken_over() {
    let user = User::new();
    let entry = json!({"hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [
        {"type": "command", "command": "/venv/bin/python /hooks/zerto_guard_hook.py", "timeout": 180}]}]},
        "env": {"ZERTO_HOOK_UNKNOWN": "deny", "ZERTO_HOOK_GUARD_TIMEOUT": "150"}});
    fs::write(user.settings_path(), entry.to_string()).unwrap();
    let original = json!({"zerto_url": user.url(), "username": "admin", "password": PASSWORD, "verify_tls": false, "catalog": {}});
    user.world.write_private("original.json", &original.to_string());
    let path = user.world.path("original.json").display().to_string();
    let from = ["--level", "user", "--from-zerto-rewind", &path];
    assert_failed(&user.init(&from), "--pin");
    // What cannot be used is told by the name that the user knows.
    let wrong = json!({"zerto_url": "http://zvm", "username": "admin"});
    user.world.write_private("wrong.json", &wrong.to_string());
    let wrong = user.world.path("wrong.json").display().to_string();
    let refused = user.init(&["--level", "user", "--from-zerto-rewind", &wrong]);
    assert_failed(&refused, &format!("zerto_url in {wrong}"));
    assert!(!user.world.path("home/.config/holdpoint/zvm-secret").exists());
    let outcome = user.init(&[&from[..], &["--trust-on-first-use"]].concat());
    assert_done(&outcome);
    for words in [
        "did not verify",
        "\"prompt\"",
        "hooks.PreToolUse[0].hooks[0]",
        "180 seconds",
        "only you can read it",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    let secret = user.world.path("home/.config/holdpoint/zvm-secret");
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    let config = user.config();
    assert!(
        config.contains("deadline_seconds = 150") && config.contains("unknown_tool = \"deny\""),
        "{config}"
    );
    assert!(!config.contains("s3cret"), "{config}");
    let settings: Value = serde_json::from_slice(&fs::read(user.settings_path()).unwrap()).unwrap();
    let ours = settings["hooks"]["PreToolUse"][1].clone();
    assert_eq!(ours["hooks"][0]["timeout"], 180);
    assert_eq!(
        user.call_of(&json!({"hooks": {"PreToolUse": [ours]}})).decision(),
        "context"
    );
}

#[test]
fn a_new_installation_writes_receipts_with_a_key_of_its_own() {
    let user = User::new();
    let ca = user.ca_file();
    let outcome = user.init_with(&["--ca-file", &ca]);
    assert_done(&outcome);
    assert!(outcome.stdout.contains("keys.json elsewhere"), "{outcome:?}");
    assert!(user.config().contains("mode = \"audit\""), "{}", user.config());
    let key = user.world.path("home/.local/state/holdpoint/receipts/key.pem");
    let mode = fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(user.call().decision(), "context");
    let receipts = |arguments: &[&str]| {
        let mut command = user.command(HOLDPOINT);
        command.arg("receipts").args(arguments);
        run(command, b"").stdout
    };
    assert!(
        receipts(&["list"]).contains("jp-ubuntu"),
        "{}",
        receipts(&["list"])
    );

    // The key stays, whatever is said of the mode afterwards.
    let before_it = fs::read(&key).unwrap();
    assert_done(&user.init(&["--level", "user", "--receipts", "gate"]));
    assert!(user.config().contains("mode = \"gate\""), "{}", user.config());
    assert_eq!(user.call().decision(), "context");
    assert_done(&user.init(&["--level", "user", "--receipts", "off"]));
    assert!(user.config().contains("mode = \"off\""), "{}", user.config());
    assert_eq!(fs::read(&key).unwrap(), before_it);
}

#[test]
fn without_receipts_there_is_no_key() {
    let user = User::new();
    let ca = user.ca_file();
    assert_done(&user.init_with(&["--ca-file", &ca, "--receipts", "off"]));
    assert!(user.config().contains("mode = \"off\""), "{}", user.config());
    assert!(!user.world.path("home/.local/state/holdpoint/receipts").exists());
}

#[test]
fn a_plugin_folder_holds_the_same_hook() {
    let user = User::new();
    let (url, secret, ca) = (
        user.url(),
        user.world.path("password").display().to_string(),
        user.ca_file(),
    );
    let folder = user.world.path("plugin").display().to_string();
    assert_done(&user.init(&[
        "--plugin",
        &folder,
        "--url",
        &url,
        "--username",
        "admin",
        "--secret-file",
        &secret,
        "--ca-file",
        &ca,
    ]));
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(user.world.path("plugin").join(name)).unwrap()).unwrap()
    };
    assert_eq!(read(".claude-plugin/plugin.json")["name"], "holdpoint");
    assert_eq!(user.call_of(&read("hooks/hooks.json")).decision(), "context");
    assert!(!user.settings_path().exists());
}

/// At a terminal, everything is asked: where the hook goes, the ZVM, the log-in, the secret, the certificate, receipts.
#[cfg(target_os = "linux")]
#[ignore = "needs script"]
#[test]
fn a_human_is_asked() {
    let user = User::new();
    let mut command = user.command("/usr/bin/script");
    command.args(["-qec", &format!("'{HOLDPOINT}' init"), "/dev/null"]);
    // What cannot be is said, and asked again; nobody pins by a mere line break.
    let answers = format!(
        "7\n1\nzvm.example\n{}\n\n2\n{}\n1\n1\nadmin\n1\n{PASSWORD}\n\n2\n",
        user.url(),
        user.world.path("password").display()
    );
    let outcome = run(command, answers.as_bytes());
    for words in [
        "'7' is no number from 1 to 4",
        "cannot be read",
        "holds no certificate",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    let sha256 = user.world.sim.as_ref().unwrap().certificate_sha256();
    assert!(user.config_path().exists(), "{outcome:?}");
    assert!(user.config().contains(&sha256), "{}", user.config());
    assert!(user.config().contains("mode = \"gate\""), "{}", user.config());
    let secret = user.world.path("home/.config/holdpoint/zvm-secret");
    assert_eq!(
        fs::read_to_string(&secret).unwrap(),
        format!("{PASSWORD}\n"),
        "{outcome:?}"
    );
    assert_eq!(user.call().decision(), "context");
}

#[test]
fn a_log_in_that_is_turned_down_is_a_note() {
    let user = User::new();
    let ca = user.ca_file();
    let outcome = user.init_with(&["--ca-file", &ca]);
    assert!(outcome.stdout.contains("takes the log-in"), "{outcome:?}");
    user.world.write_private("password", "wrong");
    let outcome = user.init(&["--level", "user"]);
    assert_done(&outcome);
    assert!(outcome.stdout.contains("turned this log-in down"), "{outcome:?}");
    // Where the harness is started is not here.
    let outcome = user.init(&["--level", "user", "--secret-env", "ZVM_SECRET"]);
    assert_done(&outcome);
    for words in ["cannot be read yet", "has to be started with ZVM_SECRET"] {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
}

#[test]
fn a_later_run_says_what_fits_no_longer() {
    let user = User::new();
    let ca = user.ca_file();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    let other = Sim::start(zvm_sim::Scenario::default()).unwrap();
    fs::write(&ca, other.ca_pem()).unwrap();
    let asked = user.world.sim.as_ref().unwrap().requests().len();
    let outcome = user.init(&["--level", "user"]);
    assert_done(&outcome);
    let sha256 = user.world.sim.as_ref().unwrap().certificate_sha256();
    assert!(
        outcome.stdout.contains("does not trust") && outcome.stdout.contains(&sha256),
        "{outcome:?}"
    );
    assert_eq!(
        user.world.sim.as_ref().unwrap().requests().len(),
        asked,
        "nothing was sent"
    );
    let gone = Sim::start(zvm_sim::Scenario::default()).unwrap().url();
    let outcome = user.init(&["--level", "user", "--url", &gone]);
    assert_done(&outcome);
    assert!(outcome.stdout.contains("could not be asked"), "{outcome:?}");
}

#[test]
fn receipts_that_cannot_go_on_are_told_of() {
    let user = User::new();
    let ca = user.ca_file();
    assert_done(&user.init_with(&["--ca-file", &ca, "--receipts", "gate"]));
    let folder = user.world.path("home/.local/state/holdpoint/receipts");
    fs::remove_file(folder.join("key.pem")).unwrap();
    let outcome = user.init(&["--level", "user"]);
    assert_done(&outcome);
    assert!(outcome.stdout.contains("every call is denied"), "{outcome:?}");
    // The way out is named by both verbs, and leads out.
    let receipts = |verb: &str| {
        let mut command = user.command(HOLDPOINT);
        command.args(["receipts", verb]);
        run(command, b"")
    };
    for verb in ["keygen", "change-key"] {
        let outcome = receipts(verb);
        assert_failed(&outcome, "move");
        assert_failed(&outcome, "holdpoint receipts keygen");
    }
    fs::rename(&folder, user.world.path("old")).unwrap();
    assert_eq!(receipts("keygen").code, Some(0));
    assert_eq!(user.call().decision(), "context");
    let out = user.init(&["--uninstall"]);
    for kept in [
        "config.toml",
        "decisions.log",
        "password",
        "receipts/key.pem",
        "log-ins",
    ] {
        assert!(out.stdout.contains(kept), "{kept}: {out:?}");
    }
}
