//! The same contract in other languages: a small policy in Rust, Python and JavaScript passes the same cases, the same
//! probes and the same gate; and a crate that `policy new` wrote builds and passes its own case.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::cases::Bench;
use crate::house::{House, assert_built, with_real_compiler};
use crate::support::before;

const LANGUAGES: [&str; 3] = ["rust", "python", "javascript"];
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests/cases");

/// What a trial of a policy prints, all of which went well. That the policy is not signed is said on standard error.
#[track_caller]
fn tried(bench: &Bench, arguments: &[&str]) -> String {
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    outcome.stdout
}

/// Where `tests/guests/build` puts what it makes.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests")
}

/// The small policy in one language.
fn guest(language: &str) -> String {
    let file = folder().join(language).with_extension("wasm");
    assert_built(&file, "tests/guests/build");
    file.to_str().unwrap().to_owned()
}

/// In one bench, so that each policy is compiled once.
#[ignore = "needs what tests/guests/build makes"]
#[test]
fn the_same_cases_and_every_probe_hold_for_a_policy_in_any_language() {
    let bench = Bench::new();
    with_real_compiler(&bench.world);
    let count = |told: &str| -> usize {
        serde_json::from_str::<Value>(told).unwrap()["cases"]
            .as_array()
            .unwrap()
            .len()
    };
    let shipped = count(&tried(&bench, &["test", "shipped", CASES, "--json"]));
    assert!(shipped >= 15, "{shipped}");
    for policy in LANGUAGES.map(guest) {
        let told = tried(&bench, &["test", &policy, CASES, "--json"]);
        assert_eq!(count(&told), shipped, "{policy}");
        let told = tried(&bench, &["policy", "check", &policy]);
        assert!(
            told.contains("pass ") && !told.contains("FAIL"),
            "{policy}: {told}"
        );
    }
}

/// Signed, installed and asked by the hook itself, within the hook's limits.
#[ignore = "needs what tests/guests/build makes"]
#[test]
fn a_policy_in_any_language_is_installed_and_decides() {
    for (language, policy) in LANGUAGES.map(|language| (language, guest(language))) {
        let house = House::new();
        with_real_compiler(&house.world);
        let (key, signed) = (house.at("team.pem"), house.at("guard.wasm"));
        let name = ["--name", "small", "--version", "1.0.0", "--out", &signed];
        house.done(&[["sign", &policy, "--key", &key].as_slice(), &name].concat());
        house.done(&["install", &signed]);
        let program = house.program.to_str().unwrap();
        let decision = |tool: &str| house.world.hook(program, &before(tool, json!({}))).decision();
        assert_eq!(decision("mcp__esxi__listVMs"), "silence", "{language}");
        assert_eq!(decision("mcp__weather__forecast"), "ask", "{language}");
        let line = house.world.log().pop().unwrap();
        assert_eq!(line["fault"], Value::Null, "{language}: {line}");
        assert!(
            line["policy"].as_str().unwrap().starts_with("small 1.0.0"),
            "{language}: {line}"
        );
    }
}

/// The first thing that a policy's author does. Without a network: all that the crate is built from has been fetched for
/// this project's own build.
#[test]
fn a_new_policy_builds_and_passes_its_case() {
    let bench = Bench::new();
    with_real_compiler(&bench.world);
    bench.done(&["policy", "new", "my-guard"]);
    let crate_ = bench.world.path("project/my-guard");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--offline",
            "--release",
            "--target",
            "wasm32-wasip2",
        ])
        .current_dir(&crate_)
        .env("CARGO_TARGET_DIR", folder().join("new"))
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let policy = folder().join("new/wasm32-wasip2/release/my_guard.wasm");
    let cases = crate_.join("cases");
    let told = tried(
        &bench,
        &["test", policy.to_str().unwrap(), cases.to_str().unwrap()],
    );
    assert!(told.contains("2 cases: 2 as they say"), "{told}");
}
