//! JSON as the harness reads it, with the right values as they are without JavaScript. `node.rs` asks JavaScript itself.

use holdpoint_setup::json::{Limits, Wrong, decode, decode_utf8, line_and_column, parse};
use serde_json::{Value, json};

/// How deep values are nested that are kept.
const DEEPEST: usize = 100;

fn file(text: &str) -> Option<Value> {
    parse(text, Limits::FILE).ok().map(|parsed| parsed.value)
}

#[test]
fn what_json_parse_takes_is_read() {
    for (text, value) in [
        (" \t\r\n7 ", json!(7)),
        ("-0", json!(0)),
        ("1.0", json!(1)),
        ("1e2", json!(100)),
        ("1e-2", json!(0.01)),
        ("1152921504606847000", json!(1_152_921_504_606_847_000_i64)),
        ("1e999", json!(f64::MAX)),
        ("-1e999", json!(-f64::MAX)),
        (
            r#""\ud83d\ude00\ud83dx\ude00\u0041\/\u0000""#,
            json!("😀\u{fffd}x\u{fffd}A/\0"),
        ),
        (
            r#""\ud83d\ud83d\ude00\ud83d\n\ud83d""#,
            json!("\u{fffd}😀\u{fffd}\n\u{fffd}"),
        ),
        ("\"\u{2028}\u{7f}\"", json!("\u{2028}\u{7f}")),
        (
            r#"{"a":1,"b":[],"a":{"__proto__":null}}"#,
            json!({"a": {"__proto__": null}, "b": []}),
        ),
        (
            r#"[true,false,null,[],{},""]"#,
            json!([true, false, null, [], {}, ""]),
        ),
    ] {
        assert_eq!(file(text), Some(value), "{text}");
    }
}

#[test]
fn what_json_parse_refuses_is_refused_where_it_is_wrong() {
    for (text, at) in [
        ("", 0),
        ("\u{feff}1", 0),
        ("\u{a0}1", 0),
        ("01", 1),
        ("1.", 2),
        (".5", 0),
        ("+1", 0),
        ("-", 1),
        ("1e", 2),
        ("NaN", 0),
        ("nul", 0),
        ("'a'", 0),
        ("\"a\tb\"", 2),
        (r#""\x""#, 2),
        (r#""\u12g4""#, 2),
        ("\"", 1),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("[1}", 2),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("{\"a\" 1}", 5),
        ("{\"a\"}", 4),
        ("[", 1),
        ("1 2", 2),
        ("1\0", 1),
        ("/**/1", 0),
    ] {
        assert_eq!(parse(text, Limits::FILE), Err(Wrong::Syntax(at)), "{text:?}");
    }
    assert_eq!(line_and_column("{\n \"a\" 1}", 7), (2, 6));
}

#[test]
fn any_depth_is_read_and_what_is_too_deep_is_null() {
    for open in ["[", "{\"a\":"] {
        let close = if open == "[" { "]" } else { "}" };
        let text = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let parsed = parse(&text(DEEPEST), Limits::FILE).unwrap();
        assert!(!parsed.cut && parsed.is_plain && parsed.depth == DEEPEST);
        let parsed = parse(&text(1_000_000), Limits::FILE).unwrap();
        assert!(parsed.cut && parsed.depth == 1_000_000);
        assert!(serde_json::from_str::<Value>(&parsed.value.to_string()).is_ok());
        assert!(parse(&open.repeat(1_000_000), Limits::FILE).is_err());
    }
}

#[test]
fn a_file_is_decoded_as_the_client_decodes_it() {
    let le = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    assert_eq!(
        decode(&[b"\xff\xfe".to_vec(), le("{\"ä\":\"😀\"}")].concat()),
        "{\"ä\":\"😀\"}"
    );
    assert_eq!(decode(b"\xff\xfe\x3d\xd8a\0\x3d"), "\u{fffd}a");
    assert_eq!(decode(b"\xef\xbb\xbf{}"), "{}");
    assert_eq!(decode(b"{\"\xff\"}"), "{\"\u{fffd}\"}");
    // Big-endian, and without a mark, the client makes nothing of it.
    assert!(parse(&decode(b"\xfe\xff\0{\0}"), Limits::FILE).is_err());
    assert!(parse(&decode(&le("{}")), Limits::FILE).is_err());
    assert_eq!(decode_utf8(b"\xff\xfe{"), "\u{fffd}\u{fffd}{");
}

#[test]
fn limits_leave_values_out_and_never_names() {
    let limits = Limits {
        values: 5,
        string: 3,
        strings: 6,
        lossy: false,
    };
    let read = |text: &str| parse(text, limits).map(|parsed| (parsed.value, parsed.cut));
    assert_eq!(read(r#"{"a":"bcd"}"#), Ok((json!({"a": "bcd"}), false)));
    assert_eq!(read(r#"{"a":"bcde"}"#), Ok((json!({"a": null}), true)));
    assert_eq!(read(r#"{"a":"\ud800"}"#), Ok((json!({"a": null}), true)));
    assert_eq!(
        read(r#"["abc","def","g"]"#),
        Ok((json!(["abc", "def", null]), true))
    );
    assert_eq!(read(r#"{"abcd":1}"#), Err(Wrong::TooMuch));
    assert_eq!(read(r#"{"\ud800":1}"#), Err(Wrong::TooMuch));
    assert_eq!(read("[1,2,3,4,5]"), Err(Wrong::TooMuch));
}
