//! The words for Zerto's numbers.

use crate::scenario::Platform;

/// Names of the VPG statuses by number, in the order that the platform's own help gives. Zerto's documents disagree
/// about 3 and 4, so each platform takes one of the two readings.
pub(crate) fn statuses(platform: Platform) -> [&'static str; 9] {
    let (three, four) = match platform {
        Platform::Linux => ("HistoryNotMeetingSLA", "RpoNotMeetingSLA"),
        Platform::Windows => ("RpoNotMeetingSLA", "HistoryNotMeetingSLA"),
    };
    [
        "Initializing",
        "MeetingSLA",
        "NotMeetingSLA",
        three,
        four,
        "FailingOver",
        "Moving",
        "Deleting",
        "Recovered",
    ]
}

/// Names of the VPG sub-statuses by number. The names of 33 and above are not documented: 33 to 35 are likely ones, the
/// rest stand in for whatever the ZVM says.
pub(crate) const SUB_STATUSES: [&str; 43] = [
    "None",
    "InitialSync",
    "Creating",
    "VolumeInitialSync",
    "Sync",
    "RecoveryPossible",
    "DeltaSync",
    "NeedsConfiguration",
    "Error",
    "EmptyProtectionGroup",
    "DisconnectedFromPeerNoRecoveryPoints",
    "FullSync",
    "VolumeDeltaSync",
    "VolumeFullSync",
    "FailingOverCommitting",
    "FailingOverBeforeCommit",
    "FailingOverRollingBack",
    "Promoting",
    "MovingCommitting",
    "MovingBeforeCommit",
    "MovingRollingBack",
    "Deleting",
    "PendingRemove",
    "BitmapSync",
    "DisconnectedFromPeer",
    "ReplicationPausedUserInitiated",
    "ReplicationPausedSystemInitiated",
    "RecoveryStorageProfileError",
    "Backup",
    "RollingBack",
    "RecoveryStorageError",
    "JournalStorageError",
    "VmNotProtectedError",
    "JournalOrRecoveryMissingError",
    "AddedVmsInInitialSync",
    "ReplicationPausedForMissingVolume",
    "SubStatus36",
    "SubStatus37",
    "SubStatus38",
    "SubStatus39",
    "SubStatus40",
    "SubStatus41",
    "SubStatus42",
];

/// Names of the task states by number.
pub(crate) const TASK_STATES: [&str; 8] = [
    "FirstUnusedValue",
    "InProgress",
    "WaitingForUserInput",
    "Paused",
    "Failed",
    "Stopped",
    "Completed",
    "Cancelling",
];
