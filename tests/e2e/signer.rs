//! Receipts with others, through the real process: the asqav service as signer, http hooks, a page.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use asqav_sim::{AGENT_ID, API_KEY, Algorithm, Sim, Trouble};
use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::installation::Installed;
use crate::support::{Outcome, World, assert_asks, assert_denies, assert_silent, before, run};

/// Where the service's receipts are kept.
const KEPT: &str = "home/.local/state/holdpoint/receipts/asqav.jsonl";

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

fn account(command: &mut Command, sim: &Sim) {
    command
        .env("ASQAV_API_KEY", API_KEY)
        .env("ASQAV_AGENT_ID", AGENT_ID)
        .env("ASQAV_API_URL", sim.url());
}

fn signed_hook(world: &World, sim: &Sim) -> Command {
    let mut command = world.command(HOLDPOINT);
    command.arg("hook");
    account(&mut command, sim);
    command
}

/// The service's receipts that are kept here.
fn kept(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path(KEPT)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn listed(world: &World) -> Vec<Value> {
    serde_json::from_str(&verb(world, &["list", "--json"]).stdout).unwrap()
}

fn hook(world: &World, sim: &Sim, event: &Value) -> Outcome {
    let outcome = run(signed_hook(world, sim), event.to_string().as_bytes());
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
    assert_eq!(kept(&world).len(), 2);
    for trouble in [
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
    assert_eq!(kept(&world).len(), 2, "what does not verify is not kept");
}

#[test]
fn a_refusal_of_the_service_is_a_plain_deny_and_its_receipt_is_kept_and_named() {
    let (world, sim) = (signing("gate"), Sim::start(Algorithm::Ed25519).unwrap());
    assert_silent(&hook(&world, &sim, &event()));
    for (word, reason) in [
        ("deny", "asqav denied this call (sig_2)"),
        (
            "rate_limit",
            "asqav decided \"rate_limit\" and not \"allow\" for this call (sig_3)",
        ),
    ] {
        sim.trouble(Some(Trouble::Decision(word)));
        let outcome = hook(&world, &sim, &event());
        assert_denies(&outcome, reason);
        assert_eq!(outcome.text(), reason);
        let name = &reason[reason.len() - 6..reason.len() - 1];
        let says = format!("{name}, which says \"{word}\"");
        let line = world.log().pop().unwrap();
        assert_eq!(
            (&line["verdict"], &line["why"], &line["signer"], &line["fault"]),
            (&json!("deny"), &json!(reason), &json!(says), &Value::Null)
        );
        assert_eq!(kept(&world).last().unwrap()["payload"]["decision"], word);
        let facts = listed(&world).pop().unwrap()["decision"]["facts"].clone();
        assert_eq!(
            (&facts["verdict"], &facts["signer"], &facts["fault"]),
            (&json!("deny"), &json!(says), &Value::Null)
        );
        let shown = verb(&world, &["show", "toolu_00000001abcdefgh"]).stdout;
        assert!(shown.contains(&says), "{shown}");
    }
    assert_eq!(kept(&world).len(), 3);
}

#[test]
fn what_the_service_calls_its_receipt_is_cleaned_and_cut_wherever_it_is_told() {
    let (world, sim) = (signing("gate"), Sim::start(Algorithm::Ed25519).unwrap());
    let name = format!("sig\u{202e}\u{9b}31m{}", "x".repeat(100_000));
    sim.trouble(Some(Trouble::Named(name)));
    assert_silent(&hook(&world, &sim, &event()));
    let signer = world.logged()["signer"].as_str().unwrap().to_owned();
    assert!(
        signer.starts_with("sig\\u{202e}\\u{9b}31mxxx") && signer.len() < 120,
        "{signer}"
    );
    // Words of the service's that are errors, too.
    sim.trouble(Some(Trouble::Says("capture_topology", "x")));
    assert_silent(&hook(&world, &sim, &event()));
    sim.trouble(Some(Trouble::Status(400)));
    hook(&world, &sim, &event());
    let signer = world.log().pop().unwrap()["signer"].as_str().unwrap().to_owned();
    assert!(signer.starts_with("none: ") && signer.len() < 500, "{signer}");
}

#[test]
fn an_ask_and_a_deny_say_at_the_service_what_they_are() {
    let (world, sim) = (signing("gate"), Sim::start(Algorithm::Ed25519).unwrap());
    assert_asks(&hook(&world, &sim, &before("mcp__esxi__powerOff", json!({}))), "");
    assert_silent(&hook(&world, &sim, &event()));
    world.configure("receipts.mode = 'gate'\nreceipts.signer = 'asqav'\npolicy.unknown_tool = 'deny'");
    assert_denies(&hook(&world, &sim, &before("mcp__nobody__knows", json!({}))), "");
    world.configure("receipts.mode = 'gate'\nreceipts.signer = 'asqav'\npolicy.path = '/nowhere.wasm'");
    assert_denies(&hook(&world, &sim, &event()), "nowhere");
    let said = |body: &Value| (body["policy_decision"].clone(), body["reason"].clone());
    let bodies: Vec<_> = sim.bodies().iter().map(said).collect();
    assert_eq!(
        bodies,
        [
            (json!("permit"), json!("ask")),
            (json!("permit"), Value::Null),
            (json!("deny"), json!("policy")),
            (json!("deny"), json!("fault")),
        ]
    );
    assert_eq!(kept(&world)[0]["payload"]["reason"], "ask");
}

#[test]
fn nothing_is_signed_for_an_event_that_cannot_be_read() {
    let (world, sim) = (signing("gate"), Sim::start(Algorithm::Ed25519).unwrap());
    let mut of_codex = event();
    of_codex["turn_id"] = "t".into();
    let texts = [
        "[]",
        "{\"session_id\":}",
        "{\"hook_event_name\":\"PreToolUse\"}",
        &of_codex.to_string(),
    ];
    for text in texts {
        let outcome = run(signed_hook(&world, &sim), text.as_bytes());
        assert_eq!(outcome.code, Some(2), "{text}: {outcome:?}");
    }
    assert!(sim.asked().is_empty(), "{:?}", sim.asked());
    // Here they are on record, with the harness where the event told it.
    let harnesses: Vec<Value> = listed(&world)
        .iter()
        .map(|call| call["harness"].clone())
        .collect();
    assert_eq!(harnesses, [Value::Null, Value::Null, Value::Null, json!("codex")]);
}

#[test]
fn a_receipt_names_the_harness_that_its_event_told_or_none() {
    let world = world("audit", "");
    let mut unknown = event();
    unknown.as_object_mut().unwrap().remove("transcript_path");
    let mut of_qwen = before("Read", json!({ "file_path": "x" }));
    of_qwen["tool_call_id"] = "1".into();
    let mut of_another = before("Read", json!({ "file_path": "x" }));
    of_another["timestamp"] = "2027-01-31T12:00:00Z".into();
    for event in [&event(), &unknown, &of_qwen, &of_another] {
        assert_silent(&world.hook(HOLDPOINT, event));
    }
    let mut end = ended();
    end["tool_use_id"] = "toolu_2".into();
    world.hook(HOLDPOINT, &end);
    end.as_object_mut().unwrap().remove("transcript_path");
    end["tool_use_id"] = "toolu_3".into();
    world.hook(HOLDPOINT, &end);
    let harnesses: Vec<Value> = listed(&world)
        .iter()
        .map(|call| call["harness"].clone())
        .collect();
    let claude = json!("claude-code");
    let expected = [
        claude.clone(),
        Value::Null,
        json!("qwen-code"),
        Value::Null,
        claude,
        Value::Null,
    ];
    assert_eq!(harnesses, expected);
    let verified: Value = serde_json::from_str(&verb(&world, &["verify", "--json"]).stdout).unwrap();
    assert_eq!(verified["integrity"]["outcome"], "pass", "{verified:#}");
}

#[test]
fn the_self_test_asks_no_service() {
    let installed = Installed::new();
    installed.write_settings();
    let sim = Sim::start(Algorithm::Ed25519).unwrap();
    for mode in ["audit", "gate"] {
        installed
            .world
            .configure(&format!("receipts.mode = '{mode}'\nreceipts.signer = 'asqav'"));
        let config = installed.world.path("config.toml").display().to_string();
        installed.run(&["receipts", "keygen", "--config", &config]);
        for arguments in [&["doctor", "--json"][..], &["status", "--json"]] {
            let mut command = installed.command(arguments);
            account(&mut command, &sim);
            let outcome = run(command, b"");
            assert!(
                !outcome.stdout.contains("\"broken\""),
                "{arguments:?}: {outcome:?}"
            );
        }
    }
    assert!(sim.asked().is_empty(), "{:?}", sim.asked());
    let played: Vec<Value> = installed.world.log();
    let played = played
        .iter()
        .filter(|line| line["call"] == "toolu_holdpoint_doctor");
    let said: Vec<_> = played.map(|line| line["signer"].as_str().unwrap()).collect();
    assert!(
        said.len() > 10 && said.iter().all(|said| said.contains("self-test")),
        "{said:?}"
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
    for trouble in [Trouble::Status(400), Trouble::OtherKey] {
        sim.trouble(Some(trouble));
        assert_silent(&hook(&world, &sim, &event()));
        assert_silent(&hook(&world, &sim, &ended()));
    }
    assert!(world.log()[0]["signer"].as_str().unwrap().starts_with("none: "));
    // What was lost after a call is told with the call that it was about.
    let lines = world.log();
    let lost: Vec<_> = lines
        .iter()
        .filter(|line| line["tool"] == "PostToolUse")
        .collect();
    assert_eq!(lost.len(), 2, "{lines:#?}");
    for line in lost {
        let ids = (&line["session"], &line["call"], &line["fault"]);
        let about = event();
        assert_eq!(
            ids,
            (&about["session_id"], &about["tool_use_id"], &json!("receipt"))
        );
    }
    assert_silent(&world.hook(HOLDPOINT, &event()));
}

#[test]
fn an_audited_call_runs_whatever_the_service_says_and_the_log_tells_what() {
    let (world, sim) = (signing("audit"), Sim::start(Algorithm::Ed25519).unwrap());
    sim.trouble(Some(Trouble::Decision("deny")));
    assert_silent(&hook(&world, &sim, &event()));
    let line = world.logged();
    assert_eq!(
        (&line["verdict"], &line["signer"]),
        (&json!("pass"), &json!("sig_1, which says \"deny\""))
    );
    assert_eq!(kept(&world)[0]["payload"]["decision"], "deny");
    let facts = listed(&world).pop().unwrap()["decision"]["facts"].clone();
    assert_eq!(
        (&facts["verdict"], &facts["signer"]),
        (&json!("pass"), &line["signer"])
    );
}

#[test]
fn an_account_that_is_missing_is_shown_to_the_user_after_each_call_and_blocks_nothing() {
    let world = signing("audit");
    assert_silent(&world.hook(HOLDPOINT, &event()));
    let mut failed = ended();
    failed["hook_event_name"] = "PostToolUseFailure".into();
    failed["error"] = "no".into();
    for event in [ended(), failed] {
        let outcome = world.hook(HOLDPOINT, &event);
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (Some(0), ""),
            "{outcome:?}"
        );
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let shown = answer["systemMessage"].as_str().unwrap();
        assert!(
            shown.contains("ASQAV_API_KEY and ASQAV_AGENT_ID must be set")
                && shown.contains("holdpoint doctor"),
            "{shown}"
        );
        assert_eq!(answer["hookSpecificOutput"], Value::Null, "the model is not told");
    }
    // Without the service as signer, nothing is missing.
    world.configure("receipts.mode = 'audit'");
    assert_silent(&world.hook(HOLDPOINT, &ended()));
}

#[test]
fn a_receipts_file_that_stays_locked_costs_the_copy_and_not_the_call() {
    let (world, sim) = (signing("audit"), Sim::start(Algorithm::Ed25519).unwrap());
    let path = world.path(KEPT);
    let other = std::fs::File::create(&path).unwrap();
    other.lock().unwrap();
    assert_silent(&hook(&world, &sim, &event()));
    let signer = world.logged()["signer"].clone();
    assert_eq!(signer, "sig_1, not kept here: another process keeps it locked");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .code(),
        Some(0)
    );
    assert_silent(&hook(&world, &sim, &event()));
    let signer = world.log().pop().unwrap()["signer"].clone();
    assert_eq!(
        signer,
        "sig_2, not kept here: it is a pipe, and only a regular file is written"
    );
}

#[test]
fn no_variable_leads_the_signer_elsewhere() {
    let site = mirror_sim::Site::default();
    let (address, authority) = site.serve_tls();
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let through = format!("http://{}", proxy.local_addr().unwrap());
    let world = world("gate", "");
    std::fs::create_dir(world.path("authorities")).unwrap();
    for file in ["authority.pem", "authorities/authority.pem"] {
        std::fs::write(world.path(file), &authority).unwrap();
    }
    for service in [
        format!("https://localhost:{}/api/v1", address.port()),
        "https://asqav.invalid/api/v1".to_owned(),
    ] {
        let lines = format!("receipts = {{ mode = 'gate', signer = 'asqav', asqav_url = '{service}' }}");
        world.configure(&lines);
        for (name, file) in [
            ("SSL_CERT_FILE", "authority.pem"),
            ("SSL_CERT_DIR", "authorities"),
        ] {
            let mut command = world.command(HOLDPOINT);
            command
                .arg("hook")
                .env("ASQAV_API_KEY", API_KEY)
                .env("ASQAV_AGENT_ID", AGENT_ID)
                .env(name, world.path(file));
            for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
                command.env(name, &through);
            }
            let outcome = run(command, event().to_string().as_bytes());
            assert_denies(&outcome, "the signer cannot be reached");
        }
    }
    assert_eq!(site.asked(), [""; 0], "the site's authority is not the system's");
    assert!(proxy.accept().is_err(), "nothing goes through a proxy");
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
