//! `holdpoint test`: cases against a policy.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use holdpoint_hook::exit::ExitCode;
use holdpoint_testkit::case::{self, Case, Golden};
use holdpoint_testkit::report::Trial;
use holdpoint_testkit::{self as testkit, Runner, Subject};

use super::configuration::configured;

/// What is tried, with what.
#[derive(Debug, Args)]
pub(super) struct TestArguments {
    /// The policy: a component's file, or `shipped`.
    policy: PathBuf,
    /// Case files, or folders of them.
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// Run only cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write golden output again, where it differs.
    #[arg(long)]
    update: bool,
    /// Write a report for CI servers.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// The configuration, for its grants and keys; default: the hook entry's, else as for the hook.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the cases and says how the process has to end.
pub(super) fn run(arguments: &TestArguments) -> ExitCode {
    match arguments.run() {
        Ok(code) => code,
        Err(error) => failed(&*error),
    }
}

/// What could not be done.
pub(super) fn failed(error: &dyn Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "holdpoint: {error}");
    ExitCode::FAILED
}

/// The policy that a command line names, with its remark told.
pub(super) fn subject(policy: &Path, config: Option<&Path>) -> Result<Subject, Box<dyn Error>> {
    let config = configured(config.map(Path::to_owned))?.policy;
    if policy == "shipped" {
        return Ok(Subject::shipped(&config)?);
    }
    let subject = Subject::file(policy, &super::policy::read_named(policy)?, &config)?;
    if let Some(remark) = &subject.remark {
        writeln!(io::stderr(), "holdpoint: {remark}")?;
    }
    Ok(subject)
}

impl TestArguments {
    fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let started = Instant::now();
        let mut all = Vec::new();
        for path in &self.cases {
            all.extend(case::read(path)?);
        }
        let chosen = |case: &&Case| self.filter.as_ref().is_none_or(|part| case.name.contains(part));
        let cases: Vec<&Case> = all.iter().filter(chosen).collect();
        if cases.is_empty() {
            return Err("no case's name holds the filter's text".into());
        }
        let subject = subject(&self.policy, self.config.as_deref())?;
        let runner = Runner::new(&subject)?;
        let mut golden = goldens(&cases)?;
        let mut results = testkit::each(&cases, |case| case.run(&runner, &golden[&case.file]));
        if self.update {
            for (case, result) in cases
                .iter()
                .zip(&mut results)
                .filter(|(case, _)| case.is_golden())
            {
                let golden = golden.entry(case.file.clone()).or_default();
                golden.put(&case.name, &result.outcome);
                // What is written anew is as it should be; nothing else is.
                *result = case.run(&runner, golden);
            }
            update(&mut golden, &all, self.filter.is_none())?;
        }
        let trial = Trial {
            subject: &subject,
            left_out: all.len() - cases.len(),
            results: cases.iter().copied().zip(results).collect(),
            took: started.elapsed(),
        };
        self.tell(&trial)?;
        Ok(match trial.failed() {
            0 => ExitCode::OK,
            _ => ExitCode::FOUND,
        })
    }

    fn tell(&self, trial: &Trial<'_>) -> Result<(), Box<dyn Error>> {
        if let Some(path) = &self.junit {
            fs::write(path, trial.junit()?).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let text = if self.json {
            format!("{}\n", serde_json::to_string_pretty(&trial.json())?)
        } else {
            trial.text()
        };
        Ok(io::stdout().write_all(text.as_bytes())?)
    }
}

/// The golden output beside each of the files.
fn goldens(cases: &[&Case]) -> Result<BTreeMap<PathBuf, Golden>, Box<dyn Error>> {
    let mut goldens = BTreeMap::new();
    for case in cases {
        if !goldens.contains_key(&case.file) {
            goldens.insert(case.file.clone(), Golden::beside(&case.file)?);
        }
    }
    Ok(goldens)
}

/// Writes golden output, without what belongs to no case any more.
fn update(goldens: &mut BTreeMap<PathBuf, Golden>, all: &[Case], whole: bool) -> Result<(), Box<dyn Error>> {
    for (file, golden) in goldens {
        if whole {
            golden.keep(|name| {
                all.iter()
                    .any(|case| case.file == *file && case.name == name && case.is_golden())
            });
        }
        golden.write(file)?;
    }
    Ok(())
}
