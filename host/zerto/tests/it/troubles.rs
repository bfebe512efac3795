//! Answers to a look-up that are none, or none of ours.

use std::time::{Duration, Instant};

use holdpoint_zerto::{Error, VmRow, Zvm};
use zvm_sim::Sim;

use crate::common::*;

fn troubled(trouble: &str) -> Sim {
    sim(&format!("[[troubles]]\non = 'GET /v1/vms'\n{trouble}"))
}

async fn find(zvm: &Zvm) -> Result<Vec<VmRow>, Error> {
    zvm.find_vms_by_name("jp-ubuntu").await
}

fn asked(sim: &Sim) -> usize {
    seen(sim, "GET", "/v1/vms").len()
}

#[tokio::test]
async fn nonsense_is_malformed() {
    for kind in ["bad-json", "html", "null", "empty", "wrong-type", "huge"] {
        let sim = troubled(&format!("kind = '{kind}'"));
        let result = find(&zvm(&sim)).await;
        assert!(matches!(result, Err(Error::Malformed(_))), "{kind}: {result:?}");
        assert_eq!(asked(&sim), 1, "{kind}");
    }
}

#[tokio::test]
async fn four_mebibytes_are_read_and_no_more() {
    for (size, why) in [(4 << 20, "not JSON"), ((4 << 20) + 1, "more than 4 MiB")] {
        let sim = troubled(&format!("kind = 'huge'\nsize = {size}"));
        let result = find(&zvm(&sim)).await;
        assert!(
            matches!(&result, Err(Error::Malformed(text)) if text.contains(why)),
            "{size}: {result:?}"
        );
    }
}

#[tokio::test]
async fn one_broken_connection_is_forgiven() {
    for kind in ["close", "cut"] {
        let sim = troubled(&format!("kind = '{kind}'\ntimes = 1"));
        let result = find(&zvm(&sim)).await;
        assert!(result.is_ok_and(|rows| rows.len() == 1), "{kind}");
        let sim = troubled(&format!("kind = '{kind}'"));
        let result = find(&zvm(&sim)).await;
        assert!(matches!(result, Err(Error::Unreachable(_))), "{kind}: {result:?}");
        assert_eq!(asked(&sim), 3, "{kind}");
    }
}

#[tokio::test]
async fn the_deadline_holds_whatever_the_server_does() {
    for trouble in [
        "kind = 'hang'",
        "kind = 'slow'\ndelay_ms = 20",
        "kind = 'delay'\ndelay_ms = 30000",
    ] {
        let sim = troubled(trouble);
        let begun = Instant::now();
        let result = find(&hurried(&sim, 600)).await;
        assert!(matches!(result, Err(Error::TimedOut(_))), "{trouble}: {result:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{trouble}");
    }
}

#[tokio::test]
async fn a_status_has_its_meaning() {
    let refused = |text: &str| Error::Refused(text.into());
    let unreachable = |text: &str| Error::Unreachable(text.into());
    let cases = [
        (400, r#"{"Message":"odd"}"#, refused("odd")),
        (403, "", Error::Unauthorized("HTTP 403 from GET /v1/vms".into())),
        (500, r#"{"Message":"inner"}"#, refused("inner")),
        (500, "", unreachable("HTTP 500 from GET /v1/vms")),
        (502, "<html>", unreachable("HTTP 502 from GET /v1/vms")),
        (504, "late", unreachable("late (HTTP 504 from GET /v1/vms)")),
    ];
    for (status, body, expected) in cases {
        let sim = troubled(&format!("kind = 'status'\nstatus = {status}\nbody = '{body}'"));
        assert_eq!(find(&zvm(&sim)).await, Err(expected));
        assert_eq!(asked(&sim), 1);
    }
}

#[tokio::test]
async fn no_redirect_leads_to_another_host() {
    let trap = sim("");
    for location in [
        format!("{}/v1/vms", trap.url()),
        "https://evil.example/v1/vms".into(),
        "http://localhost/v1/vms".into(),
    ] {
        let sim = troubled(&format!("kind = 'redirect'\nlocation = '{location}'"));
        let Err(Error::Unreachable(text)) = find(&zvm(&sim)).await else {
            panic!("{location}")
        };
        let host = if location.contains("evil") {
            "evil.example"
        } else {
            "localhost"
        };
        assert!(text.contains(host), "{text}");
    }
    assert_eq!(trap.requests(), []);
}

#[tokio::test]
async fn a_redirect_within_the_zvm_is_followed_a_few_times() {
    let sim = troubled("kind = 'redirect'\nlocation = '/v1/vms?vmName=jp-ubuntu'\ntimes = 3");
    assert!(find(&zvm(&sim)).await.is_ok_and(|rows| rows.len() == 1));
    let sim = troubled("kind = 'redirect'\nlocation = '/v1/vms'");
    assert!(matches!(find(&zvm(&sim)).await, Err(Error::Unreachable(_))));
    assert_eq!(asked(&sim), 4);
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let gone = sim("");
    let settings = settings(&gone);
    drop(gone);
    let result = find(&Zvm::new(settings).unwrap()).await;
    assert!(matches!(result, Err(Error::Unreachable(_))), "{result:?}");
}
