//! How large a policy's file may be.

/// The largest file that is looked at, in bytes. A component with a Python interpreter in it has 18 MB.
pub const LARGEST: usize = 64 * 1024 * 1024;
