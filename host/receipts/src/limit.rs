//! How large a receipt may be.

/// The most bytes that a receipt has, its line break included.
pub const LARGEST_RECEIPT: usize = 1024 * 1024;
