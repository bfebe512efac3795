//! From the `asqav` package's own hooks to the remote signer.

use std::path::{Path, PathBuf};

use holdpoint_config::{Config, Mode, Signer};
use holdpoint_setup::file::{self, Copies, Transaction};
use holdpoint_setup::reading::{Installation, Places};
use holdpoint_setup::{Command, Event, Handler};

use crate::asqav_hook::Own;
use crate::init::questions::Questions;
use crate::init::{InitError, Report};

/// One entry of the package's.
#[derive(Debug)]
pub(in crate::init) struct Entry {
    file: PathBuf,
    at: String,
    own: Own,
    /// Whether it has the arguments sent in clear.
    is_clear: bool,
}

impl Entry {
    fn place(&self) -> String {
        format!("{} in {}", self.at, self.file.display())
    }
}

/// All of them, whichever file they stand in.
pub(in crate::init) fn find(places: &Places) -> Vec<Entry> {
    let installation = Installation::judge(places.read());
    let entries = Event::ALL
        .into_iter()
        .flat_map(|event| installation.entries(event));
    let of_package = entries.filter_map(|(file, entry)| match &entry.handler {
        Handler::Command(command) => Some(Entry {
            own: Own::started_by(command)?,
            file: file.path.clone(),
            at: entry.at(),
            is_clear: command.text().contains("--clear-context"),
        }),
        _ => None,
    });
    of_package.collect()
}

/// Says what to do about them; takes them out where Holdpoint does their work and a human wants that. Copies are kept.
pub(in crate::init) fn settle(
    entries: &[Entry],
    config: &Config,
    copies: impl Fn(&Path) -> Copies,
    questions: &Questions,
    files: &mut Transaction,
    report: &mut Report,
) -> Result<(), InitError> {
    if entries.is_empty() {
        return Ok(());
    }
    let receipts = &config.receipts;
    if receipts.signer != Signer::Asqav || receipts.mode == Mode::Off {
        tell_how(entries, report);
        return Ok(());
    }
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| format!("  {} at {}", entry.own.words(), entry.place()))
        .collect();
    let question = format!(
        "The asqav package's own hook is still there, and each call would be signed twice:\n{}\nTake it out? A copy of the \
         file is kept.",
        shown.join("\n")
    );
    let choices = ["yes, take it out", "no, it stays until I take it out myself"];
    let is_taken_out = questions.can_ask() && questions.decision(&question, &choices)? == 0;
    for entry in entries {
        if is_taken_out {
            take_out(entry, &copies, files, report)?;
        } else {
            report.remark(format!(
                "'{}' is still at {}, so each call is signed twice: take it out when holdpoint doctor is content, by hand or \
                 by running init at a terminal.",
                entry.own.words(),
                entry.place()
            ));
        }
    }
    tell_differences(entries, receipts.mode, report);
    Ok(())
}

fn take_out(
    entry: &Entry,
    copies: impl Fn(&Path) -> Copies,
    files: &mut Transaction,
    report: &mut Report,
) -> Result<(), InitError> {
    let is_own = |command: &Command| Own::started_by(command).is_some();
    if let Some(copy) = file::plan_take_out(&entry.file, is_own, &copies(&entry.file), files)? {
        report.done(format!(
            "The asqav package's entry is out of {}; what the file was before is in {}.",
            entry.file.display(),
            copy.display()
        ));
    }
    Ok(())
}

/// What has to be done for Holdpoint to do their work.
fn tell_how(entries: &[Entry], report: &mut Report) {
    for entry in entries {
        let mode = match entry.own {
            Own::Pretool => Mode::Gate,
            Own::Posttool => Mode::Audit,
        };
        report.remark(format!(
            "'{}' at {} stays, and works beside Holdpoint. Holdpoint can ask the asqav service in its place: holdpoint init \
             --signer asqav --receipts {}.",
            entry.own.words(),
            entry.place(),
            mode.word()
        ));
    }
}

/// What becomes different where Holdpoint asks the service.
fn tell_differences(entries: &[Entry], mode: Mode, report: &mut Report) {
    let gates = entries.iter().any(|entry| entry.own == Own::Pretool);
    if gates && mode == Mode::Audit {
        report.remark(
            "'asqav hook pretool' holds calls that the service does not allow; with receipts.mode = \"audit\", Holdpoint does \
             not. To hold them: holdpoint init --receipts gate",
        );
    }
    if entries.iter().any(|entry| entry.is_clear) {
        report.remark(
            "--clear-context has no counterpart: Holdpoint sends digests of arguments, never themselves.",
        );
    }
}
