//! Programs that do nothing, to compare with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::copied;
use crate::support::World;

/// A program that does nothing, built as an ordinary one is.
pub(crate) fn dynamic(world: &World) -> PathBuf {
    build(world, "empty", &[]).expect("the empty program is compiled")
}

/// The same, linked statically as what is published is; none where there is no standard library to link it with.
pub(crate) fn fixed(world: &World) -> Option<PathBuf> {
    let target = published_target()?;
    let program = build(world, "empty-static", &["--target", &target]);
    if program.is_none() {
        println!("NOT MEASURED: an empty static program; to have it: rustup target add {target}");
    }
    program
}

/// What is published is built for this.
pub(crate) fn published_target() -> Option<String> {
    cfg!(target_os = "linux").then(|| format!("{}-unknown-linux-musl", env::consts::ARCH))
}

fn build(world: &World, name: &str, options: &[&str]) -> Option<PathBuf> {
    let (source, program) = (world.path("empty.rs"), world.path(name));
    fs::write(&source, "fn main() {}\n").expect("a file");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut command = Command::new(rustc);
    command
        .arg("-O")
        .args(options)
        .arg("-o")
        .args([&program, &source]);
    let output = command.output().expect("rustc starts");
    let copy = world.path(&format!("{name}-copy"));
    output.status.success().then(|| copied(&program, &copy))
}

/// The system's Python rather than a version manager's, whose `python3` is a shell script.
pub(crate) fn python() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    std::iter::once(PathBuf::from("/usr/bin"))
        .chain(env::split_paths(&path))
        .map(|directory: PathBuf| directory.join("python3"))
        .find(|python: &PathBuf| Path::is_file(python))
}
