//! Tags, foreign words and the length of what is said.

use holdpoint_guest::model::{Outcome, Verdict, ZertoError};
use holdpoint_guest::observe;
use holdpoint_guest::tag::{Parts, make};
use holdpoint_guest::text::{listed, shown, words};
use serde_json::{Value, json};

use crate::world::{Script, call, holds, row, site};

const PARTS: Parts<'_> = Parts {
    agent: "claude-code",
    session_id: "5569fb1c-2017-44e5",
    call_id: "toolu_00000001abcdefgh",
    nonce: "0badcafe",
    server: "esxi",
    tool: "powerOff",
    vm: "web01",
    more: 0,
};

#[test]
fn a_tag_says_who_what_and_where() {
    assert_eq!(
        make(&PARTS),
        "claude-code 5569fb1c-abcdefgh 0badcafe esxi/powerOff on web01"
    );
    let more = make(&Parts {
        more: 3,
        session_id: "",
        call_id: "c_0",
        ..PARTS
    });
    assert_eq!(more, "claude-code -c_0 0badcafe esxi/powerOff on web01 +3");
}

#[test]
fn a_tag_is_short_plain_and_keeps_its_nonce() {
    let long = "ü\u{202e}\n x".repeat(80);
    let tag = make(&Parts {
        agent: &long,
        session_id: &long,
        call_id: &long,
        nonce: "0badcafe",
        server: &long,
        tool: &long,
        vm: &long,
        more: 31,
    });
    assert!(tag.len() < 100, "{tag}");
    assert!(tag.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{tag}");
    holds(&tag, &[" 0badcafe ", " on ", " +31"]);
    assert!(
        make(&Parts {
            nonce: &long,
            server: &long,
            tool: &long,
            vm: &long,
            agent: &long,
            ..PARTS
        })
        .len()
            < 100
    );
}

#[test]
fn the_end_of_a_call_id_makes_a_tag_differ() {
    assert_ne!(
        make(&PARTS),
        make(&Parts {
            call_id: "toolu_00000001abcdefgi",
            ..PARTS
        })
    );
    assert_ne!(
        make(&PARTS),
        make(&Parts {
            nonce: "0badcaff",
            ..PARTS
        })
    );
}

#[test]
fn foreign_words_hide_and_reorder_nothing() {
    assert_eq!(
        shown("a\u{1b}[31m\r\n\u{202e}\u{200b}\u{feff}\"b"),
        "a\\u{1b}[31m\\u{d}\\u{a}\\u{202e}\\u{200b}\\u{feff}'b"
    );
    assert_eq!(shown("Straße 東京 web-01.corp"), "Straße 東京 web-01.corp");
    assert!(shown(&"x".repeat(1_000)).chars().count() <= 121);
    assert!(shown(&"\u{202e}".repeat(1_000)).chars().count() <= 121);
}

#[test]
fn zertos_own_words_keep_their_end() {
    let said = format!("{} check the role of the account", "x".repeat(265));
    let mut world = Script {
        lookup_error: Some(ZertoError::Refused(said.clone())),
        ..site()
    };
    let verdict = world.judge(&call("mcp__esxi__powerOff", json!({"name": "web01"})));
    assert!(
        matches!(&verdict, Verdict::Deny(reason) if reason.contains(&said)),
        "{verdict:?}"
    );
    assert!(words(&"\u{202e}".repeat(1_000)).chars().count() <= 301);
}

#[test]
fn lists_are_counted_after_the_sixth() {
    let words = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(listed(&words(0)), "none");
    assert_eq!(listed(&words(1)), "1");
    assert_eq!(listed(&words(3)), "1, 2 and 3");
    assert_eq!(listed(&words(6)), "1, 2, 3, 4, 5 and 6");
    assert_eq!(listed(&words(9)), "1, 2, 3, 4, 5, 6 and 3 more");
}

/// Whatever a text is made of, it has no characters that a terminal obeys and ends before 2,000.
#[track_caller]
fn is_fit(verdict: &Verdict) {
    let (Verdict::Pass(Some(text)) | Verdict::Ask(text) | Verdict::Deny(text)) = verdict else {
        panic!("nothing said");
    };
    assert!(text.chars().count() < 2_000, "{}", text.len());
    assert!(
        !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
        "{text:?}"
    );
}

#[test]
fn nothing_foreign_gets_through_and_nothing_grows_too_long() {
    let nasty = format!("\u{1b}0;x\u{7}\u{202e}\n{}", "y".repeat(5_000));
    let names: Vec<String> = (0..32).map(|n| format!("{n}{}", &nasty[..200])).collect();
    let rows: Vec<_> = names
        .iter()
        .zip(1..)
        .map(|(name, n)| row(name, n, &format!("V{n}{nasty}")))
        .collect();
    let many = call("mcp__mcp-ssh__uploadFile", json!({"hostAlias": names}));

    let mut world = Script {
        rows: rows.clone(),
        ..Script::default()
    };
    let passed = world.judge(&many);
    is_fit(&passed);
    let Verdict::Pass(Some(note)) = passed else {
        panic!("{passed:?}")
    };
    holds(&note, &["choose the checkpoint by its tag"]);

    let refused = |row: &holdpoint_guest::model::VmRow| {
        (row.vpg_identifier.clone(), ZertoError::Refused(nasty.clone()))
    };
    let mut world = Script {
        rows: rows.clone(),
        failing: rows.iter().map(refused).collect(),
        ..Script::default()
    };
    let denied = world.judge(&many);
    is_fit(&denied);
    assert!(
        matches!(&denied, Verdict::Deny(reason) if reason.contains("Tell the user.")),
        "{denied:?}"
    );
    let mut world = Script {
        lookup_error: Some(ZertoError::Unreachable(nasty.clone())),
        ..Script::default()
    };
    is_fit(&world.judge(&many));
    is_fit(&Script::default().judge(&many));
    is_fit(&site().judge(&call(
        &format!("mcp__{}__{}", &nasty[..100], &nasty[..100]),
        json!({}),
    )));
    let mut broken = call("Bash", json!({}));
    broken.settings = json!({ nasty: 1 }).to_string();
    is_fit(&site().judge(&broken));
}

#[test]
fn what_has_happened_is_told_in_facts_only() {
    let facts = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    assert_eq!(
        facts(observe::after(Outcome::Failed)),
        json!({"outcome": "failed"})
    );
    assert_eq!(
        facts(observe::after(Outcome::Succeeded)),
        json!({"outcome": "succeeded"})
    );
    assert_eq!(
        facts(observe::after(Outcome::Interrupted)),
        json!({"outcome": "interrupted"})
    );
    assert_eq!(
        facts(observe::session("end", "\"x")),
        json!({"kind": "end", "reason": "\"x"})
    );
}
