//! A scripted world, and calls to judge in it.

use holdpoint_guest::decide;
use holdpoint_guest::model::{
    Call, CaptureResult, Checkpoint, Direction, Server, Tally, Verdict, VmRow, World, ZertoError,
};
use serde_json::Value;

/// What Zerto knows and how it answers. Records what it was asked.
#[derive(Debug, Default, Clone)]
pub(crate) struct Script {
    pub(crate) rows: Vec<VmRow>,
    /// The answer to every lookup, in the place of the rows.
    pub(crate) lookup_error: Option<ZertoError>,
    /// VPGs whose capture fails.
    pub(crate) failing: Vec<(String, ZertoError)>,
    pub(crate) names: Vec<String>,
    pub(crate) identifiers: Vec<String>,
    pub(crate) captures: Vec<(Vec<String>, String)>,
    pub(crate) tally: Option<Tally>,
    /// How often the tally was asked for.
    pub(crate) tallies: usize,
    /// What was said for the log.
    pub(crate) notes: Vec<String>,
}

impl World for Script {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, ZertoError> {
        self.names.push(name.to_owned());
        self.answer(|row| row.vm_name.eq_ignore_ascii_case(name))
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, ZertoError> {
        self.identifiers.push(identifier.to_owned());
        self.answer(|row| row.vm_identifier.eq_ignore_ascii_case(identifier))
    }

    fn capture(&mut self, vpg_identifiers: &[String], tag: &str) -> Vec<CaptureResult> {
        self.captures.push((vpg_identifiers.to_vec(), tag.to_owned()));
        vpg_identifiers
            .iter()
            .enumerate()
            .map(|(index, vpg)| self.captured(index, vpg, tag))
            .collect()
    }

    fn tally(&mut self) -> Option<Tally> {
        self.tallies += 1;
        self.tally
    }

    fn note(&mut self, line: &str) {
        self.notes.push(line.to_owned());
    }
}

impl Script {
    fn answer(&self, fits: impl Fn(&VmRow) -> bool) -> Result<Vec<VmRow>, ZertoError> {
        match &self.lookup_error {
            Some(error) => Err(error.clone()),
            None => Ok(self.rows.iter().filter(|row| fits(row)).cloned().collect()),
        }
    }

    fn captured(&self, index: usize, vpg: &str, tag: &str) -> CaptureResult {
        let failure = self.failing.iter().find(|(failing, _)| failing == vpg);
        let checkpoint = Checkpoint {
            identifier: (7180 + index).to_string(),
            tag: tag.to_owned(),
            time: "2026-11-29T21:09:19Z".into(),
        };
        CaptureResult {
            vpg_identifier: vpg.to_owned(),
            outcome: failure.map_or(Ok(checkpoint), |(_, error)| Err(error.clone())),
        }
    }

    /// Judges a call and gives the verdict.
    pub(crate) fn judge(&mut self, call: &Call) -> Verdict {
        decide::before(call, self)
    }
}

pub(crate) const VCENTER: &str = "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10";

/// A VM in good state in one VPG.
pub(crate) fn row(name: &str, number: u32, vpg: &str) -> VmRow {
    VmRow {
        vm_identifier: format!("{VCENTER}.vm-{number}"),
        vm_name: name.into(),
        vpg_identifier: format!("{vpg}-id"),
        vpg_name: vpg.into(),
        status: 1,
        sub_status: 0,
        vm_exists: true,
        direction: Direction::ProtectedHere,
    }
}

/// A world in which `web01` and `db01` are protected.
pub(crate) fn site() -> Script {
    Script {
        rows: vec![row("web01", 38, "WEB"), row("db01", 39, "DB")],
        ..Script::default()
    }
}

/// A call as Claude Code reports it.
pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    Call {
        harness: "claude-code".into(),
        session_id: "5569fb1c-2017-44e5-9105-c1592c0afb51".into(),
        call_id: "toolu_00000001abcdefgh".into(),
        tool: tool.into(),
        server: None,
        arguments: arguments.to_string(),
        arguments_cut: false,
        nonce: "0badcafe".into(),
        settings: String::new(),
    }
}

/// The same call under settings.
pub(crate) fn under(mut call: Call, settings: Value) -> Call {
    call.settings = settings.to_string();
    call
}

/// The same call with the server named apart.
pub(crate) fn of_server(mut call: Call, server: &str) -> Call {
    call.server = Some(Server { name: server.into() });
    call
}

/// The text of an ask.
#[track_caller]
pub(crate) fn asked(verdict: Verdict) -> String {
    let Verdict::Ask(reason) = verdict else {
        panic!("no ask: {verdict:?}")
    };
    reason
}

/// The text of a deny.
#[track_caller]
pub(crate) fn denied(verdict: Verdict) -> String {
    let Verdict::Deny(reason) = verdict else {
        panic!("no deny: {verdict:?}")
    };
    reason
}

/// The note of a pass that has one.
#[track_caller]
pub(crate) fn noted(verdict: Verdict) -> String {
    let Verdict::Pass(Some(note)) = verdict else {
        panic!("no pass with a note: {verdict:?}")
    };
    note
}

/// Asserts that a text holds all of these.
#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
