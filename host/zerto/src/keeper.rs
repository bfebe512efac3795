//! What keeps log-ins between processes: the caller's, who knows where files may lie.

use std::fmt;
use std::time::Duration;

use zeroize::Zeroizing;

/// Keeps a log-in for the next process. Nothing it does is an error: whoever finds nothing kept logs in.
///
/// What is kept lets its reader in until it ends, so it has to lie where nobody but this user can read or write.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// What was stored last under this name, and how long ago that was by a clock that nobody sets; none where there is
    /// nothing that can be relied on.
    fn load(&self, name: &str) -> Option<(Zeroizing<Vec<u8>>, Duration)>;

    /// Stores this in place of whatever was there.
    fn store(&self, name: &str, bytes: &[u8]);

    /// Takes away what was stored.
    fn discard(&self, name: &str);

    /// A lock on this name among all processes, until what is returned is dropped; none where another has it.
    fn try_lock(&self, name: &str) -> Option<Box<dyn Send>>;
}
