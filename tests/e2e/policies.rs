//! Policies that are hostile, broken or not what they claim: none of them lets a call through, none outlives the
//! deadline.

use std::time::Duration;

use holdpoint_engine::{COMPILED_FOOTER, COMPILED_MAGIC};
use serde_json::{Value, json};
use test_policies::{COMPILED_OTHERWISE, Policy, named};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, chmod};

/// A world whose policy is this one, with these lines in its configuration.
fn world(policy: Policy, lines: &str) -> World {
    let world = World::without_zvm();
    install(&world, policy.component, policy.compiled);
    configure(&world, lines);
    world
}

fn install(world: &World, component: &[u8], compiled: &[u8]) {
    for (name, bytes) in [("policy.wasm", component), ("policy.cwasm", compiled)] {
        std::fs::write(world.path(name), bytes).unwrap();
        chmod(&world.path(name), 0o600);
    }
}

fn configure(world: &World, lines: &str) {
    world.configure_bare(&format!(
        "deadline_seconds = 2\npolicy.signature = 'not-required'\npolicy.path = '{}'\n{lines}\n",
        world.path("policy.wasm").display()
    ));
}

/// A call that the shipped policy lets through in silence.
fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn judged(name: &str) -> (World, Outcome) {
    let world = world(named(name), "");
    let outcome = world.hook(HOLDPOINT, &read_only());
    (world, outcome)
}

#[track_caller]
fn assert_fault(world: &World, outcome: &Outcome, kind: &str, words: &str) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.code),
        ("deny", Some(2)),
        "{outcome:?}"
    );
    assert_eq!(outcome.stderr, format!("{}\n", outcome.text()));
    assert!(outcome.text().contains(words), "{}", outcome.text());
    let line = world.logged();
    assert_eq!(
        (line["verdict"].as_str(), line["fault"].as_str()),
        (Some("deny"), Some(kind)),
        "{line}"
    );
    assert!(outcome.took < Duration::from_secs(2), "{:?}", outcome.took);
}

#[test]
fn a_policy_that_lets_through_lets_through() {
    for name in ["passes", "patch-version"] {
        let (world, outcome) = judged(name);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code),
            ("", "", Some(0)),
            "{name}"
        );
        let line = world.logged();
        assert_eq!(line["verdict"], "pass");
        assert!(line["policy"].as_str().unwrap().contains("policy.wasm sha256:"));
    }
}

#[test]
fn a_policy_that_does_not_end_is_ended() {
    for name in [
        "loops",
        "loops-at-start",
        "copies",
        "grows",
        "floods-the-log",
        "floods-the-record",
        "sleeps",
    ] {
        let (world, outcome) = judged(name);
        assert_fault(&world, &outcome, "deadline", "");
    }
}

#[test]
fn a_policy_that_traps_is_a_fault() {
    for (name, words) in [
        ("traps", "unreachable"),
        ("recurses", "stack"),
        ("returns-much", "fail"),
        ("returns-beyond", "fail"),
        ("returns-no-utf8", "fail"),
        ("notes-much", "fail"),
        ("answers-nothing", "fail"),
    ] {
        let (world, outcome) = judged(name);
        assert_fault(&world, &outcome, "trap", words);
    }
}

#[test]
fn what_all_memories_and_tables_of_a_policy_have_together_is_limited() {
    for (name, kind, words) in [
        ("hoards-memories", "policy", "memory"),
        ("hoards-tables", "policy", "table"),
        ("grows-many", "trap", "unreachable"),
    ] {
        let (world, outcome) = judged(name);
        assert_fault(&world, &outcome, kind, words);
    }
}

#[test]
fn a_policy_in_a_folder_that_others_may_write_is_a_fault() {
    for name in ["policy.wasm", "policy.cwasm"] {
        let world = World::without_zvm();
        let policy = named("passes");
        std::fs::create_dir_all(world.path("open/inner")).unwrap();
        for (file, bytes) in [
            ("policy.wasm", policy.component),
            ("policy.cwasm", policy.compiled),
        ] {
            // The other one is reached by a link and lies where nobody else may write.
            let path = match file == name {
                true => world.path("open/inner").join(file),
                false => world.path(file),
            };
            std::fs::write(&path, bytes).unwrap();
            chmod(&path, 0o600);
        }
        std::os::unix::fs::symlink(world.path("open/inner").join(name), world.path(name)).unwrap();
        configure(&world, "");
        assert_eq!(
            world.hook(HOLDPOINT, &read_only()).decision(),
            "silence",
            "{name}"
        );
        for mode in [0o777, 0o775, 0o722] {
            chmod(&world.path("open"), mode);
            let outcome = world.hook(HOLDPOINT, &read_only());
            assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
            let command = format!("chmod go-w {}", world.path("open").display());
            assert!(outcome.text().contains(&command), "{}", outcome.text());
        }
        // As /tmp has it: others can add names, and not take ours away.
        chmod(&world.path("open"), 0o1777);
        assert_eq!(
            world.hook(HOLDPOINT, &read_only()).decision(),
            "silence",
            "{name}"
        );
    }
}

#[test]
fn a_component_that_does_not_fit_the_contract_is_a_fault() {
    for (name, words) in [
        ("exports-nothing", "holdpoint:policy/policy"),
        ("other-type", "case"),
        ("other-version", "holdpoint:policy 0.2.0"),
        ("imports-nope", "wasi:nope/nope"),
    ] {
        let (world, outcome) = judged(name);
        assert_fault(&world, &outcome, "policy", words);
    }
}

#[test]
fn a_policy_has_no_network_of_its_own() {
    let (world, outcome) = judged("connects");
    assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
    assert!(
        ["no socket is given", "no connection is made"].contains(&outcome.text().as_str()),
        "{outcome:?}"
    );
    assert_eq!(world.logged()["fault"], Value::Null);
}

#[test]
fn a_capability_that_is_not_granted_is_a_fault() {
    let asks_zerto = world(named("floods-the-record"), "policy.grants = ['log', 'deadline']");
    let outcome = asks_zerto.hook(HOLDPOINT, &read_only());
    assert_fault(
        &asks_zerto,
        &outcome,
        "policy",
        "holdpoint:policy/zerto@0.1.0, which is not granted",
    );

    let shipped = World::without_zvm();
    shipped.configure("policy.grants = []");
    let outcome = shipped.hook(HOLDPOINT, &read_only());
    assert_fault(&shipped, &outcome, "policy", "policy.grants does not list");

    let unknown = World::without_zvm();
    unknown.configure("policy.grants = ['zerto', 'shell']");
    let outcome = unknown.hook(HOLDPOINT, &read_only());
    assert_fault(&unknown, &outcome, "configuration", "no capability 'shell'");
}

/// As the harness counts: in UTF-16.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[test]
fn a_text_of_a_policy_is_made_safe_and_cut() {
    let (_, outcome) = judged("passes-with-tricks");
    assert_eq!((outcome.decision().as_str(), outcome.code), ("context", Some(0)));
    let text = outcome.text();
    assert!(text.contains("]0;title") && text.ends_with("\\u001bl"), "{text}");
    assert!(
        !text.chars().any(|letter| letter.is_control() && letter != '\n'),
        "{text:?}"
    );
    for hidden in ['\u{202e}', '\u{2028}', '\u{feff}', '\u{e0041}'] {
        assert!(!text.contains(hidden), "{text:?}");
    }

    for name in ["denies-at-length", "denies-in-escapes"] {
        let (_, outcome) = judged(name);
        assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
        let text = outcome.text();
        assert!(
            (1_000..10_000).contains(&length(&text)),
            "{name}: {}",
            length(&text)
        );
        assert_eq!(outcome.stderr, format!("{text}\n"));
    }
}

#[test]
fn a_verdict_without_a_reason_gets_one() {
    for (name, decision, code) in [("asks-for-nothing", "ask", 0), ("denies-for-nothing", "deny", 2)] {
        let (_, outcome) = judged(name);
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            (decision, Some(code))
        );
        assert!(outcome.text().contains("no reason"), "{outcome:?}");
    }
}

#[test]
fn a_flood_of_a_policy_leaves_one_short_line() {
    for name in ["floods-the-log", "floods-the-record"] {
        let (world, _) = judged(name);
        let line = world.logged().to_string();
        assert!(line.len() < 64 * 1024, "{name}: {}", line.len());
    }
}

#[test]
fn code_that_is_not_the_components_own_is_a_fault() {
    let passes = named("passes");
    let (code, footer) = passes.compiled.split_at(passes.compiled.len() - COMPILED_FOOTER);
    let garbage = [&[0x5a; 5_000], footer].concat();
    let cut = [&code[..code.len() / 2], footer].concat();
    let mut flipped = passes.compiled.to_vec();
    flipped[160] ^= 0xff;
    let other_magic = [code, b"hpcwasm9", &footer[COMPILED_MAGIC.len()..]].concat();
    let cases: &[(&str, &[u8], &[u8], &str)] = &[
        (
            "of another",
            passes.component,
            named("traps").compiled,
            "no compiled code of its own",
        ),
        ("empty", passes.component, b"", "no compiled code of its own"),
        (
            "only the magic",
            passes.component,
            &footer[..8],
            "no compiled code of its own",
        ),
        ("only the end", passes.component, footer, "not for this host"),
        (
            "without its last byte",
            passes.component,
            &passes.compiled[..passes.compiled.len() - 1],
            "no compiled code of its own",
        ),
        (
            "another format",
            passes.component,
            &other_magic,
            "no compiled code of its own",
        ),
        (
            "a changed component",
            named("traps").component,
            passes.compiled,
            "no compiled code of its own",
        ),
        ("an empty component", b"", passes.compiled, "not WebAssembly"),
        ("cut", passes.component, &cut, "not for this host"),
        ("garbage", passes.component, &garbage, "not for this host"),
        (
            "a changed header",
            passes.component,
            &flipped,
            "not for this host",
        ),
        (
            "of other settings",
            passes.component,
            COMPILED_OTHERWISE,
            "not for this host",
        ),
    ];
    for (what, component, compiled, words) in cases {
        let world = world(passes, "");
        install(&world, component, compiled);
        let outcome = world.hook(HOLDPOINT, &read_only());
        println!("{what}: {}", outcome.stderr);
        assert_fault(&world, &outcome, "policy", words);
    }
}

#[test]
fn a_policy_that_is_not_there_is_a_fault_and_not_the_shipped_one() {
    let world = world(named("passes"), "");
    std::fs::remove_file(world.path("policy.cwasm")).unwrap();
    let outcome = world.hook(HOLDPOINT, &read_only());
    assert_fault(&world, &outcome, "policy", "holdpoint-compile");

    let world = self::world(named("passes"), "");
    std::fs::remove_file(world.path("policy.wasm")).unwrap();
    let outcome = world.hook(HOLDPOINT, &read_only());
    assert_fault(&world, &outcome, "policy", "cannot be read");

    let world = self::world(named("passes"), "");
    std::fs::remove_file(world.path("policy.wasm")).unwrap();
    std::fs::create_dir(world.path("policy.wasm")).unwrap();
    let outcome = world.hook(HOLDPOINT, &read_only());
    assert_fault(&world, &outcome, "policy", "cannot be read");
}

#[test]
fn a_policy_that_others_could_have_written_is_a_fault() {
    for name in ["policy.wasm", "policy.cwasm"] {
        for mode in [0o666, 0o620, 0o602] {
            let world = world(named("passes"), "");
            chmod(&world.path(name), mode);
            let outcome = world.hook(HOLDPOINT, &read_only());
            assert_fault(&world, &outcome, "policy", "chmod go-w");
        }
    }
}

#[test]
fn a_relative_path_to_a_policy_is_a_fault() {
    let world = world(named("passes"), "");
    std::fs::copy(world.path("policy.wasm"), world.path("project/policy.wasm")).unwrap();
    std::fs::copy(world.path("policy.cwasm"), world.path("project/policy.cwasm")).unwrap();
    world.configure_bare("policy.path = 'policy.wasm'");
    let outcome = world.hook(HOLDPOINT, &read_only());
    assert_fault(&world, &outcome, "configuration", "has to begin with '/'");
}
