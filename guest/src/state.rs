//! What Zerto's status numbers mean, and which states can take a checkpoint.

/// Whether a checkpoint can be inserted in this state, by Zerto's numbers.
///
/// Zerto documents no such table. Protection that runs (statuses 1 to 4) without a sub-status, or syncing (4), or
/// backing up (28), takes checkpoints. In a bitmap sync (23) the help says that none are added, and of "recovery
/// possible" (5) nothing is said: they are tried, and the journal tells.
pub fn takes_checkpoints(status: i32, sub_status: i32) -> bool {
    matches!((status, sub_status), (1..=4, 0 | 4 | 5 | 23 | 28))
}

/// A VPG's state in words; numbers without a known meaning as numbers.
pub fn words(status: i32, sub_status: i32) -> String {
    let status = status_word(status).map_or_else(|| format!("status {status}"), str::to_owned);
    match sub_status {
        0 => status,
        _ => match sub_status_word(sub_status) {
            Some(word) => format!("{status}, {word}"),
            None => format!("{status}, sub-status {sub_status}"),
        },
    }
}

/// Releases disagree about which of 3 and 4 is the journal's history and which the recovery point objective, so both
/// get the same words.
fn status_word(status: i32) -> Option<&'static str> {
    Some(match status {
        0 => "initializing",
        1 => "meeting its SLA",
        2..=4 => "not meeting its SLA",
        5 => "failing over",
        6 => "moving",
        7 => "deleting",
        8 => "recovered",
        _ => return None,
    })
}

fn sub_status_word(sub_status: i32) -> Option<&'static str> {
    const WORDS: [&str; 33] = [
        "none",
        "initial sync",
        "creating",
        "volume initial sync",
        "sync",
        "recovery possible",
        "delta sync",
        "needs configuration",
        "error",
        "empty protection group",
        "disconnected from its peer with no recovery points",
        "full sync",
        "volume delta sync",
        "volume full sync",
        "failover committing",
        "failover before its commit",
        "failover rolling back",
        "promoting",
        "move committing",
        "move before its commit",
        "move rolling back",
        "deleting",
        "removal pending",
        "bitmap sync",
        "disconnected from its peer",
        "replication paused by a user",
        "replication paused by the system",
        "recovery storage profile error",
        "backup",
        "rolling back",
        "recovery storage error",
        "journal storage error",
        "VM not protected error",
    ];
    WORDS.get(usize::try_from(sub_status).ok()?).copied()
}
