//! The contract's types as the pure modules use them. The component shell maps them from and to those of `wit/`.

/// The MCP server that a call goes to, as the harness names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// The key under which the user configured the server.
    pub name: String,
}

/// One tool call. The fields are those of the contract's `call` that a decision rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The harness that reported the call.
    pub harness: String,
    /// The harness's id of the session; may be empty.
    pub session_id: String,
    /// The harness's id of the call; may be empty.
    pub call_id: String,
    /// The tool's name as the harness spells it.
    pub tool: String,
    /// The server, where the harness names it apart from the tool.
    pub server: Option<Server>,
    /// The tool's arguments: JSON text.
    pub arguments: String,
    /// True where the host left parts of the arguments out because of their size.
    pub arguments_cut: bool,
    /// Fresh for every start of the host; makes a tag unique.
    pub nonce: String,
    /// What the operator configured for policies: JSON text.
    pub settings: String,
}

/// What the policy answers before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against the call, with a note for the model where there is one.
    Pass(Option<String>),
    /// A human has to decide.
    Ask(String),
    /// The call must not run.
    Deny(String),
}

/// Why Zerto could not be asked, or did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZertoError {
    /// What was named does not exist.
    NotFound,
    /// Zerto declined, in its own words.
    Refused(String),
    /// The credentials were not accepted, or are not sufficient.
    Unauthorized(String),
    /// No answer could be had.
    Unreachable(String),
    /// The deadline, or the longest wait for a checkpoint, passed first.
    TimedOut(String),
    /// The answer made no sense.
    Malformed(String),
}

/// Which way a VM is replicated, seen from the ZVM that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Away from the ZVM's own site: the running VM is here.
    ProtectedHere,
    /// To the ZVM's own site: the running VM is elsewhere.
    RecoveredHere,
    /// The ZVM did not say.
    Unknown,
}

/// One VM in one VPG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmRow {
    /// `<vCenter uuid>.vm-38`.
    pub vm_identifier: String,
    /// The name in the hypervisor's inventory.
    pub vm_name: String,
    /// Zerto's identifier of the VPG.
    pub vpg_identifier: String,
    /// The VPG's name.
    pub vpg_name: String,
    /// The VPG's status by Zerto's number.
    pub status: i32,
    /// The VPG's sub-status by Zerto's number.
    pub sub_status: i32,
    /// False where the VM has gone from the hypervisor's inventory.
    pub vm_exists: bool,
    /// Which way the VM is replicated.
    pub direction: Direction,
}

/// A checkpoint that was seen in a VPG's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Zerto's identifier, a number in digits.
    pub identifier: String,
    /// The tag under which it was inserted.
    pub tag: String,
    /// RFC 3339, in UTC, by the ZVM's clock.
    pub time: String,
}

/// What became of one VPG in a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureResult {
    /// The VPG.
    pub vpg_identifier: String,
    /// Its checkpoint, or why there is none.
    pub outcome: Result<Checkpoint, ZertoError>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The tool answered.
    Succeeded,
    /// The tool failed.
    Failed,
    /// The call was interrupted before it ended.
    Interrupted,
}

/// What the host lends the policy for one decision.
pub trait World {
    /// VMs of exactly this name, whatever its case; empty where Zerto knows none.
    ///
    /// # Errors
    /// Zerto could not be asked.
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, ZertoError>;

    /// The rows of the VM with exactly this identifier; empty where Zerto knows none.
    ///
    /// # Errors
    /// Zerto could not be asked.
    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, ZertoError>;

    /// Inserts a checkpoint with this tag into all these VPGs at once and waits for it. The results stand in the order
    /// of the VPGs.
    fn capture(&mut self, vpg_identifiers: &[String], tag: &str) -> Vec<CaptureResult>;

    /// The tally of the call's session; none where nothing is known of it.
    fn tally(&mut self) -> Option<Tally>;

    /// Adds a line to what the host's log says of this decision.
    fn note(&mut self, line: &str);
}

/// Failures that the harness reported in a session and workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// How many calls failed.
    pub failures: u32,
    /// 0 (none) to 4.
    pub level: u8,
}
