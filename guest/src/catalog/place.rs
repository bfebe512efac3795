//! Where other catalogs are put into the built component: `holdpoint policy pack` adds a table to the end of its memory
//! and writes here where that lies.

use std::sync::atomic::AtomicU32;
#[cfg(target_arch = "wasm32")]
use std::sync::atomic::Ordering::Relaxed;

/// What the place begins with, and nothing else in a component does.
pub const MARK: [u8; 24] = *b"holdpoint catalogs lie: ";

/// The place. Its numbers are little-endian, and both are zero where nothing was packed.
#[repr(C)]
struct Place {
    mark: [u8; 24],
    at: AtomicU32,
    length: AtomicU32,
}

// Its numbers are changed in the built file, so the compiler must neither leave it out nor take them for what they are here.
#[used]
static PLACE: Place = Place {
    mark: MARK,
    at: AtomicU32::new(0),
    length: AtomicU32::new(0),
};

/// The table that was packed into this component; none where none was.
#[cfg(target_arch = "wasm32")]
pub(super) fn packed() -> Option<&'static [u8]> {
    let (at, length) = (
        PLACE.at.load(Relaxed) as usize,
        PLACE.length.load(Relaxed) as usize,
    );
    #[expect(unsafe_code, reason = "what was put there is no value of this program")]
    // SAFETY: whoever writes this place has put so many bytes there, in memory that is there from the start and that
    // nothing else uses or writes.
    (length != 0)
        .then(|| unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(at), length) })
}

/// Only a component can be packed.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const fn packed() -> Option<&'static [u8]> {
    None
}
