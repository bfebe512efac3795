//! The server for http hooks, spoken to over a socket as a harness does it.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};

use holdpoint_receipts::serve::{LARGEST_EVENT, ServeError, Token, serve};

const POST: &str = r#"{"hook_event_name":"PostToolUse","tool_name":"t"}"#;

struct World {
    address: SocketAddr,
    token: String,
    written: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

impl World {
    /// A server that lives as long as the test's process, and writes what it takes into a list.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let (token, made) = Token::read_or_make(&file).unwrap();
        assert!(made);
        let written = Arc::new(Mutex::new(Vec::new()));
        let list = written.clone();
        let write = move |event: &[u8]| match String::from_utf8_lossy(event) {
            text if text.contains("disk full") => Err("the disk is full".to_owned()),
            text if text.contains("panic") => panic!("it was asked for"),
            text => {
                list.lock().unwrap().push(text.into_owned());
                Ok(())
            }
        };
        let (began, address) = mpsc::channel();
        std::thread::spawn(move || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            serve(listener, token, Arc::new(write), |address| {
                began.send(address).unwrap();
            })
        });
        Self {
            address: address.recv().unwrap(),
            token: std::fs::read_to_string(file).unwrap().trim().to_owned(),
            written,
            _folder: folder,
        }
    }

    /// Sends bytes and reads the whole answer.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, method: &str, authorization: Option<&str>, body: &str) -> String {
        let authorization =
            authorization.map_or_else(String::new, |value| format!("Authorization: {value}\r\n"));
        let length = body.len();
        let head = format!(
            "{method} /posttool HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{authorization}Content-Length: {length}\r\n\r\n"
        );
        self.send((head + body).as_bytes())
    }

    fn event(&self, body: &str) -> String {
        self.request("POST", Some(&format!("Bearer {}", self.token)), body)
    }

    fn written(&self) -> Vec<String> {
        self.written.lock().unwrap().clone()
    }
}

#[track_caller]
fn assert_status(answer: &str, status: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a body").1
}

#[test]
fn what_was_seen_is_written_and_answered_with_nothing() {
    let world = World::new();
    let failure = r#"{"hook_event_name":"PostToolUseFailure","tool_name":"t"}"#;
    for event in [POST, failure] {
        let answer = world.event(event);
        assert_status(&answer, 200);
        assert_eq!(body(&answer), "");
        assert!(answer.contains("holdpoint-receipt: written"), "{answer}");
    }
    assert_eq!(world.written(), [POST, failure]);
}

#[test]
fn a_call_that_waits_is_refused_with_the_reason() {
    let world = World::new();
    let answer = world.event(r#"{"hook_event_name":"PreToolUse","tool_name":"t"}"#);
    assert_status(&answer, 403);
    assert!(
        body(&answer).starts_with("an http hook cannot hold a call"),
        "{answer}"
    );
    assert!(world.written().is_empty());
}

#[test]
fn what_is_no_observation_is_refused() {
    let world = World::new();
    for (event, status) in [
        (r#"{"hook_event_name":"SessionStart"}"#, 422),
        (r#"{"hook_event_name":"posttooluse"}"#, 422),
        (r#"{"hook_event_name":7}"#, 400),
        (
            r#"{"hook_event_name":"PreToolUse","hook_event_name":"PostToolUse"}"#,
            400,
        ),
        ("{}", 400),
        ("[]", 400),
        ("", 400),
        ("\u{0}", 400),
    ] {
        assert_status(&world.event(event), status);
    }
    assert_status(
        &world.request("GET", Some(&format!("Bearer {}", world.token)), ""),
        405,
    );
    assert!(world.written().is_empty());
}

#[test]
fn without_the_token_nothing_is_read() {
    let world = World::new();
    let almost = format!("Bearer {}x", world.token);
    let cut = format!("Bearer {}", &world.token[1..]);
    let basic = format!("Basic {}", world.token);
    for authorization in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some(&*almost),
        Some(&*cut),
        Some(&*basic),
    ] {
        let answer = world.request("POST", authorization, POST);
        assert_status(&answer, 401);
        assert!(
            answer.to_ascii_lowercase().contains("www-authenticate: bearer"),
            "{answer}"
        );
    }
    assert!(world.written().is_empty());
    // The scheme's name is written as one likes.
    assert_status(
        &world.request("POST", Some(&format!("bearer {}", world.token)), POST),
        200,
    );
}

#[test]
fn an_event_beyond_all_measure_is_refused() {
    let world = World::new();
    let head = |more: &str| {
        format!(
            "POST / HTTP/1.1\r\nHost: here\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{more}\r\n\r\n",
            world.token
        )
    };
    let announced = head(&format!("Content-Length: {}", LARGEST_EVENT + 1));
    assert_status(&world.send(announced.as_bytes()), 413);
    let mut unannounced = head("Transfer-Encoding: chunked").into_bytes();
    unannounced.extend(format!("{:x}\r\n", LARGEST_EVENT + 1).bytes());
    unannounced.resize(unannounced.len() + LARGEST_EVENT + 1, b' ');
    unannounced.extend(b"\r\n0\r\n\r\n");
    let answer = world.send(&unannounced);
    // The rest may not have been read, and the connection then ends before the answer is seen.
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 413 "),
        "{answer}"
    );
    assert!(world.written().is_empty());
}

#[test]
fn a_receipt_that_cannot_be_written_does_not_disturb_the_harness() {
    let world = World::new();
    for why in ["disk full", "panic"] {
        let answer = world.event(&POST.replace("\"t\"", &format!("\"{why}\"")));
        assert_status(&answer, 200);
        assert_eq!(body(&answer), "");
        assert!(answer.contains("holdpoint-receipt: not written"), "{answer}");
    }
    assert_status(&world.event(POST), 200);
    assert_eq!(world.written(), [POST]);
}

fn token(text: &str, mode: u32) -> Result<(Token, bool), ServeError> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("token");
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    Token::read_or_make(&path)
}

#[test]
fn a_token_is_long_and_its_owners_alone() {
    let good = "0123456789abcdef0123456789abcdef";
    assert!(matches!(token(good, 0o600), Ok((_, false))));
    assert!(token(&format!("{good}\n"), 0o400).is_ok());
    for text in ["", "\n", "short", "0123456789abcdef 0123456789abcdef"] {
        assert!(token(text, 0o600).is_err(), "{text:?}");
    }
    if cfg!(unix) {
        for mode in [0o640, 0o604, 0o620] {
            let error = token(good, mode).err().expect("others may use it").to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Token::read_or_make(folder.path()).is_err(),
        "a folder is no token"
    );
    assert!(Token::read_or_make(&folder.path().join("no/token")).is_err());
    let path = folder.path().join("token");
    assert!(Token::read_or_make(&path).unwrap().1);
    assert!(!Token::read_or_make(&path).unwrap().1, "it is made once");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
