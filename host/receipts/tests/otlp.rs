//! Receipts to a collector: a small one that keeps what it is sent, and, where `HOLDPOINT_ASQAV_PYTHON` names a Python that
//! has PyPI's `opentelemetry-proto`, the specification's own message types that read it.

#[path = "support/python.rs"]
mod python;
mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use holdpoint_receipts::otlp::{Collector, OtlpError, Sent};
use holdpoint_receipts::{Outcome, Receipt, Source, Verdict};
use serde_json::Value;

use support::{append, begun, decision, observation};

/// What a collector was sent: path, headers and body.
#[derive(Clone)]
struct Asked {
    line: String,
    headers: Vec<String>,
    body: Value,
}

/// A collector that gives these answers, one after the other, and the last one from then on.
struct Stand {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stand {
    fn new(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = asked.clone();
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let mut head = Vec::new();
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).expect("a line");
                    match line.trim_end() {
                        "" => break,
                        line => head.push(line.to_owned()),
                    }
                }
                let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.expect("a length").parse().expect("a number")];
                stream.read_exact(&mut body).expect("a body");
                list.lock().expect("the list").push(Asked {
                    line: head.remove(0),
                    headers: head,
                    body: serde_json::from_slice(&body).expect("JSON"),
                });
                let answer = answers[at.min(answers.len() - 1)];
                let (head, body) = answer.split_once('|').unwrap_or((answer, "{}"));
                let length = body.len();
                let whole =
                    format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
                stream
                    .get_mut()
                    .write_all(whole.as_bytes())
                    .expect("an answer is taken");
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("the list").clone()
    }

    fn records(&self) -> Vec<Value> {
        let records = self.asked().into_iter().flat_map(|asked| {
            let records = &asked.body["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
            records.as_array().expect("records").clone()
        });
        records.collect()
    }
}

/// A log with a decision of every verdict, an observation, and a changed key.
fn source(folder: &std::path::Path) -> Source {
    let log = begun(folder, 1 << 20);
    append(&log, &decision("c1", Verdict::Pass));
    append(&log, &observation("c1", Outcome::Ran));
    append(&log, &decision("c2", Verdict::Ask));
    append(&log, &decision("c3", Verdict::Deny));
    append(&log, &observation("c3", Outcome::Failed));
    log.change_key(support::AUDIT.wait).expect("the key is changed");
    Source::open(&log.directory).expect("a log")
}

fn send(stand: &Stand, headers: Option<&str>) -> Result<Sent, OtlpError> {
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::new(&stand.url, headers).expect("a collector");
    collector.send(&source(folder.path()), Some("this-host"), |_| true)
}

fn attribute<'a>(record: &'a Value, name: &str) -> &'a Value {
    let attributes = record["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    &found.unwrap_or_else(|| panic!("{name} in {record}"))["value"]
}

#[test]
fn every_receipt_is_a_log_record_that_can_be_verified() {
    let stand = Stand::new(&["200 OK"]);
    let sent = send(&stand, Some("Authorization=Bearer%20t%2Ck, x-scope = one")).unwrap();
    assert_eq!((sent.taken, sent.rejected, sent.unreadable), (6, 0, 0));
    let asked = stand.asked();
    assert_eq!(asked.len(), 1, "they fit in one request");
    assert_eq!(asked[0].line, "POST /v1/logs HTTP/1.1");
    for header in [
        "content-type: application/json",
        "authorization: Bearer t,k",
        "x-scope: one",
    ] {
        assert!(
            asked[0].headers.iter().any(|line| line == header),
            "{header}: {:?}",
            asked[0].headers
        );
    }
    let resource = asked[0].body["resourceLogs"][0]["resource"].to_string();
    for word in ["service.name", "holdpoint:", "this-host"] {
        assert!(resource.contains(word), "{word}");
    }
    let records = stand.records();
    let mut digests = std::collections::BTreeSet::new();
    for record in &records {
        let original = attribute(record, "log.record.original")["stringValue"]
            .as_str()
            .unwrap();
        let receipt = Receipt::read(original).expect("the receipt itself");
        assert_eq!(
            record["timeUnixNano"],
            (receipt.issued_at.unix_millis() * 1_000_000).to_string()
        );
        assert_eq!(
            attribute(record, "holdpoint.receipt.seq")["intValue"],
            receipt.seq.to_string()
        );
        assert!(
            record["observedTimeUnixNano"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .is_ok()
        );
        digests.insert(
            attribute(record, "holdpoint.receipt.digest")["stringValue"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
        // The specification allows a key once.
        let keys: Vec<_> = record["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| pair["key"].as_str())
            .collect();
        let once: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(keys.len(), once.len(), "{keys:?}");
    }
    assert_eq!(digests.len(), 6);
    let told: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record["eventName"].as_str().unwrap(),
                record["severityText"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("holdpoint.decision", "INFO"),
            ("holdpoint.observation", "INFO"),
            ("holdpoint.decision", "WARN"),
            ("holdpoint.decision", "WARN"),
            ("holdpoint.observation", "WARN"),
            ("holdpoint.log", "INFO"),
        ]
    );
    assert_eq!(attribute(&records[3], "holdpoint.verdict")["stringValue"], "deny");
    assert_eq!(
        attribute(&records[0], "holdpoint.checkpoints")["arrayValue"]["values"][0]["stringValue"],
        "4711"
    );
    assert!(
        records[3]["body"]["stringValue"]
            .as_str()
            .unwrap()
            .starts_with("deny mcp__falcon__run_command on web01")
    );
}

/// The other side: the message types that the specification is made of, and which refuse what they do not know.
#[ignore = "needs HOLDPOINT_ASQAV_PYTHON"]
#[test]
fn the_specifications_own_types_read_it() {
    let python = python::python();
    let stand = Stand::new(&["200 OK"]);
    send(&stand, None).unwrap();
    let script = "
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
request = json_format.Parse(sys.stdin.read(), ExportLogsServiceRequest())
records = request.resource_logs[0].scope_logs[0].log_records
print(len(records), records[0].time_unix_nano > 0, records[0].severity_number, records[0].event_name)
print({a.key: a.value.int_value for a in records[1].attributes}['holdpoint.receipt.seq'])
";
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python");
    let body = stand.asked()[0].body.to_string();
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(body.as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "6 True 9 holdpoint.decision\n2\n"
    );
}

#[test]
fn what_is_busy_is_asked_again_and_gets_the_same() {
    let stand = Stand::new(&["503 Busy\r\nRetry-After: 0", "429 Slowly", "200 OK"]);
    assert_eq!(send(&stand, None).unwrap().taken, 6);
    let asked = stand.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|again| again.body == asked[0].body));
}

#[test]
fn what_refuses_is_not_asked_again_and_its_words_are_told() {
    for status in [
        "400 No",
        "401 No",
        "404 No",
        "500 No",
        "307 Away\r\nLocation: /elsewhere",
    ] {
        let answer = format!("{status}|{{\"code\":3,\"message\":\"no\\nlogs here\"}}");
        let stand = Stand::new(vec![&*answer.leak()].leak());
        let error = send(&stand, None).unwrap_err();
        let told = error.to_string();
        assert!(matches!(error, OtlpError::Collector { taken: 0, .. }), "{told}");
        assert!(
            told.contains(&status[..3]) && told.ends_with("no logs here"),
            "{told}"
        );
        assert_eq!(stand.asked().len(), 1, "{status}");
    }
}

#[test]
fn what_is_rejected_is_counted_and_not_sent_again() {
    for number in ["\"2\"", "2"] {
        let body = format!(
            "200 OK|{{\"partialSuccess\":{{\"rejectedLogRecords\":{number},\"errorMessage\":\"too old\"}}}}"
        );
        let stand = Stand::new(vec![&*body.leak()].leak());
        let sent = send(&stand, None).unwrap();
        assert_eq!(
            (sent.taken, sent.rejected, sent.why.as_deref()),
            (4, 2, Some("too old"))
        );
        assert_eq!(stand.asked().len(), 1);
    }
}

#[test]
fn many_receipts_go_in_several_requests_and_what_was_taken_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = begun(folder.path(), 1 << 30);
    for call in 0..600 {
        append(&log, &decision(&format!("c{call}"), Verdict::Deny));
    }
    let source = Source::open(&log.directory).expect("a log");
    let stand = Stand::new(&["200 OK"]);
    let collector = Collector::new(&stand.url, None).expect("a collector");
    assert_eq!(collector.send(&source, None, |_| true).unwrap().taken, 600);
    let seqs: Vec<_> = stand
        .records()
        .iter()
        .map(|record| {
            attribute(record, "holdpoint.receipt.seq")["intValue"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .collect();
    assert_eq!(seqs, (1..=600).collect::<Vec<_>>(), "all, once, in their order");
    assert!(stand.asked().len() > 1);
    // Only what is wanted.
    let few = Stand::new(&["200 OK"]);
    let collector = Collector::new(&few.url, None).expect("a collector");
    assert_eq!(
        collector
            .send(&source, None, |receipt| receipt.seq > 598)
            .unwrap()
            .taken,
        2
    );
    // A collector that takes the first batch only.
    let stand = Stand::new(&["200 OK", "400 No"]);
    let collector = Collector::new(&stand.url, None).expect("a collector");
    let error = collector.send(&source, None, |_| true).unwrap_err();
    assert!(
        matches!(error, OtlpError::Collector { taken, .. } if taken > 0 && taken < 600),
        "{error}"
    );
}

#[test]
fn lines_that_are_no_receipts_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines.jsonl");
    std::fs::write(&path, "{}\nnothing\n").expect("a file");
    let stand = Stand::new(&["200 OK"]);
    let collector = Collector::new(&stand.url, None).expect("a collector");
    let sent = collector
        .send(&Source::open(&path).expect("lines"), None, |_| true)
        .unwrap();
    assert_eq!((sent.taken, sent.unreadable), (0, 2));
    assert!(stand.asked().is_empty(), "nothing is not sent");
}

#[test]
fn an_address_or_header_that_cannot_be_used_is_told_without_its_value() {
    for url in [
        "collector.example",
        "http://collector.example",
        "ftp://localhost",
        "https://",
    ] {
        assert!(
            matches!(Collector::new(url, None), Err(OtlpError::Setting(..))),
            "{url}"
        );
    }
    for headers in ["authorization", "a b=secret", "x=%zzsecret", "x=secret%0a"] {
        let error = Collector::new("http://localhost:4318", Some(headers))
            .unwrap_err()
            .to_string();
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(Collector::new("https://collector.example/otlp/v1/logs?tenant=1", Some("")).is_ok());
}
