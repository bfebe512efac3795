//! Compiled code that is part of this program runs where it lies: copying it costs a page fault for each of its pages,
//! though a decision touches few of them.
#![expect(
    unsafe_code,
    reason = "memory is made executable, and code is taken as it stands"
)]

use std::ptr::NonNull;
use std::sync::Arc;

use wasmtime::component::Component;
use wasmtime::{Config, CustomCodeMemory, Error};

/// Lets engines run code in memory that they did not map themselves.
pub(super) fn configure(config: &mut Config) {
    config.with_custom_code_memory(Some(Arc::new(Pages)));
}

/// Loads compiled code without copying it, where it begins with a page of its own.
///
/// # Errors
///
/// The engine's, where the code is not for it.
///
/// # Safety
///
/// The bytes have to be what an engine's compiler made, as for [`Component::deserialize`].
pub(super) unsafe fn load(code: &'static [u8]) -> Result<Component, Error> {
    if code.as_ptr().addr().is_multiple_of(page_size()) {
        // SAFETY: the caller vouches for the code, and nothing can change what a shared reference to a static holds.
        unsafe { Component::deserialize_raw(super::engine(), NonNull::from_ref(code)) }
    } else {
        // SAFETY: as above.
        unsafe { Component::deserialize(super::engine(), code) }
    }
}

/// Memory protection by the page.
struct Pages;

impl CustomCodeMemory for Pages {
    fn required_alignment(&self) -> usize {
        page_size()
    }

    fn publish_executable(&self, start: *const u8, length: usize) -> Result<(), Error> {
        protect(start, length, libc::PROT_READ | libc::PROT_EXEC)
    }

    fn unpublish_executable(&self, start: *const u8, length: usize) -> Result<(), Error> {
        protect(start, length, libc::PROT_READ)
    }
}

fn protect(start: *const u8, length: usize, protection: libc::c_int) -> Result<(), Error> {
    // SAFETY: the engine names whole pages of code that it holds; they stay readable and are never writable.
    match unsafe { libc::mprotect(start.cast_mut().cast(), length, protection) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("pages have a size")
}
