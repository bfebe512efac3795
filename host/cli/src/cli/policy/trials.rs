//! What tells of a policy before it decides: probes, its cost, and its opinion as a shadow.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use holdpoint_common::{read, safe_text};
use holdpoint_config::Policy;
use holdpoint_hook::event::Event;
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::harness::claude_code;
use holdpoint_hook::harness::stdin::LARGEST_EVENT;
use holdpoint_hook::log::Log;
use holdpoint_hook::question;
use holdpoint_recording::change::Change;
use holdpoint_runtime::sandbox::Call;
use holdpoint_runtime::verdict::FaultKind;
use holdpoint_testkit::check::{self, Outcome, Probe};
use holdpoint_testkit::replay::Summary;
use holdpoint_testkit::{Runner, report};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Done, about, inspection, print, print_json, read_named};
use crate::cli::configuration::configured;
use crate::cli::replay::summed;
use crate::cli::trial::{failed, subject};

/// How many of the shadow's last differences are told.
const LAST: usize = 20;

/// What is probed.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// The policy: a component's file, or `shipped`.
    file: PathBuf,
    /// A captured event before a call, JSON: one of your own, beside the fixed ones. Can be given more than once.
    #[arg(long, value_name = "EVENT")]
    call: Vec<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Probes a policy, and says how the process has to end.
pub(super) fn check(arguments: &CheckArguments, config: Option<&Path>) -> ExitCode {
    match arguments
        .probes(config)
        .and_then(|probes| arguments.tell(&probes))
    {
        Ok(code) => code,
        Err(error) => failed(&*error),
    }
}

impl CheckArguments {
    fn probes(&self, config: Option<&Path>) -> Result<Vec<Probe>, Box<dyn Error>> {
        let own: Vec<(String, Call)> = self
            .call
            .iter()
            .map(|path| own_call(path))
            .collect::<Result<_, _>>()?;
        let loads = |outcome| Probe {
            name: "loads",
            about: "the gate lets it in, and it fits the contract",
            outcome,
        };
        // What cannot be read is no finding.
        if self.file != Path::new("shipped") {
            read_named(&self.file)?;
        }
        let loaded = subject(&self.file, config).and_then(|subject| {
            let runner = Runner::with_fuel(&subject, check::MOST_FUEL)?;
            match check::cost(&runner).verdict {
                // Some of what does not fit is only seen as it starts.
                Err(fault) if fault.kind == FaultKind::Policy => Err(fault.into()),
                _ => Ok(runner),
            }
        });
        Ok(match loaded {
            Err(error) => vec![loads(Outcome::Fail(vec![error.to_string()]))],
            Ok(runner) => {
                let mut probes = vec![loads(Outcome::Pass(1))];
                probes.extend(check::check(&runner, own));
                probes
            }
        })
    }

    fn tell(&self, probes: &[Probe]) -> Result<ExitCode, Box<dyn Error>> {
        let fails = |probe: &Probe| matches!(probe.outcome, Outcome::Fail(_));
        let code = if probes.iter().any(fails) {
            ExitCode::FOUND
        } else {
            ExitCode::OK
        };
        if self.json {
            print_json(&json!({ "probes": probes, "passed": code == ExitCode::OK }))?;
            return Ok(code);
        }
        let mut told = String::new();
        for probe in probes {
            let (word, found) = match &probe.outcome {
                Outcome::Pass(decisions) => ("pass", vec![report::counted(*decisions as u64, "decision")]),
                Outcome::Fail(findings) => ("FAIL", findings.clone()),
                Outcome::NotApplicable(why) => ("n/a ", vec![why.clone()]),
            };
            told.push_str(&format!("{word} {}: {}\n", probe.name, probe.about));
            for line in found {
                told.push_str(&format!("       {}\n", safe_text::clean_line(&line, 400)));
            }
        }
        print(&told)?;
        Ok(code)
    }
}

/// A captured event as a policy is told of it.
fn own_call(path: &Path) -> Result<(String, Call), Box<dyn Error>> {
    let bytes = read::read(path, LARGEST_EVENT as u64).map_err(|error| about(path, error))?;
    match claude_code::read(&bytes) {
        Ok(Event::Before(call)) => Ok((
            path.display().to_string(),
            question::question(&call, "{}".into(), "0badcafe".into()),
        )),
        Ok(_) => Err(about(path, "this is no event before a call")),
        Err(fault) => Err(about(path, fault)),
    }
}

/// Tells everything about a file, and what one decision of it costs.
pub(super) fn inspect(file: &Path, named_config: Option<&Path>, config: &Policy, json: bool) -> Done {
    let inspection = inspection(file, config)?;
    let subject = subject(file, named_config)?;
    let cost = check::cost(&Runner::new(&subject)?);
    if json {
        let mut value = serde_json::to_value(&inspection)?;
        value["run"] = report::cost_json(cost.cost, cost.asking.calls);
        return print_json(&value);
    }
    print(&format!(
        "{inspection}\nrun        a call of an unknown tool: {} ({}); {}; {} bytes\n",
        cost.word(),
        report::counted(cost.asking.calls, "host call"),
        report::figures(cost.cost),
        subject.size
    ))
}

/// The shadow's part of a line of the decision log; other lines have none.
#[derive(Deserialize)]
struct Line {
    tool: String,
    shadow: Option<Looked>,
}

#[derive(Deserialize)]
struct Looked {
    policy: String,
    change: Change,
}

/// Sums up what the log has of the shadow, each candidate by itself.
pub(super) fn shadow(named_config: Option<PathBuf>, json: bool) -> Done {
    let config = configured(named_config)?;
    let log = Log::of(&config.log)?;
    let mut summaries: BTreeMap<String, Summary> = BTreeMap::new();
    let mut last: Vec<Value> = Vec::new();
    // Oldest first.
    for path in log.files().iter().rev() {
        let (file, _) = read::open(path).map_err(|error| about(path, error))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| about(path, error))?;
            // A line that another release wrote, or that was cut by a full disk, says nothing of the shadow.
            let Ok(Line {
                tool,
                shadow: Some(looked),
            }) = serde_json::from_str(&line)
            else {
                continue;
            };
            summaries
                .entry(looked.policy)
                .or_default()
                .add(&tool, looked.change);
            if looked.change != Change::Same {
                last.extend(serde_json::from_str::<Value>(&line).ok());
                let surplus = last.len().saturating_sub(LAST);
                last.drain(..surplus);
            }
        }
    }
    if json {
        return print_json(&json!({ "candidates": summaries, "last": last }));
    }
    if summaries.is_empty() {
        return print(&match config.policy.shadow() {
            None => "no shadow has said anything yet: name one by policy.shadow\n".to_owned(),
            Some(shadow) => format!("the shadow, {shadow}, has seen no call yet\n"),
        });
    }
    let mut told = String::new();
    for (policy, summary) in &summaries {
        told.push_str(&format!("{policy}\n{}\n", summed(summary)));
    }
    for line in &last {
        told.push_str(&line_of(line));
    }
    print(&told)
}

/// One difference, for people.
fn line_of(line: &Value) -> String {
    let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shadow = &line["shadow"];
    format!(
        "{} {}: {} {}: {} and not {}: {}\n",
        part(&line["at"]),
        part(&shadow["change"]),
        part(&line["tool"]),
        part(&line["call"]),
        part(&shadow["candidate"]),
        part(&shadow["active"]),
        part(&shadow["why"])
    )
}
