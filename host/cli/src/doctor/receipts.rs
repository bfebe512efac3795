//! Whether receipts can be written, and whether those that are there hold together.

use holdpoint_config::{Mode, Receipts};
use holdpoint_hook::receipts;
use holdpoint_receipts::{LogError, Moment, Standing};

use super::finding::{Finding, Repair, Severity};
use super::state::ago;

/// What is known of the log of receipts.
pub(super) struct Facts {
    mode: Mode,
    place: String,
    standing: Standing,
}

impl Facts {
    /// Looks at the log; none where no receipts are wanted.
    pub(super) fn gather(settings: &Receipts) -> Option<Result<Self, String>> {
        if settings.mode == Mode::Off {
            return None;
        }
        Some(match receipts::log(settings) {
            Ok(log) => Ok(Self {
                mode: settings.mode,
                place: log.directory.display().to_string(),
                standing: log.standing(),
            }),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Result<Facts, String>) -> Vec<Finding> {
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            let matters = "no receipt can be written";
            return vec![Finding::broken("receipts", error, matters).mended_by("set receipts.directory")];
        }
    };
    let mut findings = Vec::new();
    if let Err(error) = &facts.standing.key {
        findings.push(facts.unwritten("receipts.key", error));
    }
    if let Some(error) = &facts.standing.unwritable {
        findings.push(facts.unwritten("receipts", error));
    }
    findings.extend(facts.of_end(findings.is_empty()));
    findings
}

impl Facts {
    /// Receipts are lost, or calls denied.
    fn unwritten(&self, check: &'static str, error: &LogError) -> Finding {
        let (severity, matters) = match self.mode {
            Mode::Gate => (
                Severity::Broken,
                "receipts.mode is \"gate\", so every call is denied",
            ),
            Mode::Off | Mode::Audit => (Severity::Caution, "decisions stand, and leave no receipt"),
        };
        let finding = Finding::new(severity, check, error.to_string(), matters).mended_by(mend(error));
        match error {
            LogError::KeyExposed(path) => finding.repaired_by(Repair::Mode {
                path: path.clone(),
                mode: 0o600,
            }),
            _ => finding,
        }
    }

    /// The end of the chain: a finding where something does not hold, else where nothing else was said.
    fn of_end(&self, all_else_is_well: bool) -> Option<Finding> {
        let matters = "what was decided cannot be proved by them";
        let mend = format!(
            "holdpoint receipts verify says what does not hold; keep {} as it is for whoever asks, move it aside, and begin \
             another with: holdpoint receipts keygen",
            self.place
        );
        let end = match &self.standing.end {
            Ok(end) => end,
            Err(error) => {
                let found = format!("the receipts in {} cannot be read: {error}", self.place);
                return Some(Finding::broken("receipts.chain", found, matters).mended_by(mend));
            }
        };
        if let Some(what) = &end.broken {
            let found = format!("the chain of receipts in {} is broken: {what}", self.place);
            return Some(Finding::broken("receipts.chain", found, matters).mended_by(mend));
        }
        all_else_is_well.then(|| {
            let Some(last) = &end.last else {
                return Finding::good("receipts", format!("{} (none was written yet)", self.place));
            };
            let since = Moment::now()
                .unix_millis()
                .saturating_sub(last.issued_at.unix_millis());
            let found = format!(
                "{}: the last one is #{}, {}, of {} ({} ago); it and the {} before it hold together",
                self.place,
                last.seq,
                last.digest,
                last.issued_at,
                ago(since / 1_000),
                end.looked_at.saturating_sub(1)
            );
            Finding::good("receipts", found)
        })
    }
}

/// What a human does about it. Most of it the error says itself.
fn mend(error: &LogError) -> String {
    match error {
        LogError::NoLog(_) | LogError::NoKey(_) => "holdpoint receipts keygen".into(),
        LogError::KeyExposed(path) => format!("chmod 600 {}", path.display()),
        LogError::Exposed(path) => format!("chmod go-w {}", path.display()),
        LogError::LostKey { key, directory } => format!(
            "bring {} back; or mv {} elsewhere, and then holdpoint receipts keygen",
            key.display(),
            directory.display()
        ),
        LogError::KeyWithoutLog { key, .. } => format!(
            "bring the keys.json of {key} back; or mv {key} elsewhere, and then holdpoint receipts keygen",
            key = key.display()
        ),
        _ => "mend what it says, or name another folder by receipts.directory".into(),
    }
}
