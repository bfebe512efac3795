//! Golden output: everything that comes out of a case, in a file beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use holdpoint_common::read::{self, limit};
use holdpoint_recording::exchange::Asked;
use thiserror::Error;

use super::expect::difference;
use crate::RunOutcome;

/// What a case's part of a golden file begins with.
const HEAD: &str = "== ";

/// The golden output of the cases of one file, by the cases' names.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Golden(BTreeMap<String, String>);

/// Why golden output cannot be read or written.
#[derive(Debug, Error)]
#[error("{path}: {cause}")]
pub struct GoldenError {
    path: PathBuf,
    cause: io::Error,
}

impl Golden {
    /// The golden output beside a case file; none where there is no such file.
    ///
    /// # Errors
    ///
    /// Where there is one that cannot be read.
    pub fn beside(case_file: &Path) -> Result<Self, GoldenError> {
        let path = path(case_file);
        match read::read_text(&path, limit::CASE) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(cause) => Err(GoldenError { path, cause }),
        }
    }

    /// What differs from a case's golden output.
    pub fn problem(&self, case: &str, outcome: &RunOutcome) -> Option<String> {
        let made = output(outcome);
        match self.0.get(case) {
            None => Some(format!(
                "there is no golden output of it yet; --update writes:\n{}",
                difference("", &made)
            )),
            Some(wanted) if *wanted != made => Some(format!(
                "the golden output is another (--update writes it anew):\n{}",
                difference(wanted, &made)
            )),
            Some(_) => None,
        }
    }

    /// Puts a case's output in.
    pub fn put(&mut self, case: &str, outcome: &RunOutcome) {
        self.0.insert(case.to_owned(), output(outcome));
    }

    /// Drops what no such case has any more.
    pub fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|case, _| is_there(case));
    }

    /// Writes it beside the case file. Says whether anything changed.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn write(&self, case_file: &Path) -> Result<bool, GoldenError> {
        if *self == Self::beside(case_file)? {
            return Ok(false);
        }
        let path = path(case_file);
        fs::write(&path, self.text()).map_err(|cause| GoldenError { path, cause })?;
        Ok(true)
    }

    fn text(&self) -> String {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(case, output)| format!("{HEAD}{case}\n{output}"))
            .collect();
        parts.join("\n")
    }

    fn parse(text: &str) -> Self {
        let mut golden = BTreeMap::new();
        let mut part: Option<(String, String)> = None;
        for line in text.split_inclusive('\n') {
            if let Some(case) = line.strip_prefix(HEAD) {
                golden.extend(part.replace((case.trim_end().to_owned(), String::new())));
            } else if let Some((_, output)) = &mut part {
                output.push_str(line);
            }
        }
        golden.extend(part);
        // An empty line stands between two parts.
        let trimmed = golden
            .into_iter()
            .map(|(case, output)| (case, format!("{}\n", output.trim_end_matches('\n'))));
        Self(trimmed.collect())
    }
}

fn path(case_file: &Path) -> PathBuf {
    case_file.with_extension("golden")
}

/// Everything that came out, a fact a line. Lines of the policy's own texts are moved in, so that none begins a part.
fn output(outcome: &RunOutcome) -> String {
    let mut output = format!("verdict: {}\n", outcome.word());
    for line in outcome.text().lines() {
        output.push_str(&format!("  {line}\n"));
    }
    for exchange in &outcome.asking.exchanges {
        output.push_str(&format!("call: {}\n", exchange.asked));
        if let Asked::Capture { tag, .. } = &exchange.asked {
            output.push_str(&format!("  tag: {tag}\n"));
        }
    }
    for line in outcome.asking.lines.iter().flat_map(|line| line.lines()) {
        output.push_str(&format!("log: {line}\n"));
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let golden = Golden(BTreeMap::from([
            (
                "f/one".into(),
                "verdict: ask\n  why\n\n".trim_end().to_owned() + "\n",
            ),
            ("f/two".into(), "verdict: pass\n".into()),
        ]));
        assert_eq!(Golden::parse(&golden.text()), golden);
        assert_eq!(golden.text().matches(HEAD).count(), 2);
    }
}
