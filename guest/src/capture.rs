//! Taking the checkpoints of one call, and what is told of them.

use crate::classify::Judged;
use crate::judge::{Machine, Vpg};
use crate::lookup::same;
use crate::model::{Call, CaptureResult, Checkpoint, Verdict, World, ZertoError};
use crate::say;
use crate::settings::Settings;
use crate::tag;
use crate::text::{listed, quoted, shown, whole};

/// Captures all VPGs of all machines at once, under one tag. Only a checkpoint seen in each of them lets the call pass.
pub fn capture(
    call: &Call,
    settings: &Settings,
    judged: &Judged,
    machines: &[Machine],
    deletes: bool,
    world: &mut impl World,
) -> Verdict {
    let Some(first) = machines.first() else {
        return Verdict::Ask(say::change(judged, &["it names no machine".into()], say::ASKED));
    };
    let tag = tag::make(&tag::Parts {
        agent: settings.agent.as_deref().unwrap_or(&call.harness),
        session_id: &call.session_id,
        call_id: &call.call_id,
        nonce: &call.nonce,
        server: &judged.server,
        tool: &judged.tool,
        vm: &first.name,
        more: machines.len() - 1,
    });
    let mut vpgs: Vec<&Vpg> = Vec::new();
    for vpg in machines.iter().flat_map(|machine| &machine.vpgs) {
        if !vpgs.iter().any(|known| same(&known.identifier, &vpg.identifier)) {
            vpgs.push(vpg);
        }
    }
    let identifiers: Vec<String> = vpgs.iter().map(|vpg| vpg.identifier.clone()).collect();
    let mut results = world.capture(&identifiers, &tag).into_iter();
    let mut taken = Vec::new();
    let mut missing = Vec::new();
    for vpg in vpgs {
        match confirmed(vpg, results.next()) {
            Ok(checkpoint) => taken.push((vpg, checkpoint)),
            Err(error) => missing.push(format!("VPG {}: {}", quoted(&vpg.name), say::cause(&error))),
        }
    }
    let names: Vec<String> = machines.iter().map(|machine| quoted(&machine.name)).collect();
    if missing.is_empty() {
        return Verdict::Pass(Some(note(&listed(&names), &taken, deletes)));
    }
    let mut clauses = vec![format!(
        "no checkpoint of {} is confirmed: {}",
        listed(&names),
        missing.join("; ")
    )];
    if !taken.is_empty() {
        clauses.push(format!(
            "captured all the same: {}, tag {}",
            checkpoints(&taken),
            tags(&taken)
        ));
    }
    Verdict::Deny(say::change(judged, &clauses, say::DENIED))
}

/// A result counts only for the VPG that it was asked for. Its tag is another call's where both wait for one checkpoint.
fn confirmed(vpg: &Vpg, result: Option<CaptureResult>) -> Result<Checkpoint, ZertoError> {
    let Some(result) = result.filter(|result| same(&result.vpg_identifier, &vpg.identifier)) else {
        return Err(ZertoError::Malformed(
            "the results do not belong to the VPGs that were asked for".into(),
        ));
    };
    let checkpoint = result.outcome?;
    if checkpoint.identifier.is_empty() || checkpoint.tag.is_empty() {
        return Err(ZertoError::Malformed(
            "a checkpoint without an identifier or a tag".into(),
        ));
    }
    Ok(checkpoint)
}

/// The tags by which the checkpoints are found again.
fn tags(taken: &[(&Vpg, Checkpoint)]) -> String {
    let mut tags: Vec<String> = Vec::new();
    for (_, checkpoint) in taken {
        let tag = quoted(&checkpoint.tag);
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    listed(&tags)
}

fn checkpoints(taken: &[(&Vpg, Checkpoint)]) -> String {
    let checkpoint = |(vpg, checkpoint): &(&Vpg, Checkpoint)| {
        format!(
            "{} in VPG {}, {}",
            shown(&checkpoint.identifier),
            quoted(&vpg.name),
            shown(&checkpoint.time)
        )
    };
    taken.iter().map(checkpoint).collect::<Vec<_>>().join("; ")
}

fn note(names: &str, taken: &[(&Vpg, Checkpoint)], deletes: bool) -> String {
    // Files and a VM are restored into a VM that is there. One that is gone comes back with its group only.
    let back = if deletes {
        "in Zerto, fail the VPG over or clone it, and choose the checkpoint by its tag; a VM of the same name that exists then is another one. Deleting or unregistering a protected VM takes it out of protection, and its journal may go with it: leave the VPG as it is until the VM is back."
    } else {
        "in Zerto, Restore > file restore or VM restore from the journal, and choose the checkpoint by its tag."
    };
    // The way back comes first, so that a long list of checkpoints cannot push it out.
    whole(&format!(
        "Zerto took a checkpoint of {names} before this call, tag {}. If the change goes wrong, tell the user: {back} Checkpoint {}.",
        tags(taken),
        checkpoints(taken)
    ))
}
