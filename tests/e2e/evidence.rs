//! What a project's variables could move: the configuration, the log, receipts, policies and kept log-ins.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::installation::HEALTHY;
use crate::support::{Outcome, World, assert_silent, before, run};

fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn power_off() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

/// The hook with these variables beside its own, and no configuration named but by them.
fn hook_with(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command
        .env_remove("HOLDPOINT_CONFIG")
        .args(arguments)
        .envs(variables.iter().copied());
    run(command, read_only().to_string().as_bytes())
}

/// A deny with these words. Where the log cannot be either, standard error says that, too.
#[track_caller]
fn assert_refused(outcome: &Outcome, words: &str) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("deny", Some(2)),
        "{outcome:?}"
    );
    assert!(
        outcome.text().contains(words) && outcome.stderr.contains(words),
        "{outcome:?}"
    );
}

#[test]
fn a_relative_path_names_no_configuration() {
    let world = World::without_zvm();
    // Each of these would be found, and would pass the call.
    let project = world.path("project");
    fs::create_dir_all(project.join("holdpoint")).unwrap();
    fs::create_dir_all(project.join(".config/holdpoint")).unwrap();
    for file in [
        "own.toml",
        "holdpoint/config.toml",
        ".config/holdpoint/config.toml",
    ] {
        world.write_private(&format!("project/{file}"), "");
    }
    for (arguments, variables, words) in [
        (&["hook", "--config", "own.toml"][..], &[][..], "--config"),
        (&["hook", "--config", "./own.toml"], &[], "--config"),
        (&["hook", "--config=../project/own.toml"], &[], "--config"),
        (&["hook"], &[("HOLDPOINT_CONFIG", "own.toml")], "HOLDPOINT_CONFIG"),
        (&["hook"], &[("XDG_CONFIG_HOME", ".")], "XDG_CONFIG_HOME"),
        (&["hook"], &[("HOME", ".")], "HOME"),
    ] {
        let outcome = hook_with(&world, arguments, variables);
        assert_refused(&outcome, &format!("{words} names the configuration by '"));
        assert!(outcome.text().contains("write the whole path"), "{outcome:?}");
    }
    let mut command = world.command(HOLDPOINT);
    command.args(["policy", "list", "--config", "own.toml"]);
    let outcome = run(command, b"");
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(3)));
    assert!(
        outcome
            .stderr
            .contains("--config names the configuration by 'own.toml'"),
        "{outcome:?}"
    );
}

#[test]
fn a_relative_variable_decides_on_no_folder() {
    let world = World::without_zvm();
    let config = world.path("config.toml").display().to_string();
    let arguments = ["hook", "--config", config.as_str()];
    for (variable, value, key) in [
        ("XDG_STATE_HOME", "state", "zerto.directory"),
        ("XDG_DATA_HOME", "./data", "policy.store"),
        ("HOME", "home", "zerto.directory"),
    ] {
        let outcome = hook_with(&world, &arguments, &[(variable, value)]);
        let words =
            format!("{key} has to be set, since {variable} is '{value}', which does not begin with '/'");
        assert_refused(&outcome, &words);
    }
    assert!(!world.path("project/state").exists());
    // Where the configuration names every folder, no variable counts.
    world.name_places(true);
    let variables = [
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("HOME", "home"),
    ];
    assert_silent(&hook_with(&world, &arguments, &variables));
    // The deny for a relative XDG_DATA_HOME is there already.
    assert_eq!(world.log().len(), 2);
}

fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path().display().to_string());
        found.extend(files_below(&entry.path()));
    }
    found
}

#[test]
fn a_projects_variables_move_nothing_of_an_installation_by_init() {
    let world = World::with_zvm(HEALTHY);
    fs::create_dir_all(world.path("home")).unwrap();
    let url = world.sim.as_ref().unwrap().url();
    let (password, ca) = (world.path("password"), world.path("ca.pem"));
    let mut init = world.command(HOLDPOINT);
    init.env_remove("HOLDPOINT_CONFIG")
        .args([
            "init",
            "--level",
            "user",
            "--username",
            "admin",
            "--url",
            &url,
            "--secret-file",
        ])
        .arg(&password)
        .arg("--ca-file")
        .arg(&ca);
    let outcome = run(init, b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let config = fs::read_to_string(world.path("home/.config/holdpoint/config.toml")).unwrap();
    let table: toml::Table = config.parse().unwrap();
    for (section, key, below) in [
        ("zerto", "directory", ".local/state/holdpoint/zerto"),
        ("policy", "store", ".local/share/holdpoint/policies"),
        ("log", "path", ".local/state/holdpoint/decisions.log"),
        ("session", "directory", ".local/state/holdpoint/sessions"),
        ("record", "directory", ".local/state/holdpoint/records"),
        ("receipts", "directory", ".local/state/holdpoint/receipts"),
    ] {
        let expected = world.path("home").join(below).display().to_string();
        assert_eq!(table[section][key].as_str(), Some(expected.as_str()), "{config}");
    }

    let settings = fs::read_to_string(world.path("home/.claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let entry = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    let arguments = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap());
    let elsewhere = world.path("elsewhere");
    fs::create_dir_all(elsewhere.join("holdpoint")).unwrap();
    let other = world.path("elsewhere/holdpoint/config.toml");
    world.write_private("elsewhere/holdpoint/config.toml", "policy.unknown_tool = 'pass'");
    let before = files_below(&elsewhere);
    let mut hook = world.command(HOLDPOINT);
    hook.args(arguments).env("HOLDPOINT_CONFIG", other);
    for variable in [
        "HOME",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    ] {
        hook.env(variable, &elsewhere);
    }
    let outcome = run(hook, power_off().to_string().as_bytes());
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("context", Some(0)),
        "{outcome:?}"
    );
    assert_eq!(files_below(&elsewhere), before, "nothing was written there");
    assert_eq!(world.logged()["verdict"], "pass");
    let state = world.path("home/.local/state/holdpoint");
    assert!(state.join("receipts/000000000001.jsonl").exists());
    assert!(
        !files_below(&state.join("zerto")).is_empty(),
        "log-ins are kept here"
    );
}

#[test]
fn the_originals_variables_name_whole_paths_too() {
    let world = World::without_zvm();
    world.write_private("project/original.json", "{}");
    for variable in ["ZERTO_REWIND_CONFIG", "ZERTO_HOOK_LOG"] {
        let outcome = hook_with(&world, &["hook"], &[(variable, "original.json")]);
        assert_refused(&outcome, "is 'original.json', and has to begin with '/' or '~/'");
    }
}
