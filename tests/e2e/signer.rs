//! Receipts with others, through the real process: the asqav service as signer, http hooks, a page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use asqav_sim::{AGENT_ID, API_KEY, Algorithm, Sim, Trouble};
use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_denies, assert_silent, before, run};

fn event() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn ended() -> Value {
    let mut event = event();
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!([{ "type": "text", "text": "none" }]);
    event
}

fn verb(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.arg("receipts").args(arguments);
    run(command, b"")
}

fn world(mode: &str, more: &str) -> World {
    let world = World::without_zvm();
    world.configure(&format!("receipts.mode = '{mode}'\n{more}"));
    assert_eq!(verb(&world, &["keygen"]).code, Some(0));
    world
}

fn signing(mode: &str) -> World {
    world(mode, "receipts.signer = 'asqav'")
}

fn hook(world: &World, sim: &Sim, event: &Value) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command
        .arg("hook")
        .env("ASQAV_API_KEY", API_KEY)
        .env("ASQAV_AGENT_ID", AGENT_ID)
        .env("ASQAV_API_URL", sim.url());
    let outcome = run(command, event.to_string().as_bytes());
    assert!(
        !format!("{outcome:?}{:?}", world.log()).contains(API_KEY),
        "the key is told"
    );
    outcome
}

#[test]
fn a_call_runs_only_where_the_service_says_allow() {
    let (world, sim) = (signing("gate"), Sim::start(Algorithm::MlDsa65).unwrap());
    assert_silent(&hook(&world, &sim, &event()));
    assert_eq!(world.log()[0]["signer"], "sig_1");
    assert_silent(&hook(&world, &sim, &ended()));
    assert_eq!(sim.bodies().len(), 2);
    let kept =
        std::fs::read_to_string(world.path("home/.local/state/holdpoint/receipts/asqav.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2);
    for trouble in [
        Trouble::Decision("deny"),
        Trouble::OtherKey,
        Trouble::Says("invocation_ref", "another"),
        Trouble::Status(400),
    ] {
        sim.trouble(Some(trouble.clone()));
        assert_denies(&hook(&world, &sim, &event()), "receipts.signer");
    }
    let listed = verb(&world, &["list", "--json"]).stdout;
    let calls: Vec<Value> = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        calls.last().unwrap()["decision"]["facts"]["fault"],
        "receipt",
        "the deny is on record here"
    );
}

#[test]
fn without_an_account_a_gated_call_is_denied() {
    let world = signing("gate");
    let outcome = world.hook(HOLDPOINT, &event());
    assert_denies(&outcome, "ASQAV_API_KEY and ASQAV_AGENT_ID must be set");
}

#[test]
fn an_audited_call_runs_without_the_service() {
    let (world, sim) = (signing("audit"), Sim::start(Algorithm::Ed25519).unwrap());
    for trouble in [Trouble::Status(400), Trouble::Decision("deny"), Trouble::OtherKey] {
        sim.trouble(Some(trouble));
        assert_silent(&hook(&world, &sim, &event()));
        assert_silent(&hook(&world, &sim, &ended()));
    }
    assert!(world.log()[0]["signer"].as_str().unwrap().starts_with("none: "));
    assert_silent(&world.hook(HOLDPOINT, &event()));
}

#[test]
fn a_server_writes_observations_and_refuses_to_gate() {
    let world = world("audit", "");
    let token = world.path("token");
    let mut command = world.command(HOLDPOINT);
    command
        .args(["receipts", "serve", "--listen", "127.0.0.1:0", "--token-file"])
        .arg(&token);
    let mut server = command.spawn().unwrap();
    let mut told = String::new();
    BufReader::new(server.stderr.as_mut().unwrap())
        .read_line(&mut told)
        .unwrap();
    let address = told
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let secret = std::fs::read_to_string(&token).unwrap();
    let send = |event: &Value| {
        let (mut stream, body) = (TcpStream::connect(&address).unwrap(), event.to_string());
        write!(
            stream,
            "POST / HTTP/1.1\r\nHost: here\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
            secret.trim(),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = send(&ended());
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("holdpoint-receipt: written"),
        "{answer}"
    );
    let answer = send(&event());
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("cannot hold a call"),
        "{answer}"
    );
    let pid = server.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let calls: Vec<Value> = serde_json::from_str(&verb(&world, &["list", "--json"]).stdout).unwrap();
    assert_eq!(calls.len(), 1);
    // Only its end was heard of.
    assert_eq!(calls[0]["outcome"], "ran without a decision");
}

#[test]
fn a_page_is_made_of_the_calls() {
    let world = world("audit", "");
    assert_silent(&world.hook(HOLDPOINT, &event()));
    let page = world.path("page.html");
    let made = verb(&world, &["report", page.to_str().unwrap()]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""), "{made:?}");
    let html = std::fs::read_to_string(page).unwrap();
    assert!(
        html.starts_with("<!doctype html>") && html.contains("mcp__esxi__listVMs"),
        "{html}"
    );
}
