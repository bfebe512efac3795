//! The end of the server for http hooks, alone in a process of its own: it is the process that is told to end.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use holdpoint_receipts::serve::{Token, serve};

#[test]
fn what_is_under_way_is_brought_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let (token, _) = Token::read_or_make(&path).unwrap();
    let shown = std::fs::read_to_string(&path).unwrap();
    let (began, address) = mpsc::channel();
    let (writes, writing) = mpsc::channel();
    let (go_on, wait) = mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let write = move |_: &[u8]| {
        writes.send(()).unwrap();
        wait.lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(60))
            .map_err(|error| error.to_string())
    };
    let server = std::thread::spawn(move || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        serve(listener, token, Arc::new(write), |address| {
            began.send(address).unwrap();
        })
    });
    let address = address.recv().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"hook_event_name":"PostToolUse"}"#;
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        shown.trim(),
        body.len()
    )
    .unwrap();
    writing.recv().unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
    // Nobody new is taken any more, as soon as the signal is seen.
    while TcpStream::connect(address).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    go_on.send(()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("holdpoint-receipt: written"),
        "{answer}"
    );
    server.join().unwrap().unwrap();
}
