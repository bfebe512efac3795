//! Captures that go as they should, or end as they must.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdpoint_zerto::{Error, Settings, Zvm};
use zvm_sim::{Scenario, Sim};

use crate::common::*;

#[tokio::test]
async fn a_checkpoint_is_captured() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 400\ntask_ms = 100");
    let zvm = zvm(&sim);
    zvm.find_vms_by_name("jp-ubuntu").await.unwrap();
    let asked = sim.requests().len();
    let checkpoint = zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap();

    let inserted = sim.checkpoints().remove(0);
    assert_eq!(checkpoint.identifier, inserted.checkpoint_identifier);
    assert_eq!(
        (checkpoint.tag.as_str(), checkpoint.vpg_identifier),
        (TAG, vpg("APP-VPG"))
    );
    assert!(
        checkpoint.time.starts_with("20") && checkpoint.time.ends_with('Z'),
        "{}",
        checkpoint.time
    );
    // Beside the insert goes the question for the ZVM's time, and which of the two is written down first is chance.
    let first = &sim.requests()[asked..asked + 2];
    let insert = first.iter().find(|request| request.method == "POST");
    let insert = insert.unwrap_or_else(|| panic!("the insert comes first: {first:?}"));
    assert_eq!(insert.authorization, Some("Bearer"));
    assert_eq!(
        insert.body,
        serde_json::json!({"checkpointName": TAG}).to_string()
    );
    assert_eq!(inserts(&sim).len(), 1);
    assert_eq!(zvm.timings().requests, sim.requests().len() as u64);
}

#[tokio::test]
async fn a_checkpoint_is_noticed_at_the_first_poll_that_can() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 1000\nvisible_after_ms = 1000");
    let zvm = zvm(&sim);
    zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap();
    let visible = sim.checkpoints()[0].visible_ms.unwrap();
    let polls = polls(&sim);
    let late = polls.iter().filter(|poll| poll.at > visible).count();
    assert!(late <= 1, "{late} polls after {visible} ms: {polls:?}");
    // Five a second at most.
    assert!(polls.len() as u64 <= 2 + visible / 200, "{} polls", polls.len());
    assert!(zvm.timings().journal > 0);
}

#[tokio::test]
async fn an_instant_checkpoint_takes_no_second_poll() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ninstant = true");
    let zvm = zvm(&sim);
    zvm.find_vms_by_name("jp-ubuntu").await.unwrap();
    zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap();
    assert_eq!((inserts(&sim).len(), polls(&sim).len()), (1, 1));
}

#[tokio::test]
async fn each_vpg_has_its_own_end_in_its_own_place() {
    let sim = sim(r#"
        [[vpgs]]
        name = "SLOW"
        cadence_ms = 1500
        [[vpgs]]
        name = "REFUSED"
        outcome = "refused"
        reason = "VPG is in bitmap sync"
        [[vpgs]]
        name = "FAILS"
        outcome = "task-fails"
        task_ms = 500
        reason = "The journal volume is full"
        [[vpgs]]
        name = "NEVER"
        cadence_ms = 1000
        outcome = "never-surfaces"
        [[vpgs]]
        name = "QUICK"
        instant = true
    "#);
    let names = ["SLOW", "REFUSED", "FAILS", "NEVER", "QUICK", "UNKNOWN", "QUICK"];
    let vpgs: Vec<_> = names.iter().map(|name| vpg(name)).collect();
    let results = impatient(&sim, 3000).capture(&vpgs, TAG).await;

    assert_eq!(results.len(), names.len());
    assert_eq!(results[0].as_ref().unwrap().vpg_identifier, vpgs[0]);
    assert_eq!(results[1], Err(Error::Refused("VPG is in bitmap sync".into())));
    assert_eq!(
        results[2],
        Err(Error::Refused("The journal volume is full".into()))
    );
    let Err(Error::TimedOut(text)) = &results[3] else {
        panic!("{:?}", results[3])
    };
    assert!(
        text.contains(TAG) && text.contains("after 3.") && text.contains("cadence: 1.0 s"),
        "{text}"
    );
    assert_eq!(results[4].as_ref().unwrap().vpg_identifier, vpgs[4]);
    assert!(
        matches!(&results[5], Err(Error::Refused(words)) if words.contains("No VPG")),
        "{:?}",
        results[5]
    );
    assert_eq!(results[6], results[4]);

    // All at once, and one for each VPG.
    let inserts = inserts(&sim);
    assert_eq!(inserts.len(), 6);
    assert!(polls(&sim).iter().all(|poll| poll.at >= inserts[0].at));
    assert_eq!(log_ins(&sim).len(), 1);
    let failed = sim
        .requests()
        .iter()
        .filter(|seen| seen.path.contains(&vpgs[1]))
        .count();
    assert_eq!(failed, 1, "a refusal is not waited for");
}

#[tokio::test]
async fn a_failed_task_ends_the_wait() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\noutcome = 'task-fails'\nreason = 'No space'\ntask_ms = 300");
    let result = zvm(&sim).capture(&[vpg("APP-VPG")], TAG).await.remove(0);
    assert_eq!(result, Err(Error::Refused("No space".into())));
    assert!(polls(&sim).len() < 10);
}

#[tokio::test]
async fn a_task_that_cannot_be_asked_for_leaves_it_to_the_journal() {
    for trouble in [
        "kind = 'status'\nstatus = 404",
        "kind = 'bad-json'",
        "kind = 'hang'",
    ] {
        let sim = sim(&format!(
            "[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 700\n[[troubles]]\non = 'GET /v1/tasks/*'\n{trouble}"
        ));
        let result = zvm(&sim).capture(&[vpg("APP-VPG")], TAG).await.remove(0);
        assert!(result.is_ok(), "{trouble}: {result:?}");
    }
}

#[tokio::test]
async fn the_zvm_s_own_clock_counts() {
    for offset in [-7_654_321, 7_654_321] {
        let sim = sim(&format!(
            "[site]\nclock_offset_seconds = {offset}\n[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 500"
        ));
        let result = zvm(&sim).capture(&[vpg("APP-VPG")], TAG).await.remove(0);
        assert!(result.is_ok(), "{offset}: {result:?}");
    }
}

#[tokio::test]
async fn the_deadline_ends_the_wait() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 1000\noutcome = 'never-surfaces'");
    let begun = Instant::now();
    let zvm = hurried(&sim, 1200);
    let result = zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0);
    let Err(Error::TimedOut(text)) = result else {
        panic!("{result:?}")
    };
    assert!(text.contains("may still surface") && text.contains(TAG), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    // What is asked after the deadline is answered at once.
    assert!(matches!(
        zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0),
        Err(Error::TimedOut(_))
    ));
    assert!(matches!(
        zvm.find_vms_by_name("jp-ubuntu").await,
        Err(Error::TimedOut(_))
    ));
}

#[tokio::test]
async fn the_longest_wait_can_be_endless() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 300");
    let zvm = Zvm::new(Settings {
        longest_wait: Duration::MAX,
        ..settings(&sim)
    })
    .unwrap();
    assert!(zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).is_ok());
}

#[tokio::test]
async fn an_insert_that_is_never_answered_ends_at_the_deadline() {
    let sim = sim("[[troubles]]\non = 'POST /v1/vpgs/*/checkpoints'\nkind = 'hang'");
    for zvm in [hurried(&sim, 800), impatient(&sim, 800)] {
        let begun = Instant::now();
        let result = zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0);
        assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(inserts(&sim).len(), 2);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let scenario =
        "[login]\ntoken_seconds = 1\n[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 500\nvisible_after_ms = 2500";
    let note = answers.clone();
    let sim = Sim::start_logged(
        Scenario::from_toml(scenario).unwrap(),
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        move |answered| note.lock().unwrap().push(answered.status),
    )
    .unwrap();
    let result = zvm(&sim).capture(&[vpg("APP-VPG")], TAG).await.remove(0);
    assert!(result.is_ok(), "{result:?}");
    assert!(log_ins(&sim).len() >= 3, "{}", log_ins(&sim).len());
    let answers = answers.lock().unwrap();
    assert!(answers.iter().all(|status| *status == Some(200)), "{answers:?}");
}

#[tokio::test]
async fn a_tag_is_needed_and_a_vpg_is_not() {
    let sim = sim("");
    let zvm = zvm(&sim);
    assert!(matches!(
        zvm.capture(&[vpg("APP-VPG")], "").await.remove(0),
        Err(Error::Refused(_))
    ));
    assert_eq!(zvm.capture(&[], TAG).await, []);
    assert_eq!(inserts(&sim).len(), 0);
}

#[test]
fn every_future_can_be_moved_between_threads() {
    fn moves(_: impl Send) {}
    let sim = sim("");
    let zvm: Zvm = zvm(&sim);
    moves(zvm.find_vms_by_name(""));
    moves(zvm.find_vms_by_identifier(""));
    moves(zvm.vpg(""));
    moves(zvm.cadence(""));
    moves(zvm.capture(&[], ""));
}

#[tokio::test]
async fn the_clock_is_read_while_the_insert_is_answered() {
    let sim = sim(
        "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\n[[troubles]]\non = '* /v1/*'\nkind = 'delay'\ndelay_ms = 200",
    );
    let zvm = zvm(&sim);
    zvm.find_vms_by_name("jp-ubuntu").await.unwrap();
    zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap();
    let at = |method: &str, end: &str| seen(&sim, method, end)[0].at;
    let (insert, clock) = (at("POST", "/checkpoints"), at("GET", "/serverDateTimeUtc"));
    assert!(insert.abs_diff(clock) < 200, "{:?}", sim.requests());
    assert!(at("GET", "/checkpoints") >= insert + 200);
}

#[tokio::test]
async fn a_clock_that_hangs_keeps_no_refusal_back() {
    let sim = sim(
        "[[vpgs]]\nname = 'APP-VPG'\noutcome = 'refused'\nreason = 'no'\n[[troubles]]\non = 'GET /v1/serverDateTime/*'\nkind = 'hang'",
    );
    let begun = Instant::now();
    let result = zvm(&sim).capture(&[vpg("APP-VPG")], TAG).await.remove(0);
    assert_eq!(result, Err(Error::Refused("no".into())));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn what_another_inserted_is_confirmed_if_it_came_after() {
    let sim = sim("[[vpgs]]\nname = 'APP-VPG'\ninstant = true");
    let vpg = vpg("APP-VPG");
    // Checkpoints are dated to the second: one of the second in which the wait began may be older than that.
    let began = Instant::now() - Duration::from_secs(2);
    let follower = zvm(&sim);
    follower.read_clock().await.unwrap();
    let inserted = zvm(&sim)
        .capture(std::slice::from_ref(&vpg), TAG)
        .await
        .remove(0)
        .unwrap();
    assert_eq!(follower.confirm(&vpg, TAG, began).await, Ok(Some(inserted)));
    assert_eq!(follower.confirm(&vpg, "another tag", began).await, Ok(None));
    // For a call that begins to wait later, it is an old one.
    let later = Instant::now() + Duration::from_secs(5);
    assert_eq!(follower.confirm(&vpg, TAG, later).await, Ok(None));
    assert_eq!(inserts(&sim).len(), 1);
}
