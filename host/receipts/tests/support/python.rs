//! The Python that has the `asqav` package, against which this package is held.

use std::path::PathBuf;

/// Names it.
const VARIABLE: &str = "HOLDPOINT_ASQAV_PYTHON";

/// That Python. Where the variable is not set, says that nothing is tested; in CI it has to be set.
pub(crate) fn python() -> Option<PathBuf> {
    let python = std::env::var_os(VARIABLE).map(PathBuf::from);
    if python.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{VARIABLE} has to be set in CI");
        eprintln!("NOT TESTED: {VARIABLE} is not set");
    }
    python
}
