//! The environment that the hook is started with. It is this process's own, but where `doctor` and `status` look at an
//! installation: the harness hands the variables in its settings on to the hook, and what they move or switch is then seen
//! here as the hook sees it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::sync::OnceLock;

static SET_BY_SETTINGS: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// From now on, these variables count before the process's own. Only the first call does anything.
pub fn apply(variables: BTreeMap<String, String>) {
    let _ = SET_BY_SETTINGS.set(variables);
}

/// What settings set.
pub fn applied() -> impl Iterator<Item = (&'static str, &'static str)> {
    let variables = SET_BY_SETTINGS.get().into_iter().flatten();
    variables.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// As [`env::var_os`].
pub fn var_os(name: &str) -> Option<OsString> {
    let set = SET_BY_SETTINGS.get().and_then(|variables| variables.get(name));
    set.map(OsString::from).or_else(|| env::var_os(name))
}

/// As [`env::var`]; none also where it is no text.
pub fn var(name: &str) -> Option<String> {
    var_os(name)?.into_string().ok()
}
