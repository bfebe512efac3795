//! Writing to standard output and standard error so that a failure is seen.
//!
//! The standard library takes a descriptor that cannot be written for success (EBADF), opens the null device in the place
//! of a stream that is closed, and gives up on a pipe that does not block. An answer that nobody gets has to block the call,
//! so the descriptors are written here without it.

use std::io;

/// Writes everything to standard output.
///
/// # Errors
///
/// Where it is closed, leads nowhere, cannot be written, or does not take everything in time.
pub(crate) fn answer(bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    platform::answer(bytes)
}

/// Writes to standard error, as far as it takes that. There is nowhere to tell of a failure: the exit code stands.
pub(crate) fn explain(bytes: &[u8]) {
    if !bytes.is_empty() {
        let _ = platform::explain(bytes);
    }
}

/// Waits until a descriptor is ready for one of these events, or so many milliseconds: how many descriptors are ready.
///
/// # Errors
///
/// The operating system's, also where a signal came in between.
#[cfg(unix)]
#[expect(unsafe_code, reason = "a wait for a descriptor has no safe interface")]
pub(crate) fn poll(stream: std::os::fd::BorrowedFd<'_>, events: i16, ms: i32) -> io::Result<i32> {
    use std::os::fd::AsRawFd as _;
    let mut ready = libc::pollfd {
        fd: stream.as_raw_fd(),
        events,
        revents: 0,
    };
    // SAFETY: the structure lives through the call.
    match unsafe { libc::poll(&raw mut ready, 1, ms) } {
        -1 => Err(io::Error::last_os_error()),
        count => Ok(count),
    }
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::os::fd::{AsFd as _, BorrowedFd};

    use rustix::fs::{FileType, fstat};
    use rustix::io::Errno;

    use crate::watchdog;

    /// How long, in milliseconds, a pipe that does not block is waited for before the time is looked at again.
    const PAUSE: i32 = 50;

    pub(super) fn answer(bytes: &[u8]) -> io::Result<()> {
        let stdout = io::stdout();
        if leads_nowhere(stdout.as_fd()) {
            return Err(io::Error::other("standard output is closed or leads nowhere"));
        }
        write(stdout.as_fd(), bytes)
    }

    pub(super) fn explain(bytes: &[u8]) -> io::Result<()> {
        write(io::stderr().as_fd(), bytes)
    }

    fn write(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(stream, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR | Errno::AGAIN) if watchdog::too_late() => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "its reader did not take it before the deadline",
                    ));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Whatever comes of this, the next write says what is wrong.
                    let _ = super::poll(stream, libc::POLLOUT, PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether this is a device that takes whatever is written and shows it to nobody, as the null device does, which stands
    /// in the place of a stream that was closed. Of all character devices only a terminal has a reader.
    fn leads_nowhere(stream: BorrowedFd<'_>) -> bool {
        let is_device = |mode| FileType::from_raw_mode(mode).is_char_device();
        fstat(stream).is_ok_and(|ours| {
            is_device(ours.st_mode) && (!rustix::termios::isatty(stream) || is_masters_end(ours.st_rdev))
        })
    }

    /// The end of a terminal that types into it and does not show anything.
    fn is_masters_end(device: rustix::fs::Dev) -> bool {
        rustix::fs::stat("/dev/ptmx").is_ok_and(|master| master.st_rdev == device)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io::{self, Write as _};

    pub(super) fn answer(bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    }

    pub(super) fn explain(bytes: &[u8]) -> io::Result<()> {
        io::stderr().write_all(bytes)
    }
}
