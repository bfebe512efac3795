//! Cases: what happens, what the host answers, and what has to come out. The format is described in `docs/cases.md`.

mod expect;
mod files;
mod format;
mod golden;
mod script;

use std::path::PathBuf;

use holdpoint_runtime::sandbox::Call as Question;

pub use files::{CaseError, read};
pub use golden::{Golden, GoldenError};
pub use script::Script;

use super::RunOutcome;
use crate::Runner;

/// One case, ready to run.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its file, without `.toml`, and its own name.
    pub name: String,
    /// Where it stands.
    pub file: PathBuf,
    question: Question,
    script: Script,
    time_left_ms: u64,
    expect: format::Expect,
}

/// What became of a case.
#[derive(Debug)]
pub struct Result {
    /// The policy's performance.
    pub outcome: RunOutcome,
    /// What is not as the case says; empty where all is.
    pub problems: Vec<String>,
}

impl Case {
    /// Runs the policy, and holds what comes out against what has to.
    pub fn run(&self, runner: &Runner, golden: &Golden) -> Result {
        let outcome = self.ask(runner);
        let mut problems = expect::problems(&self.expect, &outcome);
        if self.expect.golden {
            problems.extend(golden.problem(&self.name, &outcome));
        }
        Result { outcome, problems }
    }

    /// Whether its whole output is held against a golden file.
    pub fn is_golden(&self) -> bool {
        self.expect.golden
    }

    fn ask(&self, runner: &Runner) -> RunOutcome {
        runner.ask(self.script.clone(), self.time_left_ms, &self.question)
    }
}
