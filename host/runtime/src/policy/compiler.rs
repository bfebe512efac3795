//! The program that compiles policies. This one never does: `holdpoint-compile` is another, and runs under limits.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_store::Compiler;

use super::code;

/// How long compiling may take: a policy with a Python interpreter in it takes half a minute on a slow machine.
const LONGEST: Duration = Duration::from_secs(120);
/// The address space that compiling may take, in bytes.
const MEMORY: u64 = 4 << 30;

/// The program, and what it may use.
pub fn limited(program: &Path) -> Compiler<'_> {
    Compiler {
        program,
        timeout: LONGEST,
        memory: MEMORY,
        loads: code::check_code,
    }
}

/// The program beside this one, where there is one. It is what a hook starts: its environment may be a project's, and
/// `PATH` with it.
pub fn beside() -> Option<PathBuf> {
    let here = env::current_exe().ok()?;
    Some(here.parent()?.join(name())).filter(|program| program.is_file())
}

/// The program beside this one, else on the path; else what to do about it.
pub fn find() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut on_path = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name()));
    beside()
        .or_else(|| on_path.find(|program| program.is_file()))
        .ok_or_else(|| {
            format!(
                "{} is neither beside holdpoint nor on the PATH; put it there (it comes with every release), or build \
                 it: cargo install --locked --path host/compiler",
                name()
            )
        })
}

fn name() -> String {
    format!("holdpoint-compile{}", env::consts::EXE_SUFFIX)
}
