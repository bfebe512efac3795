//! The wire formats of agent harnesses. A module here knows bytes and exit codes, and nothing of policies.

pub mod claude_code;
pub mod stdin;

use crate::exit::ExitCode;

/// What the hook leaves behind: the bytes and the code that the harness reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Exactly one JSON object and a line break, or nothing.
    pub stdout: Vec<u8>,
    /// The reason, where the exit code makes the harness read it.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub code: ExitCode,
}

impl Answer {
    /// No opinion: the harness goes on as it would without us.
    pub const fn silence() -> Self {
        Self {
            stdout: Vec::new(),
            stderr: Vec::new(),
            code: ExitCode::OK,
        }
    }
}
