//! The component: maps the contract's types and lends the host's functions to the pure modules.

#![expect(unsafe_code, reason = "the bindings are generated")]

use crate::model;
use crate::{decide, observe};

wit_bindgen::generate!({ path: "../wit", world: "guest" });

use exports::holdpoint::policy::policy::{Call, Guest, Observation, Outcome, SessionEvent, Verdict};
use holdpoint::policy::{log, session, zerto};

struct Policy;

export!(Policy);

impl Guest for Policy {
    fn before(call: Call) -> Verdict {
        match decide::before(&from_call(call), &mut Host) {
            model::Verdict::Pass(note) => Verdict::Pass(note),
            model::Verdict::Ask(reason) => Verdict::Ask(reason),
            model::Verdict::Deny(reason) => Verdict::Deny(reason),
        }
    }

    fn after(_: Call, outcome: Outcome) -> Observation {
        let outcome = match outcome {
            Outcome::Succeeded(_) => model::Outcome::Succeeded,
            Outcome::Failed(_) => model::Outcome::Failed,
            Outcome::Interrupted => model::Outcome::Interrupted,
        };
        Observation {
            note: None,
            facts: observe::after(outcome),
        }
    }

    fn session(event: SessionEvent) -> Observation {
        Observation {
            note: None,
            facts: observe::session(&event.kind, &event.reason),
        }
    }
}

/// The host's functions.
struct Host;

impl model::World for Host {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<model::VmRow>, model::ZertoError> {
        zerto::find_vms_by_name(name).map(from_rows).map_err(from_error)
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<model::VmRow>, model::ZertoError> {
        zerto::find_vms_by_identifier(identifier)
            .map(from_rows)
            .map_err(from_error)
    }

    fn capture(&mut self, vpg_identifiers: &[String], tag: &str) -> Vec<model::CaptureResult> {
        zerto::capture(vpg_identifiers, tag)
            .into_iter()
            .map(from_result)
            .collect()
    }

    fn tally(&mut self) -> Option<model::Tally> {
        session::current().map(|tally| model::Tally {
            failures: tally.failures,
            level: tally.level,
        })
    }

    fn note(&mut self, line: &str) {
        log::note(line);
    }
}

fn from_call(call: Call) -> model::Call {
    model::Call {
        harness: call.harness,
        session_id: call.session_id,
        call_id: call.call_id,
        tool: call.tool,
        server: call.server.map(|server| model::Server { name: server.name }),
        arguments: call.arguments,
        arguments_cut: call.arguments_cut,
        nonce: call.nonce,
        settings: call.settings,
    }
}

fn from_rows(rows: Vec<zerto::VmRow>) -> Vec<model::VmRow> {
    rows.into_iter().map(from_row).collect()
}

fn from_row(row: zerto::VmRow) -> model::VmRow {
    model::VmRow {
        vm_identifier: row.vm_identifier,
        vm_name: row.vm_name,
        vpg_identifier: row.vpg_identifier,
        vpg_name: row.vpg_name,
        status: row.status,
        sub_status: row.sub_status,
        vm_exists: row.vm_exists,
        direction: match row.direction {
            zerto::Direction::ProtectedHere => model::Direction::ProtectedHere,
            zerto::Direction::RecoveredHere => model::Direction::RecoveredHere,
            zerto::Direction::Unknown => model::Direction::Unknown,
        },
    }
}

fn from_result(result: zerto::CaptureResult) -> model::CaptureResult {
    let checkpoint = |seen: zerto::Checkpoint| model::Checkpoint {
        identifier: seen.identifier,
        tag: seen.tag,
        time: seen.time,
    };
    model::CaptureResult {
        vpg_identifier: result.vpg_identifier,
        outcome: result.outcome.map(checkpoint).map_err(from_error),
    }
}

fn from_error(error: zerto::Error) -> model::ZertoError {
    match error {
        zerto::Error::NotFound => model::ZertoError::NotFound,
        zerto::Error::Refused(words) => model::ZertoError::Refused(words),
        zerto::Error::Unauthorized(words) => model::ZertoError::Unauthorized(words),
        zerto::Error::Unreachable(words) => model::ZertoError::Unreachable(words),
        zerto::Error::TimedOut(words) => model::ZertoError::TimedOut(words),
        zerto::Error::Malformed(words) => model::ZertoError::Malformed(words),
    }
}
