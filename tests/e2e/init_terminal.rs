//! `init` at a terminal: what is tried before the secret is asked for, and what a second run asks again.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::init::User;
use crate::support::{Outcome, PASSWORD, run};

/// Runs `init` at a terminal, with these answers.
fn at_a_terminal(user: &User, arguments: &str, answers: &str) -> Outcome {
    let mut command = user.command("/usr/bin/script");
    command.args(["-qec", &format!("'{HOLDPOINT}' init {arguments}"), "/dev/null"]);
    run(command, answers.as_bytes())
}

#[ignore = "needs script"]
#[test]
fn a_wrong_address_is_noticed_before_the_secret_is_asked_for() {
    let user = User::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answers = format!(
        "https://{closed}\n{}\n1\n1\nadmin\n1\n{PASSWORD}\n\n1\n",
        user.url()
    );
    let outcome = at_a_terminal(&user, "--level user", &answers);
    let told = &outcome.stdout;
    let problem = told
        .find("nothing answers there")
        .unwrap_or_else(|| panic!("{outcome:?}"));
    let secret = told
        .find("The secret (it does not appear)")
        .unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(problem < secret, "{outcome:?}");
    assert!(user.config().contains(&user.url()), "{}", user.config());
    assert_eq!(user.call().decision(), "context");
}

#[ignore = "needs script"]
#[test]
fn a_server_that_is_no_zvm_is_noticed_before_the_secret_is_asked_for() {
    let user = User::new();
    // A web server that knows nothing.
    let (address, _) = mirror_sim::Site::default().serve_tls();
    let answers = format!(
        "https://{address}\n{}\n1\n1\nadmin\n1\n{PASSWORD}\n\n1\n",
        user.url()
    );
    let outcome = at_a_terminal(&user, "--level user", &answers);
    assert!(outcome.stdout.contains("which a ZVM does not"), "{outcome:?}");
    assert!(user.config().contains(&user.url()), "{}", user.config());
}

#[ignore = "needs script"]
#[test]
fn a_second_run_proposes_what_the_first_was_told_and_asks_again_for_what_failed() {
    let user = User::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // The wrong address is kept all the same, and so is everything else.
    let answers = format!("https://{closed}\n\n1\nadmin\n1\nwrong\n\n1\n");
    let outcome = at_a_terminal(&user, "--level user", &answers);
    assert!(user.config().contains(&closed.to_string()), "{outcome:?}");
    let answers = format!("{}\n1\nadmin\n{PASSWORD}\n", user.url());
    let outcome = at_a_terminal(&user, "--level user", &answers);
    for words in [
        &format!("[https://{closed}]"),
        "turned this log-in down",
        "[admin]",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
    assert!(!user.config().contains(&closed.to_string()), "{}", user.config());
    assert_eq!(user.call().decision(), "context", "{outcome:?}");
    // Where nothing fails, nothing is asked.
    let outcome = at_a_terminal(&user, "--level user", "");
    assert!(outcome.stdout.contains("takes the log-in"), "{outcome:?}");
}

#[ignore = "needs script"]
#[test]
fn the_originals_entry_is_taken_out_where_a_human_says_so() {
    let user = User::new();
    let original = json!({
        "zerto_url": user.url(), "username": "admin", "password": PASSWORD, "verify_tls": false,
        "read_only_tools": ["tickets/list"], "mutating_tools": [{"server": "tickets", "tool": "fix", "vm_arg": "host"}]
    });
    user.world.write_private("original.json", &original.to_string());
    let path = user.world.path("original.json").display().to_string();
    let line =
        format!("ZERTO_REWIND_CONFIG={path} ZVM_TOKEN=t0k3n /venv/bin/python /hooks/zerto_guard_hook.py");
    let settings = json!({"model": "opus", "hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [
        {"type": "command", "command": line, "timeout": 180}]}]}});
    fs::write(user.settings_path(), settings.to_string()).unwrap();
    let answers = "1\n1\n1\n1\n1\n";
    let outcome = at_a_terminal(&user, "--level user --from-zerto-rewind", answers);
    let settings = fs::read_to_string(user.settings_path()).unwrap();
    assert!(
        !settings.contains("zerto_guard_hook") && settings.contains("opus"),
        "{outcome:?}"
    );
    assert!(
        !outcome.stdout.contains("t0k3n") && outcome.stdout.contains("ZVM_TOKEN"),
        "{outcome:?}"
    );
    let copies = user.world.path("home/.local/state/holdpoint/before");
    let kept = fs::read_dir(copies)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(
        kept.into_iter().any(|text| text.contains("zerto_guard_hook")),
        "{outcome:?}"
    );
    assert_eq!(user.call().decision(), "context");
    // The user's own tool lists count.
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let call = |tool: &str| user.call_tool(&settings, tool, json!({"host": "jp-ubuntu"}));
    assert_eq!(call("mcp__tickets__fix").decision(), "context");
    assert_eq!(call("mcp__tickets__list").stdout, "");
    assert_eq!(call("mcp__tickets__other").decision(), "ask");
}

#[ignore = "needs script"]
#[test]
fn the_asqav_packages_own_hook_is_taken_out_where_a_human_says_so() {
    let user = User::new();
    let hook = |line: &str| json!([{ "matcher": "*", "hooks": [{ "type": "command", "command": line }] }]);
    let settings = json!({ "model": "opus", "hooks": {
        "PreToolUse": hook("asqav hook pretool"),
        "PostToolUse": hook("asqav hook posttool")
    } });
    fs::write(user.settings_path(), settings.to_string()).unwrap();
    let (ca, secret) = (user.ca_file(), user.world.path("password").display().to_string());
    let options = format!(
        "--level user --url {} --username admin --secret-file {secret} --ca-file {ca} --receipts gate --signer asqav",
        user.url()
    );
    let outcome = at_a_terminal(&user, &options, "1\n1\n");
    let settings = fs::read_to_string(user.settings_path()).unwrap();
    assert!(
        !settings.contains("asqav hook") && settings.contains("opus"),
        "{settings}\n{outcome:?}"
    );
    let copies = user.world.path("home/.local/state/holdpoint/before");
    let mut kept = fs::read_dir(copies)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(
        kept.any(|text| text.contains("asqav hook posttool")),
        "{outcome:?}"
    );
}
