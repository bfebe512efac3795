//! The command line.

mod care;
mod configuration;
mod init;
mod policy;
mod receipts;
mod replay;
mod session;
mod shell;
mod trial;
mod when;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Parser, Subcommand, ValueEnum};
use holdpoint_common::credentials;
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::{self as hook, post_decision};
use holdpoint_session::verbs::{Options, Verb};

use configuration::configured;

/// A hold point for AI agents: a tool call that would change a machine waits until Zerto has a tagged checkpoint of it.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Without arguments, holdpoint is the hook: it reads one event on standard input and answers. Where \
                  standard input is a terminal, it says what it is and which commands to start with, and ends with 2.\n\n\
                  Example:\n  holdpoint hook < event.json\n\n\
                  Exit codes: 0, the answer is what was printed (nothing: no objection); 2, the call is blocked and \
                  the reason is on standard error, or the command line is wrong; 1, a trial of \
                  a policy found something; 3, a command other than the hook could not do what was asked; 4 and 5, what \
                  doctor found; 5, status says that the guard is not armed; 6, receipts of calls that did not run as they \
                  were decided."
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read one event of the harness on standard input and answer it.
    #[command(after_help = "Example:\n  holdpoint hook --config /etc/holdpoint/config.toml < event.json")]
    Hook {
        /// The harness whose event it is.
        #[arg(long, value_enum, default_value_t = Harness::ClaudeCode)]
        harness: Harness,
        /// The configuration; default: $HOLDPOINT_CONFIG, else holdpoint/config.toml in the XDG configuration directory.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Write the configuration and put the hook into the harness's settings, or take it out again.
    Init(Box<init::InitArguments>),
    /// Check everything from the harness's settings to the ZVM, and name or apply the fixes.
    Doctor(care::DoctorArguments),
    /// Show whether the guard is armed, which policy decides, and what it did lately.
    Status(care::StatusArguments),
    /// Explain what would be decided of the event on standard input, without doing anything.
    Explain(care::ExplainArguments),
    /// Print completions for a shell.
    #[command(
        after_help = "Example:\n  holdpoint completions bash > ~/.local/share/bash-completion/completions/holdpoint"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write manual pages into a folder.
    #[command(after_help = "Example:\n  holdpoint man ~/.local/share/man/man1")]
    Man {
        /// The folder; created if it does not exist.
        directory: PathBuf,
    },
    /// Manage policies: build, sign, verify, install, roll back, revoke.
    Policy(policy::PolicyArguments),
    /// Run cases against a policy: in the hook's sandbox, with the host's answers from a script.
    #[command(
        after_help = "Example:\n  holdpoint test guard.wasm cases --filter powerOff\n\nExit codes: 0, every case came out as it \
                      says; 1, one did not; 3, the policy or a file cannot be used."
    )]
    Test(trial::TestArguments),
    /// Run recorded calls against a policy and show which decisions would change.
    #[command(
        after_help = "Example:\n  holdpoint replay guard.wasm ~/.local/state/holdpoint/records --deny-looser\n\nExit codes: 0; 1, \
                      with --deny-looser, where a decision would be looser or cannot be told; 3, the policy or a record \
                      cannot be used."
    )]
    Replay(replay::ReplayArguments),
    /// Write a case file from a recorded call.
    #[command(
        after_help = "Example:\n  holdpoint case ~/.local/state/holdpoint/records --call toolu_01ABC --out cases/power.toml"
    )]
    Case(replay::CaseArguments),
    /// Manage receipts: list, show, verify and export what was decided and seen.
    Receipts(receipts::ReceiptsArguments),
    /// Manage the failure counter: how many of a session's tool calls failed.
    Session(Session),
}

/// As the helper that these verbs replace reads its command line: options also before the verb, and abbreviated.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, infer_long_args = true)]
struct Session {
    #[command(flatten)]
    place: Where,
    #[command(subcommand)]
    verb: SessionVerb,
}

const VERB_HELP: &str = "Prints action, count, level and scope, with tabs between them; ignored where there was nothing to do or \
                         it could not be done.\n\nExample:\n  holdpoint session record --home \"$HOME\" < event.json";

#[derive(Debug, Subcommand)]
enum SessionVerb {
    /// Count a failed call of Bash: the event on standard input.
    #[command(after_help = VERB_HELP)]
    Record,
    /// Save the counter before a compaction: the event on standard input.
    #[command(after_help = VERB_HELP)]
    Checkpoint,
    /// Print what was saved, as a session starts: the event on standard input.
    #[command(after_help = VERB_HELP)]
    Restore,
    /// Forget a session that starts over: the event on standard input.
    #[command(after_help = VERB_HELP)]
    Clear,
    /// Show the counters.
    #[command(after_help = "Example:\n  holdpoint session show --json")]
    Show {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// The configuration; default: the one that the hook entry names, else as for the hook.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

/// The options of the helper that these verbs replace. `show` takes none of them.
#[derive(Debug, clap::Args)]
struct Where {
    /// The user's home, which every verb but show needs: counters lie in .pua/runtime-state there.
    #[arg(long, value_name = "DIRECTORY", global = true)]
    home: Option<OsString>,
    /// Where they lie instead; default: $PUA_STATE_DIR.
    #[arg(long, value_name = "DIRECTORY", global = true)]
    state_dir: Option<OsString>,
    /// The workspace, in the place of the event's.
    #[arg(long, value_name = "DIRECTORY", global = true)]
    cwd: Option<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Harness {
    ClaudeCode,
}

impl Session {
    fn run(self) -> ExitCode {
        let verb = match self.verb {
            SessionVerb::Record => Verb::Record,
            SessionVerb::Checkpoint => Verb::Checkpoint,
            SessionVerb::Restore => Verb::Restore,
            SessionVerb::Clear => Verb::Clear,
            SessionVerb::Show { json, config } => return session::show(configured(config), json),
        };
        let Some(home) = self.place.home else {
            eprintln!("error: the following required argument was not provided: --home <DIRECTORY>");
            return ExitCode::BLOCKED;
        };
        let options = Options {
            home,
            state_dir: self.place.state_dir,
            cwd: self.place.cwd,
        };
        session::run(verb, &options)
    }
}

/// What a person sees who types the program's name alone.
const FIRST_WORDS: &str = concat!(
    "Holdpoint ",
    env!("CARGO_PKG_VERSION"),
    ": a hold point for AI agents\n\
     A tool call that changes a machine waits until Zerto has a checkpoint of it.\n\n\
     Start with:\n  \
       holdpoint init      Set up the ZVM, the log-in and the hook\n  \
       holdpoint doctor    Check everything from the harness's settings to the ZVM\n  \
       holdpoint status    Show whether the guard is armed and what it decided\n\n\
     All commands: holdpoint --help\n"
);

/// The hook, unless a person is at the terminal: nobody types an event. A harness that hands its own terminal on has to get
/// a block, so this is the answer's code, and its reason on standard error.
fn without_arguments(started: Instant) -> ExitCode {
    if !io::stdin().is_terminal() {
        return hook::run(None, started);
    }
    // Nobody is there to be told that nobody reads.
    let _ = io::stderr().write_all(FIRST_WORDS.as_bytes());
    ExitCode::BLOCKED
}

/// Runs the command that the process was started with.
// Not in `main`, whose frame would be as large before its first line has run.
#[inline(never)]
pub fn run(started: Instant) -> ExitCode {
    // The way of every call: harnesses start us with `hook` or, where they ignore arguments, with nothing.
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => return without_arguments(started),
        [hook] if hook == "hook" => return hook::run(None, started),
        [hook, flag, file] if hook == "hook" && flag == "--config" => {
            return hook::run(Some(file.into()), started);
        }
        // The hook's own doing, and nobody else's: it is in no help.
        [follow] if follow == post_decision::VERB => return post_decision::run(),
        _ => {}
    }
    match Arguments::try_parse() {
        Ok(Arguments { command: None }) => without_arguments(started),
        Ok(Arguments {
            command:
                Some(Command::Hook {
                    harness: Harness::ClaudeCode,
                    config,
                }),
        }) => hook::run(config, started),
        Ok(Arguments {
            command: Some(Command::Session(command)),
        }) => command.run(),
        Ok(Arguments {
            command: Some(Command::Policy(arguments)),
        }) => policy::run(arguments),
        Ok(Arguments {
            command: Some(Command::Test(arguments)),
        }) => trial::run(&arguments),
        Ok(Arguments {
            command: Some(Command::Replay(arguments)),
        }) => replay::run(&arguments),
        Ok(Arguments {
            command: Some(Command::Case(arguments)),
        }) => replay::case(&arguments),
        Ok(Arguments {
            command: Some(Command::Init(arguments)),
        }) => arguments.run(),
        Ok(Arguments {
            command: Some(Command::Doctor(arguments)),
        }) => arguments.run(),
        Ok(Arguments {
            command: Some(Command::Status(arguments)),
        }) => arguments.run(),
        Ok(Arguments {
            command: Some(Command::Explain(arguments)),
        }) => arguments.run(),
        Ok(Arguments {
            command: Some(Command::Completions { shell }),
        }) => shell::completions(shell),
        Ok(Arguments {
            command: Some(Command::Man { directory }),
        }) => shell::man(&directory),
        Ok(Arguments {
            command: Some(Command::Receipts(arguments)),
        }) => receipts::run(arguments),
        Err(error) => {
            // Help and version go to standard output and are no error; the rest is one, also for a hook.
            let code = if error.use_stderr() {
                ExitCode::BLOCKED
            } else {
                ExitCode::OK
            };
            // Whoever made a mistake in one option may have written a password into another.
            let text = error.to_string();
            let shown = credentials::hidden(&text);
            let _ = if shown == text {
                error.print()
            } else {
                write!(io::stderr(), "{shown}")
            };
            code
        }
    }
}
