//! `holdpoint policy check` and `inspect --run`.

use serde_json::Value;
use test_policies::named;

use crate::cases::Bench;

/// The probes that a policy fails.
fn failed(bench: &Bench, name: &str) -> Vec<String> {
    let policy = bench.policy(named(name));
    let outcome = bench.run(&["policy", "check", &policy, "--json"]);
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{name}: {outcome:?}"));
    let failed: Vec<String> = told["probes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|probe| probe["outcome"]["fail"].is_array())
        .map(|probe| probe["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        outcome.code,
        Some(i32::from(!failed.is_empty())),
        "{name}: {outcome:?}"
    );
    assert_eq!(told["passed"], failed.is_empty());
    failed
}

#[test]
fn the_shipped_policy_stands_every_probe() {
    let bench = Bench::new();
    let told = bench.done(&["policy", "check", "shipped"]);
    assert_eq!(
        told.lines().filter(|line| line.starts_with("pass ")).count(),
        12,
        "{told}"
    );
    assert!(!told.contains("n/a") && !told.contains("FAIL"), "{told}");
}

#[test]
fn every_hostile_policy_fails_the_right_probe() {
    let bench = Bench::new();
    for (name, probe) in [
        ("exports-nothing", "loads"),
        ("other-type", "loads"),
        ("other-version", "loads"),
        ("imports-nope", "loads"),
        ("traps", "plain-calls"),
        ("recurses", "plain-calls"),
        ("returns-much", "plain-calls"),
        ("returns-beyond", "plain-calls"),
        ("returns-no-utf8", "plain-calls"),
        ("notes-much", "plain-calls"),
        ("answers-nothing", "plain-calls"),
        ("sleeps", "plain-calls"),
        ("asks-for-nothing", "texts"),
        ("denies-for-nothing", "texts"),
        ("denies-in-escapes", "texts"),
        ("denies-at-length", "texts"),
        ("passes-with-tricks", "texts"),
    ] {
        let failed = failed(&bench, name);
        assert!(failed.contains(&probe.to_owned()), "{name}: {failed:?}");
    }
    for harmless in ["passes", "patch-version"] {
        assert!(failed(&bench, harmless).is_empty(), "{harmless}");
    }
}

#[test]
fn what_does_not_end_is_found_out_once() {
    let bench = Bench::new();
    for name in ["loops", "loops-at-start"] {
        assert_eq!(failed(&bench, name), ["plain-calls"], "{name}");
    }
}

#[test]
fn inspect_tells_what_one_decision_costs() {
    let bench = Bench::new();
    let policy = bench.policy(named("passes"));
    let outcome = bench.run(&["policy", "inspect", &policy, "--run", "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let run = &told["run"];
    assert!((1..1_000).contains(&run["fuel"].as_u64().unwrap()), "{run}");
    assert_eq!(
        (run["peak_memory"].as_u64(), run["host_calls"].as_u64()),
        (Some(64 * 65_536), Some(0))
    );
    let text = bench.run(&["policy", "inspect", &policy, "--run"]).stdout;
    assert!(
        text.contains("a call of an unknown tool: pass (0 host calls)"),
        "{text}"
    );
}

#[test]
fn what_is_not_signed_yet_is_tried_without_what_is_required() {
    let bench = Bench::new();
    let policy = bench.policy(named("passes"));
    let case = "event.tool_name = 'Bash'\nevent.tool_input.command = 'ls'\nexpect.verdict = 'pass'\n";
    let case = bench.write("cases/one.toml", case);
    let records = bench.write("records.jsonl", "");
    for rule in ["required", "not-required"] {
        bench.world.configure_bare(&format!(
            "policy.signature = '{rule}'\npolicy.require = {{ name = 'guard', version = '1.4.0' }}\n"
        ));
        for arguments in [
            &["test", &policy, &case][..],
            &["replay", &policy, &records],
            &["policy", "check", &policy],
            &["policy", "inspect", &policy, "--run"],
        ] {
            let outcome = bench.run(arguments);
            assert_eq!(outcome.code, Some(0), "{arguments:?}: {outcome:?}");
            assert!(outcome.stderr.contains("without policy.require"), "{outcome:?}");
        }
    }
}
