//! What the operating system has to do with the process that follows an answer: how it is started, what it lets go of, and
//! the limits under which it works.
#![cfg_attr(
    unix,
    expect(unsafe_code, reason = "descriptors and forks have no safe interface")
)]

use std::time::Duration;

/// The command that the hook starts, as `ps` shows it. It takes no arguments: those are for everybody to see.
pub const VERB: &str = "follow-answer";

/// The largest task that is read, in bytes: a call's arguments, what was asked and answered, and the configuration.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The limits of one work.
pub(super) struct Limits {
    /// How long it may take; about as much of the processor's time.
    pub(super) time: Duration,
    /// The largest file that it may write, in bytes.
    pub(super) file: u64,
}

#[cfg(not(unix))]
pub(super) use other::{hook_has_blocked, in_child, start, take_over};
#[cfg(unix)]
pub(super) use unix::{hook_has_blocked, in_child, start, take_over};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Read as _, Seek as _, Write as _};
    use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};

    use super::{LARGEST, Limits, VERB};
    use crate::{stdio, watchdog};
    use holdpoint_config as config;

    /// The most memory that a work may write to, in bytes: a policy's, and its code as large as code is read.
    const MEMORY: u64 = 768 * 1024 * 1024;
    /// The most files that it may have open.
    const FILES: u64 = 64;
    /// How much less of the processor it gets than others.
    const NICENESS: i32 = 10;
    /// How often a child is looked at, and how long it may be late.
    const LOOK: Duration = Duration::from_millis(10);
    const LATE: Duration = Duration::from_secs(2);
    /// What a process is called, in 15 bytes.
    #[cfg(target_os = "linux")]
    const NAME: &std::ffi::CStr = c"holdpoint-after";

    /// Starts this program again with the task as its standard output, which it reads, and as its standard input a pipe
    /// that ends when this process does.
    pub(in super::super) fn start(task: &[u8]) -> io::Result<()> {
        let mut file = unnamed()?;
        file.write_all(task)?;
        file.rewind()?;
        let (gate, ours) = io::pipe()?;
        let mut command = Command::new(program()?);
        command
            .arg0("holdpoint")
            .arg(VERB)
            // Nothing of the environment, which a project can set, but where files lie by default.
            .env_clear()
            .envs(config::state_variables())
            .stdin(Stdio::from(gate))
            .stdout(Stdio::from(file))
            .stderr(Stdio::null());
        hand_nothing_down();
        // Before it is there: what ends this process from now on has blocked the call.
        watchdog::tell_of_a_block(ours.into());
        command.spawn()?;
        Ok(())
    }

    /// This very program, also where another one has taken its place on the disk.
    fn program() -> io::Result<std::path::PathBuf> {
        if cfg!(target_os = "linux") {
            Ok("/proc/self/exe".into())
        } else {
            std::env::current_exe()
        }
    }

    /// A file without a name: nobody else can open it, and nothing is left of it.
    #[cfg(target_os = "linux")]
    fn unnamed() -> io::Result<File> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        Ok(rustix::fs::memfd_create("holdpoint", flags)?.into())
    }

    #[cfg(not(target_os = "linux"))]
    fn unnamed() -> io::Result<File> {
        use std::hash::{BuildHasher as _, Hasher as _, RandomState};
        use std::os::unix::fs::OpenOptionsExt as _;
        let unique = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().join(format!("holdpoint-{unique:016x}"));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    }

    /// What the harness left open beside the standard streams is not for the next program. Where the kernel has no such
    /// call, that program closes it.
    fn hand_nothing_down() {
        #[cfg(target_os = "linux")]
        // SAFETY: marks descriptors, and touches no memory.
        unsafe {
            const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC);
        }
    }

    /// Lets go of whatever the process was started with, and reads the task.
    pub(in super::super) fn take_over() -> io::Result<Vec<u8>> {
        let is = |stream: std::os::fd::BorrowedFd<'_>, kind| {
            rustix::fs::fstat(stream)
                .is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode) == kind)
        };
        if !is(io::stdin().as_fd(), rustix::fs::FileType::Fifo)
            || !is(io::stdout().as_fd(), rustix::fs::FileType::RegularFile)
        {
            return Err(io::Error::other("nothing was handed over"));
        }
        close_the_rest();
        // It fails only where this is done already.
        let _ = rustix::process::setsid();
        rustix::process::chdir("/")?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        be_modest();
        // SAFETY: the descriptor is open, and nothing else in this process uses it.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(libc::STDOUT_FILENO) });
        let mut task = Vec::new();
        (&file).take(LARGEST).read_to_end(&mut task)?;
        // The memory is given back, and nothing opened later gets this number.
        let nothing = File::options().write(true).open("/dev/null")?;
        drop(file);
        // SAFETY: both are descriptors, and the second one is free or about to be replaced.
        if unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), libc::STDOUT_FILENO) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(task)
    }

    /// Takes less of the processor than others, and says in `ps` what this is. It can fail, and does no harm then.
    fn be_modest() {
        // SAFETY: neither touches memory of ours but the name, which lives for ever.
        unsafe {
            libc::nice(NICENESS);
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        }
    }

    /// Closes all descriptors but the standard streams.
    fn close_the_rest() {
        #[cfg(target_os = "linux")]
        // SAFETY: nothing in this process has opened one of these yet.
        if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } == 0 {
            return;
        }
        for descriptor in 3..1024 {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }

    /// Waits until the hook has ended, and says whether it blocked the call after all: nobody took its answer, or the
    /// watchdog had the last word.
    pub(in super::super) fn hook_has_blocked(limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let stdin = io::stdin();
        let mut said = [0; 8];
        let mut blocked = false;
        loop {
            let left = until.saturating_duration_since(Instant::now()).as_millis();
            let left = i32::try_from(left).unwrap_or(i32::MAX);
            match stdio::poll(stdin.as_fd(), libc::POLLIN, left) {
                Ok(0) => return blocked,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                _ => {}
            }
            match rustix::io::read(&stdin, &mut said) {
                Ok(count @ 1..) => blocked |= said[..count].contains(&b'2'),
                Err(rustix::io::Errno::INTR) => {}
                _ => return blocked,
            }
        }
    }

    /// Does a work in a child of its own, and says why where it was killed or could not be done. This process has no other
    /// threads.
    pub(in super::super) fn in_child(limits: &Limits, work: impl FnOnce()) -> Result<(), String> {
        // SAFETY: there is one thread, so the child has all that it needs.
        match unsafe { libc::fork() } {
            -1 => Err(format!(
                "no process can be started ({})",
                io::Error::last_os_error()
            )),
            0 => {
                restrict(limits);
                work();
                // SAFETY: ends the process without running anything of it.
                unsafe { libc::_exit(0) }
            }
            child => match Pid::from_raw(child) {
                Some(child) => wait(child, limits.time + LATE),
                None => Ok(()),
            },
        }
    }

    fn wait(child: Pid, limit: Duration) -> Result<(), String> {
        let until = Instant::now() + limit;
        let mut killed = false;
        loop {
            match rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Ok(Some((_, status))) => {
                    return match (status.terminating_signal(), status.exit_status()) {
                        _ if killed => Err("its process took too long and was ended".into()),
                        (Some(signal), _) => Err(format!("its process was ended by signal {signal}")),
                        (None, Some(0)) => Ok(()),
                        (None, code) => Err(format!("its process ended with {}", code.unwrap_or(-1))),
                    };
                }
                Err(error) => return Err(error.to_string()),
            }
            let late = Instant::now().saturating_duration_since(until);
            if !late.is_zero() && !killed {
                let _ = rustix::process::kill_process(child, Signal::KILL);
                killed = true;
            }
            if late > LATE {
                return Err("its process took too long and cannot be ended".into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Limits this process, and lets the system end it first where memory runs out.
    fn restrict(limits: &Limits) {
        let seconds = limits.time.as_secs() + LATE.as_secs();
        for (resource, most) in [
            (Resource::Data, MEMORY),
            (Resource::Cpu, seconds),
            (Resource::Nofile, FILES),
            (Resource::Fsize, limits.file),
            (Resource::Core, 0),
        ] {
            let now = rustix::process::getrlimit(resource);
            let most = now.maximum.map_or(most, |already| already.min(most));
            let most = now.current.map_or(most, |already| already.min(most));
            // It cannot fail: no limit is raised.
            let _ = rustix::process::setrlimit(
                resource,
                Rlimit {
                    current: Some(most),
                    maximum: Some(most),
                },
            );
        }
        #[cfg(target_os = "linux")]
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    }
}

/// Where processes cannot be forked the works are done one after the other, and the watchdog ends what does not end.
#[cfg(not(unix))]
mod other {
    use std::io::{self, Read as _, Write as _};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{LARGEST, Limits, VERB};
    use holdpoint_config as config;

    pub(in super::super) fn start(task: &[u8]) -> io::Result<()> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(VERB)
            .env_clear()
            .envs(config::state_variables())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(task),
            None => Ok(()),
        }
    }

    pub(in super::super) fn take_over() -> io::Result<Vec<u8>> {
        let mut task = Vec::new();
        io::stdin().lock().take(LARGEST).read_to_end(&mut task)?;
        Ok(task)
    }

    pub(in super::super) fn hook_has_blocked(_: Duration) -> bool {
        false
    }

    pub(in super::super) fn in_child(_: &Limits, work: impl FnOnce()) -> Result<(), String> {
        work();
        Ok(())
    }
}
