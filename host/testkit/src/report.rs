//! What came of the cases: for a terminal, for programs, for a CI server.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use holdpoint_common::safe_text;
use holdpoint_runtime::sandbox::Cost;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use super::Subject;
use super::case::{Case, Result};

/// Cases with what became of them.
pub struct Trial<'a> {
    /// The policy.
    pub subject: &'a Subject,
    /// The cases that were run.
    pub results: Vec<(&'a Case, Result)>,
    /// How many were left out by the filter.
    pub left_out: usize,
    /// How long it took by the clock.
    pub took: Duration,
}

impl Trial<'_> {
    /// How many did not come out as they say.
    pub fn failed(&self) -> usize {
        let failed = |(_, result): &&(_, Result)| !result.problems.is_empty();
        self.results.iter().filter(failed).count()
    }

    /// For people: a line a case, then what is wrong, then the sums.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (case, result) in &self.results {
            let sign = if result.problems.is_empty() {
                "ok  "
            } else {
                "FAIL"
            };
            let cost = result.outcome.cost;
            let _ = writeln!(
                text,
                "{sign} {}  ({}, {})",
                shown(&case.name),
                counted(cost.fuel, "instruction"),
                counted(result.outcome.asking.calls, "host call"),
            );
            for problem in &result.problems {
                for line in problem.lines() {
                    let _ = writeln!(text, "       {}", shown(line));
                }
            }
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    fn summary(&self) -> String {
        let (all, failed) = (self.results.len(), self.failed());
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!(", {left_out} left out by the filter"),
        };
        let mut summary = format!(
            "{}: {} as they say, {failed} not{left_out}; {} ms\n{}",
            counted(all as u64, "case"),
            all - failed,
            self.took.as_millis(),
            policy(self.subject)
        );
        let costs = || self.results.iter().map(|(_, result)| result.outcome.cost);
        if let Some(dearest) = costs().max_by_key(|cost| cost.fuel) {
            let most = costs().map(|cost| cost.memory).max().unwrap_or_default();
            let _ = write!(
                summary,
                "\nat most {}",
                figures(Cost {
                    memory: most,
                    ..dearest
                })
            );
        }
        summary
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let cases: Vec<Value> = self
            .results
            .iter()
            .map(|(case, result)| {
                json!({
                    "name": case.name,
                    "file": case.file,
                    "passed": result.problems.is_empty(),
                    "problems": result.problems,
                    "verdict": result.outcome.word(),
                    "text": result.outcome.text(),
                    "calls": result.outcome.calls(),
                    "cost": cost_json(result.outcome.cost, result.outcome.asking.calls),
                })
            })
            .collect();
        json!({
            "policy": policy_json(self.subject),
            "cases": cases,
            "passed": self.results.len() - self.failed(),
            "failed": self.failed(),
            "left_out": self.left_out,
        })
    }

    /// For CI servers: JUnit's XML. A suite for each file.
    pub fn junit(&self) -> std::result::Result<String, quick_junit::SerializeError> {
        let mut report = Report::new("holdpoint test");
        report.set_time(self.took);
        let mut suites: Vec<(&Path, TestSuite)> = Vec::new();
        for (case, result) in &self.results {
            if suites.last().is_none_or(|(file, _)| *file != case.file) {
                suites.push((&case.file, TestSuite::new(case.file.display().to_string())));
            }
            if let Some((_, suite)) = suites.last_mut() {
                suite.add_test_case(test_case(case, result));
            }
        }
        report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
        report.to_string()
    }
}

fn test_case(case: &Case, result: &Result) -> TestCase {
    let mut status = TestCaseStatus::success();
    if let Some(first) = result.problems.first() {
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(first.lines().next().unwrap_or_default());
        status.set_description(result.problems.join("\n"));
    }
    let mut test_case = TestCase::new(case.name.as_str(), status);
    let cost = result.outcome.cost;
    test_case.add_property(("fuel", cost.fuel.to_string().as_str()));
    test_case.add_property(("peak_memory", cost.memory.to_string().as_str()));
    test_case.add_property(("host_calls", result.outcome.asking.calls.to_string().as_str()));
    test_case
}

/// The policy that was tried.
pub fn policy(subject: &Subject) -> String {
    format!(
        "policy {} sha256:{:.12}, {} bytes",
        shown(&subject.name),
        subject.digest.hex(),
        grouped(subject.size as u64)
    )
}

/// The same for programs.
pub fn policy_json(subject: &Subject) -> Value {
    json!({
        "name": subject.name,
        "digest": subject.digest,
        "facts": subject.facts,
        "remark": subject.remark,
        "size": subject.size,
    })
}

/// What one decision cost.
pub fn figures(cost: Cost) -> String {
    format!(
        "{}, {} of them before the policy is asked; peak memory {} KiB",
        counted(cost.fuel, "instruction"),
        grouped(cost.start),
        grouped(cost.memory as u64 / 1024)
    )
}

/// The same for programs.
pub fn cost_json(cost: Cost, calls: u64) -> Value {
    json!({
        "fuel": cost.fuel,
        "start_fuel": cost.start,
        "peak_memory": cost.memory,
        "host_calls": calls,
    })
}

/// A number of things, in words.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn shown(line: &str) -> String {
    safe_text::clean_line(line, safe_text::LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, wanted) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), wanted);
        }
    }
}
