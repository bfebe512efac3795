//! The contract in `wit/`, as Rust types.

// Generated code keeps no rules of ours.
#![expect(missing_docs, reason = "generated from wit/policy.wit")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "guest",
    imports: { "holdpoint:policy/session.current": trappable },
});

pub use self::holdpoint::policy::types::Server;
pub use exports::holdpoint::policy::policy::Call;

use crate::verdict;

impl From<exports::holdpoint::policy::policy::Verdict> for verdict::Verdict {
    fn from(verdict: exports::holdpoint::policy::policy::Verdict) -> Self {
        use exports::holdpoint::policy::policy::Verdict;
        match verdict {
            Verdict::Pass(note) => Self::Pass(note),
            Verdict::Ask(reason) => Self::Ask(reason),
            Verdict::Deny(reason) => Self::Deny(reason),
        }
    }
}
