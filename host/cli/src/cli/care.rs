//! The commands of daily use: `doctor`, `status` and `explain`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::explain::explain;
use holdpoint_hook::harness::stdin;
use serde::Serialize;

use super::configuration::configured;
use crate::doctor::{self, Finding, Options, Severity, Starts};
use crate::explanation;
use crate::status::{Narrow, Status};
use crate::terminal::{Terminal, Tone};

use super::when::Wanted;

/// What `doctor` looks at, and whether it fixes.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  holdpoint doctor --fix\n\nExit codes: 0, nothing has to be done; 4, something works \
                        less well than it should; 5, calls get past the guard, or every change is denied."
)]
pub(super) struct DoctorArguments {
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Fix what can be fixed safely: file modes, the hook's own entries, compiled code, a torn log.
    #[arg(long)]
    fix: bool,
    /// Take a real checkpoint of this VM, and print how long that took.
    #[arg(long, value_name = "VM")]
    capture: Option<String>,
    /// Do not contact the ZVM.
    #[arg(long, conflicts_with = "capture")]
    offline: bool,
    #[command(flatten)]
    place: Place,
}

/// What `status` shows.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  holdpoint status --json\n  holdpoint status --since 2h --changes\n\nExit codes: 0, armed; 5, not armed: calls run that nothing judged."
)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    wanted: Wanted,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What is explained.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint explain < event.json")]
pub(super) struct ExplainArguments {
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// The configuration; default: the one that the hook entry names, else as for the hook.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Whose set-up it is.
#[derive(Debug, Args)]
struct Place {
    /// The configuration; default: the one that the hook entry names, else as for the hook.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the harness is started; default: here.
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
    /// The folder of a plugin with which the harness is started (--plugin-dir); plugins that settings enable are found.
    #[arg(long, value_name = "DIRECTORY")]
    plugin: Vec<PathBuf>,
}

/// What `doctor --json` prints.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    worst: Severity,
    findings: &'a [Finding],
    mended: Vec<String>,
    not_mended: Vec<String>,
}

impl DoctorArguments {
    /// Mends what it may, and examines.
    pub(super) fn run(self) -> ExitCode {
        let options = Options {
            config: self.place.config,
            project: self.place.project,
            offline: self.offline,
            starts: Starts::Everything,
            plugins: self.place.plugin,
            capture: self.capture,
        };
        let (mut mended, mut not_mended) = (Vec::new(), Vec::new());
        if self.fix {
            // What can be mended is seen without starting anything, and is mended before anything is started with it.
            let first = doctor::examine(&Options {
                offline: true,
                starts: Starts::Nothing,
                capture: None,
                ..options.clone()
            });
            for done in doctor::repair(&first) {
                match done {
                    Ok(what) => mended.push(what),
                    Err(why) => not_mended.push(why),
                }
            }
        }
        let examination = doctor::examine(&options);
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            worst: doctor::worst(&examination.findings),
            findings: &examination.findings,
            mended,
            not_mended,
        };
        let printed = if self.json {
            json(&report)
        } else {
            print(&report.render(&Terminal::stdout()))
        };
        match (printed, report.worst) {
            (Err(()), _) => ExitCode::FAILED,
            (Ok(()), Severity::Broken) => ExitCode::BROKEN,
            (Ok(()), Severity::Caution) => ExitCode::CAUTION,
            (Ok(()), Severity::Notice | Severity::Good) => ExitCode::OK,
        }
    }
}

impl Report<'_> {
    fn render(&self, terminal: &Terminal) -> String {
        let mut text = String::new();
        for finding in self.findings {
            let word = format!("{:<8}", finding.severity.word());
            text.push_str(&format!(
                "{}{} {}\n",
                terminal.paint(finding.tone(), &word),
                terminal.paint(Tone::Strong, &format!("{:<18}", finding.check)),
                terminal.wrap(&finding.found, 27)
            ));
            let mut line = |name: &str, words: &str| {
                let name = terminal.paint(Tone::Quiet, &format!("{name:>26}"));
                text.push_str(&format!("{name} {}\n", terminal.wrap(words, 27)));
            };
            if !finding.matters.is_empty() {
                line("why", &finding.matters);
            }
            if let Some(mend) = &finding.mend {
                line("mend", mend);
            }
        }
        for what in &self.mended {
            text.push_str(&format!("{} {what}\n", terminal.paint(Tone::Good, "mended: ")));
        }
        for why in &self.not_mended {
            text.push_str(&format!("{} {why}\n", terminal.paint(Tone::Bad, "not mended: ")));
        }
        let of = |severity| {
            self.findings
                .iter()
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let (broken, cautions, notes) = (of(Severity::Broken), of(Severity::Caution), of(Severity::Notice));
        text.push_str(&match (broken, cautions) {
            (0, 0) => terminal.paint(Tone::Good, "The guard is there and answers as it has to."),
            _ => format!("{broken} broken, {cautions} cautions, {notes} notes"),
        });
        text.push('\n');
        text
    }
}

impl StatusArguments {
    /// Shows the screen.
    pub(super) fn run(self) -> ExitCode {
        let options = Options {
            config: self.place.config,
            project: self.place.project,
            plugins: self.place.plugin,
            ..Options::default()
        };
        let narrow = Narrow {
            since: self.wanted.since,
            tool: self.wanted.tool,
            changes: self.wanted.changes,
            limit: self.wanted.limit,
        };
        let status = Status::gather(&options, &narrow);
        let printed = if self.json {
            json(&status)
        } else {
            print(&status.render(&Terminal::stdout()))
        };
        match (printed, status.armed) {
            (Err(()), _) => ExitCode::FAILED,
            (Ok(()), true) => ExitCode::OK,
            (Ok(()), false) => ExitCode::BROKEN,
        }
    }
}

impl ExplainArguments {
    /// Explains the event on standard input.
    pub(super) fn run(self) -> ExitCode {
        let bytes = match stdin::read(io::stdin().lock(), || false) {
            Ok(bytes) => bytes,
            Err(fault) => {
                let _ = writeln!(io::stderr(), "holdpoint: {fault}");
                return ExitCode::FAILED;
            }
        };
        let explanation = explain(&configured(self.config), &bytes);
        ended(if self.json {
            json(&explanation)
        } else {
            print(&explanation::render(&explanation, &Terminal::stdout()))
        })
    }
}

fn ended(printed: Result<(), ()>) -> ExitCode {
    printed.map_or(ExitCode::FAILED, |()| ExitCode::OK)
}

fn json(value: &impl Serialize) -> Result<(), ()> {
    let text = serde_json::to_string_pretty(value).map_err(|_| ())?;
    print(&format!("{text}\n"))
}

/// Prints to standard output; a reader that has gone is told of by the exit code.
fn print(text: &str) -> Result<(), ()> {
    io::stdout().write_all(text.as_bytes()).map_err(|_| ())
}
