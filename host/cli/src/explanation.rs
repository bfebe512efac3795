//! What `explain` shows a person.

use holdpoint_common::safe_text;
use holdpoint_hook::explain::{Asked, Branch, Explanation};

use crate::terminal::{Terminal, Tone};

/// The explanation for a person.
pub(crate) fn render(explanation: &Explanation, terminal: &Terminal) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let name = terminal.paint(Tone::Quiet, &format!("{name:<8}"));
        text.push_str(&format!("{name} {}\n", terminal.wrap(value, 9)));
    };
    line(
        "event",
        explanation.event.as_deref().unwrap_or("(cannot be read)"),
    );
    for (name, value) in [("tool", &explanation.tool), ("policy", &explanation.policy)] {
        if let Some(value) = value {
            line(name, value);
        }
    }
    explanation.notes.iter().for_each(|note| line("reads it", note));
    for asked in &explanation.asked {
        line("asks for", &words(asked));
    }
    for branch in &explanation.branches {
        text.push_str(&format!(
            "\n{}{}\n",
            terminal.paint(tone(branch), &format!("{:<7}", branch.verdict)),
            branch
                .case
                .map_or_else(|| "in any case".to_owned(), |case| format!("if {}", case.words()))
        ));
        if let Some(why) = &branch.why {
            text.push_str(&format!("       {}\n", terminal.wrap(why, 7)));
        }
    }
    text
}

fn tone(branch: &Branch) -> Tone {
    match branch.verdict {
        "pass" | "silent" => Tone::Good,
        "ask" => Tone::Caution,
        _ => Tone::Bad,
    }
}

/// What is asked, in words.
fn words(asked: &Asked) -> String {
    match asked {
        Asked::VmsByName { name } => format!("VMs named {}", shown(name)),
        Asked::VmByIdentifier { identifier } => {
            format!("the VM with the identifier {}", shown(identifier))
        }
        Asked::Vpg { vpg } => format!("the state of {}", shown(vpg)),
        Asked::Capture { vpgs, tag } => {
            format!("a checkpoint of every VPG (here {vpgs}), tag {}", shown(tag))
        }
        Asked::Cadence { vpg } => format!("how often {} has checkpoints", shown(vpg)),
        Asked::Tally => "how many of the session's calls have failed".into(),
    }
}

fn shown(foreign: &str) -> String {
    format!("'{}'", safe_text::clean_line(foreign, 200))
}
