//! `holdpoint replay`: records against a candidate. `holdpoint case`: a record as a case.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use holdpoint_common::safe_text;
use holdpoint_hook::exit::ExitCode;
use holdpoint_recording::change::Change;
use holdpoint_testkit::replay::{Placed, ReplayError, Replayed, Summary, files, read, replay_all};
use holdpoint_testkit::{Runner, report, transcript};
use serde_json::json;

use super::policy::not_made;
use super::trial::{failed, subject};

/// What is replayed against what.
#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// The candidate: a component's file, or `shipped`.
    policy: PathBuf,
    /// Files of records, or folders of them.
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// Exit with 1 if a decision would be looser, or is unknown because the record has no answer.
    #[arg(long)]
    deny_looser: bool,
    /// As JSON: a line for each decision that changes, then one with the summary.
    #[arg(long)]
    json: bool,
    /// The configuration, for its grants and keys; default: the hook entry's, else as for the hook.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Which record becomes a case.
#[derive(Debug, Args)]
pub(super) struct CaseArguments {
    /// Files of records, or folders of them.
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// The call's id, as the decision log and `replay` name it. The last record of it counts.
    #[arg(long, value_name = "ID")]
    call: String,
    /// The case file; must not exist. Default: standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Replays, and says how the process has to end.
pub(super) fn run(arguments: &ReplayArguments) -> ExitCode {
    arguments.run().unwrap_or_else(|error| failed(&*error))
}

/// Writes a case, and says how the process has to end.
pub(super) fn case(arguments: &CaseArguments) -> ExitCode {
    match arguments.run() {
        Ok(()) => ExitCode::OK,
        Err(error) => failed(&*error),
    }
}

impl ReplayArguments {
    fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let files = files(&self.records)?;
        let subject = subject(&self.policy, self.config.as_deref())?;
        let runner = Runner::new(&subject)?;
        let mut out = BufWriter::new(io::stdout().lock());
        let summary = replay_all(&runner, &files, |replayed| {
            if replayed.change == Change::Same {
                return Ok(());
            }
            if self.json {
                writeln!(out, "{}", json!(replayed))
            } else {
                out.write_all(told(replayed).as_bytes())
            }
        })?;
        if self.json {
            writeln!(
                out,
                "{}",
                json!({ "policy": report::policy_json(&subject), "summary": summary })
            )?;
        } else {
            out.write_all(summed(&summary).as_bytes())?;
            writeln!(out, "{}", report::policy(&subject))?;
        }
        out.flush()?;
        let found = summary.count(Change::Looser) + summary.count(Change::Unforeseen) > 0;
        Ok(if self.deny_looser && found {
            ExitCode::FOUND
        } else {
            ExitCode::OK
        })
    }
}

/// One decision that changes.
fn told(replayed: &Replayed) -> String {
    let shown = |line: &str| safe_text::clean_line(line, 200);
    let list = |vpgs: &[String]| match vpgs {
        [] => "nothing".to_owned(),
        vpgs => shown(&vpgs.join(", ")),
    };
    let mut told = format!(
        "{}: {} {} ({}:{})\n  then {}: {}\n  now  {}: {}\n",
        replayed.change.word(),
        shown(&replayed.tool),
        shown(&replayed.call),
        replayed.file.display(),
        replayed.line,
        replayed.then.word,
        shown(&replayed.then.text),
        replayed.now.word,
        shown(&replayed.now.text),
    );
    if replayed.captured_then != replayed.captured_now {
        let (then, now) = (list(&replayed.captured_then), list(&replayed.captured_now));
        told.push_str(&format!("  captured then {then}, now {now}\n"));
    }
    if !replayed.unforeseen.is_empty() {
        let asked = shown(&replayed.unforeseen.join(", "));
        told.push_str(&format!("  the record has no answer to {asked}\n"));
    }
    told
}

/// The sums, by tool and in all.
pub(super) fn summed(summary: &Summary) -> String {
    let counts = |counts: &BTreeMap<Change, u64>| {
        let words: Vec<String> = Change::ALL
            .iter()
            .filter_map(|change| Some(format!("{} {}", counts.get(change)?, change.word())))
            .collect();
        words.join(", ")
    };
    let mut text = String::new();
    for (tool, by_change) in &summary.tools {
        text.push_str(&format!(
            "{}: {}\n",
            safe_text::clean_line(tool, 100),
            counts(by_change)
        ));
    }
    let decisions = summary.all.values().sum();
    text.push_str(&format!(
        "{}: {}\n",
        report::counted(decisions, "decision"),
        counts(&summary.all)
    ));
    if summary.redacted > 0 {
        text.push_str(&format!(
            "{} had something redacted, which the candidate saw so\n",
            report::counted(summary.redacted, "record")
        ));
    }
    text
}

impl CaseArguments {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut found: Option<Placed> = None;
        for file in files(&self.records)? {
            read(&file, |placed| {
                if placed.record.call.call_id == self.call {
                    found = Some(placed);
                }
                Ok::<_, ReplayError>(())
            })?;
        }
        let found = found.ok_or_else(|| format!("no record is of the call '{}'", self.call))?;
        let case = transcript::case(&found.record);
        match &self.out {
            None => io::stdout().write_all(case.as_bytes())?,
            Some(path) => fs::File::create_new(path)
                .and_then(|mut file| file.write_all(case.as_bytes()))
                .map_err(|error| not_made(path, &error))?,
        }
        Ok(())
    }
}
