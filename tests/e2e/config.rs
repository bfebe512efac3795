//! Configuration that is broken, open to others or in the original hook's words, and what wins over what.

use holdpoint_config::{Config, Places, load};
use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, PASSWORD, World, before, chmod, run};

const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn power_off() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

fn unlisted() -> Value {
    before("mcp__nobody__knows", json!({}))
}

/// A configuration that cannot be used denies every call, also one that only reads.
#[track_caller]
fn assert_unusable(world: &World, outcome: &Outcome, words: &[&str]) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("deny", Some(2)),
        "{outcome:?}"
    );
    for words in words {
        assert!(outcome.text().contains(words), "{words}: {}", outcome.text());
    }
    assert_eq!(outcome.stderr, format!("{}\n", outcome.text()));
    assert_eq!(world.log().last().unwrap()["fault"], "configuration");
}

#[test]
fn a_configuration_that_cannot_be_used_denies_and_says_where() {
    for (text, words) in [
        (
            "deadline_seconds = 5\nzerto.url = 'x\n",
            &["config.toml", "line 2"][..],
        ),
        ("deadline_seconds = 5\n\nzerto = = 1", &["config.toml", "line 3"]),
        ("[zerto]\nurl = 1", &["config.toml", "line 2"]),
        ("deadline_seconds = '5'", &["config.toml", "line 1"]),
        (
            "[zerto]\nca_flie = '/x'",
            &["'zerto.ca_flie'", "did you mean 'zerto.ca_file'?"],
        ),
        ("[zreto]\nurl = 'https://zvm'", &["'zreto'", "did you mean"]),
        ("zerto.password = 'hunter2'", &["'zerto.password'"]),
        ("policy.unknown_tool = 'prompt'", &["config.toml", "prompt"]),
        ("policy.unknown_tool = 'allow'", &["config.toml", "allow"]),
        ("zerto.login = 'kerberos'", &["config.toml", "has to be password"]),
        ("deadline_seconds = 0", &["deadline_seconds", "from 1 to 3600"]),
        ("deadline_seconds = 3601", &["deadline_seconds", "from 1 to 3600"]),
        ("deadline_seconds = nan", &["deadline_seconds", "from 1 to 3600"]),
        ("deadline_seconds = inf", &["deadline_seconds", "from 1 to 3600"]),
        (
            "zerto.longest_wait_seconds = 301",
            &["zerto.longest_wait_seconds", "from 1 to 300"],
        ),
        (
            "zerto.secret_file = 'secret'",
            &["zerto.secret_file", "has to begin with '/'"],
        ),
        (
            "zerto.ca_file = './ca.pem'",
            &["zerto.ca_file", "has to begin with '/'"],
        ),
        (
            "log.path = 'decisions.log'",
            &["log.path", "has to begin with '/'"],
        ),
        (
            "policy.catalogs = ['own.toml']",
            &["policy.catalogs", "has to begin with '/'"],
        ),
        (
            "policy.catalogs = ['/nowhere/own.toml']",
            &["/nowhere/own.toml", "cannot be read"],
        ),
    ] {
        let world = World::without_zvm();
        world.configure_bare(text);
        let outcome = world.hook(HOLDPOINT, &read_only());
        println!("{text:?}: {}", outcome.stderr);
        assert_unusable(&world, &outcome, words);
        assert!(!outcome.stderr.contains("hunter2"), "{outcome:?}");
    }
}

/// What a path in a configuration can lead to beside a file: a pipe, a device, a file of the kernel's, a folder, 3 GiB of
/// nothing.
pub(crate) fn odd(world: &World) -> Vec<(std::path::PathBuf, &'static str)> {
    let pipe = world.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    chmod(&pipe, 0o600);
    std::os::unix::fs::symlink(&pipe, world.path("link")).unwrap();
    let sparse = world.path("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
    chmod(&sparse, 0o600);
    vec![
        (pipe, "it is a pipe"),
        (world.path("link"), "it is a pipe"),
        (world.path("project"), "it is a folder"),
        ("/dev/zero".into(), "it is a device"),
        ("/dev/tty".into(), "cannot be read"),
        ("/proc/self/environ".into(), "the kernel's"),
        ("/proc/kmsg".into(), "cannot be read"),
        (sparse, "larger than"),
    ]
}

#[test]
fn only_regular_files_are_read_and_no_more_of_them_than_a_limit() {
    for number in 0..8 {
        let world = World::without_zvm();
        let (path, words) = odd(&world).swap_remove(number);
        let mut command = world.command(HOLDPOINT);
        command.env("HOLDPOINT_CONFIG", &path);
        let outcome = run(command, read_only().to_string().as_bytes());
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            ("deny", Some(2)),
            "{path:?}"
        );
        assert!(outcome.text().contains(words), "{path:?}: {}", outcome.text());
        assert!(
            outcome.took < std::time::Duration::from_secs(5),
            "{path:?}: {:?}",
            outcome.took
        );
        // The original's, which is read where there is no configuration of ours.
        let mut command = world.command(HOLDPOINT);
        command
            .env_remove("HOLDPOINT_CONFIG")
            .env("ZERTO_REWIND_CONFIG", &path);
        let outcome = run(command, read_only().to_string().as_bytes());
        assert_eq!(outcome.decision(), "deny", "{path:?}");
        assert!(outcome.text().contains(words), "{path:?}: {}", outcome.text());
        let path = path.display();
        for line in [
            format!("policy.catalogs = ['{path}']"),
            format!("policy.keys.ours = {{ public_file = '{path}' }}\npolicy.path = '/nothing'"),
            format!("policy.path = '{path}'"),
        ] {
            world.configure(&format!("deadline_seconds = 5\n{line}"));
            let outcome = world.hook(HOLDPOINT, &read_only());
            assert_eq!(
                (outcome.decision().as_str(), outcome.code),
                ("deny", Some(2)),
                "{line}"
            );
            if !line.contains("/nothing") {
                assert!(
                    outcome.text().contains(words) || line.contains("policy.path"),
                    "{line}: {outcome:?}"
                );
            }
            assert!(
                outcome.took < std::time::Duration::from_secs(4),
                "{line}: {:?}",
                outcome.took
            );
        }
        for key in ["ca_file", "secret_file"] {
            world.write_private("secret", "x");
            let other = match key {
                "ca_file" => format!("zerto.secret_file = '{}'\n", world.path("secret").display()),
                _ => String::new(),
            };
            world.configure(&format!(
                "deadline_seconds = 5\nzerto.url = 'https://127.0.0.1:1'\nzerto.username = 'x'\n{other}zerto.{key} = '{path}'"
            ));
            let outcome = world.hook(HOLDPOINT, &power_off());
            assert_eq!(
                (outcome.decision().as_str(), outcome.code),
                ("deny", Some(2)),
                "{key}"
            );
            assert!(
                outcome.took < std::time::Duration::from_secs(4),
                "{key}: {:?}",
                outcome.took
            );
        }
    }
}

#[test]
fn a_folder_on_the_way_that_others_may_write_is_refused() {
    let world = World::with_zvm(HEALTHY);
    for name in ["own.toml", "ca.pem", "password", "config.toml"] {
        std::fs::create_dir_all(world.path("open/inner")).unwrap();
        let moved = world.path("open/inner").join(name);
        world.write_private("own.toml", "[server]\naliases = ['own']\n");
        std::fs::copy(world.path(name), &moved).unwrap();
        chmod(&moved, 0o600);
        let line = match name {
            "own.toml" => format!("policy.catalogs = ['{}']", moved.display()),
            _ => String::new(),
        };
        world.configure(&line);
        if name == "ca.pem" || name == "password" {
            let text = std::fs::read_to_string(world.path("config.toml")).unwrap();
            let (old, new) = (world.path(name), moved.display().to_string());
            world.configure_bare(&text.replace(&old.display().to_string(), &new));
        }
        let hook = || {
            let mut command = world.command(HOLDPOINT);
            if name == "config.toml" {
                command.env("HOLDPOINT_CONFIG", &moved);
            }
            run(command, power_off().to_string().as_bytes())
        };
        chmod(&world.path("open"), 0o755);
        let outcome = hook();
        assert!(
            !outcome.stdout.contains("others may write"),
            "{name}: {outcome:?}"
        );
        chmod(&world.path("open"), 0o777);
        let outcome = hook();
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            ("deny", Some(2)),
            "{name}"
        );
        let command = format!("chmod go-w {}", world.path("open").display());
        assert!(outcome.text().contains(&command), "{name}: {}", outcome.text());
    }
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    for mode in [0o666, 0o620, 0o602] {
        let world = World::without_zvm();
        chmod(&world.path("config.toml"), mode);
        let outcome = world.hook(HOLDPOINT, &read_only());
        let command = format!("chmod go-w {}", world.path("config.toml").display());
        assert_unusable(&world, &outcome, &[&command]);
    }
    let world = World::without_zvm();
    // Nobody would do well to change the mode of that.
    let mut command = world.command(HOLDPOINT);
    command.args(["policy", "list", "--config", "/dev/null"]);
    let outcome = run(command, b"");
    assert!(
        outcome
            .stderr
            .contains("/dev/null cannot be read (it is a device"),
        "{outcome:?}"
    );
    world.write_private("own.toml", "");
    chmod(&world.path("own.toml"), 0o666);
    world.configure(&format!(
        "policy.catalogs = ['{}']",
        world.path("own.toml").display()
    ));
    assert_unusable(
        &world,
        &world.hook(HOLDPOINT, &read_only()),
        &["own.toml", "chmod go-w"],
    );
}

#[test]
fn a_configuration_that_is_named_has_to_be_there() {
    let world = World::without_zvm();
    std::fs::remove_file(world.path("config.toml")).unwrap();
    let outcome = world.hook(HOLDPOINT, &read_only());
    assert_unusable(&world, &outcome, &["config.toml", "cannot be read"]);

    let mut command = world.command(HOLDPOINT);
    command
        .env_remove("HOLDPOINT_CONFIG")
        .args(["hook", "--config", "/nowhere/config.toml"]);
    let outcome = run(command, read_only().to_string().as_bytes());
    assert_unusable(&world, &outcome, &["/nowhere/config.toml", "cannot be read"]);

    // Where nobody named one, there need not be any.
    let mut command = world.command(HOLDPOINT);
    command.env_remove("HOLDPOINT_CONFIG");
    let outcome = run(command, read_only().to_string().as_bytes());
    assert_eq!((outcome.decision().as_str(), outcome.code), ("silence", Some(0)));
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let world = World::without_zvm();
    world.write_private("named.toml", "policy.unknown_tool = 'deny'");
    let mut command = world.command(HOLDPOINT);
    command.args(["hook", "--config"]).arg(world.path("named.toml"));
    let outcome = run(command, unlisted().to_string().as_bytes());
    assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
    assert_eq!(world.logged()["fault"], Value::Null);
}

#[test]
fn a_wrong_command_line_blocks() {
    let world = World::without_zvm();
    for arguments in [
        &["hok"][..],
        &["hook", "--cofnig", "x"],
        &["hook", "--harness", "emacs"],
        &["hook", "--config"],
    ] {
        let mut command = world.command(HOLDPOINT);
        command.args(arguments);
        let outcome = run(command, read_only().to_string().as_bytes());
        assert_eq!(
            (outcome.stdout.as_str(), outcome.code),
            ("", Some(2)),
            "{arguments:?}"
        );
        assert!(outcome.stderr.contains("error:"), "{outcome:?}");
    }
}

#[test]
fn a_secret_that_others_may_read_is_not_used() {
    for mode in [0o644, 0o640, 0o604] {
        let world = World::with_zvm(HEALTHY);
        chmod(&world.path("password"), mode);
        let outcome = world.hook(HOLDPOINT, &power_off());
        assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
        let command = format!("chmod 600 {}", world.path("password").display());
        assert!(outcome.text().contains(&command), "{}", outcome.text());
        assert_eq!(world.sim.as_ref().unwrap().requests().len(), 0);
    }
}

#[test]
fn a_secret_comes_from_a_file_or_a_variable() {
    let world = World::with_zvm(HEALTHY);
    world.write_private("password", &format!("{PASSWORD}\r\n"));
    assert_eq!(world.hook(HOLDPOINT, &power_off()).decision(), "context");

    let text = std::fs::read_to_string(world.path("config.toml")).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("secret_file"))
        .collect();
    world.configure_bare(&format!("{}\nzerto.secret_env = 'ZVM_SECRET'", lines.join("\n")));
    let outcome = world.hook(HOLDPOINT, &power_off());
    assert!(
        outcome.decision() == "deny" && outcome.text().contains("ZVM_SECRET"),
        "{outcome:?}"
    );
    let mut command = world.command(HOLDPOINT);
    command.env("ZVM_SECRET", PASSWORD);
    assert_eq!(
        run(command, power_off().to_string().as_bytes()).decision(),
        "context"
    );
}

/// The original hook's file, as its users have it.
fn original(world: &World, password: &Value) {
    let url = world.sim.as_ref().unwrap().url();
    let file = json!({
        "zerto_url": url, "username": "admin", "password": password, "client_id": "zerto-client",
        "verify_tls": false, "poll_seconds": 5
    });
    world.write_private("original.json", &file.to_string());
}

/// The hook with these variables and no configuration of ours.
fn hook_with(world: &World, variables: &[(&str, &str)], event: &Value) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command
        .env_remove("HOLDPOINT_CONFIG")
        .envs(variables.iter().copied());
    run(command, event.to_string().as_bytes())
}

#[test]
fn the_originals_file_keeps_working() {
    let world = World::with_zvm(HEALTHY);
    world.configure_bare("");
    original(&world, &PASSWORD.into());
    let path = world.path("original.json");
    let variables = [("ZERTO_REWIND_CONFIG", path.to_str().unwrap())];
    let outcome = hook_with(&world, &variables, &power_off());
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("context", Some(0)),
        "{outcome:?}"
    );
    world.assert_secret_kept(&outcome);
}

#[test]
fn a_password_in_the_originals_file_is_not_told_where_it_is_of_a_wrong_kind() {
    let world = World::with_zvm(HEALTHY);
    world.configure_bare("");
    let path = world.path("original.json");
    let variables = [("ZERTO_REWIND_CONFIG", path.to_str().unwrap())];
    for password in [json!(73_310_155), json!(["73310155"]), json!({ "73310155": 1 })] {
        original(&world, &password);
        let outcome = hook_with(&world, &variables, &power_off());
        assert_unusable(&world, &outcome, &["original.json", "password has to be a text"]);
        assert!(!outcome.stderr.contains("73310155"), "{outcome:?}");
        assert!(!world.log().last().unwrap().to_string().contains("73310155"));
    }
    chmod(&path, 0o666);
    assert_unusable(
        &world,
        &hook_with(&world, &variables, &power_off()),
        &["original.json", "chmod go-w"],
    );
    std::fs::remove_file(&path).unwrap();
    assert_unusable(
        &world,
        &hook_with(&world, &variables, &power_off()),
        &["original.json", "cannot be read"],
    );
}

#[test]
fn the_originals_variables_keep_working() {
    let world = World::without_zvm();
    for (word, decision) in [
        ("prompt", "ask"),
        ("ask", "ask"),
        ("deny", "deny"),
        ("allow", "silence"),
        ("", "ask"),
    ] {
        let outcome = hook_with(&world, &[("ZERTO_HOOK_UNKNOWN", word)], &unlisted());
        assert_eq!(outcome.decision(), decision, "{word}");
    }
    let log = world.path("original.log");
    let outcome = hook_with(&world, &[("ZERTO_HOOK_LOG", log.to_str().unwrap())], &unlisted());
    assert_eq!(outcome.decision(), "ask");
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 1);
    let outcome = hook_with(&world, &[("ZERTO_HOOK_GUARD_TIMEOUT", "1")], &json!({}));
    assert!(outcome.took.as_secs() < 20);

    for (name, value, words) in [
        ("ZERTO_HOOK_UNKNOWN", "maybe", "prompt, deny or allow"),
        ("ZERTO_HOOK_GUARD_TIMEOUT", "soon", "a number of seconds"),
        ("ZERTO_HOOK_GUARD_TIMEOUT", "0", "from 1 to 3600"),
        ("ZERTO_HOOK_GUARD_TIMEOUT", "nan", "from 1 to 3600"),
        ("ZERTO_HOOK_LOG", "here.log", "has to begin with '/'"),
    ] {
        assert_unusable(
            &world,
            &hook_with(&world, &[(name, value)], &read_only()),
            &[words],
        );
    }
}

#[test]
fn the_originals_timeout_is_the_deadline() {
    let world = World::with_zvm("[[vpgs]]\noutcome = 'never-surfaces'");
    original(&world, &PASSWORD.into());
    let file = world.path("original.json");
    let variables = [
        ("ZERTO_REWIND_CONFIG", file.to_str().unwrap()),
        ("ZERTO_HOOK_GUARD_TIMEOUT", "2"),
    ];
    let outcome = hook_with(&world, &variables, &power_off());
    assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
    assert!(outcome.took.as_secs() < 2, "{:?}", outcome.took);
}

#[test]
fn the_originals_variables_count_for_nothing_beside_a_configuration_of_ours() {
    let hook_with = |world: &World, variables: &[(&str, &str)], event: &Value| {
        let mut command = world.command(HOLDPOINT);
        command.envs(variables.iter().copied());
        run(command, event.to_string().as_bytes())
    };
    let world = World::with_zvm(HEALTHY);
    // Also where that says nothing of the matter.
    assert_eq!(
        hook_with(&world, &[("ZERTO_HOOK_UNKNOWN", "allow")], &unlisted()).decision(),
        "ask"
    );
    world.configure(&format!(
        "deadline_seconds = 60\npolicy.unknown_tool = 'deny'\nlog.path = '{}'",
        world.path("own.log").display()
    ));
    world.write_private(
        "original.json",
        r#"{"zerto_url":"https://thief.invalid","username":"x","password":"x","verify_tls":false}"#,
    );
    let (file, log) = (world.path("original.json"), world.path("original.log"));
    let variables = [
        ("ZERTO_REWIND_CONFIG", file.to_str().unwrap()),
        ("ZERTO_HOOK_GUARD_TIMEOUT", "1"),
        ("ZERTO_HOOK_UNKNOWN", "allow"),
        ("ZERTO_HOOK_LOG", log.to_str().unwrap()),
    ];
    assert_eq!(hook_with(&world, &variables, &unlisted()).decision(), "deny");
    let outcome = hook_with(&world, &variables, &power_off());
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    world.assert_secret_kept(&outcome);
    assert!(!log.exists());
    assert_eq!(
        std::fs::read_to_string(world.path("own.log"))
            .unwrap()
            .lines()
            .count(),
        2
    );
}

fn layered(machine: &str, user: &str) -> Result<Config, String> {
    let world = World::without_zvm();
    world.write_private("machine.toml", machine);
    world.write_private("user.toml", user);
    let places = Places {
        machine: world.path("machine.toml"),
        user: Some((world.path("user.toml"), true)),
    };
    load(&places).map_err(|error| error.to_string())
}

#[test]
fn a_table_of_the_machines_file_replaces_the_users_whole() {
    let config = layered(
        "deadline_seconds = 20\n[zerto]\npin = 'sha256:0000000000000000000000000000000000000000000000000000000000000000'\n\
         [policy]\nunknown_tool = 'deny'",
        "deadline_seconds = 30\nlog.keep = 9\n[zerto]\nurl = 'https://user'\nverify = false\nsecret_env = 'X'\n\
         [policy]\ncatalogs = ['/own.toml']\nallow_widening = true\n[policy.machines]\nb = 'user'",
    )
    .unwrap();
    assert_eq!(config.deadline().as_secs(), 20);
    assert_eq!(config.log.keep(), 9);
    // What loosens a pin, a secret or a verdict stands in the same table as they do.
    assert!(config.zerto.verify() && config.zerto.fingerprint().is_some());
    assert_eq!((config.zerto.url, config.zerto.secret_env), (None, None));
    let settings: Value = serde_json::to_value(config.policy.settings()).unwrap();
    assert_eq!(settings, json!({ "unknown_tool": "deny" }));
}

#[test]
fn settings_that_contradict_one_another_are_refused() {
    let pin = "pin = 'sha256:0000000000000000000000000000000000000000000000000000000000000000'";
    for (lines, words) in [
        (format!("{pin}\nverify = false"), "leave one"),
        (format!("{pin}\nca_file = '/ca.pem'"), "leave one"),
        ("secret_env = 'X'\nsecret_file = '/x'".into(), "leave one"),
        ("pin = 'sha256 00'".into(), "64 hexadecimal digits"),
        ("url = 'http://zvm'".into(), "https://"),
    ] {
        let error = layered("", &format!("[zerto]\n{lines}")).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_error_names_the_file_that_it_is_in() {
    for (machine, user, file) in [
        ("no = 1", "", "machine.toml"),
        ("", "no = 1", "user.toml"),
        ("zerto.url = 1", "zerto.url = 'x'", "machine.toml"),
        ("zerto.url = 'x'", "zerto.url = 1", "user.toml"),
    ] {
        let error = layered(machine, user).unwrap_err();
        assert!(error.contains(file), "{error}");
    }
}

#[test]
fn without_any_file_the_defaults_hold() {
    let nowhere = Places {
        machine: "/nowhere/machine.toml".into(),
        user: Some(("/nowhere/user.toml".into(), false)),
    };
    let config = load(&nowhere).unwrap();
    assert_eq!(config.deadline().as_secs(), 330);
    assert_eq!(config.zerto.url, None);
    assert!(config.zerto.verify());
}
