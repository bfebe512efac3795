//! The shadow: a candidate that looks on, and changes nothing.

use std::time::Duration;

use holdpoint_runtime::policy::built;
use serde_json::{Value, json};
use test_policies::named;

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_asks, assert_denies, assert_silent, before, chmod, run};

/// The shipped policy, as its build left it, with its code.
const SHIPPED: &str = built::COMPONENT;

/// Puts a candidate into a world, with these lines in its configuration.
fn shadow(world: &World, component: &[u8], compiled: &[u8], lines: &str) {
    for (name, bytes) in [("shadow.wasm", component), ("shadow.cwasm", compiled)] {
        std::fs::write(world.path(name), bytes).unwrap();
        chmod(&world.path(name), 0o600);
    }
    world.configure(&format!(
        "{lines}\n[policy]\nsignature = 'not-required'\nshadow = '{}'\nshadow_share = 0.5\n",
        world.path("shadow.wasm").display()
    ));
}

fn asked() -> Value {
    before("mcp__nobody__knows", json!({}))
}

fn denied() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

fn silent() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

#[test]
fn a_fault_of_the_shadow_never_touches_the_verdict() {
    for name in [
        "traps",
        "recurses",
        "loops",
        "loops-at-start",
        "grows",
        "grows-many",
        "hoards-memories",
        "hoards-tables",
        "copies",
        "sleeps",
        "floods-the-log",
        "floods-the-record",
        "returns-much",
        "notes-much",
        "exports-nothing",
        "imports-nope",
        "other-type",
    ] {
        let world = World::without_zvm();
        let policy = named(name);
        shadow(&world, policy.component, policy.compiled, "deadline_seconds = 2");
        // One after the other, so that each decision's line stands before its shadow's.
        assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
        world.settle();
        assert_denies(&world.hook(HOLDPOINT, &denied()), "zerto.url");
        world.settle();
        let outcome = world.hook(HOLDPOINT, &silent());
        assert_silent(&outcome);
        assert!(
            outcome.took < Duration::from_secs(2),
            "{name}: {:?}",
            outcome.took
        );
        let log = world.log();
        assert_eq!(log.len(), 6, "{name}: {log:#?}");
        for (number, (verdict, line)) in ["ask", "deny", "pass"].iter().zip(log.chunks(2)).enumerate() {
            assert_eq!(line[0]["verdict"], *verdict, "{name} {number}");
            let told = &line[1]["shadow"];
            assert_eq!(
                (told["change"].as_str(), told["active"].as_str()),
                (Some("fault"), Some(*verdict)),
                "{name}: {told}"
            );
            assert!(
                line[1]["verdict"].is_null() && !told["why"].as_str().unwrap().is_empty(),
                "{name}: {told}"
            );
        }
    }
}

#[test]
fn the_shadow_gets_the_answers_of_the_policy_in_force_and_asks_the_zvm_nothing() {
    // Logging in and inserting a checkpoint; how often the journal is read depends on the machine.
    let posts = |world: &World| {
        let requests = world.sim.as_ref().unwrap().requests();
        requests.iter().filter(|seen| seen.method == "POST").count()
    };
    let world = World::with_zvm("[[vpgs]]");
    let read = |file| std::fs::read(file).unwrap();
    shadow(&world, &read(SHIPPED), &read(built::CODE), "");
    let outcome = world.hook(HOLDPOINT, &denied());
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    let told = &world.log()[1]["shadow"];
    assert_eq!(
        (told["change"].as_str(), told["candidate"].as_str()),
        (Some("same"), Some("pass")),
        "{told}"
    );
    assert_eq!(told["captures"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(posts(&world), 2);
}

fn summed(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.args(["policy", "shadow"]).args(arguments);
    run(command, b"")
}

#[test]
fn what_the_shadow_said_is_summed_up() {
    let world = World::without_zvm();
    let nothing = summed(&world, &[]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(
        nothing.stdout.contains("no shadow has said anything"),
        "{nothing:?}"
    );
    let policy = named("passes");
    shadow(
        &world,
        policy.component,
        policy.compiled,
        "log.largest_bytes = 900",
    );
    let named = world.path("shadow.wasm");
    let waits = format!("the shadow, {}, has seen no call yet\n", named.display());
    assert_eq!(summed(&world, &[]).stdout, waits);
    for event in [asked(), silent(), asked(), denied()] {
        world.hook(HOLDPOINT, &event);
    }
    // The log is read by the command, which does not wait for the shadow of the last call.
    world.settle();
    let told = summed(&world, &[]);
    assert!(
        told.stdout.contains("4 decisions: 1 same, 3 looser\n"),
        "{told:?}"
    );
    assert!(told.stdout.contains("mcp__nobody__knows: 2 looser\n"), "{told:?}");
    assert!(told.stdout.contains("pass and not deny"), "{told:?}");
    let told: Value = serde_json::from_str(&summed(&world, &["--json"]).stdout).unwrap();
    let (_, counts) = told["candidates"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (
            counts["all"]["looser"].as_u64(),
            told["last"].as_array().unwrap().len()
        ),
        (Some(3), 3)
    );
}

#[test]
fn a_shadow_that_cannot_be_named_so_is_a_fault_of_the_configuration() {
    let world = World::without_zvm();
    for (line, words) in [
        ("policy.shadow = 'guard.wasm'", "has to be a digest"),
        ("policy.shadow_share = 0.9", "shadow_share is 0.9"),
    ] {
        world.configure(line);
        assert_denies(&world.hook(HOLDPOINT, &silent()), words);
    }
}

#[test]
fn a_shadow_that_cannot_be_loaded_is_named_as_it_is_configured_and_doctor_says_why() {
    let world = World::without_zvm();
    let policy = named("passes");
    shadow(&world, policy.component, policy.compiled, "");
    let doctor = || {
        let mut command = world.command(HOLDPOINT);
        command.args(["doctor", "--offline", "--json"]);
        let told: Value = serde_json::from_str(&run(command, b"").stdout).unwrap();
        let findings = told["findings"].as_array().unwrap().clone();
        let mut of_shadow = findings.into_iter().filter(|one| one["check"] == "policy.shadow");
        of_shadow.next().unwrap()
    };
    assert_eq!(doctor()["severity"], "good");
    std::fs::remove_file(world.path("shadow.cwasm")).unwrap();
    let finding = doctor();
    assert_eq!(finding["severity"], "caution", "{finding}");
    let mend = finding["mend"].as_str().unwrap();
    assert!(mend.starts_with("holdpoint-compile "), "{finding}");
    world.hook(HOLDPOINT, &silent());
    let line = world.log().pop().unwrap();
    let path = world.path("shadow.wasm").display().to_string();
    assert_eq!(line["shadow"]["policy"], path.as_str(), "{line}");
}
