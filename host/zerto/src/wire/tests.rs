use proptest::prelude::*;

use super::*;

const LOCAL: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn full_row() -> Value {
    json!({
        "VmIdentifier": "8f0e.vm-1042", "VmName": "app-07", "VpgIdentifier": "3b6f", "VpgName": "APP-VPG",
        "Status": 1, "SubStatus": 0, "ActualRPO": 6, "IsVmExists": true,
        "ProtectedSite": {"identifier": LOCAL, "type": "LocalSiteApi"},
        "RecoverySite": {"identifier": "bbbb", "type": "PeerSiteApi"},
        "ProtectedSiteName": "Hamburg", "RecoverySiteName": "Bremen",
        "EnabledActions": {"IsFlrEnabled": true},
        "VmNetworkInformation": {"networkAdapters": [
            {"displayName": "a", "ipAddresses": ["10.0.0.7", "fe80::7"]}, {"ipAddresses": null}, null, {"ipAddresses": ["10.0.0.8", 5]}
        ]},
    })
}

fn read_row(row: &Value) -> Read<VmRow> {
    vm_rows(json!([row]).to_string().as_bytes(), Some(LOCAL)).map(|mut rows| rows.remove(0))
}

#[test]
fn a_row_is_read_whole() {
    let row = read_row(&full_row()).unwrap();
    let extras = json!({
        "protected_site": "Hamburg", "recovery_site": "Bremen", "actual_rpo": 6, "file_restore": true,
        "ip_addresses": ["10.0.0.7", "fe80::7", "10.0.0.8"],
    });
    assert_eq!(
        row,
        VmRow {
            vm_identifier: "8f0e.vm-1042".into(),
            vm_name: "app-07".into(),
            vpg_identifier: "3b6f".into(),
            vpg_name: "APP-VPG".into(),
            status: 1,
            sub_status: 0,
            vm_exists: true,
            direction: Direction::ProtectedHere,
            extras,
        }
    );
}

#[test]
fn keys_are_read_whatever_their_case() {
    let row = json!({"vmidentifier": "a.vm-1", "vmName": "x", "VPGIDENTIFIER": "v", "status": "2", "isVmExists": "False"});
    let row = read_row(&row).unwrap();
    assert_eq!(
        (
            row.vm_name.as_str(),
            row.vpg_name.as_str(),
            row.status,
            row.sub_status
        ),
        ("x", "v", 2, -1)
    );
    assert!(!row.vm_exists);
    assert_eq!((row.direction, row.extras), (Direction::Unknown, json!({})));
}

#[test]
fn a_row_needs_its_names() {
    for key in ["VmName", "VpgIdentifier", "VmIdentifier"] {
        for odd in [None, Some(Value::Null), Some(json!([])), Some(json!({}))] {
            let mut row = full_row();
            match odd {
                None => row.as_object_mut().unwrap().remove(key),
                Some(odd) => row.as_object_mut().unwrap().insert(key.into(), odd),
            };
            assert_eq!(read_row(&row).unwrap_err(), format!("a row without {key}"));
        }
    }
}

#[test]
fn the_link_names_the_vm_where_the_row_does_not() {
    let row = json!({"Link": {"identifier": "a.vm-1?VpgIdentifier=v"}, "VmName": "x", "VpgIdentifier": "v"});
    assert_eq!(read_row(&row).unwrap().vm_identifier, "a.vm-1");
}

#[test]
fn the_direction_is_seen_from_the_own_site() {
    let mut row = full_row();
    row["ProtectedSite"]["identifier"] = json!("bbbb");
    assert_eq!(read_row(&row).unwrap().direction, Direction::Unknown);
    row["RecoverySite"]["identifier"] = json!(LOCAL.to_uppercase());
    assert_eq!(read_row(&row).unwrap().direction, Direction::RecoveredHere);
    let bytes = json!([full_row()]).to_string();
    assert_eq!(
        vm_rows(bytes.as_bytes(), None).unwrap()[0].direction,
        Direction::Unknown
    );
}

#[test]
fn what_is_no_list_is_malformed() {
    for (body, why) in [
        ("", "an empty body"),
        (" \r\n", "an empty body"),
        ("null", "null instead of a list"),
        ("{}", "an object instead of a list"),
        ("[1]", "a number instead of an object"),
        ("<!DOCTYPE html><p>", "a page for a browser instead of JSON"),
        ("[{]", "not JSON, line 1 column 3"),
    ] {
        assert_eq!(vm_rows(body.as_bytes(), None).unwrap_err(), why, "{body}");
    }
    assert!(vm_rows("[".repeat(100_000).as_bytes(), None).is_err());
    assert_eq!(vm_rows(b"\xef\xbb\xbf[]", None).unwrap(), []);
}

#[test]
fn a_vpg_is_the_one_asked_for() {
    let body = json!({"VpgIdentifier": "V", "VpgName": "n", "Status": 4, "SubStatus": 23,
        "StatusDescription": "HistoryNotMeetingSLA", "SubStatusDescription": "BitmapSync"})
    .to_string();
    let state = vpg_state(body.as_bytes(), "v").unwrap();
    assert_eq!((state.status, state.sub_status), (4, 23));
    assert_eq!(state.description, "HistoryNotMeetingSLA, BitmapSync");
    assert!(vpg_state(body.as_bytes(), "w").is_err());
}

#[test]
fn a_task_identifier_is_a_text_or_a_field() {
    assert_eq!(task_identifier(br#""a.b""#).unwrap(), "a.b");
    assert_eq!(task_identifier(br#"{"taskIdentifier":"a.b"}"#).unwrap(), "a.b");
    for body in ["", "null", "\"\"", "1", "{}", "[]"] {
        assert!(task_identifier(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn a_task_ends_by_its_state() {
    let read = |state: i32, progress: i32, reason: &str| {
        let body = json!({"Status": {"State": state, "Progress": progress}, "CompleteReason": reason});
        task(body.to_string().as_bytes()).unwrap()
    };
    for state in [0, 1, 2, 3, 8] {
        assert_eq!(read(state, 0, ""), Task::Running, "{state}");
    }
    assert_eq!(read(6, 100, ""), Task::Completed);
    assert_eq!(read(6, 40, "half of it"), Task::Failed("half of it".into()));
    for state in [4, 5, 7] {
        assert_eq!(
            read(state, 30, "no space"),
            Task::Failed("no space".into()),
            "{state}"
        );
        assert!(
            matches!(read(state, 30, " "), Task::Failed(text) if text.contains("task")),
            "{state}"
        );
    }
    assert_eq!(task(b"{}").unwrap(), Task::Running);
    assert!(task(b"null").is_err());
}

#[test]
fn a_token_says_how_long_it_lives() {
    let life = |body: &str| token(body.as_bytes()).map(|token| token.life.as_secs());
    assert_eq!(life(r#"{"access_token":"t","expires_in":300}"#), Ok(300));
    assert_eq!(life(r#"{"access_token":"t"}"#), Ok(60));
    assert_eq!(life(r#"{"access_token":"t","expires_in":-5}"#), Ok(0));
    assert!(life(r#"{"access_token":""}"#).is_err());
    assert!(life(r#"{"expires_in":60}"#).is_err());
}

#[test]
fn words_are_looked_for_in_order() {
    let text = |body: &str| words(body.as_bytes()).map(|words| (words.text, words.by_zerto));
    assert_eq!(text(r#"{"error":"e","Message":"m"}"#), Some(("m".into(), true)));
    assert_eq!(text(r#"{"message":"m"}"#), Some(("m".into(), true)));
    assert_eq!(
        text(r#"{"error":"e","error_description":"d"}"#),
        Some(("d".into(), false))
    );
    assert_eq!(text(r#"{"errorMessage":"em"}"#), Some(("em".into(), false)));
    assert_eq!(text("upstream gone"), Some(("upstream gone".into(), false)));
    assert_eq!(text("<html>"), None);
    assert_eq!(text(""), None);
}

#[test]
fn a_journal_keeps_what_can_be_read() {
    let body = r#"[{"CheckpointIdentifier":786,"TimeStamp":"2026-09-22T12:40:31Z","Tag":"t","Type":1},
                   {"checkpointIdentifier":"787","timeStamp":"soon","tag":null}]"#;
    let entries = journal(body.as_bytes()).unwrap();
    assert_eq!(entries[0].identifier.as_deref(), Some("786"));
    assert_eq!(
        entries[0].time.map(clock::format).as_deref(),
        Some("2026-09-22T12:40:31.000Z")
    );
    let rest = Entry {
        identifier: Some("787".into()),
        tag: None,
        time: None,
    };
    assert_eq!(entries[1], rest);
    assert!(journal(b"[null]").is_err());
}

/// Reads the body as everything that a body can be.
fn read_all(body: &[u8]) {
    let _ = words(body);
    let _ = token(body);
    let _ = site_identifier(body);
    let _ = server_time(body);
    let _ = vm_rows(body, Some(LOCAL));
    let _ = vpg_state(body, "v");
    let _ = task_identifier(body);
    let _ = task(body);
    let _ = journal(body).map(|entries| crate::journal::cadence(&entries));
}

/// JSON made of the keys and values that these functions look at.
fn hostile() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        "(/Date\\([0-9]{0,40}\\)/|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,12})?([Z+-].{0,5})?)"
            .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "VmName",
        "vmidentifier",
        "VpgIdentifier",
        "Link",
        "identifier",
        "ProtectedSite",
        "VmNetworkInformation",
        "networkAdapters",
        "ipAddresses",
        "Status",
        "State",
        "CompleteReason",
        "Tag",
        "TimeStamp",
        "access_token",
        "expires_in",
        "CheckpointIdentifier",
        "Message",
        "SiteIdentifier",
        "EnabledActions",
    ]);
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(body in prop::collection::vec(any::<u8>(), 0..512)) {
        read_all(&body);
    }

    #[test]
    fn no_json_panics(value in hostile()) {
        read_all(value.to_string().as_bytes());
        read_all(json!([value]).to_string().as_bytes());
    }
}
