//! What somebody found who tried to get calls past the guard, or to have its log say what is not so: each the shortest way
//! to see it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::managed::with_an_empty_etc;
use crate::process::{Running, asked, full_pipe, redirected};
use crate::support::{Outcome, World, assert_blocks, assert_denies, assert_silent, before, run};

fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn power_off() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

fn with_id(mut event: Value, id: &str) -> Value {
    event["tool_use_id"] = id.into();
    event
}

fn ended(event: &Value) -> Value {
    let mut event = event.clone();
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!([{ "type": "text", "text": "done" }]);
    event
}

fn log_path(world: &World) -> PathBuf {
    world.path("home/.local/state/holdpoint/decisions.log")
}

/// The lines of the log that can be read.
fn readable(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(log_path(world)).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn deviations(world: &World) -> Vec<Value> {
    let lines = readable(world).into_iter();
    lines
        .map(|line| line["deviation"]["kinds"].clone())
        .filter(|kinds| !kinds.is_null())
        .collect()
}

/// The hook where nobody names a configuration.
fn unnamed(world: &World, event: &Value) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.arg("hook").env_remove("HOLDPOINT_CONFIG");
    run(command, event.to_string().as_bytes())
}

#[test]
fn a_configuration_behind_a_link_that_leads_nowhere_denies() {
    let world = World::without_zvm();
    let config = world.path("home/.config");
    fs::create_dir_all(&config).unwrap();
    assert_silent(&unnamed(&world, &read_only()));
    // The folder is the link.
    symlink(world.path("gone"), config.join("holdpoint")).unwrap();
    assert_denies(&unnamed(&world, &read_only()), "leads nowhere");
    // It leads somewhere, and there is no file.
    fs::create_dir(world.path("gone")).unwrap();
    assert_silent(&unnamed(&world, &read_only()));
    // The file is the link.
    symlink("/nowhere/config.toml", world.path("gone/config.toml")).unwrap();
    assert_denies(&unnamed(&world, &read_only()), "leads nowhere");
}

#[ignore = "needs root"]
#[test]
fn a_machines_configuration_behind_a_link_that_leads_nowhere_denies() {
    let world = World::without_zvm();
    world.write_private("call", &read_only().to_string());
    let call = world.path("call").display().to_string();
    let script = format!(
        "hook() {{ code=0; /usr/local/bin/holdpoint hook < {call} > /dev/stderr 2>&1 || code=$?; echo $code; }}\n\
         hook; ln -s /nowhere /etc/holdpoint; hook; rm /etc/holdpoint\n\
         mkdir /etc/holdpoint; ln -s /nowhere /etc/holdpoint/config.toml; hook"
    );
    let outcome = with_an_empty_etc(&world, &script);
    let codes: Vec<_> = outcome.stdout.lines().collect();
    assert_eq!(codes, ["0", "2", "2"], "{outcome:?}");
}

#[test]
fn a_store_or_a_tally_behind_a_link_that_leads_nowhere_denies() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]");
    let below = |folder: &str| world.path(folder).join("below").display().to_string();
    for (key, more) in [
        ("policy.store", ""),
        ("session.directory", "policy.session_ask_level = 1"),
    ] {
        world.configure(&format!("{key} = '{}'\n{more}", below("not-there")));
        assert_eq!(world.hook(HOLDPOINT, &power_off()).decision(), "context", "{key}");
        let _ = symlink("/nowhere", world.path("link"));
        world.configure(&format!("{key} = '{}'\n{more}", below("link")));
        assert_denies(&world.hook(HOLDPOINT, &power_off()), "");
    }
}

#[test]
fn an_ask_into_a_device_that_nobody_reads_blocks() {
    for device in ["/dev/zero", "/dev/urandom", "/dev/ptmx"] {
        let world = World::without_zvm();
        let outcome = redirected(&world, &format!("1<>{device}"), &asked());
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(2)), "{device}");
        assert!(outcome.stderr.contains("leads nowhere"), "{device}: {outcome:?}");
        assert_eq!(world.log().pop().unwrap()["fault"], "answer", "{device}");
        assert_silent(&redirected(&world, &format!("1<>{device}"), &read_only()));
    }
}

/// A decision of the session, then one that gets lost in this way, then the end of its call.
fn claims(lines: &str, lose: impl FnOnce(&World, &Value)) -> Vec<Value> {
    let world = World::without_zvm();
    world.configure(lines);
    assert_silent(&world.hook(HOLDPOINT, &with_id(read_only(), "toolu_earlier")));
    let lost = with_id(read_only(), "toolu_lost");
    lose(&world, &lost);
    assert_silent(&world.hook(HOLDPOINT, &ended(&lost)));
    deviations(&world)
}

#[test]
fn nothing_is_claimed_of_a_call_whose_decision_may_have_been_lost() {
    let decide = |world: &World, call: &Value| assert_silent(&world.hook(HOLDPOINT, call));
    // Where nothing can have been lost, it is.
    assert_eq!(claims("", |_, _| ()), [json!(["undecided"])]);
    assert_eq!(claims("log.keep = 0", |_, _| ()), [] as [Value; 0]);

    let moved_away = claims("", |world, lost| {
        decide(world, lost);
        let log = log_path(world);
        fs::rename(&log, log.with_extension("log-20261201")).unwrap();
        decide(world, &with_id(read_only(), "toolu_later"));
    });
    assert_eq!(moved_away, [] as [Value; 0]);

    let removed = claims("", |world, lost| {
        decide(world, lost);
        fs::remove_file(log_path(world)).unwrap();
    });
    assert_eq!(removed, [] as [Value; 0]);

    let dropped = claims("log.keep = 1", |world, lost| {
        decide(world, lost);
        let log = log_path(world);
        fs::remove_file(&log).unwrap();
        decide(world, &with_id(read_only(), "toolu_later"));
        fs::copy(&log, log.with_extension("log.1")).unwrap();
    });
    assert_eq!(dropped, [] as [Value; 0]);

    let torn = claims("", |world, _| {
        let mut log = fs::File::options().append(true).open(log_path(world)).unwrap();
        log.write_all(b"{\"at\":\"2026-12-01T06:00:00.000Z\",\"ses")
            .unwrap();
    });
    assert_eq!(torn, [] as [Value; 0]);

    let not_written = claims("", |world, lost| {
        let log = log_path(world);
        let aside = world.path("aside");
        fs::rename(&log, &aside).unwrap();
        symlink("/nowhere/log", &log).unwrap();
        let outcome = world.hook(HOLDPOINT, lost);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stderr.contains("cannot be written"), "{outcome:?}");
        fs::remove_file(&log).unwrap();
        fs::rename(&aside, &log).unwrap();
    });
    assert_eq!(not_written, [] as [Value; 0]);
}

#[test]
fn a_torn_line_does_not_swallow_the_next_decision() {
    let world = World::without_zvm();
    assert_silent(&world.hook(HOLDPOINT, &read_only()));
    let tear = || {
        let log = log_path(&world);
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, format!("{text}{{\"at\":\"20")).unwrap();
    };
    tear();
    assert_silent(&world.hook(HOLDPOINT, &with_id(read_only(), "toolu_next")));
    assert_eq!(readable(&world).pop().unwrap()["call"], "toolu_next");
    // The watchdog's own line, too.
    tear();
    assert_blocks(
        &Running::start(&world).reading().signal(Signal::TERM).end(),
        "ended by a signal",
    );
    let lines = readable(&world);
    assert_eq!(
        (lines.len(), &lines[2]["fault"]),
        (3, &json!("host")),
        "{lines:?}"
    );
}

#[test]
fn a_call_that_is_blocked_after_its_line_was_written_has_another_line() {
    let world = World::without_zvm();
    let (reader, writer) = full_pipe();
    let mut command = world.command(HOLDPOINT);
    command.arg("hook").stdout(writer);
    let mut running = Running::from(command);
    running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while readable(&world).is_empty() {
        assert!(Instant::now() < until, "no line");
        std::thread::sleep(Duration::from_millis(2));
    }
    let outcome = running.signal(Signal::TERM).end();
    drop(reader);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let told: Vec<_> = readable(&world)
        .into_iter()
        .map(|line| {
            (
                line["verdict"].clone(),
                line["fault"].clone(),
                line["call"].clone(),
            )
        })
        .collect();
    let call = asked()["tool_use_id"].clone();
    assert_eq!(
        told,
        [
            (json!("ask"), Value::Null, call.clone()),
            (json!("deny"), json!("host"), call)
        ]
    );
}

fn records(world: &World) -> Vec<Value> {
    world.settle();
    let files = fs::read_dir(world.path("home/.local/state/holdpoint/records"));
    let texts = files
        .into_iter()
        .flatten()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    texts
        .flat_map(|text| {
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect::<Vec<Value>>()
        })
        .collect()
}

#[test]
fn whenever_a_signal_comes_log_and_record_say_what_became_of_the_call() {
    let world = World::without_zvm();
    world.configure("record.enabled = true");
    let mut blocked = 0;
    for step in 0..60 {
        let event = with_id(read_only(), &format!("toolu_{step}"));
        let before = readable(&world).len();
        let running = Running::with(&world, &event);
        std::thread::sleep(Duration::from_micros(500 * step));
        let outcome = running.signal(Signal::TERM).end();
        // Before its handlers are in place nothing can answer.
        let Some(code) = outcome.code else { continue };
        let lines = readable(&world);
        let last = lines.iter().skip(before).last();
        match code {
            0 => assert_eq!(last.unwrap()["verdict"], "pass", "{step}"),
            // Before the configuration is read it is not known where the log is, and there is no line.
            2 => assert!(
                last.is_none_or(|line| line["verdict"] == "deny"),
                "{step}: {last:?}"
            ),
            other => panic!("{step}: {other}"),
        }
        blocked += usize::from(code == 2);
        for record in records(&world) {
            if record["call"]["call_id"] == event["tool_use_id"] {
                let answered = ["pass", "deny"][usize::from(code == 2)];
                assert_eq!(record["answered"], answered, "{step}: {record}");
            }
        }
    }
    assert!((1..60).contains(&blocked), "{blocked}");
}

#[test]
fn each_deviation_is_told_in_words_that_are_true_of_it() {
    let told = |outcome: &Outcome| outcome.text();
    let world = World::without_zvm();
    assert_denies(&world.hook(HOLDPOINT, &power_off()), "zerto.url");
    let denied = told(&world.hook(HOLDPOINT, &ended(&power_off())));
    assert!(
        denied.contains("Holdpoint denied it, and it ran all the same"),
        "{denied}"
    );
    assert!(!denied.contains("Something changed the call"), "{denied}");

    let world = World::without_zvm();
    let mut twice = with_id(asked(), "toolu_twice");
    world.hook(HOLDPOINT, &twice);
    world.configure("policy.unknown_tool = 'pass'");
    world.hook(HOLDPOINT, &twice);
    let text = told(&world.hook(HOLDPOINT, &ended(&twice)));
    assert!(text.contains("asked about it more than once"), "{text}");
    assert!(!text.contains("Something changed the call"), "{text}");

    twice["tool_use_id"] = "toolu_changed".into();
    world.hook(HOLDPOINT, &twice);
    twice["tool_input"] = json!({ "other": 1 });
    let text = told(&world.hook(HOLDPOINT, &ended(&twice)));
    assert!(text.contains("Something changed the call"), "{text}");
    assert!(!text.contains("Holdpoint denied it"), "{text}");
}

/// Every file below a folder, with its text.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(texts(&path)),
            false => found.push((
                path.clone(),
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into(),
            )),
        }
    }
    found
}

#[test]
fn a_secret_in_the_wrong_place_is_told_nowhere() {
    const SECRET: &str = "/hunter2-Zw9";
    let scenario = "[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";
    for (line, key) in [
        (format!("zerto.login = '{SECRET}'"), "has to be password"),
        (format!("zerto.secret_env = '{SECRET}'"), "zerto.secret_env"),
        (
            format!("zerto.secret_command = ['{SECRET}', '{SECRET}']"),
            "zerto.secret_command",
        ),
    ] {
        let world = World::with_zvm(scenario);
        let sim = world.sim.as_ref().unwrap();
        world.configure_bare(&format!(
            "zerto.url = '{}'\nzerto.username = 'admin'\nzerto.ca_file = '{}'\n{line}\n",
            sim.url(),
            world.path("ca.pem").display()
        ));
        for event in [power_off(), ended(&power_off())] {
            let outcome = world.hook(HOLDPOINT, &event);
            if event["hook_event_name"] == "PreToolUse" {
                assert_denies(&outcome, key);
            }
            assert!(!format!("{outcome:?}").contains("hunter2"), "{outcome:?}");
        }
        for arguments in [&["doctor", "--json"][..], &["status"]] {
            let mut command = world.command(HOLDPOINT);
            command.args(arguments);
            let outcome = run(command, b"");
            assert!(
                !format!("{outcome:?}").contains("hunter2"),
                "{arguments:?}: {outcome:?}"
            );
        }
        for (path, text) in texts(&world.path("home")) {
            assert!(!text.contains("hunter2"), "{path:?}");
        }
    }
}

#[test]
fn an_alarm_that_somebody_sends_is_told_as_a_signal() {
    let world = World::without_zvm();
    let outcome = Running::start(&world).reading().signal(Signal::ALARM).end();
    assert_blocks(&outcome, "ended by a signal");
    assert!(outcome.took < Duration::from_secs(60), "{outcome:?}");
    assert_eq!(world.logged()["fault"], "host");
}

#[test]
fn an_event_without_a_name_or_with_another_harnesss_is_blocked() {
    let world = World::without_zvm();
    let named = |name: &str| {
        let mut event = read_only();
        event["hook_event_name"] = name.into();
        event
    };
    for name in ["", "  "] {
        assert_blocks(&world.hook(HOLDPOINT, &named(name)), "names no hook_event_name");
    }
    for name in ["pre_tool_use", "before_tool_call", "tool.execute.before"] {
        assert_blocks(&world.hook(HOLDPOINT, &named(name)), "comes from another harness");
    }
    assert_silent(&world.hook(HOLDPOINT, &named("Stop")));
}

#[test]
fn a_call_by_another_harnesss_way_to_a_server_is_blocked_whatever_it_is_called() {
    let world = World::without_zvm();
    world.configure("policy.unknown_tool = 'pass'");
    let mut event = before("powerOff", json!({ "name": "jp-ubuntu" }));
    assert_silent(&world.hook(HOLDPOINT, &event));
    event["mcp_context"] = json!({ "server_name": "esxi", "tool_name": "powerOff" });
    assert_blocks(&world.hook(HOLDPOINT, &event), "comes from Gemini CLI");
    for tool in ["use_mcp_tool", "call_mcp_tool", "CallMcpTool"] {
        let event = before(tool, json!({ "server_name": "esxi", "tool_name": "powerOff" }));
        assert_blocks(&world.hook(HOLDPOINT, &event), "comes from another harness");
        let mut event = event;
        event["timestamp"] = "2026-11-30T23:17:42.444Z".into();
        assert_blocks(&world.hook(HOLDPOINT, &event), "tool of an MCP server");
    }
    let lines = world.log();
    assert!(
        lines
            .iter()
            .skip(1)
            .all(|line| line["fault"] == "harness" && line["verdict"] == "deny"),
        "{lines:?}"
    );
}

#[test]
fn a_stack_that_is_too_small_blocks() {
    let world = World::without_zvm();
    for kilobytes in [16, 20, 24, 32, 48, 64, 96] {
        let mut command = world.command("/bin/sh");
        command.args([
            "-c",
            &format!("ulimit -s {kilobytes} && exec \"$0\" hook"),
            HOLDPOINT,
        ]);
        let outcome = run(command, asked().to_string().as_bytes());
        match outcome.code {
            Some(0) => assert_eq!(outcome.decision(), "ask", "{kilobytes}: {outcome:?}"),
            Some(2) => assert!(!outcome.stderr.is_empty(), "{kilobytes}: {outcome:?}"),
            _ => panic!("{kilobytes}: {outcome:?}"),
        }
    }
}
