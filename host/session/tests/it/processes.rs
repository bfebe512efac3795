//! Many processes at once, and processes that are killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::{Home, failure};

fn recorder(home: &Home, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_session-verbs"))
        .arg("record")
        .arg("--home")
        .arg(home.path())
        .args(more)
        .env_remove("PUA_STATE_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn thirty_two_processes_count_exactly() {
    let home = Home::new();
    let mut children: Vec<_> = (0..32).map(|_| recorder(&home, &[])).collect();
    // All of them wait for their event by now, so that they go off together.
    for (number, child) in children.iter_mut().enumerate() {
        let event = failure(&format!("call-{number}")).to_string();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    }
    let mut counts = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        let fields: Vec<_> = line.split('\t').collect();
        assert_eq!(fields[0], "updated", "{line}");
        counts.insert(fields[1].parse::<u32>().unwrap());
    }
    assert_eq!(counts, (1..=32).collect());
    assert_eq!(home.read()["failure_count"], 32);
    assert_eq!(
        home.read()["processed_tool_use_ids"].as_array().unwrap().len(),
        32
    );
    assert_eq!(home.names().len(), 1);
}

#[test]
fn a_killed_process_leaves_a_whole_file_and_no_lock() {
    let home = Home::new();
    let mut pauses = Pauses(0x9e37_79b9_7f4a_7c15);
    let (mut counted, mut caught) = (0, 0);
    for round in 0..200 {
        let mut child = recorder(&home, &["--lines"]);
        let mut events = String::new();
        for number in 0..2_000 {
            events.push_str(&failure(&format!("{round}-{number}")).to_string());
            events.push('\n');
        }
        let mut stdin = child.stdin.take().unwrap();
        // Ends with a broken pipe when the process is killed.
        let feeder = thread::spawn(move || drop(stdin.write_all(events.as_bytes())));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        // At once, although the one before was killed.
        assert!(first.starts_with("updated\t"), "{first}");
        thread::sleep(pauses.next());
        child.kill().unwrap();
        child.wait().unwrap();
        feeder.join().unwrap();
        let printed = lines.map_while(Result::ok).last().unwrap_or(first);
        let printed: u64 = printed.split('\t').nth(1).unwrap().parse().unwrap_or(0);
        let state = home.read();
        let count = state["failure_count"].as_u64().unwrap();
        assert!(
            count > counted && count >= printed,
            "{count} after {counted} and {printed}"
        );
        counted = count;
        caught += usize::from(home.names().len() > 1);
        #[cfg(unix)]
        assert_eq!(crate::mode(&home.state()), 0o600);
    }
    assert!(caught > 20, "only {caught} of 200 were killed while they wrote");
    assert_eq!(
        home.record("last"),
        format!("updated\t{}\t4\t{}", counted + 1, crate::scope())
    );
    assert_eq!(
        home.names(),
        [home.state().file_name().unwrap().to_str().unwrap()]
    );
    assert!(fs::metadata(home.lock()).is_err());
}

/// Pauses of 0 to 8 ms, by a xorshift generator.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(self.0 % 8_000)
    }
}
