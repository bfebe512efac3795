//! `holdpoint test`: cases in the sandbox, with the host's answers from a script.

use std::fs;

use serde_json::Value;
use test_policies::{Policy, named};

use crate::HOLDPOINT;
use crate::house::engines_own;
use crate::support::{Outcome, World, run};

/// Files in a world of their own, and the program with something beside it that stands in for the compiler.
pub(crate) struct Bench {
    pub(crate) world: World,
    program: std::path::PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let world = World::without_zvm();
        let program = world.with_compiler(HOLDPOINT);
        fs::create_dir(world.path("cases")).unwrap();
        Self { world, program }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.world.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A policy's file, and what the stand-in hands out as its code from now on.
    pub(crate) fn policy(&self, policy: Policy) -> String {
        let path = self.world.path(&format!("{}.wasm", policy.name));
        fs::write(&path, policy.component).unwrap();
        fs::write(self.world.path("bin/metered"), engines_own(policy.metered)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.world.command(&self.program);
        command.args(arguments).current_dir(self.world.path("project"));
        run(command, b"")
    }

    /// What it prints where it ends with 0.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (Some(0), ""),
            "{outcome:?}"
        );
        outcome.stdout
    }

    /// What a trial found.
    #[track_caller]
    pub(crate) fn finds(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        outcome.stdout
    }

    #[track_caller]
    fn fails(&self, arguments: &[&str], words: &str) {
        let outcome = self.run(arguments);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(3), ""),
            "{outcome:?}"
        );
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
}

const POWER_OFF: &str = "
[event]
tool_name = 'mcp__esxi__powerOff'
tool_input = { name = 'web01' }

[[vm]]
name = 'web01'
vpg = 'WEB'

[[vpg]]
name = 'WEB'
checkpoint = '7180'

[expect]
verdict = 'pass'
";

/// Files with several cases: the first part is what they share.
const SITE: &str = "
event = { tool_name = 'mcp__esxi__powerOff', tool_input = { name = 'web01' } }
vm = [{ name = 'web01', vpg = 'WEB' }]
vpg = [{ name = 'WEB', checkpoint = '7180' }]
";

#[test]
fn cases_that_come_out_as_they_say_end_with_0() {
    let bench = Bench::new();
    let text = "
[[case]]
name = 'captured'
expect = { verdict = 'pass', holds = ['7180', 'WEB'], lacks = ['db01'], tag = ['esxi/powerOff on web01', '0badcafe'],
           calls = ['find-vms-by-name(web01)', 'capture(WEB-id)'], fuel = 50_000_000, memory = 20_000_000 }
[[case]]
name = 'refused'
vpg = [{ name = 'WEB', error = 'refused', text = 'the VPG is being deleted' }]
expect = { verdict = 'deny', holds = ['the VPG is being deleted'] }
[[case]]
name = 'out of reach'
fault = [{ on = 'find-vms-by-name', error = 'unreachable', text = 'no route' }]
expect = { verdict = 'deny', holds = ['no route'], calls = ['find-vms-by-name(web01)'] }
[[case]]
name = 'unknown'
event.tool_input = { name = 'web99' }
unknown = ['web99']
expect = { verdict = 'ask', calls = ['find-vms-by-name(web99)', 'find-vms-by-identifier(web99)'] }
[[case]]
name = 'late'
vpg = [{ name = 'WEB', checkpoint = '7180', delay_ms = 300_001 }]
expect = { verdict = 'deny', holds = ['not confirmed in time'] }
[[case]]
name = 'in time'
vpg = [{ name = 'WEB', checkpoint = '7180', delay_ms = 299_999 }]
expect = { verdict = 'pass' }
[[case]]
name = 'no result'
vpg = [{ name = 'WEB', no_result = true }]
expect = { verdict = 'deny' }
[[case]]
name = 'mixed up'
vpg = [{ name = 'WEB', checkpoint = '1', answers_for = 'other' }]
expect = { verdict = 'deny' }
[[case]]
name = 'another tag'
vpg = [{ name = 'WEB', checkpoint = { identifier = '1', tag = 'other' } }]
expect = { verdict = 'pass', holds = ['other'] }
[[case]]
name = 'a strained session'
settings = { session_ask_level = 2 }
session = { failures = 3, level = 2 }
expect = { verdict = 'ask', holds = ['3 tool calls have failed'],
           calls = ['find-vms-by-name(web01)', 'session()', 'capture(WEB-id)'] }
[[case]]
name = 'a tally that cannot be read'
settings = { session_ask_level = 2 }
fault = [{ on = 'session', text = 'no tally' }]
expect = { verdict = 'fault', fault = 'session', holds = ['no tally'], calls = ['find-vms-by-name(web01)', 'session()'] }
[[case]]
name = 'settings'
event = { tool_name = 'mcp__nobody__knows' }
settings = { unknown_tool = 'deny' }
expect = { verdict = 'deny', calls = [] }
[[case]]
name = 'reads'
event.tool_name = 'mcp__esxi__listVMs'
expect = { verdict = 'pass', silent = true, calls = [] }
";
    let path = bench.write("cases/site.toml", &format!("{SITE}{text}"));
    let told = bench.done(&["test", "shipped", &path]);
    assert_eq!(told.matches("ok   site/").count(), 13, "{told}");
    assert!(told.contains("13 cases: 13 as they say, 0 not"), "{told}");
    assert!(
        told.contains("before the policy is asked; peak memory "),
        "{told}"
    );
}

#[test]
fn what_is_not_as_a_case_says_is_told_and_ends_with_1() {
    let bench = Bench::new();
    for (expect, words) in [
        ("verdict = 'deny'", "the verdict is pass and not deny"),
        (
            "verdict = 'pass'\nholds = ['db01']",
            "\"db01\" does not stand in what is said",
        ),
        (
            "verdict = 'pass'\nlacks = ['7180']",
            "\"7180\" stands in what is said",
        ),
        ("verdict = 'pass'\nsilent = true", "does not pass in silence"),
        (
            "verdict = 'pass'\nfuel = 1000",
            "instructions were used, and 1000 are the most",
        ),
        ("verdict = 'pass'\nmemory = 1", "bytes of memory were used"),
        ("verdict = 'pass'\ntag = ['listVMs']", "does not stand in the tag"),
        (
            "verdict = 'pass'\nlogs = ['no such words']",
            "does not stand in the lines for the log",
        ),
        ("fault = 'trap'", "the verdict is pass and not fault"),
        (
            "verdict = 'pass'\nholds = ['one']\nlacks = ['7180']",
            "       \"7180\" stands in what is said\n",
        ),
        (
            "verdict = 'pass'\ncalls = ['find-vms-by-name(web01)', 'capture(DB-id)']",
            "    find-vms-by-name(web01)\n         - capture(DB-id)\n         + capture(WEB-id)",
        ),
    ] {
        let text = POWER_OFF.replace("verdict = 'pass'", expect);
        let path = bench.write("cases/one.toml", &text);
        let told = bench.finds(&["test", "shipped", &path]);
        assert!(told.contains(words), "{expect}: {told}");
        assert!(told.starts_with("FAIL one  ("), "{told}");
    }
}

#[test]
fn a_question_that_nobody_foresaw_fails_the_case_whatever_comes_out() {
    let bench = Bench::new();
    let text = "event = { tool_name = 'mcp__esxi__powerOff', tool_input = { name = 'web01' } }\n\
                [expect]\nverdict = 'deny'\n";
    let path = bench.write("cases/one.toml", text);
    let told = bench.finds(&["test", "shipped", &path]);
    assert!(
        told.contains("does not foresee what was asked:\n         find-vms-by-name(web01)"),
        "{told}"
    );
    assert!(!told.contains("the verdict is"), "{told}");
}

#[test]
fn folders_filters_and_reports() {
    let bench = Bench::new();
    fs::create_dir(bench.world.path("cases/more")).unwrap();
    let one = |verdict: &str| format!("event.tool_name = 'Bash'\nexpect.verdict = '{verdict}'\n");
    bench.write("cases/good.toml", &one("pass"));
    bench.write("cases/more/bad.toml", &one("deny"));
    bench.write("cases/more/notes.md", "no case");
    let cases = bench.world.path("cases").to_str().unwrap().to_owned();
    let told = bench.finds(&["test", "shipped", &cases]);
    assert!(
        told.contains("ok   good  (") && told.contains("FAIL more/bad  ("),
        "{told}"
    );
    let told = bench.done(&["test", "shipped", &cases, "--filter", "good"]);
    assert!(
        told.contains("1 case: 1 as they say, 0 not, 1 left out by the filter"),
        "{told}"
    );
    bench.fails(
        &["test", "shipped", &cases, "--filter", "nothing"],
        "no case's name",
    );

    let junit = bench.world.path("report.xml").to_str().unwrap().to_owned();
    let json = bench.finds(&["test", "shipped", &cases, "--json", "--junit", &junit]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (json["passed"].as_u64(), json["failed"].as_u64()),
        (Some(1), Some(1))
    );
    let bad = &json["cases"][1];
    assert_eq!(bad["name"], "more/bad");
    assert_eq!(
        (bad["verdict"].as_str(), bad["passed"].as_bool()),
        (Some("pass"), Some(false))
    );
    assert!(bad["cost"]["fuel"].as_u64().unwrap() > 1_000);
    assert!(bad["cost"]["start_fuel"].as_u64() < bad["cost"]["fuel"].as_u64());
    assert!(bad["cost"]["peak_memory"].as_u64().unwrap() >= 65_536);
    assert!(json["policy"]["size"].as_u64().unwrap() > 100_000);
    let xml = fs::read_to_string(junit).unwrap();
    assert!(
        xml.contains("tests=\"2\"") && xml.contains("failures=\"1\""),
        "{xml}"
    );
    assert!(xml.contains("the verdict is pass and not deny"), "{xml}");
}

#[test]
fn the_same_case_costs_the_same_each_time() {
    let bench = Bench::new();
    let path = bench.write("cases/one.toml", POWER_OFF);
    let cost = || {
        let told = bench.done(&["test", "shipped", &path, "--json"]);
        let told: Value = serde_json::from_str(&told).unwrap();
        told["cases"][0]["cost"].clone()
    };
    let first = cost();
    assert_eq!(first["host_calls"], 3, "{first}");
    for _ in 0..3 {
        assert_eq!(cost(), first);
    }
}

#[test]
fn golden_output_is_written_held_against_and_shown_line_by_line() {
    let bench = Bench::new();
    let text = format!("{POWER_OFF}golden = true\n");
    let path = bench.write("cases/one.toml", &text);
    let told = bench.finds(&["test", "shipped", &path]);
    assert!(told.contains("there is no golden output of it yet"), "{told}");
    bench.done(&["test", "shipped", &path, "--update"]);
    let golden = fs::read_to_string(bench.world.path("cases/one.golden")).unwrap();
    assert!(
        golden.starts_with("== one\nverdict: pass\n  Zerto took a checkpoint"),
        "{golden}"
    );
    assert!(
        golden.contains("\ncall: capture(WEB-id)\n  tag: claude-code "),
        "{golden}"
    );
    bench.done(&["test", "shipped", &path]);

    bench.write(
        "cases/one.golden",
        &golden.replace("capture(WEB-id)", "capture(DB-id)"),
    );
    let told = bench.finds(&["test", "shipped", &path]);
    assert!(
        told.contains("- call: capture(DB-id)\n         + call: capture(WEB-id)"),
        "{told}"
    );
    // What is wrong beside the golden output stays wrong.
    bench.write("cases/one.toml", &text.replace("'pass'", "'deny'"));
    let told = bench.finds(&["test", "shipped", &path, "--update"]);
    assert!(told.contains("the verdict is pass and not deny"), "{told}");
    assert_eq!(
        fs::read_to_string(bench.world.path("cases/one.golden")).unwrap(),
        golden
    );
}

#[test]
fn an_unsigned_policy_is_tried_and_told_and_its_code_is_kept() {
    let bench = Bench::new();
    let policy = bench.policy(named("passes"));
    let path = bench.write(
        "cases/one.toml",
        "event.tool_name = 'x'\nexpect = { verdict = 'pass', silent = true }\n",
    );
    let outcome = bench.run(&["test", &policy, &path]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stderr.contains("passes.wasm is not signed"),
        "{outcome:?}"
    );
    // The second time nothing is compiled.
    fs::remove_file(bench.world.path("bin/holdpoint-compile")).unwrap();
    assert_eq!(bench.run(&["test", &policy, &path]).code, Some(0));
    // The code of another policy is not this one's.
    let other = bench.policy(named("traps"));
    let outcome = bench.run(&["test", &other, &path]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(
        outcome.stderr.contains("holdpoint-compile is neither beside"),
        "{outcome:?}"
    );
}

#[test]
fn a_policy_that_fails_is_a_fault_of_its_kind_and_waits_for_nothing() {
    let bench = Bench::new();
    for (name, kind) in [
        ("traps", "trap"),
        ("recurses", "trap"),
        ("notes-much", "trap"),
        ("answers-nothing", "trap"),
        // An hour, in virtual time.
        ("sleeps", "deadline"),
    ] {
        let policy = bench.policy(named(name));
        let text = format!("event.tool_name = 'x'\nexpect.fault = '{kind}'\nexpect.verdict = 'fault'\n");
        let path = bench.write("cases/one.toml", &text);
        let outcome = bench.run(&["test", &policy, &path]);
        assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
    }
}

#[test]
fn what_cannot_be_used_ends_with_3_and_says_where() {
    let bench = Bench::new();
    let good = bench.write("cases/good.toml", POWER_OFF);
    bench.fails(&["test", "shipped", "/nowhere"], "/nowhere");
    let empty = bench.world.path("project").to_str().unwrap().to_owned();
    bench.fails(&["test", "shipped", &empty], "holds no case file");
    let bad = bench.write("cases/bad.toml", &POWER_OFF.replace("[[vpg]]", "[[vgp]]"));
    bench.fails(&["test", "shipped", &bad], "vgp");
    let two = bench.write(
        "cases/two.toml",
        "event.tool_name = 'x'\nexpect.verdict = 'ask'\n[[case]]\nname = 'a'\n[[case]]\nname = 'a'",
    );
    bench.fails(&["test", "shipped", &two], "two cases are called 'two/a'");
    bench.fails(&["test", "/nowhere.wasm", &good], "/nowhere.wasm");
    let refused = bench.policy(named("imports-nope"));
    bench.fails(&["test", &refused, &good], "wasi:nope/nope");
}

#[test]
fn the_shipped_policy_does_what_its_cases_say() {
    let bench = Bench::new();
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases");
    let told: Value = serde_json::from_str(&bench.done(&["test", "shipped", cases, "--json"])).unwrap();
    assert!(told["passed"].as_u64().unwrap() >= 150, "{told}");
    assert_eq!(told["failed"], 0);
}
