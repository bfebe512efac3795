//! Limits that the kernel holds a program to. The one place of this package with unsafe code.

use std::process::Command;
use std::time::Duration;

/// Limits the program's address space and the files that it writes (in bytes) and its processor time, and makes it the
/// leader of a process group, so that it can be ended with all that it started.
#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "only between fork and exec can limits be set for the program alone"
)]
pub(super) fn limit(command: &mut Command, memory: u64, time: Duration, file: u64) {
    use std::os::unix::process::CommandExt as _;

    use rustix::process::{Resource, Rlimit, setrlimit};

    let seconds = time.as_secs() + 1;
    // macOS refuses limits of the address space.
    let limits = [
        (Resource::Cpu, seconds),
        (Resource::Fsize, file),
        (Resource::Core, 0),
        #[cfg(not(target_vendor = "apple"))]
        (Resource::As, memory),
    ];
    #[cfg(target_vendor = "apple")]
    let _ = memory;
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    // SAFETY: runs in the child between fork and exec. It allocates nothing, takes no lock and only makes system calls.
    unsafe {
        command.pre_exec(move || {
            for (resource, most) in limits {
                let limit = Rlimit {
                    current: Some(most),
                    maximum: Some(most),
                };
                setrlimit(resource, limit)?;
            }
            // Nobody would look at what it makes, once whoever started it has ended, however that came about.
            #[cfg(target_os = "linux")]
            {
                use rustix::process::{Signal, getppid, set_parent_process_death_signal};
                set_parent_process_death_signal(Some(Signal::KILL))?;
                if getppid() != Some(parent) {
                    return Err(std::io::ErrorKind::BrokenPipe.into());
                }
            }
            Ok(())
        });
    }
}

/// Elsewhere the time limit stands alone.
#[cfg(not(unix))]
pub(super) fn limit(_: &mut Command, _: u64, _: Duration, _: u64) {}
