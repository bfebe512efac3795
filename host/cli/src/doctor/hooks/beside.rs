//! Hooks of others beside ours, as far as they bear on the calls that ours judges.

use holdpoint_setup::reading::{File, Fires, State, matches};
use holdpoint_setup::{Event, Handler};

use super::Facts;
use crate::asqav_hook::Own;
use crate::doctor::finding::Finding;

/// The original hook's program, and the package that it comes with.
const ORIGINAL: [&str; 3] = ["zerto_guard_hook", "zerto-guard-hook", "zerto_rewind_mcp"];
/// The event that decides where a harness would ask.
const ASKED: &str = "PermissionRequest";
/// The most that are named.
const SHOWN: usize = 5;

/// Judges what stands beside our entries.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let in_force = || {
        facts
            .installation
            .files
            .iter()
            .filter(|file| file.state == State::InForce)
    };
    let mut findings = Vec::new();
    for event in Event::ALL {
        for (file, entry) in facts.installation.in_force(event) {
            if entry.ours().is_none() {
                findings.extend(of_guard(&entry.handler, &entry.at(), file));
            }
        }
    }
    let mut others = Vec::new();
    for (file, entry) in facts.installation.in_force(Event::PreToolUse) {
        let is_known = of_guard(&entry.handler, "", file).is_some() || is_tool(&entry.handler);
        if entry.ours().is_none() && !is_known && may_fire(entry.matcher.as_deref()) {
            others.push(place(&entry.at(), file));
        }
    }
    for file in in_force() {
        let asked = file
            .settings
            .others
            .iter()
            .filter(|other| other.event == ASKED && !is_tool(&other.handler));
        others.extend(
            asked
                .filter(|other| may_fire(other.matcher.as_deref()))
                .map(|other| place(&other.at, file)),
        );
    }
    findings.extend(of_others(&others));
    for file in in_force() {
        let ours = file
            .settings
            .entries
            .iter()
            .map(|entry| (entry.at(), &entry.handler));
        let others = file
            .settings
            .others
            .iter()
            .map(|other| (other.at.clone(), &other.handler));
        for (at, handler) in ours.chain(others) {
            if let Handler::McpTool { server, tool } = handler {
                findings.push(of_tool(&place(&at, file), server, tool));
            }
        }
    }
    findings
}

fn place(at: &str, file: &File) -> String {
    format!("{at} of {}", file.path.display())
}

fn is_tool(handler: &Handler) -> bool {
    matches!(handler, Handler::McpTool { .. })
}

/// Whether a matcher fits some tool of a server.
fn may_fire(matcher: Option<&str>) -> bool {
    let servers = super::servers::in_catalogs().chain(["server"]);
    let mut names =
        servers.flat_map(|server| ["tool", "powerOff"].map(|tool| format!("mcp__{server}__{tool}")));
    // A list of whole names that are a server's fits some tool of it.
    let is_list_of_tools = matcher.is_some_and(|matcher| {
        matcher
            .split(['|', ','])
            .any(|name| name.trim().starts_with("mcp__"))
    });
    is_list_of_tools || names.any(|name| matches(matcher, &name) != Fires::No)
}

/// Another guard whose work ours does, or that does its work twice.
fn of_guard(handler: &Handler, at: &str, file: &File) -> Option<Finding> {
    let Handler::Command(command) = handler else {
        return None;
    };
    let text = command.text();
    let place = place(at, file);
    let without = format!("take the entry out of {}", file.path.display());
    if ORIGINAL.iter().any(|name| text.contains(name)) {
        return Some(
            Finding::caution(
                "hook.beside",
                format!("the original Zerto hook is still at {place}"),
                "a call waits for two checkpoints, and where the original says \"prompt\" the harness drops its answer",
            )
            .mended_by(without),
        );
    }
    let own = Own::started_by(command)?;
    Some(
        Finding::caution(
            "hook.beside",
            format!("'{}' stands at {place}", own.words()),
            "with receipts.signer = \"asqav\" each call is signed twice; without it, only that entry asks the service, and it \
             is not checked here",
        )
        .mended_by(format!("set receipts.signer to \"asqav\", and {without}")),
    )
}

fn of_others(places: &[String]) -> Option<Finding> {
    let more = places.len().saturating_sub(SHOWN);
    let mut shown = places.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    (!places.is_empty()).then(|| {
        Finding::notice(
            "hook.others",
            format!("other hooks run for calls of MCP servers: {shown}"),
            "such a hook can change a call's arguments (updatedInput) after Holdpoint judged them, or answer in a human's place",
        )
        .mended_by("look at what they do; allowManagedHooksOnly in managed settings leaves only managed hooks")
    })
}

fn of_tool(place: &str, server: &str, tool: &str) -> Finding {
    Finding::caution(
        "hook.mcp-tool",
        format!("{place} calls {tool} of the server {server}"),
        "the harness starts no PreToolUse hook for such a call: nothing judges it, and no checkpoint is taken",
    )
    .mended_by("take the entry out, or make sure that the tool only reads")
}
