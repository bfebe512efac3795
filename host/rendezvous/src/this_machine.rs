//! Which machine this is, and how long it has been up: what the time of day cannot tell.

use std::time::Duration;

/// A name for this machine in its present run. What was written under another name says nothing here: its times are of
/// another clock, and its locks of another kernel.
pub fn machine() -> String {
    #[cfg(target_os = "linux")]
    if let Ok(boot) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        return boot.trim().to_owned();
    }
    // Elsewhere the kernel tells it by ways of its own. There, what an earlier run left is told by its locks alone.
    String::new()
}

/// How long the machine has been up, sleep included: the same clock for all its processes, which nobody sets.
pub fn since_boot() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    let clock = rustix::time::ClockId::Monotonic;
    #[cfg(unix)]
    return Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default();
    #[cfg(not(unix))]
    Duration::ZERO
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_stays_the_same_and_its_clock_goes_on() {
        assert_eq!(machine(), machine());
        assert!(!machine().is_empty());
        let before = since_boot();
        std::thread::sleep(Duration::from_millis(2));
        assert!(since_boot() > before && before > Duration::ZERO);
    }
}
