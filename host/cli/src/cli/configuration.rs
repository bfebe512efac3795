//! The configuration that a person's command uses.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Once;

use holdpoint_config::{self as config, Config, ConfigError};

use crate::doctor::InUse;

/// Loads what `--config` says, else what the hook entry here names, and says so where that is another than usual.
///
/// # Errors
///
/// As for the hook.
pub(super) fn configured(said: Option<PathBuf>) -> Result<Config, ConfigError> {
    static TOLD: Once = Once::new();
    let in_use = InUse::find(said);
    if let Some(remark) = in_use.remark() {
        TOLD.call_once(|| {
            let _ = writeln!(io::stderr(), "holdpoint: {remark}");
        });
    }
    config::load(&in_use.places)
}
