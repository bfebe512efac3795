//! Where the build left what tests and benchmarks install beside the program or measure. No program of ours reads these.

/// The shipped policy's component.
pub const COMPONENT: &str = env!("HOLDPOINT_COMPONENT");
/// Its compiled code.
pub const CODE: &str = concat!(env!("OUT_DIR"), "/policy.cwasm");
/// The program that compiles policies.
pub const COMPILER: &str = env!("HOLDPOINT_COMPILE");
