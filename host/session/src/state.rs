//! The state of one scope: what is kept, how it is written, and what becomes of a file that somebody else wrote.

use std::time::SystemTime;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::json::{self, Object};
use crate::scope::{CallId, Scope, is_hash};

/// The version that the file names.
const SCHEMA_VERSION: u32 = 1;
/// How many of the last calls' ids are kept, to tell a repeated event.
const MOST_CALLS: usize = 128;
/// Where counting ends.
const MOST_FAILURES: u32 = 1_000_000;
/// The highest level.
const HIGHEST_LEVEL: u8 = 4;
/// What the original calls a checkpoint's contents.
const KIND: &str = "tool_observation_only";

/// Failures counted in one session and workspace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many calls failed, up to a million.
    pub failures: u32,
    /// The level of that count, 0 to 4.
    pub level: u8,
    /// The highest level that was reached, 0 to 4.
    pub peak: u8,
}

impl Tally {
    fn new(failures: u32, peak: u8) -> Self {
        let level = level(failures);
        Self {
            failures,
            level,
            peak: peak.max(level),
        }
    }
}

/// The level of a count: 2 failures make level 1, 3 level 2, 4 level 3, 5 and more level 4.
pub fn level(failures: u32) -> u8 {
    match failures {
        0 | 1 => 0,
        2 => 1,
        3 => 2,
        4 => 3,
        _ => HIGHEST_LEVEL,
    }
}

/// The file's contents. Fields in the order of their names: so they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Checkpoint>,
    created_at: String,
    failure_count: u32,
    peak_pressure_level: u8,
    processed_tool_use_ids: Vec<String>,
    schema_version: u32,
    scope_fingerprint: String,
    updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Checkpoint {
    failure_count: u32,
    kind: &'static str,
    peak_pressure_level: u8,
    saved_at: String,
}

impl State {
    /// Nothing counted yet.
    pub(crate) fn new(scope: &Scope) -> Self {
        let now = timestamp(SystemTime::now());
        Self {
            checkpoint: None,
            created_at: now.clone(),
            failure_count: 0,
            peak_pressure_level: 0,
            processed_tool_use_ids: Vec::new(),
            schema_version: SCHEMA_VERSION,
            scope_fingerprint: scope.as_str().to_owned(),
            updated_at: now,
        }
    }

    /// Takes from a file what it can hold, and drops everything else: so nothing that others wrote there is carried on.
    /// A file that is no JSON object is one in which nothing was counted.
    pub(crate) fn read(bytes: &[u8], scope: &Scope) -> Self {
        let mut state = Self::new(scope);
        let Some(file) = std::str::from_utf8(bytes).ok().and_then(Object::parse) else {
            return state;
        };
        state.failure_count = count(&file);
        state.peak_pressure_level = peak(&file).max(level(state.failure_count));
        if let Some(created_at) = string(&file, "created_at") {
            state.created_at = created_at;
        }
        state.processed_tool_use_ids = calls(&file);
        state.checkpoint = file.get("checkpoint").and_then(Object::parse).and_then(|saved| {
            Some(Checkpoint {
                saved_at: string(&saved, "saved_at")?,
                kind: KIND,
                failure_count: count(&saved),
                peak_pressure_level: peak(&saved),
            })
        });
        state
    }

    /// Whether a file's bytes are a state of this scope, and not something else of its name.
    pub(crate) fn is_of(bytes: &[u8], scope: &Scope) -> bool {
        let file = std::str::from_utf8(bytes).ok().and_then(Object::parse);
        let names = |file: Object| string(&file, "scope_fingerprint").as_deref() == Some(scope.as_str());
        file.is_some_and(names)
    }

    /// One line of compact JSON.
    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally::new(self.failure_count, self.peak_pressure_level)
    }

    /// What was saved last before a compaction.
    pub(crate) fn saved(&self) -> Option<Saved> {
        self.checkpoint.as_ref().map(|checkpoint| Saved {
            failures: checkpoint.failure_count,
            peak: checkpoint.peak_pressure_level,
        })
    }

    /// Counts a failed call, or says that it is counted already.
    pub(crate) fn count(&mut self, call: CallId) -> bool {
        let call = call.into_string();
        if self.processed_tool_use_ids.contains(&call) {
            return false;
        }
        self.failure_count = (self.failure_count + 1).min(MOST_FAILURES);
        self.peak_pressure_level = self.peak_pressure_level.max(level(self.failure_count));
        self.processed_tool_use_ids.push(call);
        let surplus = self.processed_tool_use_ids.len().saturating_sub(MOST_CALLS);
        self.processed_tool_use_ids.drain(..surplus);
        self.updated_at = timestamp(SystemTime::now());
        true
    }

    /// Keeps the count for after a compaction.
    pub(crate) fn save(&mut self) {
        let now = timestamp(SystemTime::now());
        self.checkpoint = Some(Checkpoint {
            failure_count: self.failure_count,
            kind: KIND,
            peak_pressure_level: self.peak_pressure_level,
            saved_at: now.clone(),
        });
        self.updated_at = now;
    }
}

/// What was kept for after a compaction.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// How many calls had failed.
    pub failures: u32,
    /// The highest level that had been reached.
    pub peak: u8,
}

fn string(object: &Object<'_>, name: &str) -> Option<String> {
    object.text(name)?.as_str().map(str::to_owned)
}

fn count(object: &Object<'_>) -> u32 {
    number(object, "failure_count")
}

fn peak(object: &Object<'_>) -> u8 {
    let peak = number(object, "peak_pressure_level").min(HIGHEST_LEVEL.into());
    u8::try_from(peak).unwrap_or(HIGHEST_LEVEL)
}

/// A number between 0 and [`MOST_FAILURES`] out of whatever stands there: texts that spell one count, fractions are cut.
fn number(object: &Object<'_>, name: &str) -> u32 {
    let number = object.get(name).and_then(|json| {
        if let Some(text) = json::text(json) {
            return json::written_number(text.as_str()?);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "cutting and saturating is what is wanted"
        )]
        let cut = |number: f64| number as i64;
        let fraction = || {
            json.parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(cut)
        };
        json::whole_number(json).or_else(fraction)
    });
    let number = number.unwrap_or(0).clamp(0, MOST_FAILURES.into());
    u32::try_from(number).unwrap_or(MOST_FAILURES)
}

/// The ids among the last [`MOST_CALLS`] entries; what cannot be one is dropped.
fn calls(file: &Object<'_>) -> Vec<String> {
    let json = file.get("processed_tool_use_ids").unwrap_or_default();
    let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(json).unwrap_or_default();
    let last = &entries[entries.len().saturating_sub(MOST_CALLS)..];
    last.iter()
        .filter_map(|entry| serde_json::from_str::<String>(entry.get()).ok())
        .filter(|id| is_hash(id))
        .collect()
}

/// Seconds, UTC, as the original writes them.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let time = time.replace_nanosecond(0).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> State {
        State::read(json.as_bytes(), &Scope::new("s", "/").unwrap())
    }

    #[test]
    fn whatever_stands_for_a_number_is_taken_as_python_takes_it() {
        for (json, failures) in [
            ("2.9", 2),
            ("-0.5", 0),
            ("1e3", 1_000),
            ("\" 7 \"", 7),
            ("\"7.5\"", 0),
            ("true", 0),
            ("null", 0),
            ("[3]", 0),
            ("1e300", 1_000_000),
            ("99999999999999999999", 1_000_000),
        ] {
            let state = read(&format!("{{\"failure_count\":{json}}}"));
            assert_eq!(state.tally().failures, failures, "{json}");
        }
    }

    #[test]
    fn nothing_that_others_wrote_is_carried_on() {
        let state = read(
            r#"{"prompt":"secret","failure_count":1,"processed_tool_use_ids":["secret"],
                "scope_fingerprint":"secret","updated_at":"secret",
                "checkpoint":{"saved_at":"t","kind":"secret","failure_count":3,"task":"secret"}}"#,
        );
        let text = String::from_utf8(state.to_bytes().unwrap()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.starts_with(
            r#"{"checkpoint":{"failure_count":3,"kind":"tool_observation_only","peak_pressure_level":0,"saved_at":"t"},"created_at":""#
        ));
    }

    #[test]
    fn the_ids_are_cut_before_they_are_judged() {
        let good = "a".repeat(64);
        let mut entries = vec![format!("\"{good}\"")];
        entries.extend((0..128).map(|_| "5".to_owned()));
        let state = read(&format!("{{\"processed_tool_use_ids\":[{}]}}", entries.join(",")));
        assert!(state.processed_tool_use_ids.is_empty());
    }

    #[test]
    fn times_are_whole_seconds() {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_900);
        assert_eq!(timestamp(time), "1970-01-01T00:00:01Z");
    }
}
