//! The engine settings that the host and the compiler must share.
//!
//! Compiled code is accepted only by an engine whose settings match those that it was compiled with, so both programs
//! take them from here. What each setting costs per process was measured before it was chosen; the pooling allocator,
//! for one, makes a single decision a quarter slower.

use std::num::NonZeroUsize;
use std::ops::Range;

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

/// What compiled code starts with, so that it says by itself which policy it is the code of: this magic, then the
/// SHA-256 of the component's bytes, then zeros up to [`COMPILED_HEADER`], then what the engine serialised.
pub const COMPILED_MAGIC: [u8; 8] = *b"hpcwasm2";

/// What code for the bench starts with in that magic's place: it counts instructions, and no hook runs it.
pub const METERED_MAGIC: [u8; 8] = *b"hpmeter2";

/// How many bytes stand before the engine's own in compiled code: a page, so that these begin with a page of their own
/// wherever the file is mapped or lies in a program, and can run there.
pub const COMPILED_HEADER: usize = 4096;

/// Where the component's SHA-256 stands in compiled code.
pub const COMPILED_DIGEST: Range<usize> = COMPILED_MAGIC.len()..COMPILED_MAGIC.len() + 32;

/// What stands before the engine's own bytes in the compiled code of the component with this SHA-256.
pub fn compiled_header(magic: [u8; 8], digest: [u8; 32]) -> [u8; COMPILED_HEADER] {
    let mut header = [0; COMPILED_HEADER];
    header[..magic.len()].copy_from_slice(&magic);
    header[COMPILED_DIGEST].copy_from_slice(&digest);
    header
}
