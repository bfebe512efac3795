//! The engine settings that the host and the compiler must share.
//!
//! Compiled code is accepted only by an engine whose settings match those that it was compiled with, so both programs
//! take them from here. What each setting costs per process was measured before it was chosen; the pooling allocator,
//! for one, makes a single decision a quarter slower.

use std::num::NonZeroUsize;

use wasmtime::Config;

/// The settings of every engine that decides.
pub fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // The watchdog ends a policy's endless loop by advancing the epoch, from a signal handler.
        .epoch_interruption(true)
        // Our calls are plain functions; WASI 0.3's concurrency would only be more to get wrong.
        .concurrency_support(false)
        // Nothing unwinds through a policy, and nobody reads addresses in its traps: the artefact is smaller without.
        .native_unwind_info(false)
        .generate_address_map(false)
        .wasm_backtrace_max_frames(NonZeroUsize::new(8));
    config
}

/// The settings of the bench's engine: those of every engine, and instructions are counted.
pub fn metered_config() -> Config {
    let mut config = config();
    config.consume_fuel(true);
    config
}

/// What says of compiled code which policy it is the code of: this magic, then the SHA-256 of the component's bytes. They
/// stand at the end, so that a file of it begins with what the engine serialised, and can be mapped as that.
pub const COMPILED_MAGIC: [u8; 8] = *b"hpcwasm3";

/// What code for the bench has in that magic's place: it counts instructions, and no hook runs it.
pub const METERED_MAGIC: [u8; 8] = *b"hpmeter3";

/// The last bytes of compiled code: the magic, and the component's SHA-256.
pub const COMPILED_FOOTER: usize = COMPILED_MAGIC.len() + 32;

/// What the engine serialised of the component with this SHA-256, with what says so at the end.
pub fn compiled(mut code: Vec<u8>, magic: [u8; 8], digest: [u8; 32]) -> Vec<u8> {
    code.extend(magic);
    code.extend(digest);
    code
}

/// The engine's own bytes of compiled code, and the SHA-256 of the component that it is of; none where it does not end
/// with that magic.
pub fn code_of(compiled: &[u8], magic: [u8; 8]) -> Option<(&[u8], [u8; 32])> {
    let (rest, digest) = compiled.split_last_chunk()?;
    Some((rest.strip_suffix(&magic)?, *digest))
}
