//! Compiled code runs where it lies, in this program or in a file that was mapped or read: copying it costs a page fault
//! for each of its pages, though a decision touches few of them.
#![expect(
    unsafe_code,
    reason = "memory is made executable, and code is taken as it stands"
)]

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};
use std::slice;
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
        // SAFETY: the caller vouches for the code, and nothing can change what a shared reference holds for ever.
        unsafe { Component::deserialize_raw(super::engine(), NonNull::from_ref(code)) }
    } else {
        // SAFETY: as above.
        unsafe { Component::deserialize(super::engine(), code) }
    }
}

/// Maps the so many first bytes of a file that nobody changes, for ever.
///
/// # Errors
///
/// The operating system's, or where the file is shorter.
pub(super) fn map(file: &File, length: usize) -> io::Result<&'static [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    if file.metadata()?.len() < length as u64 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // SAFETY: a new mapping, wherever there is room.
    let start = unsafe {
        let (flags, descriptor) = (libc::MAP_PRIVATE, file.as_raw_fd());
        libc::mmap(ptr::null_mut(), length, libc::PROT_READ, flags, descriptor, 0)
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is so long, is never taken away, and is of a file that nobody changes or cuts.
    Ok(unsafe { slice::from_raw_parts(start.cast(), length) })
}

/// Reads the so many first bytes of a file into whole pages, for ever.
///
/// # Errors
///
/// The operating system's, or where the file is shorter.
pub(super) fn hold(mut file: &File, length: usize) -> io::Result<&'static [u8]> {
    if length == 0 {
        return Ok(&[]);
    }
    // All of its pages at once: one fault for each costs more than the reading.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, wherever there is room.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping is so long, holds zeros, is never taken away, and nobody else knows of it.
    let memory: &'static mut [u8] = unsafe { slice::from_raw_parts_mut(start.cast(), length) };
    file.read_exact(memory)?;
    protect(memory.as_ptr(), length, libc::PROT_READ)?;
    Ok(memory)
}

/// Memory protection by the page.
struct Pages;

impl CustomCodeMemory for Pages {
    fn required_alignment(&self) -> usize {
        page_size()
    }

    fn publish_executable(&self, start: *const u8, length: usize) -> Result<(), Error> {
        Ok(protect(start, length, libc::PROT_READ | libc::PROT_EXEC)?)
    }

    fn unpublish_executable(&self, start: *const u8, length: usize) -> Result<(), Error> {
        Ok(protect(start, length, libc::PROT_READ)?)
    }
}

fn protect(start: *const u8, length: usize, protection: libc::c_int) -> io::Result<()> {
    // SAFETY: the engine names whole pages of code that it holds, and so do we; they stay readable, and what becomes
    // executable is not writable.
    match unsafe { libc::mprotect(start.cast_mut().cast(), length, protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("pages have a size")
}
