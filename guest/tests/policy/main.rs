//! Native tests of the policy: the pure modules, with a scripted world in the place of the host.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail like the tests themselves"
)]

mod catalogs;
mod commands;
mod decisions;
mod doubts;
mod enforced;
mod foreign;
mod names;
mod own_catalogs;
mod properties;
mod purity;
mod rows;
mod servers;
mod settings;
mod targets;
mod words;
mod world;
