//! Receipts on their way to a collector, by the verb.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, run};

/// A collector that takes one request: its head and what it was sent.
fn collector() -> (String, JoinHandle<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let taken = thread::spawn(move || {
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        let mut body = vec![0; length.trim().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    });
    (url, taken)
}

fn receipts(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.arg("receipts").args(arguments);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=guards");
    run(command, b"")
}

#[test]
fn every_receipt_reaches_a_collector_as_a_log_record() {
    let world = World::without_zvm();
    world.configure("receipts.mode = 'audit'");
    assert_eq!(receipts(&world, &["keygen"]).code, Some(0));
    for tool in ["mcp__esxi__listVMs", "mcp__nobody__knows"] {
        world.hook(HOLDPOINT, &before(tool, json!({})));
    }
    let (url, taken) = collector();
    let outcome = receipts(&world, &["export", "--otlp", &url]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let (head, body) = taken.join().unwrap();
    assert!(head.starts_with("POST /v1/logs "), "{head}");
    assert!(head.contains("x-team: guards"), "{head}");
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        .as_array()
        .unwrap();
    let text = body.to_string();
    assert!(
        records.len() >= 2 && text.contains("mcp__nobody__knows"),
        "{body:#}"
    );

    // Nobody listens there any more.
    let outcome = receipts(&world, &["export", "--otlp", &url]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains(&url), "{outcome:?}");
}
