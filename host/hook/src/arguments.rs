//! Reads a call's arguments as the harness reads them, and keeps them to a size that a policy can be handed: a written
//! file of 20 MB is an argument too.

use std::borrow::Cow;

use holdpoint_setup::json::{self, Limits, Parsed};
use serde_json::Value;
use serde_json::value::RawValue;

/// Arguments up to this many bytes are handed over as they are.
const WHOLE: usize = 256 * 1024;
/// In larger ones, a text longer than this (in bytes) is left out. No machine's name is nearly as long.
const LONGEST_TEXT: usize = 4 * 1024;
/// How many values larger ones may hold, however small; with more, everything is left out.
const MOST_VALUES: usize = 20_000;

/// The arguments for the policy, and whether something of them is missing there.
///
/// The harness's parser takes texts that a policy's does not: half a surrogate pair, numbers beyond every number, values
/// nested however deep. What cannot be handed over reads as `null`, which is no machine's name and equals nothing that a
/// rule compares with, so a cut can turn a verdict only into a stricter one. Arguments that are no object name nothing
/// that a catalog could speak of, and count as cut too.
pub fn bounded(arguments: &RawValue) -> (Cow<'_, str>, bool) {
    let text = arguments.get();
    let is_small = text.len() <= WHOLE;
    let limits = Limits {
        values: if is_small { usize::MAX } else { MOST_VALUES },
        string: if is_small { WHOLE } else { LONGEST_TEXT },
        strings: WHOLE,
        lossy: false,
    };
    match json::parse(text, limits) {
        Ok(read) if read.is_plain && is_small => (Cow::Borrowed(text), !read.value.is_object()),
        Ok(Parsed { value, cut, .. }) => {
            let cut = cut || !is_small || !value.is_object();
            (Cow::Owned(value.to_string()), cut)
        }
        Err(_) => (Cow::Owned(Value::Null.to_string()), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(json: String) -> (String, bool) {
        let raw = RawValue::from_string(json).unwrap();
        let (text, cut) = bounded(&raw);
        (text.into_owned(), cut)
    }

    #[test]
    fn small_arguments_are_left_alone() {
        assert_eq!(
            bound(r#"{ "host": "web01" }"#.into()),
            (r#"{ "host": "web01" }"#.into(), false)
        );
    }

    #[test]
    fn a_large_text_is_left_out_and_the_rest_is_kept() {
        let json = format!(
            r#"{{"content":"{}\n","host":"web01","n":[1,-2,0.5,true,null]}}"#,
            "x".repeat(20 << 20)
        );
        assert_eq!(
            bound(json),
            (
                r#"{"content":null,"host":"web01","n":[1,-2,0.5,true,null]}"#.into(),
                true
            )
        );
    }

    #[test]
    fn too_many_small_values_leave_nothing() {
        assert_eq!(
            bound(format!(r#"{{"host":"web01","n":[{}1]}}"#, "1,".repeat(1 << 20))),
            ("null".into(), true)
        );
        assert_eq!(
            bound(format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20))),
            ("null".into(), true)
        );
    }

    #[test]
    fn no_name_is_left_out_while_others_stay() {
        let pad = vec!["x".repeat(LONGEST_TEXT); WHOLE / LONGEST_TEXT];
        for spare in 0..32 {
            let mut pad = pad.clone();
            pad[0].truncate(LONGEST_TEXT - spare);
            let json = serde_json::json!({ "vm": "web01", "pad": pad, "_args": ["db01"] });
            let (text, cut) = bound(json.to_string());
            assert!(
                cut && (text == "null" || text.contains("\"_args\"")),
                "{spare}: {}",
                text.len()
            );
        }
    }

    #[test]
    fn many_middling_texts_are_bounded_together() {
        let (text, cut) = bound(format!(
            r#"{{"host":"web01","n":[{}""]}}"#,
            format!("\"{}\",", "y".repeat(4000)).repeat(500)
        ));
        assert!(cut && text.len() < 2 * WHOLE && text.contains("web01"));
    }

    /// What `JSON.parse` takes and other parsers refuse.
    #[test]
    fn what_cannot_be_handed_over_is_left_out_and_counts_as_cut() {
        for (json, text) in [
            (r#"{"a":"\ud83d","b":1}"#, r#"{"a":null,"b":1}"#),
            (r#"{"a":"\udc00x","b":"\ud83d\ude00"}"#, r#"{"a":null,"b":"😀"}"#),
            (r#"{"a":1e999,"b":-1e999}"#, r#"{"a":null,"b":null}"#),
            (r#"{"\ud83d":1}"#, "null"),
        ] {
            assert_eq!(bound(json.into()), (text.into(), true), "{json}");
        }
        for depth in [130, 100_000] {
            let json = format!(
                r#"{{"a":{}{},"b":"web01"}}"#,
                "[".repeat(depth),
                "]".repeat(depth)
            );
            let (text, cut) = bound(json);
            assert!(cut && text.contains("web01"), "{text}");
            assert!(serde_json::from_str::<Value>(&text).is_ok());
        }
    }

    #[test]
    fn arguments_that_are_no_object_count_as_cut() {
        for json in ["null", "true", "7", "\"web01\"", "[]", r#"[{"name":"web01"}]"#] {
            assert_eq!(bound(json.into()), (json.into(), true), "{json}");
        }
        assert_eq!(bound("{}".into()), ("{}".into(), false));
    }

    #[test]
    fn what_parsers_read_differently_is_written_as_the_harness_reads_it() {
        for (json, text) in [
            (r#"{"name":"db01","name":"web01"}"#, r#"{"name":"web01"}"#),
            (r#"{"n":-0,"m":1.0,"k":1e2}"#, r#"{"k":100,"m":1,"n":0}"#),
        ] {
            assert_eq!(bound(json.into()), (text.into(), false), "{json}");
        }
        for plain in [
            "{\"__proto__\":{\"a\":1},\"b\":\"\u{2028}\\u0000\\ud83d\\ude00\"}",
            r#"{"n":[1,-1,0.5,1152921504606847000,18446744073709551615,1.5e300]}"#,
        ] {
            assert_eq!(bound(plain.into()), (plain.into(), false));
        }
    }
}
