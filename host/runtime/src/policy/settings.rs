//! What the configuration tells a policy.

use holdpoint_config::{ConfigError, Policy, read_toml};

/// The settings as the policy gets them: JSON text. Reads the operator's catalog files.
///
/// # Errors
///
/// Where a catalog file cannot be read, is open to others, or is no TOML.
pub fn settings(config: &Policy) -> Result<String, ConfigError> {
    let mut settings = serde_json::to_value(config.settings())
        .map_err(|error| ConfigError::value("policy", error.to_string()))?;
    let files = config.catalog_files().iter();
    let catalogs: Vec<_> = files.map(|path| read_toml(path)).collect::<Result<_, _>>()?;
    if !catalogs.is_empty() {
        settings["catalogs"] = catalogs.into();
    }
    Ok(settings.to_string())
}
