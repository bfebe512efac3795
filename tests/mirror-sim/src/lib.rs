//! Where policies are pulled from in the tests: a web server that does as it is told, and a real registry.

#![expect(clippy::unwrap_used, reason = "what is not as it has to be ends the test")]

mod registry;
mod site;

pub use registry::{CONFIG, Registry};
pub use site::{Answer, Site};
