//! The verbs as a process: one event, or with `--lines` one a line, on standard input.

use std::ffi::OsString;
use std::io::{self, BufRead as _, Read as _};

use holdpoint_session::verbs::{self, Options, Verb};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let verb = match arguments.next().unwrap_or_default().to_str() {
        Some("record") => Verb::Record,
        Some("checkpoint") => Verb::Checkpoint,
        Some("restore") => Verb::Restore,
        Some("clear") => Verb::Clear,
        other => return Err(io::Error::other(format!("no verb: {other:?}"))),
    };
    let mut options = Options::default();
    let mut lines = false;
    while let Some(name) = arguments.next() {
        match name.to_str() {
            Some("--home") => options.home = arguments.next().unwrap_or_default(),
            Some("--state-dir") => options.state_dir = arguments.next(),
            Some("--cwd") => options.cwd = arguments.next(),
            Some("--lines") => lines = true,
            other => return Err(io::Error::other(format!("no option: {other:?}"))),
        }
    }
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let mut stdin = io::stdin().lock();
    if lines {
        for line in stdin.lines() {
            println!("{}", verbs::run(verb, &options, environment, line?.as_bytes()));
        }
    } else {
        let mut payload = Vec::new();
        stdin.read_to_end(&mut payload)?;
        println!("{}", verbs::run(verb, &options, environment, &payload));
    }
    Ok(())
}
