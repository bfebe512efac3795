//! The `holdpoint` command: everything but its memory is in the library.

mod arena;

use std::time::Instant;

use arena::Arena;

#[global_allocator]
static MEMORY: Arena = Arena::new();

fn main() {
    holdpoint_hook::watchdog::arm_first();
    let started = Instant::now();
    let code = holdpoint::cli::run(started);
    // Not by returning: a look-up that hangs in a thread must not keep the process from ending.
    std::process::exit(code.number())
}
