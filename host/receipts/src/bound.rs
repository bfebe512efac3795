//! A call's arguments and results, bound by their digests.

use holdpoint_artifact::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The largest value that is put into a receipt whole, in bytes of its canonical form. Of a larger one there is the
/// digest, as of every one.
const LARGEST_VALUE: usize = 256 * 1024;

/// The largest value that is brought into canonical form, in bytes as it came. That takes several times as much memory.
const LARGEST_CANONICAL: usize = 4 * 1024 * 1024;

/// The largest number that every reader of JSON reads alike. The format refuses receipts with larger ones.
const LARGEST_NUMBER: f64 = 9_007_199_254_740_991.0;

/// The smallest fraction that every canonicaliser writes alike: the format's verifier, in Python, begins with exponents
/// where RFC 8785 does not yet.
const SMALLEST_FRACTION: f64 = 1e-4;

/// What a digest was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The canonical form (RFC 8785), which anybody can make anew from the value.
    Canonical,
    /// The text as the harness sent it: it has no canonical form (a number too large, half a surrogate pair), or is too
    /// long to be brought into it (over 4 MiB).
    Text,
}

/// A call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// SHA-256 of `{"tool_input":…}`: what other signers in this format take it of.
    pub digest: Digest,
    /// The length of that, in bytes.
    pub bytes: u64,
    /// SHA-256 of `{"action_type":"tool:…","context":{"tool_input":…}}`: the same arguments for another tool differ.
    pub action: Digest,
    /// What the digests were taken over.
    pub form: Form,
    /// The arguments, where they are to stand in the receipt and can.
    pub value: Option<Value>,
}

impl Arguments {
    /// Binds the arguments of a call of this tool; with `include`, they also stand in the receipt, unless they are too
    /// large for that or hold numbers that the format refuses.
    pub fn of(tool: &str, arguments: &RawValue, include: bool) -> Self {
        let (form, text, value) = canonical(arguments);
        let context = [b"{\"tool_input\":", text.as_slice(), b"}"].concat();
        let name = Value::from(action_type(tool)).to_string();
        let action = Sha256::new()
            .chain_update(b"{\"action_type\":")
            .chain_update(name)
            .chain_update(b",\"context\":")
            .chain_update(&context)
            .chain_update(b"}");
        Self {
            digest: Digest::of(&context),
            bytes: context.len() as u64,
            action: Digest::from_bytes(action.finalize().into()),
            form,
            value: shown(value.filter(|_| include), &text),
        }
    }

    /// The digest alone, as [`of`](Self::of) has it.
    pub fn digest_of(arguments: &RawValue) -> Digest {
        let (_, text, _) = canonical(arguments);
        Digest::of(&[b"{\"tool_input\":", text.as_slice(), b"}"].concat())
    }

    /// Binds an event that could not be read, by its bytes.
    pub fn unread(event: &[u8]) -> Self {
        let digest = Digest::of(event);
        Self {
            digest,
            bytes: event.len() as u64,
            action: digest,
            form: Form::Text,
            value: None,
        }
    }
}

/// What the format calls a call of this tool.
pub(crate) fn action_type(tool: &str) -> String {
    format!("tool:{}", tool.to_lowercase())
}

/// A call's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Their SHA-256.
    pub digest: Digest,
    /// The length of what it was taken over, in bytes.
    pub bytes: u64,
    /// What it was taken over.
    pub form: Form,
    /// The results, where they are to stand in the receipt and can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Results {
    /// Binds results; `include` as for [`Arguments::of`].
    pub fn of(results: &RawValue, include: bool) -> Self {
        let (form, text, value) = canonical(results);
        Self {
            digest: Digest::of(&text),
            bytes: text.len() as u64,
            form,
            value: shown(value.filter(|_| include), &text),
        }
    }
}

/// A value as it stands in a receipt: what its canonical form says, which has no `-0`, say.
fn shown(value: Option<Value>, canonical: &[u8]) -> Option<Value> {
    value.filter(|value| canonical.len() <= LARGEST_VALUE && is_plain(value))?;
    serde_json::from_slice(canonical).ok()
}

fn canonical(raw: &RawValue) -> (Form, Vec<u8>, Option<Value>) {
    let value: Option<Value> = (raw.get().len() <= LARGEST_CANONICAL)
        .then(|| serde_json::from_str(raw.get()).ok())
        .flatten();
    let text = value
        .as_ref()
        .and_then(|value| serde_json_canonicalizer::to_vec(value).ok());
    match text {
        Some(text) => (Form::Canonical, text, value),
        None => (Form::Text, raw.get().as_bytes().to_vec(), None),
    }
}

/// Whether every number is one that all readers read alike, and all writers write alike.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().map(f64::abs).is_some_and(|number| {
            number <= LARGEST_NUMBER && (number.fract() == 0.0 || number >= SMALLEST_FRACTION)
        }),
        Value::Array(values) => values.iter().all(is_plain),
        Value::Object(members) => members.values().all(is_plain),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// The digests are those of `asqav`'s client 0.10.14 for the same event:
    /// `canonicalize({"tool_input": …})` and `canonicalize_action("tool:mcp__falcon__run_command", …)`.
    #[test]
    fn digests_are_those_of_other_signers() {
        let spaced = raw(r#"{ "hostname": "a",  "command": "x" }"#);
        let arguments = Arguments::of("mcp__falcon__run_command", &spaced, false);
        let context = br#"{"tool_input":{"command":"x","hostname":"a"}}"#;
        assert_eq!(arguments.digest, Digest::of(context));
        assert_eq!(arguments.bytes, context.len() as u64);
        assert_eq!(
            arguments.action,
            Digest::of(br#"{"action_type":"tool:mcp__falcon__run_command","context":{"tool_input":{"command":"x","hostname":"a"}}}"#)
        );
        assert_eq!((arguments.form, arguments.value), (Form::Canonical, None));
    }

    #[test]
    fn what_has_no_canonical_form_is_bound_as_text() {
        let long = format!("\"{}\"", "x".repeat(LARGEST_CANONICAL));
        for text in [r#"{"a":1e999}"#, r#""\ud800""#, &long] {
            let results = Results::of(&raw(text), true);
            assert_eq!((results.form, results.value), (Form::Text, None), "{text}");
            assert_eq!(results.digest, Digest::of(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn only_what_every_reader_reads_alike_stands_in_a_receipt() {
        let value = |text: &str| Results::of(&raw(text), true).value.is_some();
        assert!(value(r#"{"a":[1,-2.5,"b",9007199254740991]}"#));
        assert!(!value(r#"{"a":[9007199254740993]}"#));
        assert!(!value("1e300"));
        assert!(value("[0.0001, -0.0, 0.5]"));
        assert!(!value("1.5e-7"));
        assert!(!value(&format!("\"{}\"", "x".repeat(LARGEST_VALUE))));
    }
}
