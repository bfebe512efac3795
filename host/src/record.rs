//! What a decision was made of, as the host itself saw it: the facts for the log, whatever a policy says of them.

use serde::Serialize;

/// The most lines that a policy can add.
const MOST_NOTES: usize = 8;
/// The longest line that a policy can add, in characters.
const LONGEST_NOTE: usize = 200;

/// The facts of one decision.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Record {
    /// The machines that Zerto was asked for, by name or identifier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The tag of the checkpoint that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The checkpoints that were seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Seen>,
    /// What went wrong with Zerto.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// The policy's own lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where the time with Zerto went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zerto: Option<ZertoTimes>,
}

/// A checkpoint that was seen in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The VPG's identifier.
    pub vpg: String,
    /// Zerto's identifier of the checkpoint.
    pub checkpoint: String,
    /// When it was taken, by the ZVM's clock.
    pub time: String,
}

/// Milliseconds spent on Zerto, and how often it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ZertoTimes {
    /// Logging in.
    pub log_in_ms: u64,
    /// Looking VMs up.
    pub look_up_ms: u64,
    /// Inserting checkpoints.
    pub insert_ms: u64,
    /// Waiting for them to be seen.
    pub wait_ms: u64,
    /// Requests sent.
    pub requests: u64,
}

impl Record {
    /// Adds a policy's line, unless it has added enough.
    pub fn note(&mut self, line: &str) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(crate::text::clean_line(line, LONGEST_NOTE));
        }
    }
}
