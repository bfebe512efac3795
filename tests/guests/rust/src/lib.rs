//! The small policy of this folder's README, in Rust.

wit_bindgen::generate!({ path: "../../../wit", world: "guest" });

use exports::holdpoint::policy::policy::{Call, Guest, Observation, Outcome, SessionEvent, Verdict};
use holdpoint::policy::zerto::{self, Direction, VmRow};

const SERVER: &str = "mcp__esxi__";
const READ: [&str; 2] = ["listVMs", "vmStats"];
const CHANGE: [&str; 3] = ["deleteVM", "powerOff", "powerOn"];
/// Statuses of a VPG that is protected, whether it meets its aims or not.
const READY: std::ops::RangeInclusive<i32> = 1..=4;

struct Policy;
export!(Policy);

impl Guest for Policy {
    fn before(call: Call) -> Verdict {
        if !call.tool.starts_with("mcp__") {
            return Verdict::Pass(None);
        }
        let tool = call.tool.strip_prefix(SERVER).unwrap_or(&call.tool);
        if READ.contains(&tool) {
            return Verdict::Pass(None);
        }
        if !CHANGE.contains(&tool) {
            return Verdict::Ask(format!("nobody knows what {} does", call.tool));
        }
        let Some(name) = machine(&call) else {
            return Verdict::Ask(format!("{} names no machine", call.tool));
        };
        match find(&name) {
            Err(error) => Verdict::Deny(format!("Zerto could not be asked for {name}: {error}")),
            Ok(rows) => judge(&name, &rows).unwrap_or_else(|| capture(&call, tool, &rows)),
        }
    }

    fn after(_: Call, _: Outcome) -> Observation {
        nothing()
    }

    fn session(_: SessionEvent) -> Observation {
        nothing()
    }
}

fn nothing() -> Observation {
    Observation {
        note: None,
        facts: "{}".into(),
    }
}

fn machine(call: &Call) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
    let name = arguments.get("name")?.as_str()?;
    (!name.trim().is_empty()).then(|| name.to_owned())
}

fn find(name: &str) -> Result<Vec<VmRow>, zerto::Error> {
    // The server ignores filters that it does not know, so what comes back is compared again.
    let mut rows = zerto::find_vms_by_name(name)?;
    rows.retain(|row| same(&row.vm_name, name));
    if rows.is_empty() {
        rows = zerto::find_vms_by_identifier(name)?;
        rows.retain(|row| same(&row.vm_identifier, name));
    }
    Ok(rows)
}

fn judge(name: &str, rows: &[VmRow]) -> Option<Verdict> {
    let Some(first) = rows.first() else {
        return Some(Verdict::Ask(format!("Zerto knows no VM {name}")));
    };
    if !rows.iter().all(|row| same(&row.vm_identifier, &first.vm_identifier)) {
        return Some(Verdict::Ask(format!("the name {name} fits several VMs")));
    }
    let is_here = |row: &&VmRow| row.vm_exists && row.direction != Direction::RecoveredHere;
    let here = rows.iter().filter(is_here).count();
    if here == 0 {
        return Some(Verdict::Ask(format!("Zerto has nothing here to rewind {name} with")));
    }
    let ready = rows.iter().all(|row| READY.contains(&row.status) && row.sub_status == 0);
    (here < rows.len() || !ready)
        .then(|| Verdict::Deny(format!("a checkpoint of {name} cannot be taken in every VPG")))
}

fn capture(call: &Call, tool: &str, rows: &[VmRow]) -> Verdict {
    let mut vpgs: Vec<String> = rows.iter().map(|row| row.vpg_identifier.clone()).collect();
    let mut seen = Vec::new();
    vpgs.retain(|vpg| !seen.contains(vpg) && { seen.push(vpg.clone()); true });
    let digits: String = call.call_id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    let tag = format!("{} {digits} {} {tool}", call.harness, call.nonce);
    let results = zerto::capture(&vpgs, &tag);
    if !results.iter().map(|result| &result.vpg_identifier).eq(&vpgs) {
        return Verdict::Deny("the results do not belong to the VPGs that were asked for".into());
    }
    let mut taken = Vec::new();
    for result in results {
        let vpg = result.vpg_identifier;
        match result.outcome {
            Err(error) => return Verdict::Deny(format!("no checkpoint in {vpg}: {error}")),
            Ok(seen) if seen.identifier.is_empty() => {
                return Verdict::Deny(format!("the checkpoint in {vpg} has no identifier"));
            }
            Ok(seen) => taken.push(format!("{} ({}) in {vpg}", seen.identifier, seen.tag)),
        }
    }
    Verdict::Pass(Some(format!(
        "Zerto took a checkpoint of {} before this call: {}",
        rows[0].vm_name,
        taken.join(", ")
    )))
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
