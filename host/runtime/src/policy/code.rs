//! Compiled code of policies, and loading it.

use holdpoint_artifact::Digest;
use holdpoint_engine::{COMPILED_FOOTER, COMPILED_MAGIC, code_of};
use holdpoint_store::{Build, Code};
use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::sandbox;

/// The shipped policy's compiled code, made in the build.
static SHIPPED: OnPages<[u8; COMPILED]> = OnPages(*include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")));

/// The length of that, in bytes.
const COMPILED: usize = include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")).len();

/// Begins with a page, so that the code inside can run where it lies.
#[repr(C, align(4096))]
struct OnPages<T>(T);

/// The shipped policy's component, as it is signed and packed by those who make others of it.
pub const SHIPPED_COMPONENT: &[u8] = include_bytes!(env!("HOLDPOINT_COMPONENT"));

/// For what installed policies are compiled.
pub const BUILD: Build<'static> = Build {
    engine: env!("HOLDPOINT_ENGINE"),
    host: env!("HOLDPOINT_BUILD"),
    cpu: env!("HOLDPOINT_TARGET"),
    magic: &COMPILED_MAGIC,
    hold: sandbox::hold,
};

/// The code is not for this host.
#[derive(Debug, Error)]
#[error(
    "the policy's compiled code is not for this host ({0}); make it again with: holdpoint-compile POLICY.wasm"
)]
pub struct Foreign(String);

impl Foreign {
    fn of(cause: wasmtime::Error) -> Self {
        Self(format!("{cause:#}"))
    }
}

/// The shipped policy's code, and the component's digest.
pub(super) fn shipped() -> (&'static [u8], Digest) {
    let (code, digest) = code_of(&SHIPPED.0, COMPILED_MAGIC).expect("the build wrote whose code it is");
    (code, Digest::from_bytes(digest))
}

/// A policy of the store's.
#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
pub(super) fn component(code: &Code) -> Result<Component, Foreign> {
    match code {
        Code::Held(compiled) => deserialize(own(compiled)),
        // SAFETY: only the system's user can have written the file, or writes it now.
        Code::Unchanging(path) => unsafe { sandbox::load_file(path) }.map_err(Foreign::of),
    }
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
pub(super) fn deserialize(code: &'static [u8]) -> Result<Component, Foreign> {
    // SAFETY: the code is this build's own; or it comes from a file that nobody but this user or root can have written,
    // which could as well replace this program; or it was proven to be what a compiler made for the store.
    unsafe { sandbox::load(code) }.map_err(Foreign::of)
}

/// What the engine serialised, without what says whose code it is.
fn own(compiled: &[u8]) -> &[u8] {
    &compiled[..compiled.len().saturating_sub(COMPILED_FOOTER)]
}

/// Loads counting code for the bench; what can be said of it is the same.
pub fn deserialize_metered(compiled: &[u8]) -> Result<Component, Foreign> {
    copied(sandbox::metered_engine(), compiled)
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn copied(engine: &Engine, compiled: &[u8]) -> Result<Component, Foreign> {
    // SAFETY: as above, and a compiler under this program's own eyes may just have made it.
    unsafe { Component::deserialize(engine, own(compiled)) }.map_err(Foreign::of)
}

/// The shipped policy's counting code, for the bench, with its digest and the component's size in bytes.
pub fn shipped_metered() -> Result<(Component, Digest, usize), Foreign> {
    let compiled = include_bytes!(concat!(env!("OUT_DIR"), "/policy.metered.cwasm"));
    let size = env!("HOLDPOINT_COMPONENT_SIZE").parse();
    Ok((
        deserialize_metered(compiled)?,
        shipped().1,
        size.expect("the build wrote a number"),
    ))
}

/// Says what keeps this host from loading code that a compiler just made, where something does.
pub(super) fn check_code(compiled: &[u8]) -> Result<(), String> {
    if own(compiled).is_empty() {
        return Err("there is none".into());
    }
    copied(sandbox::engine(), compiled)
        .map(drop)
        .map_err(|error| error.to_string())
}
