//! What a configuration was made of, for another process.

use serde::{Deserialize, Serialize};

/// The texts of the files that a configuration was made of. The variables count only where there is no file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sources {
    pub(crate) machine: Option<String>,
    pub(crate) user: Option<String>,
}
