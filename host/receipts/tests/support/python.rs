//! The Python that has the `asqav` package, against which this package is checked.

use std::path::PathBuf;

/// Names it.
const VARIABLE: &str = "HOLDPOINT_ASQAV_PYTHON";

/// That Python.
pub(crate) fn python() -> PathBuf {
    let python = std::env::var_os(VARIABLE).map(PathBuf::from);
    python.unwrap_or_else(|| panic!("{VARIABLE} is not set; .ci/run makes such a Python"))
}
