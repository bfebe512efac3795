//! The evidence: signed, hash-linked receipts of what was decided and seen, checkable by others.
//!
//! A receipt is `{payload, signature{alg, kid, sig}}`: a canonical JSON payload (RFC 8785) under an Ed25519 signature, in
//! the envelope of draft-farley-acta-signed-receipts as the verifier of PyPI's `asqav` reads it. Every receipt names the
//! SHA-256 of the payload before it, so that none can be taken out, changed or put elsewhere unseen.
//!
//! A [`Decision`] is made before a call and is a verdict; an [`Observation`] is what was seen after it and has none. They
//! are different types here and on the wire: what mixes them neither compiles nor parses.
//!
//! The format, the modes and the verbs are described in `docs/receipts.md`.

mod archive;
mod body;
mod bound;
mod calls;
mod end;
mod envelope;
mod error;
mod files;
mod find;
mod keyset;
mod limit;
mod lines;
mod log;
mod moment;
mod net;
pub mod otlp;
mod permissions;
mod public_key;
pub mod remote;
pub mod report;
pub mod serve;
mod standing;
mod verify;
mod way_back;
mod wire;

// The tests in here and those beside the library share bodies, which name it as it is named from outside.
#[cfg(test)]
extern crate self as holdpoint_receipts;
#[cfg(test)]
#[path = "../tests/support/bodies.rs"]
mod test_bodies;

pub use crate::archive::Archived;
pub use crate::body::{
    Body, Call, Checkpoint, Decision, Deviation, DeviationKind, Environment, Event, Machine, Observation,
    Outcome, Policy, Stance, Verdict, Zvm,
};
pub use crate::bound::{Arguments, Form, Results};
pub use crate::calls::{CallRecord, Calls, Ending, Filter, Uncovered, is_tool};
pub use crate::envelope::{Receipt, Signature};
pub use crate::error::{LogError, ReceiptError};
pub use crate::files::Source;
pub use crate::find::Found;
pub use crate::keyset::{Key, KeySet, KeyStatus};
pub use crate::limit::LARGEST_RECEIPT;
pub use crate::lines::{Line, Reader};
pub use crate::log::{Appended, Log, Manner};
pub use crate::moment::{Moment, NotAMoment};
pub use crate::standing::{Ending as LogEnding, Standing};
pub use crate::verify::{Checked, Part, Report, Trust, verify};
pub use crate::way_back::{Step, way_back};
