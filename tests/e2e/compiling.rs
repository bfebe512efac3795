//! Compiled code that a hook finds missing: made once for all that wait, within their time, or not at all.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_policies::named;

use crate::house::House;
use crate::support::{before, chmod, run};

/// So many hooks start at once.
const MANY: usize = 8;

/// A policy is installed, and its compiled code is gone.
fn without_code() -> House {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    lose_code(&house, &file);
    house
}

fn lose_code(house: &House, file: &str) {
    for name in ["policy.cwasm", "compiled.json"] {
        fs::remove_file(house.object(file).join(name)).unwrap();
    }
}

/// Has these lines run before the compiler's stand-in does its work. Each run is counted.
fn compile_after(house: &House, lines: &str) {
    let (compiler, stand_in) = (
        house.world.path("bin/holdpoint-compile"),
        house.world.path("bin/stand-in"),
    );
    fs::rename(&compiler, &stand_in).unwrap();
    let script = format!(
        "#!/bin/bash\necho run >> '{}'\n{lines}\nexec '{}' \"$@\"\n",
        house.at("runs"),
        stand_in.display()
    );
    fs::write(&compiler, script).unwrap();
    chmod(&compiler, 0o700);
}

fn runs(house: &House) -> usize {
    let runs = fs::read_to_string(house.world.path("runs")).unwrap_or_default();
    runs.lines().count()
}

/// Starts many hooks.
fn start_many(house: &House) -> Vec<Child> {
    let input = house.world.path("event.json");
    fs::write(&input, before("mcp__esxi__listVMs", json!({})).to_string()).unwrap();
    let start = |_| {
        let mut command = house.world.command(&house.program);
        command.arg("hook").stdin(fs::File::open(&input).unwrap());
        command.spawn().unwrap()
    };
    (0..MANY).map(start).collect()
}

/// Waits until every one of them waits for the store or has it, and lets the compiler go on.
fn let_go(house: &House, hooks: &[Child]) {
    let lock = house.world.path("home/.local/share/holdpoint/policies/lock");
    let patience = Instant::now() + Duration::from_secs(120);
    while !hooks.iter().all(|hook| has_open(hook.id(), &lock)) {
        assert!(Instant::now() < patience, "not all of them wait");
        thread::sleep(Duration::from_millis(5));
    }
    fs::write(house.world.path("go"), "").unwrap();
}

/// What they decided, and how they ended.
fn decisions(hooks: Vec<Child>) -> Vec<String> {
    let word = |hook: Child| {
        let output = hook.wait_with_output().unwrap();
        if output.stdout.is_empty() {
            return format!("silence {}", output.status);
        }
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        format!("{} {}", decision.as_str().unwrap(), output.status)
    };
    hooks.into_iter().map(word).collect()
}

/// Whether a process has this file open.
fn has_open(process: u32, file: &Path) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    open.flatten()
        .any(|link| fs::read_link(link.path()).is_ok_and(|target| target == file))
}

#[test]
fn of_many_hooks_at_once_one_has_the_code_made_and_all_decide() {
    let house = without_code();
    compile_after(
        &house,
        &format!(
            "while [ ! -e '{}' ]; do read -t 0.02 <> <(:); done",
            house.at("go")
        ),
    );
    let hooks = start_many(&house);
    let_go(&house, &hooks);
    assert_eq!(decisions(hooks), ["silence exit status: 0"; MANY]);
    assert_eq!(runs(&house), 1);
    let log = house.world.log();
    assert_eq!(log.len(), MANY);
    for line in log {
        assert!(
            line["policy"].as_str().unwrap().starts_with("guard 1.0.0"),
            "{line}"
        );
    }
    house.decides("silence", "guard 1.0.0");
    assert_eq!(runs(&house), 1, "the code was kept");
}

#[test]
fn where_the_code_cannot_be_made_all_deny_and_one_tried() {
    let house = without_code();
    compile_after(
        &house,
        &format!(
            "while [ ! -e '{}' ]; do read -t 0.02 <> <(:); done; echo it cannot be done >&2; exit 3",
            house.at("go")
        ),
    );
    let hooks = start_many(&house);
    let_go(&house, &hooks);
    assert_eq!(decisions(hooks), ["deny exit status: 2"; MANY]);
    assert_eq!(runs(&house), 1);
    for line in house.world.log() {
        let why = line["why"].as_str().unwrap();
        assert!(
            why.contains("it cannot be done") && why.contains("holdpoint policy install "),
            "{line}"
        );
    }
    let troubles = house.list()["troubles"].to_string();
    assert!(troubles.contains("it cannot be done"), "{troubles}");
}

#[test]
fn nobody_waits_for_the_code_until_the_deadline() {
    let house = without_code();
    house.configure("deadline_seconds = 10");
    compile_after(&house, "sleep 600");
    assert_eq!(decisions(start_many(&house)), ["deny exit status: 2"; MANY]);
    for line in house.world.log() {
        // The host's own answer, and not the watchdog's last word.
        assert_eq!(line["fault"], "policy", "{line}");
        let why = line["why"].as_str().unwrap();
        assert!(why.contains("could not be made"), "{line}");
    }
}

#[test]
fn compiled_code_that_is_not_as_it_was_made_is_never_run_and_made_anew() {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    compile_after(&house, "");
    let code = house.object(&file).join("policy.cwasm");
    let good = fs::read(&code).unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&code, &bad).unwrap();
    house.decides("silence", "guard 1.0.0");
    assert_eq!(runs(&house), 1);
    assert_eq!(fs::read(&code).unwrap(), good);

    // Without the program that makes it, the stance; the reason names the command that mends it.
    fs::write(&code, &bad).unwrap();
    let (compiler, elsewhere) = (
        house.world.path("bin/holdpoint-compile"),
        house.world.path("elsewhere/holdpoint-compile"),
    );
    fs::create_dir(house.world.path("elsewhere")).unwrap();
    fs::rename(&compiler, &elsewhere).unwrap();
    house.denies_everything("holdpoint-compile is not beside holdpoint");
    // What the environment says of a path counts for people and not for hooks.
    let mut command = house.world.command(&house.program);
    command.arg("hook").env("PATH", house.world.path("elsewhere"));
    let event = before("mcp__esxi__listVMs", json!({})).to_string();
    assert_eq!(run(command, event.as_bytes()).decision(), "deny");

    let why = house.judged().1["why"].as_str().unwrap().to_owned();
    let kept = why
        .split_whitespace()
        .find(|word| word.ends_with("policy.wasm"))
        .unwrap();
    fs::rename(&elsewhere, &compiler).unwrap();
    house.done(&["install", kept]);
    house.decides("silence", "guard 1.0.0");
}

#[test]
fn code_of_another_build_of_the_host_is_made_anew() {
    let house = House::new();
    let file = house.install(named("passes"), "1.0.0");
    compile_after(&house, "");
    let record = house.object(&file).join("compiled.json");
    let text = fs::read_to_string(&record).unwrap();
    let version = concat!(env!("CARGO_PKG_VERSION"), "+");
    let at = text
        .find(version)
        .expect("the build has a name beside its version")
        + version.len();
    // The same version, and other sources.
    let digit = if &text[at..=at] == "0" { "1" } else { "0" };
    fs::write(&record, format!("{}{digit}{}", &text[..at], &text[at + 1..])).unwrap();
    house.decides("silence", "guard 1.0.0");
    assert_eq!(runs(&house), 1);
    assert_eq!(
        serde_json::from_str::<Value>(&fs::read_to_string(&record).unwrap()).unwrap()["host"],
        serde_json::from_str::<Value>(&text).unwrap()["host"]
    );
}
