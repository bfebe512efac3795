//! Policies: loaded through the gate ([`policy`]), run with limits and lent capabilities ([`sandbox`]), and what comes out: a
//! [`verdict`], or a fault. Knows nothing of Zerto or of harnesses.

pub mod policy;
pub mod sandbox;
pub mod verdict;
