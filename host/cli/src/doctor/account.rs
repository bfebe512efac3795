//! Whether the service that signs receipts as well is told under which account.

use std::path::PathBuf;

use holdpoint_common::environment;
use holdpoint_config::{Mode, Receipts, Signer};
use holdpoint_receipts::remote::Account;

use super::finding::{Finding, Severity};

/// Looks for the account as the hook does: in the variables that the harness hands on.
pub(super) fn judge(settings: &Receipts) -> Option<Finding> {
    if settings.mode == Mode::Off || settings.signer != Signer::Asqav {
        return None;
    }
    let account = Account::read(
        environment::var,
        environment::var_os("HOME").map(PathBuf::from).as_deref(),
        settings.asqav_url.as_deref(),
    );
    let error = account.err()?;
    let (severity, matters) = match settings.mode {
        Mode::Gate => (
            Severity::Broken,
            "receipts.mode is \"gate\", so every call is denied",
        ),
        Mode::Off | Mode::Audit => (
            Severity::Caution,
            "calls run, and the service signs nothing for them",
        ),
    };
    Some(
        Finding::new(
            severity,
            "receipts.signer",
            format!("receipts.signer is \"asqav\", and its account cannot be used: {error}"),
            matters,
        )
        .mended_by(
            "start the harness with ASQAV_API_KEY and ASQAV_AGENT_ID, or set receipts.signer to \"local\"; then run holdpoint \
             doctor where the harness is started",
        ),
    )
}
