//! A checkpoint that is really taken, to see that it comes and how long that takes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use holdpoint_config as config;
use holdpoint_hook::question;
use holdpoint_hook::zerto::{by_hand, settings};
use holdpoint_runtime::sandbox::capabilities::in_words;
use holdpoint_zerto::{Checkpoint, Direction, Error, VmRow, Zvm};

use super::finding::Finding;
use crate::terminal::Progress;

/// What came of it.
pub(super) struct Captured {
    vpgs: Vec<Vpg>,
    took: Duration,
    tag: String,
}

struct Vpg {
    name: String,
    cadence: Option<Duration>,
    outcome: Result<Checkpoint, Error>,
}

/// Takes a checkpoint of every VPG of the VM with this name, and says how that went.
pub(super) fn run(config: &config::Config, vm: &str) -> Finding {
    let progress = Progress::begin(&format!("waiting for a checkpoint of {vm}"));
    let captured = capture(config, vm);
    drop(progress);
    match captured {
        Ok(captured) => of_captured(vm, &captured),
        Err(why) => Finding::broken(
            "capture",
            format!("no checkpoint of {vm} was taken: {why}"),
            "a call that changes it is not let through unasked",
        )
        .mended_by("the other findings say more; Zerto's own console tells of the VM and its VPGs"),
    }
}

fn capture(config: &config::Config, vm: &str) -> Result<Captured, String> {
    let deadline = Instant::now() + config.deadline();
    let settings = settings(&config.zerto, deadline).map_err(|error| in_words(&error))?;
    let zvm = Zvm::new(by_hand(&config.zerto, settings)).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let captured = runtime.block_on(take(&zvm, vm));
    runtime.shutdown_background();
    captured
}

async fn take(zvm: &Zvm, vm: &str) -> Result<Captured, String> {
    let rows = zvm
        .find_vms_by_name(vm)
        .await
        .map_err(|error| error.to_string())?;
    let rows = of_one_vm(rows)?;
    let vpgs: Vec<String> = rows.iter().map(|row| row.vpg_identifier.clone()).collect();
    // Our own word in the place of a session's, so that the journal tells what it was for.
    let tag = format!("holdpoint doctor {} on {vm}", question::nonce());
    let begun = Instant::now();
    let outcomes = zvm.capture(&vpgs, &tag).await;
    let took = begun.elapsed();
    let mut captured = Captured {
        vpgs: Vec::new(),
        took,
        tag,
    };
    for (row, outcome) in rows.into_iter().zip(outcomes) {
        captured.vpgs.push(Vpg {
            cadence: zvm.cadence(&row.vpg_identifier).await.unwrap_or(None),
            name: row.vpg_name,
            outcome,
        });
    }
    Ok(captured)
}

/// The rows, where they are of one VM that runs here.
fn of_one_vm(rows: Vec<VmRow>) -> Result<Vec<VmRow>, String> {
    let Some(first) = rows.first() else {
        return Err("Zerto knows no such VM".into());
    };
    if rows.iter().any(|row| row.vm_identifier != first.vm_identifier) {
        return Err("the name fits several VMs".into());
    }
    if rows.iter().all(|row| row.direction == Direction::RecoveredHere) {
        return Err("it runs on another site".into());
    }
    Ok(rows)
}

fn of_captured(vm: &str, captured: &Captured) -> Finding {
    let mut found = String::new();
    for vpg in &captured.vpgs {
        let outcome = match &vpg.outcome {
            Ok(checkpoint) => format!("checkpoint {} at {}", checkpoint.identifier, checkpoint.time),
            Err(error) => error.to_string(),
        };
        let cadence = vpg.cadence.map_or_else(
            || "a cadence that cannot be told".into(),
            |cadence| format!("a checkpoint every {:.1} s", cadence.as_secs_f64()),
        );
        let _ = write!(found, "; VPG {}: {outcome}, {cadence}", vpg.name);
    }
    let took = captured.took.as_secs_f64();
    if captured.vpgs.iter().all(|vpg| vpg.outcome.is_ok()) {
        let tag = &captured.tag;
        return Finding::good(
            "capture",
            format!("{vm} was captured in {took:.1} s, tag '{tag}'{found}"),
        );
    }
    Finding::broken(
        "capture",
        format!("no checkpoint of {vm} is confirmed after {took:.1} s{found}"),
        "a call that changes it is denied",
    )
    .mended_by("raise zerto.longest_wait_seconds and deadline_seconds where the cadence is longer; else look at the VPG")
}
