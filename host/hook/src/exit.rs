//! What the process's exit code means.

/// How `holdpoint` ends: a stable interface for harnesses and scripts.
///
/// A harness reads `0` and `2` only; every other code lets the call run in most of them. So for an event that can be
/// gated, the hook ends with one of these two and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    /// The command did what was asked. For a hook: what it printed, or that it printed nothing, is the answer.
    pub const OK: Self = Self(0);
    /// A trial found something: a case that does not come out as it says, a probe that fails, a record that `replay` was
    /// told to stop at. Never a hook's.
    pub const FOUND: Self = Self(1);
    /// The call is blocked, and the reason is on stderr. Also what a wrong command line ends with, so that a hook entry
    /// with a typing error blocks and does not wave calls through.
    pub const BLOCKED: Self = Self(2);
    /// The command could not do what was asked, and the reason is on stderr. Never a hook's.
    pub const FAILED: Self = Self(3);
    /// `doctor` found something that works less well than it should, or not for long. Never a hook's.
    pub const CAUTION: Self = Self(4);
    /// `doctor` found that calls get past the guard, or that every change is denied; `status`, that calls get past it. Never
    /// a hook's.
    pub const BROKEN: Self = Self(5);

    /// `receipts verify` found nothing wrong with the receipts, and a call that did not run as it was decided. Never a
    /// hook's.
    pub const DEVIATED: Self = Self(6);

    /// The number that the operating system gets.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// The code in a form that a signal handler can be left.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The code that was left.
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }
}
