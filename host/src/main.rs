//! The `holdpoint` command: everything is in the library.

use std::time::Instant;

fn main() {
    let started = Instant::now();
    let code = holdpoint::cli::run(started);
    // Not by returning: a look-up that hangs in a thread must not keep the process from ending.
    std::process::exit(code.number());
}
