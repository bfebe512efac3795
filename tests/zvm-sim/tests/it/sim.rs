//! The simulation as a thing to hold: starting, stopping, and what its scenario must be.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use zvm_sim::{Direction, Scenario, Sim, Vm, Vpg};

use crate::caller::{Caller, builder};

#[test]
fn many_start_quickly() {
    let began = Instant::now();
    let sims: Vec<_> = (0..20)
        .map(|_| Sim::start(Scenario::default()).unwrap())
        .collect();
    // A generous bound on the mean, for a machine that runs other tests beside this one.
    assert!(
        began.elapsed() < Duration::from_millis(50) * 20,
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        sims.iter()
            .map(Sim::url)
            .collect::<std::collections::HashSet<_>>()
            .len(),
        20
    );
}

#[test]
fn it_stops_when_dropped() {
    let sim = Sim::start(Scenario::default()).unwrap();
    let address = sim.url().replace("https://localhost", "127.0.0.1");
    assert!(TcpStream::connect(&address).is_ok());
    drop(sim);
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn it_can_be_started_and_dropped_inside_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { drop(Sim::start(Scenario::default()).unwrap()) });
}

#[test]
fn each_simulation_has_its_own_ca() {
    let (one, other) = (Caller::stranger(""), Caller::stranger(""));
    assert_ne!(one.sim.certificate_sha256(), other.sim.certificate_sha256());
    let error = one.http.get(other.sim.url()).send().unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}

#[test]
fn the_certificate_is_for_the_address_too() {
    let caller = Caller::stranger("");
    let url = caller.sim.url().replace("localhost", "127.0.0.1");
    assert_eq!(caller.http.get(url).send().unwrap().status(), 404);
}

#[test]
fn both_versions_of_http_are_spoken() {
    let caller = Caller::stranger("");
    assert_eq!(
        caller.http.get(caller.sim.url()).send().unwrap().version(),
        reqwest::Version::HTTP_2
    );
    let http1 = builder(&caller.sim).http1_only().build().unwrap();
    assert_eq!(
        http1.get(caller.sim.url()).send().unwrap().version(),
        reqwest::Version::HTTP_11
    );
}

#[test]
fn requests_are_kept_in_their_order() {
    let caller = Caller::start("");
    caller.insert(&caller.vpg(), "kept");
    caller.get("/v1/VMS?vmName=a%20b&x=1");
    let seen = caller.sim.requests();
    let lines: Vec<_> = seen
        .iter()
        .map(|seen| format!("{} {}", seen.method, seen.path))
        .collect();
    assert_eq!(lines[1], "GET /v1/vpgs");
    assert!(lines[2].starts_with("POST /v1/vpgs/"));
    assert_eq!(
        (seen[2].body.as_str(), seen[2].authorization),
        (r#"{"checkpointName":"kept"}"#, Some("Bearer"))
    );
    assert_eq!(
        (lines[3].as_str(), seen[3].query.as_str()),
        ("GET /v1/VMS", "vmName=a%20b&x=1")
    );
    assert_eq!(seen[0].authorization, None);
    assert!(seen.is_sorted_by_key(|seen| seen.at));
}

#[test]
fn a_request_that_is_too_large_is_refused() {
    let caller = Caller::start("");
    let response = caller
        .insert_request(&caller.vpg(), &"x".repeat(2_000_000))
        .send();
    // The answer may overtake the rest of the request, which then finds a closed stream.
    assert!(response.is_ok_and(|response| response.status() == 413) || caller.sim.checkpoints().is_empty());
}

#[test]
fn identifiers_follow_from_names() {
    let vpg = Vpg::default();
    assert_eq!(vpg.identifier(), Vpg::default().identifier());
    assert_ne!(
        vpg.identifier(),
        Vpg {
            name: "other".into(),
            ..Vpg::default()
        }
        .identifier()
    );
    assert_eq!(Vm::named("a").identifier(), Vm::named("a").identifier());
    assert_ne!(Vm::named("a").identifier(), Vm::named("b").identifier());
}

#[test]
fn a_scenario_with_a_mistake_is_refused_with_its_line() {
    let cases = [
        ("[[vpgs]]\nname = 'x'\ncadance_ms = 5", "line 3", "cadance_ms"),
        ("[[vpgs]]\nstatus = 9", "line 2", "9 is not between 0 and 8"),
        (
            "[[vpgs]]\n\nsub_status = 43",
            "line 3",
            "43 is not between 0 and 42",
        ),
        ("[[vpgs]]\ncadence_ms = 0", "line 2", "0 is not between 1 and"),
        ("[site]\nplatform = 'amiga'", "line 2", "amiga"),
        (
            "[[vpgs]]\nvms = [ { name = 'x', identifier = 'vm-1' } ]",
            "line 2",
            "<server id>.<moref>",
        ),
        ("[[vpgs]]\nvms = [ { } ]", "line 2", "name"),
        ("name = ", "line 1", ""),
    ];
    for (text, line, words) in cases {
        let error = Scenario::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(words), "{error}");
    }
}

#[test]
fn a_scenario_that_contradicts_itself_is_refused() {
    let twice = Scenario::from_toml("[[vpgs]]\nname = 'x'\n[[vpgs]]\nname = 'x'").unwrap_err();
    assert!(twice.to_string().contains("two VPGs"), "{twice}");
    let mut scenario = Scenario::default();
    scenario.vpgs[0].vms.push(Vm {
        direction: Direction::RecoveredHere,
        ..Vm::named("far")
    });
    let error = Sim::start(scenario).err().unwrap();
    assert!(error.to_string().contains("both directions"), "{error}");
}
