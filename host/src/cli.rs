//! The command line.

mod policy;

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, Subcommand, ValueEnum};

use crate::exit::ExitCode;
use crate::hook;

/// A hold point for AI agents: a tool call that would change a machine waits until Zerto has a tagged checkpoint of it.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Without arguments, holdpoint is the hook: it reads one event on standard input and answers.\n\n\
                  Example:\n  holdpoint hook < event.json\n\n\
                  Exit codes: 0, the answer is what was printed (nothing: no objection); 2, the call is blocked and \
                  the reason is on standard error, or the command line is wrong; 3, \
                  a command other than the hook could not do what was asked."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reads one event of the harness on standard input and answers it.
    #[command(after_help = "Example:\n  holdpoint hook --config /etc/holdpoint/config.toml < event.json")]
    Hook {
        /// The harness whose event it is.
        #[arg(long, value_enum, default_value_t = Harness::ClaudeCode)]
        harness: Harness,
        /// The configuration; default: $HOLDPOINT_CONFIG, else holdpoint/config.toml in the XDG configuration directory.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Makes, checks, installs and takes back policies.
    Policy(policy::PolicyArguments),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Harness {
    ClaudeCode,
}

/// Runs the command that the process was started with.
pub fn run(started: Instant) -> ExitCode {
    // The way of every call: harnesses start us with `hook` or, where they ignore arguments, with nothing.
    let mut arguments = env::args_os().skip(1);
    match (arguments.next(), arguments.next()) {
        (None, _) => return hook::run(None, started),
        (Some(only), None) if only == "hook" => return hook::run(None, started),
        _ => {}
    }
    match Arguments::try_parse() {
        Ok(Arguments { command: None }) => hook::run(None, started),
        Ok(Arguments {
            command:
                Some(Command::Hook {
                    harness: Harness::ClaudeCode,
                    config,
                }),
        }) => hook::run(config, started),
        Ok(Arguments {
            command: Some(Command::Policy(arguments)),
        }) => policy::run(arguments),
        Err(error) => {
            // Help and version go to standard output and are no error; the rest is one, also for a hook.
            let code = if error.use_stderr() {
                ExitCode::BLOCKED
            } else {
                ExitCode::OK
            };
            let _ = error.print();
            code
        }
    }
}
