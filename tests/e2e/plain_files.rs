//! Whatever lies in a file's place (a pipe, a device, a file of the kernel's, a folder, 3 GiB of nothing), no command waits
//! for it or reads it whole, and each says what it is.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::config::odd;
use crate::installation::Installed;
use crate::process::{asked, make_pipe, read_only};
use crate::support::{Outcome, World, assert_asks, run};

/// What a command comes to; one that has not ended after a while is ended, with code 124.
fn ended(world: &World, program: &Path, arguments: &[&str]) -> Outcome {
    let mut command = world.command("/usr/bin/timeout");
    command.arg("20").arg(program).args(arguments);
    run(command, b"")
}

/// Puts a link to a path where a file is expected.
fn in_its_place(path: &Path, target: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(target, path).unwrap();
}

/// A command whose file is `{}`, and which of the odd things it takes differently: folders, or what is very large.
struct Reader {
    arguments: &'static str,
    takes_folders: bool,
    reads_piecewise: bool,
}

const fn whole(arguments: &'static str) -> Reader {
    Reader {
        arguments,
        takes_folders: false,
        reads_piecewise: false,
    }
}

#[test]
fn files_that_a_command_line_names_are_neither_waited_for_nor_read_whole() {
    let readers = [
        Reader {
            reads_piecewise: true,
            ..whole("policy verify {}")
        },
        whole("policy verify x.wasm --key {}"),
        whole("policy keygen new.pem --passphrase-file {}"),
        whole("policy sign x.wasm --key {} --name x --version 1.0.0 --out y.wasm"),
        whole("policy check shipped --call {}"),
        whole("policy pack shipped --catalog catalogs --out y.wasm"),
        whole("policy pull file://{}"),
        whole("test shipped event.toml"),
        whole("test shipped catalog.toml"),
        whole("test shipped golden.toml"),
        Reader {
            takes_folders: true,
            ..whole("test shipped {}")
        },
        Reader {
            takes_folders: true,
            reads_piecewise: true,
            ..whole("replay shipped {}")
        },
        Reader {
            takes_folders: true,
            reads_piecewise: true,
            ..whole("receipts verify {}")
        },
        whole("receipts verify --keys {}"),
        whole("receipts serve --listen 127.0.0.1:0 --token-file {}"),
    ];
    for number in 0..8 {
        let world = World::without_zvm();
        let (path, words) = odd(&world).swap_remove(number);
        let program = world.with_compiler(HOLDPOINT);
        world.configure("receipts.mode = 'audit'");
        let folder = world.path("project");
        in_its_place(&folder.join("catalogs/odd.toml"), &path);
        in_its_place(&folder.join("golden.golden"), &path);
        let event = "tool_name = 'mcp__esxi__listVMs'";
        let case = |name: &str, text: &str| {
            fs::write(folder.join(name), format!("expect.verdict = 'pass'\n{text}\n")).unwrap();
        };
        case("event.toml", &format!("event = '{}'", path.display()));
        case(
            "catalog.toml",
            &format!("catalogs = ['{}']\n[event]\n{event}", path.display()),
        );
        case("golden.toml", &format!("event = {{ {event} }}"));
        fs::write(folder.join("x.wasm"), "").unwrap();
        for reader in &readers {
            if (path == folder && reader.takes_folders) || (words == "larger than" && reader.reads_piecewise)
            {
                continue;
            }
            let at = format!("{}: {}", path.display(), reader.arguments);
            let line = reader.arguments.replace("{}", path.to_str().unwrap());
            let outcome = ended(&world, &program, &line.split(' ').collect::<Vec<_>>());
            assert_eq!(outcome.code, Some(3), "{at}: {outcome:?}");
            // What this user may not open at all is told in the system's words.
            let is_denied = words == "cannot be read";
            assert!(is_denied || outcome.stderr.contains(words), "{at}: {outcome:?}");
            assert!(outcome.took < Duration::from_secs(10), "{at}: {:?}", outcome.took);
        }
    }
}

#[test]
fn a_harnesss_files_hold_neither_the_doctor_nor_init_up() {
    for number in 0..8 {
        let mut installed = Installed::new();
        let (path, words) = odd(&installed.world).swap_remove(number);
        let home = installed.world.path("home");
        let is_told = |text: &str| words == "cannot be read" || text.contains(words);
        // Our entries stand in the user's file; the others may hold a switch that turns them off.
        installed.settings["enabledPlugins"] = json!({ "x@shop": true });
        installed.write_settings();
        in_its_place(&installed.world.path("project/.claude/settings.json"), &path);
        in_its_place(&home.join(".claude/plugins/installed_plugins.json"), &path);
        in_its_place(
            &home.join(".claude/plugins/cache/shop/x/1/hooks/hooks.json"),
            &path,
        );
        in_its_place(&home.join(".codex/config.toml"), &path);
        let report = installed.doctor(&["--offline"]);
        for file in ["project/.claude/settings.json", "hooks/hooks.json"] {
            let finding = report.trouble("settings.unreadable", file);
            let finding = finding.unwrap_or_else(|| panic!("{file} {path:?}: {:#}", report.value));
            assert!(is_told(&finding.to_string()), "{path:?}: {finding:#}");
        }
        fs::remove_file(installed.settings_path()).unwrap();
        in_its_place(&installed.settings_path(), &path);
        let lost = installed.doctor(&["--offline"]);
        assert!(
            lost.trouble("settings.unreadable", "home/.claude/settings.json")
                .is_some(),
            "{:#}",
            lost.value
        );
        let config = installed.world.path("config.toml").display().to_string();
        let url = installed.world.sim.as_ref().unwrap().url();
        let outcome = ended(
            &installed.world,
            Path::new(HOLDPOINT),
            &[
                "init",
                "--level",
                "user",
                "--config",
                &config,
                "--url",
                &url,
                "--username",
                "admin",
            ],
        );
        assert_eq!(outcome.code, Some(3), "{path:?}: {outcome:?}");
        assert!(
            outcome.stderr.contains("home/.claude/settings.json") && is_told(&outcome.stderr),
            "{path:?}: {outcome:?}"
        );
    }
}

#[test]
fn a_log_that_is_not_a_regular_file_is_told_and_the_decision_stands() {
    for number in 0..7 {
        let world = World::without_zvm();
        let (path, words) = odd(&world).swap_remove(number);
        // What this user may not open at all is told in the system's words.
        let is_denied = words == "cannot be read" || path.starts_with("/proc");
        let words = if is_denied { "cannot be written" } else { words };
        world.configure(&format!("deadline_seconds = 5\nlog.path = '{}'", path.display()));
        for (event, decision) in [(read_only(), "silence"), (asked(), "ask")] {
            let outcome = world.hook(HOLDPOINT, &event);
            assert_eq!(
                (outcome.decision().as_str(), outcome.code),
                (decision, Some(0)),
                "{path:?}: {outcome:?}"
            );
            assert!(
                outcome.stderr.starts_with("holdpoint: the decision log ") && outcome.stderr.contains(words),
                "{path:?}: {outcome:?}"
            );
            assert!(outcome.took < Duration::from_secs(4), "{path:?}: {outcome:?}");
        }
        let looked = ended(&world, Path::new(HOLDPOINT), &["policy", "shadow"]);
        assert_eq!(looked.code, Some(3), "{path:?}: {looked:?}");
    }
}

#[test]
fn a_log_that_cannot_be_renamed_is_written_and_told_and_waited_for_shortly() {
    let full = |world: &World| {
        world.configure(&format!(
            "log.largest_bytes = 1\nlog.path = '{}'",
            world.path("log").display()
        ));
        world.path("log.lock")
    };
    let hook = |world: &World, words: &str| {
        let outcome = world.hook(HOLDPOINT, &asked());
        assert_eq!((outcome.decision().as_str(), outcome.code), ("ask", Some(0)));
        assert!(outcome.stderr.contains(words), "{outcome:?}");
        assert!(outcome.took < Duration::from_secs(5), "{outcome:?}");
        fs::read_to_string(world.path("log")).unwrap().lines().count()
    };
    // Another process has stopped while it had the lock.
    let world = World::without_zvm();
    let lock = File::create(full(&world)).unwrap();
    lock.lock().unwrap();
    for lines in 1..3 {
        assert_eq!(hook(&world, "another process keeps it locked"), lines);
    }
    drop(lock);
    assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
    assert!(!world.path("log").exists() && world.path("log.1").exists());
    // Something else lies in the lock's place.
    type Obstacle = fn(&World);
    let obstacles: [(Obstacle, &str); 3] = [
        (|world| make_pipe(world, "log.lock"), "it is a pipe"),
        (
            |world| fs::create_dir(world.path("log.lock")).unwrap(),
            "it is a folder",
        ),
        (
            |world| symlink(world.path("elsewhere"), world.path("log.lock")).unwrap(),
            "it is a link",
        ),
    ];
    for (obstacle, words) in obstacles {
        let world = World::without_zvm();
        full(&world);
        obstacle(&world);
        assert_eq!(hook(&world, words), 1);
        assert!(!world.path("elsewhere").exists());
    }
}

#[test]
fn the_null_device_is_a_log_that_keeps_nothing() {
    let world = World::without_zvm();
    world.configure("log.path = '/dev/null'");
    assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
}

/// What an operator's installation says of a log that cannot be one.
#[test]
fn the_doctor_says_what_lies_in_the_logs_place() {
    let installed = Installed::new();
    installed.write_settings();
    make_pipe(&installed.world, "log");
    let log = installed.world.path("log").display().to_string();
    installed.world.configure(&format!("log.path = '{log}'"));
    let report = installed.doctor(&["--offline"]);
    let finding: Option<&Value> = report.trouble("log", "it is a pipe, and only a regular file is written");
    assert!(finding.is_some(), "{:#}", report.value);
}
