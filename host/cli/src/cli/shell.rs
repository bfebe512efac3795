//! What a shell and `man` want to know of this program, made from its command definitions.

use std::io::{self, Write as _};
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};
use holdpoint_hook::exit::ExitCode;

use super::Arguments;

/// Prints completions.
pub(super) fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "holdpoint", &mut script);
    match io::stdout().write_all(&script) {
        Ok(()) => ExitCode::OK,
        Err(_) => ExitCode::FAILED,
    }
}

/// Writes `holdpoint.1` and a page for every command.
pub(super) fn man(directory: &Path) -> ExitCode {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
    match written {
        Ok(()) => ExitCode::OK,
        Err(error) => {
            let directory = directory.display();
            let _ = writeln!(
                io::stderr(),
                "holdpoint: the pages cannot be written to {directory} ({error}); name a folder that this user may write"
            );
            ExitCode::FAILED
        }
    }
}
