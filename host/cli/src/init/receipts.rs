//! The mode of receipts, and the key that signs them.

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_config::{Config, Mode, Signer};
use holdpoint_hook::receipts;
use holdpoint_receipts::remote::Account;
use holdpoint_setup::file::{FileError, Readers, Transaction};
use toml_edit::Value;

use super::document::Document;
use super::install::Target;
use super::questions::Questions;
use super::{InitError, Report};

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

/// What is wanted of receipts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Whether they are written, and whether a call needs one.
    pub mode: Option<Mode>,
    /// Who signs beside the key of this machine.
    pub signer: Option<Signer>,
}

/// Says the mode and the signer in the configuration. The mode is the one that is wanted, the one that a human chooses, or for a new configuration
/// the one that is proposed. One that is said already stays, and so does an older configuration that nobody is asked about.
pub(super) fn complete(
    wanted: Wanted,
    is_unattended: bool,
    target: &Target,
    document: &mut Document,
    questions: &Questions,
) -> Result<(), InitError> {
    if let Some(signer) = wanted.signer {
        document.set_elsewhere(Some("receipts"), "signer", Value::from(signer.word()));
    }
    // Without receipts there is nothing to sign, and nothing that tells what an agent did while nobody looked.
    let needs_them = is_unattended || wanted.signer == Some(Signer::Asqav);
    let is_off = document.get_elsewhere("receipts", "mode") == Some(Mode::Off.word());
    if wanted.mode == Some(Mode::Off) && needs_them {
        return Err(InitError::Other(
            "--receipts off leaves nothing to sign: --unattended and --signer asqav need audit or gate"
                .into(),
        ));
    }
    let mode = match wanted.mode {
        Some(mode) => mode,
        None if needs_them && (is_off || !document.has_elsewhere("receipts", "mode")) => MODES[0].0,
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

/// Whether the key can be made where there is none yet: told before anything is written.
pub(super) fn check(config: &Config, target: &Target) -> Result<(), InitError> {
    let log = match config.receipts.mode {
        Mode::Off => return Ok(()),
        Mode::Audit | Mode::Gate if *target == Target::Managed => return Ok(()),
        Mode::Audit | Mode::Gate => receipts::log(&config.receipts)?,
    };
    if log.has_begun() {
        return Ok(());
    }
    let mut files = Transaction::new();
    for path in [log.key.clone(), log.directory.join("keys.json")] {
        files.write(&path, Vec::new(), Readers::Owner)?;
    }
    Ok(files.check()?)
}

/// Makes the key where receipts are wanted and nothing has begun. Answers with what has to be said of it.
pub(super) fn make_key(config: &Config, target: &Target, report: &mut Report) -> Result<(), FileError> {
    if config.receipts.mode == Mode::Off || *target == Target::Managed {
        return Ok(());
    }
    let failed = |path: PathBuf, why: String| FileError::Refused { path, why };
    let log = receipts::log(&config.receipts)
        .map_err(|error| failed("receipts.directory".into(), error.to_string()))?;
    if log.has_begun() {
        return Ok(());
    }
    let key = log
        .begin()
        .map_err(|error| failed(log.directory.clone(), error.to_string()))?;
    super::place::hand_over(&log.directory);
    if let Some(folder) = log.key.parent() {
        super::place::hand_over(folder);
    }
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

/// Says where receipts cannot be written, and what has to be done for them.
pub(super) fn tell(config: &Config, target: &Target, report: &mut Report) -> Result<(), InitError> {
    if config.receipts.mode == Mode::Off {
        return Ok(());
    }
    let without = match config.receipts.mode {
        Mode::Gate => "every call is denied until they can",
        Mode::Off | Mode::Audit => "decisions leave none until they can",
    };
    if config.receipts.signer == Signer::Asqav {
        tell_account(config, report);
    }
    if *target == Target::Managed {
        report.remark(
            "Receipts are each user's own: a key is made by every user who is guarded, the one that an unattended agent runs as included, with: holdpoint receipts keygen",
        );
        return Ok(());
    }
    let standing = receipts::log(&config.receipts)?.standing();
    if let Some(error) = standing.key.err().or(standing.unwritable) {
        report.remark(format!("Receipts cannot be written, and {without}: {error}"));
    }
    Ok(())
}

/// The account of the asqav service is the environment's to say, and the harness has to have it.
fn tell_account(config: &Config, report: &mut Report) {
    let home = env::var_os("HOME").map(PathBuf::from);
    let url = config.receipts.asqav_url.as_deref();
    let account = Account::read(|name| env::var(name).ok(), home.as_deref().map(Path::new), url);
    report.remark("Claude Code has to be started with ASQAV_API_KEY and ASQAV_AGENT_ID in its environment.");
    if let Err(error) = account {
        report.remark(format!(
            "The asqav service cannot sign yet, as far as is known here: {error}"
        ));
    }
}
