//! A simulated Zerto Virtual Manager: a real HTTPS server with journals, tasks and scripted troubles.
//!
//! A [`Scenario`] says what the ZVM holds and how it behaves; [`Sim::start`] serves it on a free port of the loopback
//! interface until the [`Sim`] is dropped. What was asked of it is read back with [`Sim::requests`] and
//! [`Sim::checkpoints`].
//!
//! ```
//! let scenario = zvm_sim::Scenario::from_toml("[[vpgs]]\nname = 'APP-VPG'\nvms = [ { name = 'app-07' } ]")?;
//! let sim = zvm_sim::Sim::start(scenario)?;
//! assert!(sim.url().starts_with("https://localhost:"));
//! # anyhow::Ok(())
//! ```

mod answer;
mod api;
mod auth;
mod clock;
mod filter;
mod journal;
mod names;
mod request;
mod rows;
mod scenario;
mod server;
mod sim;
mod tls;
mod trouble;
mod words;
mod zvm;

pub use scenario::{
    Align, Certificate, CertificateKind, Direction, Login, Outcome, Platform, Scenario, ScenarioError, Site,
    Vm, Vpg,
};
pub use sim::Sim;
pub use trouble::Trouble;
pub use zvm::{Answered, Inserted, Seen};
