//! Every scripted trouble, as a caller meets it.

use std::io::Read;
use std::time::{Duration, Instant};

use reqwest::blocking::Response;
use reqwest::{Method, Version};
use zvm_sim::Scenario;

use crate::caller::{Caller, builder, json, message};

const HEALTHY: &str = "[[vpgs]]\ninstant = true\n";

/// A healthy site where one trouble waits on the list of VMs.
fn caller(trouble: &str) -> Caller {
    Caller::start(&format!("{HEALTHY}[[troubles]]\non = 'GET /v1/vms'\n{trouble}"))
}

/// A healthy site where one trouble waits on the insert.
fn inserting(trouble: &str) -> Caller {
    Caller::start(&format!(
        "{HEALTHY}[[troubles]]\non = 'POST /v1/vpgs/*/checkpoints'\n{trouble}"
    ))
}

fn text(response: Response) -> String {
    assert_eq!(response.status(), 200);
    response.text().unwrap()
}

/// The same caller, who speaks HTTP/1.1 only.
fn over_http1(mut caller: Caller) -> Caller {
    caller.http = builder(&caller.sim).http1_only().build().unwrap();
    caller
}

#[test]
fn a_status_has_its_body_and_headers() {
    let caller = caller("kind = 'status'\nstatus = 503\nbody = 'busy'\nheaders = { 'Retry-After' = '1' }");
    let response = caller.get("/v1/vms");
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(response.text().unwrap(), "busy");
}

#[test]
fn a_closed_connection_gives_no_answer() {
    for caller in [caller("kind = 'close'"), over_http1(caller("kind = 'close'"))] {
        assert!(caller.request(Method::GET, "/v1/vms").send().is_err());
        assert!(caller.read("/v1/localsite").is_object());
    }
}

#[test]
fn a_cut_answer_ends_in_the_middle_of_the_body() {
    for (caller, version) in [
        (caller("kind = 'cut'"), Version::HTTP_2),
        (over_http1(caller("kind = 'cut'")), Version::HTTP_11),
    ] {
        let mut response = caller.get("/v1/vms");
        assert_eq!((response.status().as_u16(), response.version()), (200, version));
        let promised = response.content_length().unwrap();
        let mut body = Vec::new();
        assert!(response.read_to_end(&mut body).is_err());
        assert_eq!(body.len() as u64, promised / 2);
    }
}

#[test]
fn an_empty_answer_can_be_cut_too() {
    let caller = caller("kind = 'empty'");
    assert_eq!(text(caller.get("/v1/vms")), "");
    let trouble = "[site]\nplatform = 'windows'\n[[troubles]]\non = 'POST /v1/session/add'\nkind = 'cut'";
    let caller = Caller::stranger(trouble);
    let login = caller
        .request(Method::POST, "/v1/session/add")
        .basic_auth("admin", Some("secret"));
    assert!(login.send().unwrap().bytes().is_err());
}

#[test]
fn a_hanging_request_is_never_answered_and_does_not_keep_the_simulation() {
    let caller = caller("kind = 'hang'");
    let request = caller
        .request(Method::GET, "/v1/vms")
        .timeout(Duration::from_millis(300));
    assert!(request.send().unwrap_err().is_timeout());

    // Another one is still open when the simulation ends.
    let open = caller.request(Method::GET, "/v1/vms");
    let waiting = std::thread::spawn(move || open.send().map(|response| response.status()));
    while caller
        .sim
        .requests()
        .iter()
        .filter(|seen| seen.path == "/v1/vms")
        .count()
        < 2
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    let began = Instant::now();
    drop(caller);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(waiting.join().unwrap().is_err());
}

#[test]
fn a_body_can_be_other_than_expected() {
    assert!(
        serde_json::from_str::<serde_json::Value>(&text(caller("kind = 'bad-json'").get("/v1/vms"))).is_err()
    );
    assert!(text(caller("kind = 'html'").get("/v1/vms")).starts_with("<!doctype html>"));
    assert_eq!(text(caller("kind = 'null'").get("/v1/vms")), "null");
    let rows = json(caller("kind = 'wrong-type'").get("/v1/vms"));
    assert!(rows[0]["VmName"].is_number() && rows[1].is_number());
}

#[test]
fn a_huge_body_has_the_size_that_was_asked_for() {
    let caller = caller("kind = 'huge'\nsize = 3000000");
    let response = caller.get("/v1/vms");
    assert_eq!(response.content_length(), Some(3_000_000));
    assert_eq!(response.bytes().unwrap().len(), 3_000_000);
}

#[test]
fn a_huge_body_without_a_size_goes_on_and_on() {
    let caller = caller("kind = 'huge'");
    let mut response = caller.get("/v1/vms");
    assert_eq!(response.content_length(), None);
    let mut much = vec![0; 20_000_000];
    response.read_exact(&mut much).unwrap();
    assert!(much.starts_with(b"[\"xxx"));
}

#[test]
fn a_redirect_names_its_place() {
    let response = caller("kind = 'redirect'\nlocation = 'https://elsewhere.invalid/'").get("/v1/vms");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (302, &"https://elsewhere.invalid/".parse().unwrap())
    );
}

#[test]
fn unauthorized_once_is_over_afterwards() {
    let caller = caller("kind = 'unauthorized'\ntimes = 1");
    let response = caller.get("/v1/vms");
    assert_eq!(response.status(), 401);
    assert!(!message(response).is_empty());
    assert_eq!(caller.get("/v1/vms").status(), 200);
}

#[test]
fn a_lost_answer_has_done_its_work() {
    let caller = inserting("kind = 'lost'\ntimes = 1");
    let vpg = caller.vpg();
    assert!(caller.insert_request(&vpg, "lost").send().is_err());
    assert!(caller.find_tag(&vpg, "lost").is_some());
    assert_eq!(caller.sim.checkpoints().len(), 1);
}

#[test]
fn a_refused_answer_has_not_done_its_work() {
    let caller = inserting("kind = 'status'\nstatus = 500\nbody = '{\"Message\":\"no\"}'");
    let response = caller.insert_request(&caller.vpg(), "refused").send().unwrap();
    assert_eq!(
        (response.status().as_u16(), message(response).as_str()),
        (500, "no")
    );
    assert_eq!(caller.sim.checkpoints(), []);
}

#[test]
fn a_slow_answer_comes_byte_by_byte_and_whole() {
    let caller = Caller::start("[[troubles]]\non = 'GET /v1/vpgs/statuses'\nkind = 'slow'\ndelay_ms = 2");
    let began = Instant::now();
    let statuses = caller.read("/v1/vpgs/statuses");
    let bytes = statuses.to_string().len() as u32;
    assert_eq!(statuses[1], "MeetingSLA");
    assert!(began.elapsed() >= Duration::from_millis(2) * bytes);
}

#[test]
fn a_delay_comes_before_the_normal_answer() {
    let caller = caller("kind = 'delay'\ndelay_ms = 200");
    let began = Instant::now();
    assert_eq!(caller.read("/v1/vms")[0]["VmName"], "jp-ubuntu");
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[test]
fn other_kinds_can_be_delayed_as_well() {
    let caller = caller("kind = 'null'\ndelay_ms = 150");
    let began = Instant::now();
    assert_eq!(text(caller.get("/v1/vms")), "null");
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[test]
fn troubles_take_turns_as_the_file_says() {
    let caller = Caller::start(
        "[[troubles]]\non = 'GET /v1/vms'\nstatus = 500\nafter = 1\ntimes = 2\n\
         [[troubles]]\non = '* /V1/*'\nstatus = 429\nafter = 4",
    );
    let statuses: Vec<_> = (0..5).map(|_| caller.get("/v1/vms").status().as_u16()).collect();
    assert_eq!(statuses, [200, 500, 500, 200, 429]);
    assert_eq!(caller.get("/v1/vpgs/substatuses").status(), 429);
}

#[test]
fn a_star_is_one_segment_and_at_the_end_the_rest() {
    let hits = |on: &str, path: &str| {
        let caller = Caller::start(&format!("[[troubles]]\non = '{on}'\nstatus = 418"));
        caller.get(path).status() == 418
    };
    assert!(hits(
        "GET /v1/vpgs/*/checkpoints",
        "/v1/VPGS/some-id/Checkpoints?startDate=2026"
    ));
    assert!(!hits(
        "GET /v1/vpgs/*/checkpoints",
        "/v1/vpgs/some-id/checkpoints/stats"
    ));
    assert!(!hits(
        "POST /v1/vpgs/*/checkpoints",
        "/v1/vpgs/some-id/checkpoints"
    ));
    assert!(hits("GET /v1/*", "/v1/vpgs/some-id/checkpoints/stats"));
    assert!(!hits("GET /v1/vms/*", "/v1/vms"));
}

#[test]
fn a_trouble_that_makes_no_sense_is_named_with_its_line() {
    let cases = [
        ("kind = 'status'", "needs a `status`"),
        ("kind = 'redirect'", "needs a `location`"),
        ("kind = 'cut'\nsize = 3", "`size` does not go with"),
        ("status = 99", "99 is no final HTTP status"),
        ("status = 503\nheaders = { 'a b' = 'c' }", "headers: "),
        ("kind = 'explode'", "unknown variant"),
        ("knid = 'cut'", "unknown field `knid`"),
    ];
    for (keys, expected) in cases {
        let error =
            Scenario::from_toml(&format!("[site]\n\n[[troubles]]\non = 'GET /v1/vms'\n{keys}")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected) && error.contains("at line "), "{error}");
    }
    let error = Scenario::from_toml("[[troubles]]\non = '/v1/vms'\nkind = 'cut'")
        .unwrap_err()
        .to_string();
    assert!(error.contains("not a method and a path"), "{error}");
}

#[test]
fn the_log_in_can_be_in_trouble() {
    let caller = Caller::stranger("[[troubles]]\non = 'POST /auth/*'\nkind = 'html'");
    let response = caller
        .token_request(&crate::caller::password_form())
        .send()
        .unwrap();
    assert!(text(response).contains("<title>"));
}

#[test]
fn a_request_in_trouble_is_seen_all_the_same() {
    let caller = caller("kind = 'close'");
    assert!(caller.request(Method::GET, "/v1/vms?x=1").send().is_err());
    let seen = caller.sim.requests().pop().unwrap();
    assert_eq!(
        (seen.path.as_str(), seen.query.as_str(), seen.authorization),
        ("/v1/vms", "x=1", Some("Bearer"))
    );
}
