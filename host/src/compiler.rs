//! The program that compiles policies, `holdpoint-compile`: where it is, and what it may use.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_store::Compiler;

/// How long compiling may take: a policy with a Python interpreter in it takes half a minute on a slow machine.
const COMPILING: Duration = Duration::from_secs(120);
/// The address space that compiling may take, in bytes.
const MEMORY: u64 = 4 << 30;

/// The program with its limits.
pub fn limited(program: &Path) -> Compiler<'_> {
    Compiler {
        program,
        timeout: COMPILING,
        memory: MEMORY,
    }
}

/// The program: beside this one, else on the path.
///
/// # Errors
///
/// Where it is in neither place: what to do about that.
pub fn program() -> Result<PathBuf, String> {
    let name = format!("holdpoint-compile{}", env::consts::EXE_SUFFIX);
    let here = env::current_exe().ok();
    let beside = here
        .as_deref()
        .and_then(Path::parent)
        .map(|folder| folder.join(&name));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name));
    let mut places = beside.into_iter().chain(on_path);
    places.find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "{name} is neither beside holdpoint nor on the PATH; put it there (it comes with every release), or build it: \
             cargo install --locked --path host/compiler"
        )
    })
}
