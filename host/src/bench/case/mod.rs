//! Cases: what happens, what the host answers, and what has to come out. The format is described in `docs/cases.md`.

mod expect;
mod files;
mod format;
mod golden;
mod script;

use std::path::PathBuf;

pub use files::{CaseError, read};
pub use golden::{Golden, GoldenError};
pub use script::Script;

use super::Performance;
use super::bench::Bench;
use crate::runtime::Call as Question;

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
    pub performance: Performance,
    /// What is not as the case says; empty where all is.
    pub problems: Vec<String>,
}

impl Case {
    /// Runs the policy, and holds what comes out against what has to.
    pub fn run(&self, bench: &Bench, golden: &Golden) -> Result {
        let performance = self.perform(bench);
        let mut problems = expect::problems(&self.expect, &performance);
        if self.expect.golden {
            problems.extend(golden.problem(&self.name, &performance));
        }
        Result {
            performance,
            problems,
        }
    }

    /// Whether its whole output is held against a golden file.
    pub fn is_golden(&self) -> bool {
        self.expect.golden
    }

    fn perform(&self, bench: &Bench) -> Performance {
        bench.perform(self.script.clone(), self.time_left_ms, &self.question)
    }
}
