//! Inserting a tagged checkpoint, and when the journal shows it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::caller::{Caller, json, message};

fn moment(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

/// The ZVM's clock, read over the wire.
fn server_time(caller: &Caller) -> Timestamp {
    moment(&caller.read("/v1/serverDateTime/serverDateTimeUtc"))
}

fn task(caller: &Caller, identifier: &str) -> (i64, String) {
    let task = caller.read(&format!("/v1/tasks/{identifier}"));
    (
        task["Status"]["State"].as_i64().unwrap(),
        task["CompleteReason"].as_str().unwrap().to_owned(),
    )
}

/// Waits until the journal shows a tag and gives its row.
fn await_tag(caller: &Caller, vpg: &str, tag: &str) -> Value {
    let began = Instant::now();
    loop {
        if let Some(row) = caller.find_tag(vpg, tag) {
            return row;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "`{tag}` does not surface"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_instant_tag_is_in_the_journal_at_once() {
    let caller = Caller::start("[[vpgs]]\ninstant = true");
    let vpg = caller.vpg();
    let task = caller.read(&format!("/v1/tasks/{}", caller.insert(&vpg, "before the change")));
    assert_eq!(
        (&task["Type"], &task["Status"]["State"]),
        (&"InsertTaggedCP".into(), &6.into())
    );
    assert_eq!(task["RelatedEntities"]["Vpgs"][0]["identifier"], vpg);

    let row = caller.find_tag(&vpg, "before the change").unwrap();
    let [inserted] = caller.sim.checkpoints().try_into().unwrap();
    assert_eq!(row["CheckpointIdentifier"], inserted.checkpoint_identifier);
    assert_eq!(
        (inserted.vpg_identifier, inserted.tag),
        (vpg, "before the change".to_owned())
    );
    assert_eq!(inserted.visible_ms, Some(inserted.inserted_ms));
}

#[test]
fn a_tag_surfaces_at_the_next_tick() {
    let caller = Caller::start("[[vpgs]]\ncadence_ms = 700");
    let vpg = caller.vpg();
    caller.insert(&vpg, "soon");
    let inserted = caller.sim.checkpoints()[0].clone();
    let visible = inserted.visible_ms.unwrap();
    assert_eq!(visible, inserted.inserted_ms.div_ceil(700) * 700);

    await_tag(&caller, &vpg, "soon");
    let seen = caller.sim.requests().pop().unwrap();
    assert!(seen.at >= visible, "seen at {} ms, before {visible} ms", seen.at);
}

#[test]
fn a_tag_can_surface_later_than_the_next_tick() {
    let caller = Caller::start("[[vpgs]]\ncadence_ms = 128000\nvisible_after_ms = 200000");
    caller.insert(&caller.vpg(), "much later");
    // As on AWS: the first tick at or after the delay, which is minutes away.
    assert_eq!(caller.sim.checkpoints()[0].visible_ms, Some(256_000));
    assert!(caller.find_tag(&caller.vpg(), "much later").is_none());
}

#[test]
fn the_journal_has_ticked_for_an_hour() {
    let caller = Caller::start("[[vpgs]]\ncadence_ms = 128000");
    let vpg = caller.vpg();
    let rows = caller.read(&format!("/v1/vpgs/{vpg}/checkpoints"));
    let rows = rows.as_array().unwrap();
    assert!((28..=29).contains(&rows.len()), "{} rows", rows.len());
    for pair in rows.windows(2) {
        let seconds = moment(&pair[1]["TimeStamp"]).as_second() - moment(&pair[0]["TimeStamp"]).as_second();
        assert_eq!(seconds, 128);
        let number = |row: &Value| {
            row["CheckpointIdentifier"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        assert!(number(&pair[0]) < number(&pair[1]));
    }
    assert!(rows.iter().all(|row| row["Tag"].is_null()));
    let stats = caller.read(&format!("/v1/vpgs/{vpg}/checkpoints/stats"));
    assert_eq!(
        (&stats["Earliest"], &stats["Latest"]),
        (&rows[0], &rows[rows.len() - 1])
    );
    assert_eq!(
        caller.read(&format!("/v1/vpgs/{vpg}"))["HistoryStatusApi"]["EarliestCheckpoint"],
        rows[0]
    );
}

#[test]
fn dates_choose_a_part_of_the_journal() {
    let caller = Caller::start("");
    let vpg = caller.vpg();
    let all = caller.read(&format!("/v1/vpgs/{vpg}/checkpoints"));
    let all = all.as_array().unwrap();
    let (first, last) = (moment(&all[700]["TimeStamp"]), moment(&all[702]["TimeStamp"]));
    let part = |start: &str, end: &str| {
        let rows = caller.read(&format!(
            "/v1/vpgs/{vpg}/checkpoints?startDate={start}&endDate={end}"
        ));
        rows.as_array().unwrap().clone()
    };
    assert_eq!(part(&first.to_string(), &last.to_string()), all[700..=702]);
    // The site's local time is two hours ahead of UTC.
    let local = |at: Timestamp| {
        (at + jiff::SignedDuration::from_hours(2))
            .to_string()
            .replace('Z', "")
    };
    assert_eq!(part(&local(first), &local(last)), all[700..=702]);
    assert_eq!(part("9998", "9999"), [Value::Null; 0]);
    assert_eq!(
        caller
            .get(&format!("/v1/vpgs/{vpg}/checkpoints?startDate=soon"))
            .status(),
        400
    );
}

#[test]
fn a_date_s_seconds_are_those_of_the_row() {
    let caller = Caller::start("[[vpgs]]\ninstant = true");
    let vpg = caller.vpg();
    caller.insert(&vpg, "mine");
    let row = caller.find_tag(&vpg, "mine").unwrap();
    let date = row["TimeStamp"].as_str().unwrap();
    let rows = caller.read(&format!(
        "/v1/vpgs/{vpg}/checkpoints?startDate={date}&endDate={date}"
    ));
    assert!(rows.as_array().unwrap().contains(&row), "{rows}");
}

#[test]
fn the_clock_can_be_off() {
    let caller = Caller::start("[site]\nclock_offset_seconds = -86400\n[[vpgs]]\ninstant = true");
    let behind = Timestamp::now().as_second() - server_time(&caller).as_second();
    assert!((86_399..86_430).contains(&behind), "{behind}");
    let vpg = caller.vpg();
    let task = caller.insert(&vpg, "yesterday");
    let tagged = moment(&caller.find_tag(&vpg, "yesterday").unwrap()["TimeStamp"]);
    let started = moment(&caller.read(&format!("/v1/tasks/{task}"))["Started"]);
    for moment in [tagged, started] {
        assert!((server_time(&caller).as_second() - moment.as_second()).abs() < 30);
    }
}

#[test]
fn a_task_takes_its_time() {
    let caller = Caller::start("[[vpgs]]\ntask_ms = 2000\ninstant = true");
    let identifier = caller.insert(&caller.vpg(), "slow");
    let running = caller.read(&format!("/v1/tasks/{identifier}"));
    assert_eq!(
        (&running["Status"]["State"], &running["Completed"]),
        (&1.into(), &Value::Null)
    );
    let list = |query: &str| {
        caller
            .read(&format!("/v1/tasks?{query}"))
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(
        (
            list("status=inprogress"),
            list("status=6"),
            list("type=other"),
            list("type=InsertTaggedCP")
        ),
        (1, 0, 0, 1)
    );
    std::thread::sleep(Duration::from_millis(2050));
    assert_eq!(task(&caller, &identifier), (6, String::new()));
    assert_eq!(
        (
            list("status=1"),
            list("status=Completed"),
            list("startedAfterDate=9999"),
            list("completedBeforeDate=9999")
        ),
        (0, 1, 0, 1)
    );
    assert_eq!(caller.get("/v1/tasks/unknown").status(), 404);
}

#[test]
fn a_task_can_fail() {
    let caller = Caller::start("[[vpgs]]\noutcome = 'task-fails'\nreason = 'Lost the VRA'\ninstant = true");
    let vpg = caller.vpg();
    let identifier = caller.insert(&vpg, "in vain");
    assert_eq!(task(&caller, &identifier), (4, "Lost the VRA".to_owned()));
    assert!(caller.find_tag(&vpg, "in vain").is_none());
    assert_eq!(caller.sim.checkpoints(), []);
}

#[test]
fn a_tag_can_stay_away() {
    let caller = Caller::start("[[vpgs]]\noutcome = 'never-surfaces'\ninstant = true");
    let vpg = caller.vpg();
    let identifier = caller.insert(&vpg, "never seen");
    assert_eq!(task(&caller, &identifier).0, 6);
    assert!(caller.find_tag(&vpg, "never seen").is_none());
    assert_eq!(caller.sim.checkpoints()[0].visible_ms, None);
}

#[test]
fn an_insert_can_be_refused() {
    let caller = Caller::start("[[vpgs]]\noutcome = 'refused'\nreason = 'Not on AWS'");
    let response = caller.insert_request(&caller.vpg(), "no").send().unwrap();
    assert_eq!(
        (response.status().as_u16(), message(response).as_str()),
        (400, "Not on AWS")
    );
    assert_eq!(caller.sim.checkpoints(), []);

    let windows = Caller::start("[site]\nplatform = 'windows'\n[[vpgs]]\noutcome = 'refused'");
    assert_eq!(
        windows
            .insert_request(&windows.vpg(), "no")
            .send()
            .unwrap()
            .status(),
        500
    );
}

#[test]
fn an_insert_needs_a_name_and_a_vpg() {
    let caller = Caller::start("[[vpgs]]\ninstant = true");
    let vpg = caller.vpg();
    let post = |body: Value| {
        let path = format!("/v1/VPGs/{vpg}/Checkpoints");
        caller
            .request(reqwest::Method::POST, &path)
            .json(&body)
            .send()
            .unwrap()
    };
    for key in ["checkpointName", "CheckpointName", "checkpointname"] {
        assert!(json(post(serde_json::json!({ key: key }))).is_string());
        assert!(caller.find_tag(&vpg, key).is_some());
    }
    for body in [
        serde_json::json!({}),
        serde_json::json!({ "checkpointName": "" }),
        serde_json::json!("name"),
    ] {
        assert_eq!(post(body).status(), 400);
    }
    let path = format!("/v1/vpgs/{vpg}/checkpoints");
    let form = caller
        .request(reqwest::Method::POST, &path)
        .form(&[("checkpointName", "x")]);
    assert_eq!(form.send().unwrap().status(), 415);
    assert_eq!(
        caller.insert_request("unknown", "x").send().unwrap().status(),
        404
    );
}

#[test]
fn equal_tags_are_two_checkpoints() {
    let caller = Caller::start("[[vpgs]]\ncadence_ms = 60000");
    let vpg = caller.vpg();
    caller.insert(&vpg, "twice");
    caller.insert(&vpg, "twice");
    let [one, other] = caller.sim.checkpoints().try_into().unwrap();
    assert_ne!(one.checkpoint_identifier, other.checkpoint_identifier);
    assert_eq!(one.visible_ms, other.visible_ms);
}

#[test]
fn a_vm_s_points_in_time_are_its_vpg_s_checkpoints() {
    let caller = Caller::start("[[vpgs]]\ninstant = true");
    let vpg = caller.vpg();
    caller.insert(&vpg, "here");
    let row = caller.find_tag(&vpg, "here").unwrap();
    let vm = caller.read("/v1/vms")[0]["VmIdentifier"]
        .as_str()
        .unwrap()
        .to_owned();
    let date = row["TimeStamp"].as_str().unwrap();
    let points = caller.read(&format!(
        "/v1/vms/{vm}/pointsInTime?vpgIdentifier={vpg}&startDate={date}"
    ));
    let point = points
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["Checkpoint"] == row)
        .unwrap();
    assert_eq!(point["CanMount"]["IsAllowed"], true);
    assert_eq!(
        caller
            .get(&format!("/v1/vms/{vm}/pointsInTime?vpgIdentifier=other"))
            .status(),
        404
    );
}
