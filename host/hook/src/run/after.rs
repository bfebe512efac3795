//! Events that no call waits for: a call that has ended, and whatever else a harness reports.

use holdpoint_config::{Config, ConfigError};
use holdpoint_receipts::Arguments;
use holdpoint_runtime::verdict::FaultKind;

use super::{Answered, append};
use crate::harness::claude_code;
use crate::log::Entry;
use crate::{compare, origin, receipts, session};

/// An event that cannot be gated is answered with silence. A configuration that cannot be used is a fault all the same,
/// and the log is the place for it.
pub(super) fn notice(config: &Result<Config, ConfigError>, name: String) -> Answered {
    let failed = |error: &ConfigError| {
        Entry::new("", "", &name).failed("silent", FaultKind::Configuration, &error.to_string())
    };
    Answered::unawaited(config.as_ref().err().map(failed))
}

/// An event of a call that has ended, heard of in another way than by a hook's process: writes its receipt, and says why
/// there is none. What is to be told stands in the decision log as well.
pub fn heard(config: &Result<Config, ConfigError>, event: &[u8]) -> Option<String> {
    let usable = config.as_ref().ok()?;
    let End { lines, .. } = end(usable, "http", event);
    let mut told = Vec::new();
    for mut line in lines {
        told.extend(line.fault.and_then(|_| line.why.clone()));
        told.extend(append(config, &mut line).err());
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// What there is to tell of a call's end.
#[derive(Default)]
struct End {
    /// The model is told this.
    note: Option<String>,
    /// The user is.
    warning: Option<String>,
    /// The log is.
    lines: Vec<Entry>,
}

/// Compares a call that has ended with what was decided, and writes its receipt.
fn end(config: &Config, name: &str, event: &[u8]) -> End {
    let ended = match claude_code::read_ended(event) {
        Ok(Some(ended)) => ended,
        Ok(None) => return End::default(),
        // Only receipts would have come of it, and a comparison that cannot be made.
        Err(fault) => {
            let (session, call) = claude_code::ids_of(event);
            return End {
                lines: vec![Entry::new(&session, &call, name).failed("silent", fault.kind, &fault.cause)],
                ..End::default()
            };
        }
    };
    let deviation = compare::compare(config, &ended);
    let mut lines: Vec<_> = deviation
        .as_ref()
        .map(|deviation| Entry {
            why: Some(compare::in_words(deviation)),
            arguments: Some(Arguments::digest_of(ended.arguments)),
            deviation: Some(deviation.clone()),
            environment: origin::of(&ended.origin),
            ..Entry::new(&ended.session_id, &ended.call_id, &ended.tool)
        })
        .into_iter()
        .collect();
    let about = Entry::new(&ended.session_id, &ended.call_id, name);
    let seen = receipts::observed(config, about, &ended, deviation.as_ref());
    lines.extend(seen.line);
    End {
        note: deviation.as_ref().and_then(compare::note),
        warning: seen.warning,
        lines,
    }
}

/// An event that the session tally is kept by, and that may be the end of a call. Whatever goes wrong is silent, and a
/// line in the log.
pub(super) fn observe(config: &Result<Config, ConfigError>, name: &'static str, bytes: &[u8]) -> Answered {
    let Ok(usable) = config else {
        return notice(config, name.to_owned());
    };
    let End {
        note,
        warning,
        mut lines,
    } = end(usable, name, bytes);
    let tallied = session::observe(usable, bytes).unwrap_or_else(|fault| {
        let (session, call) = claude_code::ids_of(bytes);
        lines.push(Entry::new(&session, &call, name).failed("silent", fault.kind, &fault.cause));
        None
    });
    let notes: Vec<_> = note.into_iter().chain(tallied).collect();
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    // All are to be told, and only one goes the usual way.
    let entry = lines.pop();
    for mut line in lines {
        let _ = append(config, &mut line);
    }
    Answered {
        answer: claude_code::tell(name, note.as_deref(), warning.as_deref()),
        ..Answered::unawaited(entry)
    }
}
