//! Captures that something goes wrong with.

use std::time::{Duration, Instant};

use holdpoint_zerto::{Checkpoint, Error, Zvm};
use zvm_sim::Sim;

use crate::common::*;

const INSERT: &str = "POST /v1/vpgs/*/checkpoints";
const JOURNAL: &str = "GET /v1/vpgs/*/checkpoints";

/// A VPG of half a second's cadence, with troubles.
fn troubled(troubles: &[(&str, &str)]) -> Sim {
    let troubles = troubles
        .iter()
        .map(|(on, rest)| format!("[[troubles]]\non = '{on}'\n{rest}\n"));
    sim(&format!(
        "[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 500\n{}",
        troubles.collect::<String>()
    ))
}

async fn capture(zvm: &Zvm) -> Result<Checkpoint, Error> {
    zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0)
}

#[tokio::test]
async fn a_lost_answer_is_looked_up_before_the_insert_is_sent_again() {
    for kind in ["lost", "cut"] {
        let sim = troubled(&[(INSERT, &format!("kind = '{kind}'\ntimes = 1"))]);
        let result = capture(&zvm(&sim)).await;
        assert!(result.is_ok(), "{kind}: {result:?}");
        assert_eq!(sim.checkpoints().len(), 1, "{kind}");
        assert_eq!(inserts(&sim).len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn an_insert_that_was_not_done_is_sent_once_more() {
    for trouble in [
        "kind = 'close'",
        "kind = 'status'\nstatus = 503",
        "kind = 'status'\nstatus = 502\nbody = 'bad gateway'",
    ] {
        let sim = troubled(&[(INSERT, &format!("{trouble}\ntimes = 1"))]);
        let result = capture(&impatient(&sim, 4000)).await;
        assert!(result.is_ok(), "{trouble}: {result:?}");
        let inserts = inserts(&sim);
        assert_eq!(inserts.len(), 2, "{trouble}");
        let polled = polls(&sim).iter().filter(|poll| poll.at < inserts[1].at).count();
        assert!(polled >= 2, "{trouble}: looked up {polled} times");
    }
}

#[tokio::test]
async fn an_insert_is_never_sent_a_third_time() {
    let sim = troubled(&[(INSERT, "kind = 'close'")]);
    let result = capture(&impatient(&sim, 1500)).await;
    assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
    assert_eq!(inserts(&sim).len(), 2);
}

#[tokio::test]
async fn a_refusal_is_in_zerto_s_words_and_at_once() {
    for (status, body, expected) in [
        (
            400,
            r#"{"Message":"VPG is paused"}"#,
            Error::Refused("VPG is paused".into()),
        ),
        (
            404,
            r#"{"Message":"No such VPG"}"#,
            Error::Refused("No such VPG".into()),
        ),
        (404, "", Error::NotFound),
        (409, r#"{"title":"Busy"}"#, Error::Refused("Busy".into())),
        (
            500,
            r#"{"message":"Exception occurred in API: x;"}"#,
            Error::Refused("Exception occurred in API: x;".into()),
        ),
        (
            503,
            r#"{"Message":"The service is stopping"}"#,
            Error::Refused("The service is stopping".into()),
        ),
    ] {
        let sim = troubled(&[(
            INSERT,
            &format!("kind = 'status'\nstatus = {status}\nbody = '{body}'"),
        )]);
        assert_eq!(capture(&zvm(&sim)).await, Err(expected));
        assert_eq!((inserts(&sim).len(), polls(&sim).len()), (1, 0));
    }
}

#[tokio::test]
async fn other_answers_to_an_insert_end_it() {
    let bare = troubled(&[(INSERT, "kind = 'status'\nstatus = 500")]);
    assert!(matches!(capture(&zvm(&bare)).await, Err(Error::Unreachable(_))));
    let forbidden = troubled(&[(
        INSERT,
        "kind = 'status'\nstatus = 403\nbody = '{\"Message\":\"Viewers may not\"}'",
    )]);
    let Err(Error::Unauthorized(text)) = capture(&zvm(&forbidden)).await else {
        panic!()
    };
    assert!(text.contains("Viewers may not") && text.contains("403"), "{text}");
    for kind in ["bad-json", "html", "null", "wrong-type", "huge"] {
        let sim = troubled(&[(INSERT, &format!("kind = '{kind}'"))]);
        let result = capture(&zvm(&sim)).await;
        assert!(matches!(result, Err(Error::Malformed(_))), "{kind}: {result:?}");
    }
    let redirected = troubled(&[(INSERT, "kind = 'redirect'\nlocation = '/v1/elsewhere'")]);
    assert!(matches!(
        capture(&zvm(&redirected)).await,
        Err(Error::Unreachable(_))
    ));
    assert_eq!(
        seen(&redirected, "POST", "/elsewhere").len() + seen(&redirected, "GET", "/elsewhere").len(),
        0
    );
}

#[tokio::test]
async fn an_insert_that_is_accepted_without_a_word_is_looked_for_in_the_journal() {
    for kind in ["unnamed", "status'\nstatus = 204\nbody = ' "] {
        let sim = troubled(&[(INSERT, &format!("kind = '{kind}'"))]);
        let result = capture(&impatient(&sim, 4000)).await;
        assert_eq!(result.is_ok(), kind == "unnamed", "{kind}: {result:?}");
        assert_eq!(inserts(&sim).len(), 1);
        if kind != "unnamed" {
            assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
        }
    }
}

#[tokio::test]
async fn a_401_in_mid_wait_is_a_token_that_ended() {
    let sim = troubled(&[
        (JOURNAL, "kind = 'unauthorized'\nafter = 1\ntimes = 1"),
        (JOURNAL, "kind = 'status'\nstatus = 200\nbody = '[]'\ntimes = 1"),
    ]);
    let result = capture(&zvm(&sim)).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(log_ins(&sim).len(), 2);
}

#[tokio::test]
async fn a_second_401_is_the_end() {
    let sim = troubled(&[(JOURNAL, "kind = 'unauthorized'")]);
    let result = capture(&zvm(&sim)).await;
    assert!(matches!(result, Err(Error::Unauthorized(_))), "{result:?}");
    assert_eq!((log_ins(&sim).len(), polls(&sim).len()), (2, 2));
}

#[tokio::test]
async fn polls_may_fail_but_not_five_times_in_a_row() {
    let failing = |times: u32| format!("kind = 'status'\nstatus = 503\ntimes = {times}");
    let (four, five) = (
        troubled(&[(JOURNAL, &failing(4))]),
        troubled(&[(JOURNAL, &failing(5))]),
    );
    let (patient, failed) = (zvm(&four), zvm(&five));
    let (patient, failed) = tokio::join!(capture(&patient), capture(&failed));
    assert!(patient.is_ok(), "{patient:?}");
    assert!(matches!(failed, Err(Error::Unreachable(_))), "{failed:?}");
    assert_eq!(polls(&five).len(), 5);
}

#[tokio::test]
async fn too_many_requests_are_spaced_as_the_zvm_says() {
    let busy = "kind = 'status'\nstatus = 429\nheaders = { \"Retry-After\" = \"1\" }\ntimes = 1";
    let sim = troubled(&[(INSERT, busy), (JOURNAL, busy)]);
    let result = capture(&zvm(&sim)).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(sim.checkpoints().len(), 1);
    for twice in [inserts(&sim), polls(&sim)] {
        assert!(twice[1].at - twice[0].at >= 1000, "{twice:?}");
    }
}

#[tokio::test]
async fn a_pause_past_the_deadline_is_not_waited_for() {
    let sim = troubled(&[(
        INSERT,
        "kind = 'status'\nstatus = 429\nheaders = { \"Retry-After\" = \"3600\" }",
    )]);
    let begun = Instant::now();
    let result = capture(&zvm(&sim)).await;
    assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(inserts(&sim).len(), 1);
}

#[tokio::test]
async fn another_tag_is_not_ours() {
    let others =
        format!(r#"[{{"CheckpointIdentifier":"1","TimeStamp":"2026-01-01T00:00:00Z","Tag":"{TAG} "}}]"#);
    let sim = troubled(&[(
        JOURNAL,
        &format!("kind = 'status'\nstatus = 200\nbody = '{others}'"),
    )]);
    let result = capture(&impatient(&sim, 700)).await;
    assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
}
