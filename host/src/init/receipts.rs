//! The mode of receipts, and the key that signs them.

use toml_edit::Value;

use super::document::Document;
use super::install::Target;
use super::questions::Questions;
use super::{InitError, Report};
use crate::config::{Config, Mode};

/// What can be said, and in which words it is asked: the first is what is proposed.
const MODES: [(Mode, &str); 3] = [
    (
        Mode::Audit,
        "audit: a signed receipt of every decision and every end of a call",
    ),
    (
        Mode::Gate,
        "gate: the same, and no call without a receipt on the disk",
    ),
    (Mode::Off, "off: the decision log only"),
];

/// Says the mode in the configuration: the one that is wanted, the one that a human chooses, or for a new configuration
/// the one that is proposed. One that is said already stays, and so does an older configuration that nobody is asked about.
pub(super) fn complete(
    wanted: Option<Mode>,
    target: &Target,
    document: &mut Document,
    questions: &Questions,
) -> Result<(), InitError> {
    let mode = match wanted {
        Some(mode) => mode,
        None if document.has_elsewhere("receipts", "mode") => return Ok(()),
        // Each user has a key, and this is not about one user.
        None if *target == Target::Managed => return Ok(()),
        None if questions.can_ask() => {
            let words = MODES.map(|(_, words)| words);
            MODES[questions.choice("the mode of receipts", "--receipts", "Receipts?", &words)?].0
        }
        None if document.is_new() => MODES[0].0,
        None => return Ok(()),
    };
    document.set_elsewhere(Some("receipts"), "mode", Value::from(mode.word()));
    Ok(())
}

/// Makes the key where receipts are wanted and nothing has begun; says so where what has begun cannot go on.
pub(super) fn make_key(config: &Config, target: &Target, report: &mut Report) -> Result<(), InitError> {
    if config.receipts.mode == Mode::Off {
        return Ok(());
    }
    if *target == Target::Managed {
        report.remark(
            "Receipts are each user's own: a key is made by every user who is guarded, with: holdpoint receipts keygen",
        );
        return Ok(());
    }
    let log = config.receipts.log()?;
    if log.has_begun() {
        let standing = log.standing();
        if let Some(error) = standing.key.err().or(standing.unwritable) {
            let comes_of_it = match config.receipts.mode {
                Mode::Gate => "every call is denied until they can",
                Mode::Off | Mode::Audit => "decisions leave none until they can",
            };
            report.remark(format!("Receipts cannot be written, and {comes_of_it}: {error}"));
        }
        return Ok(());
    }
    let key = log.begin().map_err(|error| InitError::Other(error.to_string()))?;
    report.done(format!(
        "Receipts are signed by {}, from {}, which only you can read.",
        key.id(),
        log.key.display()
    ));
    report.remark(format!(
        "Keep a copy of {} elsewhere: with it, others can check your receipts.",
        log.directory.join("keys.json").display()
    ));
    Ok(())
}
