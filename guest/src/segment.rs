//! Arguments that a server puts into the path of an address as they stand.
//!
//! `/nodes/{node}/qemu/{vmid}` with the node `pve1/qemu/200/status/stop?x=` stops another VM than the one that the call
//! names.

use serde_json::Value;

use crate::arguments::Arguments;
use crate::text::quoted;

/// Why an argument may be more than one part of a path; nothing where it is one, or surely absent.
pub fn doubt(arguments: &Arguments<'_>, argument: &str) -> Option<String> {
    match arguments.get(argument) {
        None if arguments.cut() => Some(format!(
            "the arguments were too large to read as a whole, and {} may have stood there",
            quoted(argument)
        )),
        None | Some(Value::Null | Value::Number(_)) => None,
        Some(Value::String(text)) if is_segment(text) => None,
        Some(_) => Some(format!(
            "the argument {} is more than one part of an address, and the server may reach another machine by it",
            quoted(argument)
        )),
    }
}

/// A text that stays one part of a path, whatever the server and its library make of it.
fn is_segment(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    text.chars().all(plain) && !matches!(text.trim(), "." | "..")
}
