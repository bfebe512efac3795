//! What `init` leaves of people's files: links, bytes, modes, and a way back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::HOLDPOINT;
use crate::init::{User, assert_done, assert_failed};
use crate::support::{chmod, run};

/// Every file below a folder with its bytes, links as what they say.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(tree(&path));
        } else if metadata.is_symlink() {
            let to = fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes();
            found.push((path, to));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

fn config_folder(user: &User) -> PathBuf {
    let folder = user.config_path().parent().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn dangling_links_into_a_dotfiles_repository_stay_links() {
    let user = User::new();
    let ca = user.ca_file();
    let dotfiles = user.world.path("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    config_folder(&user);
    symlink("../../dotfiles/claude.json", user.settings_path()).unwrap();
    symlink(dotfiles.join("holdpoint.toml"), user.config_path()).unwrap();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    assert!(dotfiles.join("claude.json").is_file() && dotfiles.join("holdpoint.toml").is_file());
    assert_eq!(user.call().decision(), "context");
    assert_done(&user.init(&["--uninstall", "--purge", "--yes"]));
    for link in [user.settings_path(), user.config_path()] {
        assert!(
            fs::symlink_metadata(&link).unwrap().is_symlink(),
            "{}",
            link.display()
        );
    }
    assert_eq!(tree(&dotfiles), []);
}

#[test]
fn a_configuration_keeps_its_line_ends_its_mark_and_its_mode() {
    let user = User::new();
    let ca = user.ca_file();
    config_folder(&user);
    let old = "\u{feff}# ours\r\n[zerto]\r\nurl = 'https://old.example' # site A\r\nusername = 'admin'\r\n\r\n[policy.machines]\r\n\"0a1b\" = 'web01'";
    fs::write(user.config_path(), old).unwrap();
    chmod(&user.config_path(), 0o640);
    assert_done(&user.init_with(&["--ca-file", &ca]));
    let text = user.config();
    assert!(text.starts_with("\u{feff}# ours\r\n[zerto]\r\n"), "{text:?}");
    assert!(text.ends_with("\r\n\"0a1b\" = 'web01'"), "{text:?}");
    assert_eq!(
        text.matches('\n').count(),
        text.matches("\r\n").count(),
        "{text:?}"
    );
    let mode = fs::metadata(user.config_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(user.call().decision(), "context");
    // What it was is kept, where nobody else and no repository sees it.
    let copies = tree(&user.world.path("home/.local/state/holdpoint/before"));
    assert!(
        copies.iter().any(|(_, bytes)| bytes == old.as_bytes()),
        "{copies:?}"
    );
}

#[test]
fn a_projects_settings_leave_no_copy_in_the_project() {
    let user = User::new();
    let ca = user.ca_file();
    let local = user.world.path("project/.claude/settings.local.json");
    fs::create_dir_all(local.parent().unwrap()).unwrap();
    let before = "{\"env\": {\"TOKEN\": \"t0k3n\"}}\n";
    fs::write(&local, before).unwrap();
    let (url, secret) = (user.url(), user.world.path("password").display().to_string());
    let told = user.init(&[
        "--level",
        "local",
        "--url",
        &url,
        "--username",
        "admin",
        "--secret-file",
        &secret,
        "--ca-file",
        &ca,
    ]);
    assert_done(&told);
    let names: Vec<PathBuf> = tree(&user.world.path("project"))
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(names, std::slice::from_ref(&local));
    assert!(told.stdout.contains(".local/state/holdpoint/before"), "{told:?}");
    assert_done(&user.init(&["--uninstall"]));
    assert_eq!(fs::read_to_string(&local).unwrap(), before);
}

#[test]
fn a_target_that_cannot_be_changed_is_told_before_anything_is_written() {
    let user = User::new();
    let ca = user.ca_file();
    let utf_16: Vec<u8> = "\u{feff}{\"model\": \"opus\"}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, mode, words) in [(b"{}\n".to_vec(), 0o444, "read-only"), (utf_16, 0o600, "UTF-")] {
        fs::write(user.settings_path(), &bytes).unwrap();
        chmod(&user.settings_path(), mode);
        let before = tree(&user.world.path("home"));
        let outcome = user.init_with(&["--ca-file", &ca]);
        assert_eq!(outcome.code, Some(3), "{outcome:?}");
        assert!(
            outcome.stderr.contains(words) || outcome.stderr.contains("JSON"),
            "{outcome:?}"
        );
        assert_eq!(tree(&user.world.path("home")), before);
        chmod(&user.settings_path(), 0o600);
    }
    // Where receipts cannot begin, neither does anything else.
    fs::write(user.settings_path(), "{}\n").unwrap();
    fs::create_dir_all(user.world.path("home/.local/state")).unwrap();
    fs::write(user.world.path("home/.local/state/holdpoint"), "a file").unwrap();
    let before = tree(&user.world.path("home"));
    assert_eq!(user.init_with(&["--ca-file", &ca]).code, Some(3));
    assert_eq!(tree(&user.world.path("home")), before);
}

#[test]
fn another_plugins_folder_is_left_alone() {
    let user = User::new();
    let (url, secret, ca) = (
        user.url(),
        user.world.path("password").display().to_string(),
        user.ca_file(),
    );
    let folder = user.world.path("plugin");
    fs::create_dir_all(folder.join(".claude-plugin")).unwrap();
    fs::write(folder.join(".claude-plugin/plugin.json"), "{\"name\": \"mine\"}").unwrap();
    let shown = folder.display().to_string();
    let arguments = [
        "--plugin",
        &shown,
        "--url",
        &url,
        "--username",
        "admin",
        "--secret-file",
        &secret,
        "--ca-file",
        &ca,
    ];
    assert_failed(&user.init(&arguments), "another plugin");
    assert!(!user.config_path().exists());
    // One of ours keeps what was added to it.
    fs::write(
        folder.join(".claude-plugin/plugin.json"),
        "{\"name\": \"holdpoint\"}",
    )
    .unwrap();
    fs::create_dir(folder.join("hooks")).unwrap();
    let added = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}}";
    fs::write(folder.join("hooks/hooks.json"), added).unwrap();
    assert_done(&user.init(&arguments));
    let hooks = fs::read_to_string(folder.join("hooks/hooks.json")).unwrap();
    assert!(
        hooks.contains("\"mine\"") && hooks.contains("PreToolUse"),
        "{hooks}"
    );
}

/// A process that is killed at any of its renames leaves whole files, and the next run does the rest.
#[cfg(target_os = "linux")]
#[ignore = "needs strace"]
#[test]
fn a_run_that_is_killed_leaves_whole_files_and_the_next_one_completes() {
    let strace = crate::readonly::strace();
    let mut killed = 0;
    for number in 1..8 {
        let user = User::new();
        let before = "{\n  \"model\": \"opus\"\n}\n";
        fs::write(user.settings_path(), before).unwrap();
        let (url, secret, ca) = (
            user.url(),
            user.world.path("password").display().to_string(),
            user.ca_file(),
        );
        let mut command = user.command(strace.to_str().unwrap());
        let inject = format!("inject=rename,renameat,renameat2:signal=KILL:when={number}");
        command.args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=rename,renameat,renameat2",
            "-e",
            &inject,
        ]);
        command.args([
            HOLDPOINT,
            "init",
            "--level",
            "user",
            "--url",
            &url,
            "--username",
            "admin",
        ]);
        command.args(["--secret-file", &secret, "--ca-file", &ca]);
        let outcome = run(command, b"");
        killed += usize::from(outcome.code != Some(0));
        let settings = fs::read_to_string(user.settings_path()).unwrap();
        assert!(
            settings == before || settings.contains("SessionStart") && settings.ends_with("}\n"),
            "{number}: {settings}"
        );
        assert_done(&user.init_with(&["--ca-file", &ca]));
        assert_eq!(user.call().decision(), "context", "{number}");
        let left: Vec<PathBuf> = tree(&user.world.path("home"))
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| path.to_string_lossy().contains(".holdpoint-"))
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{number}");
        assert_done(&user.init(&["--uninstall"]));
        assert_eq!(
            fs::read_to_string(user.settings_path()).unwrap(),
            before,
            "{number}"
        );
    }
    assert!(killed >= 2, "{killed}");
}

#[test]
fn what_init_made_is_named_and_removed_and_nothing_else() {
    let user = User::new();
    let ca = user.ca_file();
    fs::write(user.settings_path(), "{}\n").unwrap();
    assert_done(&user.init_with(&["--ca-file", &ca]));
    assert_eq!(user.call().decision(), "context");
    let records = user.world.path("home/.local/state/holdpoint/records");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join("2026-11-30.1.jsonl"), "{}\n").unwrap();
    fs::write(records.join("notes.txt"), "mine").unwrap();

    // Without a word about it, nothing of that goes.
    let refused = user.init(&["--uninstall", "--purge"]);
    assert_failed(&refused, "--yes");
    for words in [
        "decisions.log",
        "config.toml",
        "arguments of calls (private data)",
        "key.pem",
    ] {
        assert!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    assert!(
        user.config_path().exists()
            && fs::read_to_string(user.settings_path())
                .unwrap()
                .contains("PreToolUse")
    );

    let done = user.init(&["--uninstall", "--purge", "--yes"]);
    assert_done(&done);
    assert_eq!(fs::read_to_string(user.settings_path()).unwrap(), "{}\n");
    let left: Vec<PathBuf> = tree(&user.world.path("home"))
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        left,
        [user.settings_path(), records.join("notes.txt")],
        "{done:?}"
    );
    // The secret was there before.
    assert!(
        user.world.path("password").exists() && done.stdout.contains("password stays"),
        "{done:?}"
    );
}

#[test]
fn a_configuration_that_was_written_by_hand_is_not_purged() {
    let user = User::new();
    let ca = user.ca_file();
    config_folder(&user);
    fs::write(user.config_path(), "# by hand\n").unwrap();
    chmod(&user.config_path(), 0o600);
    assert_done(&user.init_with(&["--ca-file", &ca]));
    let done = user.init(&["--uninstall", "--purge", "--yes"]);
    assert_done(&done);
    assert!(user.config().contains("# by hand"), "{done:?}");
    assert!(done.stdout.contains("config.toml stays"), "{done:?}");
}

#[test]
fn the_signer_and_the_matcher_of_the_seed_can_be_chosen() {
    let user = User::new();
    let ca = user.ca_file();
    assert_failed(
        &user.init_with(&["--ca-file", &ca, "--matcher", "mcp__esxi__.*"]),
        "unguarded",
    );
    assert_failed(
        &user.init_with(&["--ca-file", &ca, "--signer", "asqav", "--receipts", "off"]),
        "nothing to sign",
    );
    assert!(!user.config_path().exists());
    let outcome = user.init_with(&["--ca-file", &ca, "--signer", "asqav", "--matcher", "*"]);
    assert_done(&outcome);
    assert!(
        outcome.stdout.contains("ASQAV_API_KEY and ASQAV_AGENT_ID"),
        "{outcome:?}"
    );
    assert!(user.config().contains("signer = \"asqav\"") && user.config().contains("mode = \"audit\""));
    let settings = fs::read_to_string(user.settings_path()).unwrap();
    assert_eq!(settings.matches("\"matcher\": \"*\"").count(), 3, "{settings}");
}

#[test]
fn the_asqav_packages_own_hook_is_noticed_and_what_to_do_is_said() {
    let user = User::new();
    let ca = user.ca_file();
    let hook = |line: &str| json!([{ "matcher": "*", "hooks": [{ "type": "command", "command": line }] }]);
    let settings = json!({ "hooks": {
        "PreToolUse": hook("asqav hook pretool --clear-context"),
        "PostToolUse": hook("/opt/venv/bin/asqav hook posttool")
    } });
    fs::write(user.settings_path(), settings.to_string()).unwrap();
    let outcome = user.init_with(&["--ca-file", &ca]);
    assert_done(&outcome);
    for words in [
        "'asqav hook pretool' at hooks.PreToolUse[0].hooks[0]",
        "holdpoint init --signer asqav --receipts gate",
        "'asqav hook posttool' at hooks.PostToolUse[0].hooks[0]",
        "holdpoint init --signer asqav --receipts audit",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    let outcome = user.init(&["--level", "user", "--signer", "asqav"]);
    assert_done(&outcome);
    for words in [
        "'asqav hook pretool' is still at hooks.PreToolUse[0].hooks[0]",
        "each call is signed twice",
        "holdpoint init --receipts gate",
        "--clear-context has no counterpart",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    let settings = fs::read_to_string(user.settings_path()).unwrap();
    assert_eq!(
        settings.matches("asqav hook").count(),
        2,
        "nobody said that it goes: {settings}"
    );
}
