//! What the host lends a policy: the functions behind the imports of `wit/policy.wit`.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::bindings::holdpoint::policy::{deadline, log, session, types, zerto};
use super::{Clock, Limits, still, wasi};
use crate::verdict::Fault;

pub use session::Tally;
pub use zerto::{CaptureResult, Checkpoint, Direction, Error, VmRow, VpgState};

/// The host's side of every capability. One value serves one decision.
pub trait Capabilities: Send {
    /// VMs of exactly this name, whatever its case; none where Zerto knows none.
    ///
    /// # Errors
    ///
    /// Where Zerto could not be asked.
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, Error>;

    /// The rows of the VM with this identifier; none where Zerto knows none.
    ///
    /// # Errors
    ///
    /// Where Zerto could not be asked.
    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, Error>;

    /// The state of a VPG.
    ///
    /// # Errors
    ///
    /// Where Zerto could not be asked, or knows no such VPG.
    fn vpg(&mut self, identifier: &str) -> Result<VpgState, Error>;

    /// Inserts a tagged checkpoint into all VPGs and waits until each is seen; results in the order of the VPGs.
    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult>;

    /// Milliseconds between the VPG's checkpoints; none where the journal is too short to tell.
    ///
    /// # Errors
    ///
    /// Where Zerto could not be asked, or knows no such VPG.
    fn cadence(&mut self, vpg: &str) -> Result<Option<u64>, Error>;

    /// The tally of the call's session; none where nothing is known of it.
    ///
    /// # Errors
    ///
    /// A fault where it cannot be read: that is not the same as nothing.
    fn tally(&mut self) -> Result<Option<Tally>, Fault>;

    /// Adds a policy's line to the decision's record.
    fn note(&mut self, line: String);

    /// Milliseconds until the host answers by itself.
    fn time_left(&mut self) -> u64;
}

/// Zerto's error in words, for logs and people.
pub fn in_words(error: &Error) -> String {
    match error {
        Error::NotFound => "not found".into(),
        Error::Refused(text) => format!("refused: {text}"),
        Error::Unauthorized(text) => format!("unauthorized: {text}"),
        Error::Unreachable(text) => format!("unreachable: {text}"),
        Error::TimedOut(text) => format!("timed out: {text}"),
        Error::Malformed(text) => format!("malformed answer: {text}"),
    }
}

/// What a store holds for one decision.
pub(super) struct State {
    pub(super) lent: Box<dyn Capabilities>,
    pub(super) limits: Limits,
    /// Where time is virtual: its clock.
    clock: Option<Clock>,
    wasi: Option<WasiCtx>,
    table: ResourceTable,
}

impl State {
    pub(super) fn new(lent: Box<dyn Capabilities>, clock: Option<Clock>) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(super::MOST_HANDLES);
        Self {
            lent,
            limits: Limits::default(),
            clock,
            wasi: None,
            table,
        }
    }

    pub(super) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.wasi.get_or_insert_with(|| match &self.clock {
                None => wasi::context(),
                Some(clock) => still::context(clock),
            }),
            table: &mut self.table,
        }
    }
}

impl types::Host for State {}

impl zerto::Host for State {
    fn find_vms_by_name(&mut self, name: String) -> Result<Vec<VmRow>, Error> {
        self.lent.find_vms_by_name(&name)
    }

    fn find_vms_by_identifier(&mut self, identifier: String) -> Result<Vec<VmRow>, Error> {
        self.lent.find_vms_by_identifier(&identifier)
    }

    fn vpg(&mut self, identifier: String) -> Result<VpgState, Error> {
        self.lent.vpg(&identifier)
    }

    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult> {
        self.lent.capture(vpgs, tag)
    }

    fn cadence(&mut self, vpg: String) -> Result<Option<u64>, Error> {
        self.lent.cadence(&vpg)
    }
}

impl session::Host for State {
    // A fault ends the policy: the contract has no word for it, and none would let the call pass for a quiet session's.
    fn current(&mut self) -> wasmtime::Result<Option<Tally>> {
        Ok(self.lent.tally()?)
    }
}

impl log::Host for State {
    fn note(&mut self, line: String) {
        self.lent.note(line);
    }
}

impl deadline::Host for State {
    fn time_left(&mut self) -> u64 {
        self.lent.time_left()
    }
}
