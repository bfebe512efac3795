//! Every trouble that a scenario can script, at every request of a capture: none lets a call through without its
//! checkpoint, and none passes the deadline.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, PASSWORD, World, before};

/// Seconds; long enough for two tries of a request, short enough for a matrix of hangs.
const DEADLINE: f64 = 4.0;

/// What a capture asks, in order.
const REQUESTS: [&str; 7] = [
    "POST /auth/realms/zerto/protocol/openid-connect/token",
    "GET /v1/vms",
    "GET /v1/localsite",
    "GET /v1/serverDateTime/serverDateTimeUtc",
    "POST /v1/vpgs/*/checkpoints",
    "GET /v1/vpgs/*/checkpoints",
    "GET /v1/tasks/*",
];

const TROUBLES: [&str; 22] = [
    "kind = 'status'\nstatus = 400\nbody = '{\"Message\":\"bad\"}'",
    "kind = 'status'\nstatus = 403\nbody = '{\"Message\":\"forbidden\"}'",
    "kind = 'status'\nstatus = 404\nbody = '{\"Message\":\"no such thing\"}'",
    "kind = 'status'\nstatus = 429\nheaders = { Retry-After = '600' }",
    "kind = 'status'\nstatus = 500\nbody = '{\"Message\":\"Exception occurred in API: why;\"}'",
    "kind = 'status'\nstatus = 503",
    "kind = 'status'\nstatus = 204",
    "kind = 'unauthorized'",
    "kind = 'redirect'\nlocation = 'https://127.0.0.2:1/elsewhere'",
    "kind = 'bad-json'",
    "kind = 'html'",
    "kind = 'wrong-type'",
    "kind = 'null'",
    "kind = 'empty'",
    "kind = 'huge'",
    "kind = 'huge'\nsize = 30000000",
    "kind = 'close'",
    "kind = 'cut'",
    "kind = 'lost'",
    "kind = 'hang'",
    "kind = 'delay'\ndelay_ms = 3600000",
    "kind = 'slow'\ndelay_ms = 400",
];

fn power_off() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

fn world(vpg: &str, troubles: &str) -> World {
    let world = World::with_zvm(&format!("[[vpgs]]\nname = 'APP-VPG'\n{vpg}\n{troubles}"));
    world.configure(&format!("deadline_seconds = {DEADLINE}"));
    world
}

/// What holds whatever the trouble: the answer is a deny, or the checkpoint that it names is in the journal.
fn check(world: &World, outcome: &Outcome) -> Result<(), String> {
    let told = format!("{outcome:#?}");
    if outcome.took.as_secs_f64() >= DEADLINE {
        return Err(format!("later than the deadline: {told}"));
    }
    if told.contains("s3cret") || world.log().iter().any(|line| line.to_string().contains("s3cret")) {
        return Err(format!("the password is told: {told}"));
    }
    match (outcome.decision().as_str(), outcome.code) {
        ("deny", Some(2)) => Ok(()),
        ("context", Some(0)) => {
            let seen = world.sim.as_ref().unwrap().checkpoints();
            let named = |checkpoint: &&zvm_sim::Inserted| {
                checkpoint.visible_ms.is_some() && outcome.text().contains(&checkpoint.checkpoint_identifier)
            };
            seen.iter()
                .find(named)
                .map(|_| ())
                .ok_or_else(|| format!("no such checkpoint: {told}\n{seen:?}"))
        }
        _ => Err(told),
    }
}

/// Whether a capture may succeed although this happens every time: slow is not wrong, a task's state is no evidence, the
/// site's identifier is only needed to tell directions apart, and an insert whose answer was lost has been done.
fn harmless(on: &str, trouble: &str) -> bool {
    let done = on.starts_with("POST /v1/vpgs") && (trouble.contains("lost") || trouble.contains("cut"));
    done || trouble.contains("slow") || on.contains("tasks") || on.contains("localsite")
}

#[test]
fn no_trouble_that_lasts_lets_a_call_through() {
    let cases: Vec<_> = REQUESTS
        .iter()
        .flat_map(|on| TROUBLES.iter().map(move |trouble| (*on, *trouble)))
        .collect();
    let failures = Mutex::new(Vec::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    // Most of these wait; two processors have time for many of them.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some((on, trouble)) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
                {
                    let world = world("instant = true", &format!("[[troubles]]\non = '{on}'\n{trouble}"));
                    let outcome = world.hook(HOLDPOINT, &power_off());
                    let checked = check(&world, &outcome).and_then(|()| {
                        if harmless(on, trouble) || outcome.decision() == "deny" {
                            return Ok(());
                        }
                        Err(format!("not noticed: {outcome:#?}"))
                    });
                    if let Err(failure) = checked {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("{on} · {trouble}:\n{failure}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn a_trouble_that_passes_does_not_cost_the_call() {
    for (on, trouble) in [
        ("GET /v1/vms", "kind = 'close'"),
        ("GET /v1/vms", "kind = 'cut'"),
        ("GET /v1/vms", "kind = 'unauthorized'"),
        (
            "GET /v1/vms",
            "kind = 'status'\nstatus = 429\nheaders = { Retry-After = '1' }",
        ),
        ("POST /v1/vpgs/*/checkpoints", "kind = 'unauthorized'"),
        (
            "POST /v1/vpgs/*/checkpoints",
            "kind = 'status'\nstatus = 429\nheaders = { Retry-After = '1' }",
        ),
        ("GET /v1/vpgs/*/checkpoints", "kind = 'status'\nstatus = 500"),
        ("GET /v1/vpgs/*/checkpoints", "kind = 'unauthorized'"),
        ("GET /v1/vpgs/*/checkpoints", "kind = 'bad-json'"),
        ("GET /v1/tasks/*", "kind = 'status'\nstatus = 404"),
    ] {
        let world = world(
            "instant = true",
            &format!("[[troubles]]\non = '{on}'\ntimes = 1\n{trouble}"),
        );
        let outcome = world.hook(HOLDPOINT, &power_off());
        check(&world, &outcome).unwrap();
        assert_eq!(outcome.decision(), "context", "{on} {trouble}: {outcome:?}");
        assert_eq!(world.sim.as_ref().unwrap().checkpoints().len(), 1);
    }
}

#[test]
fn an_insert_whose_answer_is_lost_is_looked_up_and_not_repeated() {
    let world = world(
        "instant = true",
        "[[troubles]]\non = 'POST /v1/vpgs/*/checkpoints'\ntimes = 1\nkind = 'lost'",
    );
    let outcome = world.hook(HOLDPOINT, &power_off());
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    assert_eq!(world.sim.as_ref().unwrap().checkpoints().len(), 1);
}

#[test]
fn a_token_that_ends_in_mid_wait_is_renewed() {
    let world = world(
        "cadence_ms = 2500\nvisible_after_ms = 1500",
        "[login]\ntoken_seconds = 1",
    );
    let outcome = world.hook(HOLDPOINT, &power_off());
    check(&world, &outcome).unwrap();
    let requests = world.sim.as_ref().unwrap().requests();
    let logins = requests
        .iter()
        .filter(|request| request.path.ends_with("/token"))
        .count();
    assert!(logins > 1, "{logins} log-ins");
}

#[test]
fn a_redirect_to_another_host_is_refused_and_gets_nothing() {
    let other = World::with_zvm("");
    let other = other.sim.as_ref().unwrap();
    for on in REQUESTS {
        let location = format!("{}/v1/vms", other.url());
        let world = world(
            "instant = true",
            &format!("[[troubles]]\non = '{on}'\nkind = 'redirect'\nlocation = '{location}'"),
        );
        let outcome = world.hook(HOLDPOINT, &power_off());
        check(&world, &outcome).unwrap();
    }
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn certificates_are_verified() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true");
    let stranger = World::with_zvm("");
    let sim = world.sim.as_ref().unwrap();
    let rest = format!(
        "deadline_seconds = {DEADLINE}\nzerto.url = '{}'\nzerto.username = 'admin'\nzerto.secret_file = '{}'",
        sim.url(),
        world.path("password").display()
    );
    let pin = sim.certificate_sha256();
    let other_pin = stranger.sim.as_ref().unwrap().certificate_sha256();
    for (trust, decision) in [
        (
            format!("zerto.ca_file = '{}'", world.path("ca.pem").display()),
            "context",
        ),
        (format!("zerto.pin = 'sha256:{pin}'"), "context"),
        ("zerto.verify = false".into(), "context"),
        (String::new(), "deny"),
        (
            format!("zerto.ca_file = '{}'", stranger.path("ca.pem").display()),
            "deny",
        ),
        (
            format!("zerto.ca_file = '{}'", world.path("nowhere.pem").display()),
            "deny",
        ),
        (
            format!("zerto.ca_file = '{}'", world.path("password").display()),
            "deny",
        ),
        (format!("zerto.pin = 'sha256:{other_pin}'"), "deny"),
        ("zerto.pin = 'sha256:12'".into(), "deny"),
    ] {
        world.configure_bare(&format!("{rest}\n{trust}"));
        let outcome = world.hook(HOLDPOINT, &power_off());
        assert_eq!(outcome.decision(), decision, "{trust}: {outcome:?}");
        // Whoever stands in between would have the agent name what they show.
        let advice = outcome.text().to_lowercase();
        assert!(
            !advice.contains("sha-256") && !advice.contains("pin this"),
            "{advice}"
        );
        check(&world, &outcome).unwrap();
    }
    // Nothing but the handshake: the password went to nobody who was not trusted.
    assert_eq!(stranger.sim.as_ref().unwrap().requests().len(), 0);
}

#[test]
fn the_environment_cannot_add_trust() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true");
    let sim = world.sim.as_ref().unwrap();
    world.configure_bare(&format!(
        "zerto.url = '{}'\nzerto.username = 'admin'\nzerto.secret_file = '{}'",
        sim.url(),
        world.path("password").display()
    ));
    let mut command = world.command(HOLDPOINT);
    command
        .env("SSL_CERT_FILE", world.path("ca.pem"))
        .env("HTTPS_PROXY", "http://127.0.0.1:1");
    let outcome = crate::support::run(command, power_off().to_string().as_bytes());
    assert_eq!(outcome.decision(), "deny");
    assert!(outcome.text().contains("SSL_CERT_FILE"), "{}", outcome.text());
    assert_eq!(sim.requests().len(), 0);
}

#[test]
fn the_other_log_ins_work() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true");
    let reach = |world: &World| {
        let sim = world.sim.as_ref().unwrap();
        format!(
            "zerto.url = '{}'\nzerto.ca_file = '{}'\n",
            sim.url(),
            world.path("ca.pem").display()
        )
    };
    world.write_private("client-secret", "service-secret\n");
    world.configure_bare(&format!(
        "{}zerto.login = 'client-credentials'\nzerto.client_id = 'holdpoint'\nzerto.secret_file = '{}'",
        reach(&world),
        world.path("client-secret").display()
    ));
    assert_eq!(world.hook(HOLDPOINT, &power_off()).decision(), "context");

    let world = World::with_zvm("[site]\nplatform = 'windows'\n[[vpgs]]\ninstant = true");
    world.configure("zerto.login = 'windows-session'");
    assert_eq!(world.hook(HOLDPOINT, &power_off()).decision(), "context");

    world.configure_bare(&format!(
        "{}zerto.login = 'windows-session'\nzerto.username = 'admin'\nzerto.secret_env = 'ZVM_SECRET'",
        reach(&world)
    ));
    let mut command = world.command(HOLDPOINT);
    command.env("ZVM_SECRET", PASSWORD);
    assert_eq!(
        crate::support::run(command, power_off().to_string().as_bytes()).decision(),
        "context"
    );
    // The variable that the configuration names is not there.
    let outcome = world.hook(HOLDPOINT, &power_off());
    assert_eq!(outcome.decision(), "deny");
    assert!(outcome.text().contains("ZVM_SECRET"), "{}", outcome.text());
}

#[test]
fn a_zvm_with_another_clock_is_no_trouble() {
    for offset in [-7_200, 90_000] {
        let world = world(
            "instant = true",
            &format!("[site]\nclock_offset_seconds = {offset}"),
        );
        assert_eq!(
            world.hook(HOLDPOINT, &power_off()).decision(),
            "context",
            "{offset} s"
        );
    }
}
