//! What becomes of a start where there is much of something: tools in the catalogs, receipts in the log, session files.
//!
//! Each row stands behind the same one with little of it. Making it all takes minutes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use holdpoint_artifact::Digest;
use holdpoint_receipts::{Arguments, Body, Call, Decision, Log, Manner, Stance, Verdict};
use serde_json::{json, value::RawValue};

use crate::HOLDPOINT;
use crate::guests;
use crate::installed::Installed;
use crate::rows::{Subject, read_only, with_policy, with_receipts};
use crate::support::{World, run};

/// Tools of the large catalogs: so many servers with so many each.
const SERVERS: usize = 100;
const TOOLS: usize = 1_000;
const RECEIPTS: usize = 1_000_000;
const SESSIONS: usize = 10_000;

/// The rows of one program.
pub(crate) fn subjects(label: &str, program: &Path) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for policy in [1, SERVERS].into_iter().flat_map(with_tools) {
        subjects.push(with_policy(label, program, &policy));
    }
    for (count, words) in [(10, "10 receipts"), (RECEIPTS, "1,000,000 receipts")] {
        let world = with_receipts(program, "audit");
        fill_log(&world, count);
        let name = format!("{label}read-only call with a receipt, after {words}");
        subjects.push(Subject::new(name, &Rc::new(world), program, &read_only()));
    }
    for (count, words) in [(1, "1 session"), (SESSIONS, "10,000 sessions")] {
        let world = World::without_zvm();
        world.configure("session.tell = false\nlog.path = '/dev/null'");
        (0..count).for_each(|session| {
            let outcome = world.hook(program.to_str().expect("a path in Unicode"), &failure(session));
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        });
        let name = format!("{label}failed call, counted, beside {words}");
        let subject = Subject::new(name, &Rc::new(world), program, &json!({}));
        subjects.push(subject.counting(failure(0)));
    }
    subjects
}

fn failure(session: usize) -> serde_json::Value {
    json!({
        "hook_event_name": "PostToolUseFailure", "session_id": format!("session-{session}"), "cwd": "/",
        "tool_name": "Bash", "tool_use_id": format!("toolu_{session}"), "error": "Exit code 1",
    })
}

/// The shipped policy with other catalogs, in a store of the user's and in one of root's.
fn with_tools(servers: usize) -> Vec<Installed> {
    let world = World::without_zvm();
    fs::create_dir(world.path("catalogs")).expect("an empty directory");
    for server in 0..servers {
        let name = if server == 0 {
            "esxi".into()
        } else {
            format!("server-{server}")
        };
        fs::write(world.path(&format!("catalogs/{name}.toml")), catalog(&name)).expect("a file");
    }
    let packed = world.path("packed.wasm");
    let mut pack = world.command(HOLDPOINT);
    pack.args(["policy", "pack", "shipped", "--catalog"]).args([
        &world.path("catalogs"),
        Path::new("--out"),
        &packed,
    ]);
    let outcome = run(pack, b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let tools = servers * TOOLS;
    Installed::in_both_stores(
        &format!("a policy with {tools} tools"),
        fs::read(&packed).expect("the policy"),
        guests::compile(&packed),
    )
}

fn catalog(name: &str) -> String {
    let mut tools = String::from("'listVMs'");
    for tool in 1..TOOLS {
        let _ = write!(tools, ",'read_something_{tool}'");
    }
    format!("[server]\naliases = ['{name}']\n[[tools]]\nclass = 'read'\nnames = [{tools}]\n")
}

fn fill_log(world: &World, count: usize) {
    let directory = world.path("home/.local/state/holdpoint/receipts");
    let log = Log {
        key: directory.join("key.pem"),
        directory,
        largest_segment: 16 << 20,
        host: "0.1.0".into(),
    };
    let arguments = RawValue::from_string("{}".into()).expect("JSON");
    let tool = "mcp__esxi__listVMs";
    let call = |number: usize| Call {
        harness: Some("claude-code".into()),
        session: Some("session".into()),
        id: Some(format!("toolu_{number:08}")),
        tool: tool.into(),
        arguments: Arguments::of(tool, &arguments, false),
        environment: holdpoint_receipts::Environment::default(),
    };
    let decision = || Decision {
        verdict: Verdict::Pass,
        stance: Stance::Closed,
        fault: None,
        why: None,
        permission_mode: Some("default".into()),
        policy: Some(holdpoint_receipts::Policy {
            digest: Digest::of(b"policy"),
            origin: "shipped".into(),
            version: None,
            signer: None,
            wit: "0.1.0".into(),
        }),
        targets: Vec::new(),
        machines: Vec::new(),
        checkpoints: Vec::new(),
        troubles: Vec::new(),
        zvm: None,
        signer: None,
    };
    let manner = Manner {
        sync: false,
        wait: Duration::from_secs(5),
    };
    for number in 0..count {
        log.append(&Body::Decision(call(number), decision()), manner)
            .expect("a receipt is written");
    }
}
