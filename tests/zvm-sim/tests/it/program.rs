//! The program, as a person runs it.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use reqwest::Certificate;
use reqwest::blocking::Client;

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zvm-sim"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn help_shows_an_example() {
    let output = run(&["--help"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("Example:") && text.contains("--ca-out"),
        "{text}"
    );
}

#[test]
fn a_bad_scenario_is_named_with_its_line() {
    let scratch = Scratch::new("bad-scenario");
    let file = scratch.0.join("site.toml");
    std::fs::write(&file, "[site]\nnaem = 'x'\n").unwrap();
    let output = run(&["--scenario", file.to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && text.contains("site.toml") && text.contains("line 2"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn it_announces_itself_serves_and_ends_on_ctrl_c() {
    let scratch = Scratch::new("serves");
    let (scenario, ca) = (scratch.0.join("site.toml"), scratch.0.join("ca.pem"));
    std::fs::write(
        &scenario,
        "[login]\nusername = 'guard'\n[[troubles]]\non = 'GET /v1/cut'\nkind = 'close'\n",
    )
    .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_zvm-sim"))
        .args(["--listen", "127.0.0.1:0", "--scenario"])
        .args([&scenario, &PathBuf::from("--ca-out"), &ca])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let block: Vec<_> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .take(10)
        .map(Result::unwrap)
        .collect();
    let url = block[0].strip_prefix("URL     ").unwrap();
    assert_eq!(block[1], format!("CA      {}", ca.display()));
    assert!(
        block[2].starts_with("pin     sha256:") && block[3].contains("user guard"),
        "{block:?}"
    );
    // As `holdpoint init` shows it, and the command that makes this the hook's ZVM.
    let colons = |line: &str| line.bytes().filter(|&byte| byte == b':').count();
    assert_eq!((colons(&block[5]), colons(&block[6])), (16, 15), "{block:?}");
    let command = block[7..].join("\n");
    for words in [
        "holdpoint init",
        url,
        "--username guard",
        "--secret-file",
        &ca.display().to_string(),
    ] {
        assert!(command.contains(words), "{words}: {command}");
    }

    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificate = Certificate::from_pem(&std::fs::read(&ca).unwrap()).unwrap();
    let http = Client::builder()
        .tls_certs_only([certificate])
        .no_proxy()
        .build()
        .unwrap();
    assert_eq!(
        http.get(format!("{url}/v1/vms?vmName=x"))
            .send()
            .unwrap()
            .status(),
        401
    );
    assert!(http.get(format!("{url}/v1/cut")).send().is_err());

    assert!(
        Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.wait().unwrap().success());
    let lines: Vec<_> = log.lines().collect();
    assert!(
        lines[0].starts_with("GET /v1/vms 401 ") && lines[0].ends_with(" ms"),
        "{log}"
    );
    assert!(lines[1].starts_with("GET /v1/cut none "), "{log}");
}
