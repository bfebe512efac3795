//! What a ZVM knows, in the shape of the WIT interface `zerto`.

use serde_json::Value;

/// Which way a VM is replicated, seen from the ZVM that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the ZVM's own site (also where it is replicated within that site): checkpoints of the running VM can be
    /// taken here.
    ProtectedHere,
    /// To the ZVM's own site: the running VM is elsewhere.
    RecoveredHere,
    /// The ZVM did not say.
    Unknown,
}

/// One VM in one VPG. A VM in several VPGs has several rows.
#[derive(Clone, Debug, PartialEq)]
pub struct VmRow {
    /// Zerto's identifier of the VM: `<vCenter uuid>.vm-38`.
    pub vm_identifier: String,
    /// The name in the hypervisor's inventory.
    pub vm_name: String,
    /// Zerto's identifier of the VPG.
    pub vpg_identifier: String,
    /// The VPG's name; its identifier where the ZVM gave none.
    pub vpg_name: String,
    /// The VPG's status by Zerto's number; -1 where the ZVM gave none. 3 and 4 mean different things in different
    /// releases.
    pub status: i32,
    /// The VPG's sub-status by Zerto's number; 0 is none, -1 where the ZVM gave none.
    pub sub_status: i32,
    /// False where the VM has gone from the hypervisor's inventory.
    pub vm_exists: bool,
    /// Which way it is replicated.
    pub direction: Direction,
    /// What else the row says, each key only where the ZVM said it: `protected_site` and `recovery_site` (names),
    /// `actual_rpo` (seconds), `ip_addresses` (a list), `file_restore` (whether files can be restored). An object.
    pub extras: Value,
}

/// What a ZVM says of itself, each part only where it said it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteState {
    /// The site's name.
    pub name: Option<String>,
    /// The release, `10.0.60`.
    pub version: Option<String>,
}

/// The state of one VPG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VpgState {
    /// Zerto's identifier of the VPG.
    pub vpg_identifier: String,
    /// The VPG's name; its identifier where the ZVM gave none.
    pub vpg_name: String,
    /// As in [`VmRow`].
    pub status: i32,
    /// As in [`VmRow`].
    pub sub_status: i32,
    /// Zerto's words for both, where it has any.
    pub description: String,
}

/// A checkpoint that was seen in a VPG's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Zerto's identifier, a number in digits.
    pub identifier: String,
    /// The VPG in whose journal it stands.
    pub vpg_identifier: String,
    /// The tag, exactly as it was asked for.
    pub tag: String,
    /// RFC 3339, in UTC, by the ZVM's clock; empty where the ZVM gave no time that can be read.
    pub time: String,
}

/// How long the parts took so far, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Logging in. Renewals during a wait count here and there.
    pub log_in: u64,
    /// Asking for VMs, VPGs and cadences.
    pub look_up: u64,
    /// From the start of each capture until its last insert was answered.
    pub insert: u64,
    /// From there until the capture's last checkpoint was seen, or given up.
    pub journal: u64,
    /// How many requests were sent.
    pub requests: u64,
}

/// Whether these credentials may insert a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The ZVM looked for the VPG: it would have inserted.
    Granted,
    /// It turned the request away; its words.
    Denied(String),
    /// It declined in words that leave open why.
    Unclear(String),
}
