//! The evidence: signed, hash-linked receipts of what was decided and seen.

pub mod remote;
