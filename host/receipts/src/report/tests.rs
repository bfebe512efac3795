use proptest::prelude::*;

use super::*;
use crate::body::{Body, Deviation, DeviationKind, Event, Outcome};
use crate::bound::Results;
use crate::test_bodies;
use crate::{Arguments, Machine, Signature};

/// Text that is out to get out of whatever it is put into.
const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style><style>*{display:none}",
    "<!--",
    "\u{202e}gnp.exe\u{0}&lt;b&gt;",
];

fn receipt(seq: u64, body: Body) -> Receipt {
    let at = Moment::from_unix_millis(1_800_000_000_000 + seq * 1000);
    Receipt {
        seq,
        previous: holdpoint_artifact::Digest::of(b"previous"),
        issued_at: at,
        issuer: "holdpoint:test".into(),
        host: "0.1.0".into(),
        body,
        digest: holdpoint_artifact::Digest::of(&seq.to_be_bytes()),
        signature: Signature {
            kid: "key".into(),
            bytes: [0; 64],
        },
    }
}

/// A call of which every text is this one.
fn call(seq: u64, text: &str) -> CallRecord {
    let (mut decision, mut observation) = (
        test_bodies::decision("c", Verdict::Pass),
        test_bodies::observation("c", Outcome::Ran),
    );
    let mut checkpoint = test_bodies::checkpoint();
    for field in [&mut checkpoint.id, &mut checkpoint.vpg, &mut checkpoint.time] {
        text.clone_into(field);
    }
    checkpoint.tag = Some(text.into());
    if let Body::Decision(call, decided) = &mut decision {
        text.clone_into(&mut call.tool);
        call.harness = Some(text.into());
        call.session = Some(text.into());
        call.environment.cwd = Some(text.into());
        call.environment.agent_type = Some(text.into());
        call.id = Some(text.into());
        let arguments = serde_json::value::to_raw_value(text).unwrap();
        call.arguments = Arguments::of(text, &arguments, true);
        decided.fault = Some(text.into());
        decided.why = Some(text.into());
        decided.signer = Some(text.into());
        decided.troubles = vec![text.into()];
        decided.targets = vec![text.into()];
        decided.checkpoints = vec![checkpoint.clone()];
        decided.machines = vec![Machine {
            name: text.into(),
            vm: text.into(),
            vpg: text.into(),
            vpg_name: text.into(),
        }];
        if let Some(policy) = &mut decided.policy {
            text.clone_into(&mut policy.origin);
            policy.version = Some(text.into());
            policy.signer = Some(text.into());
        }
    }
    if let Body::Observation(_, observed) = &mut observation {
        let results = serde_json::value::to_raw_value(text).unwrap();
        observed.results = Some(Results::of(&results, true));
        observed.deviation = Some(Deviation {
            kinds: [DeviationKind::OtherArguments].into(),
            decided: None,
            checked: vec![text.into()],
            ran: vec![text.into()],
        });
    }
    CallRecord {
        decision: Some(receipt(seq, decision)),
        observations: vec![receipt(seq + 1, observation)],
    }
}

fn verified(text: &str) -> Report {
    let part = |outcome| Part {
        outcome,
        found: vec![text.into()],
        more: 1,
    };
    Report {
        receipts: 2,
        decisions: 1,
        observations: 1,
        first: Some(1),
        last: Some(2),
        last_issued_at: None,
        head: None,
        integrity: part(Checked::Pass),
        signer_trust: part(Checked::NotChecked),
        completeness: part(Checked::Fail),
        as_decided: part(Checked::Fail),
        notes: vec![text.into()],
    }
}

fn page(text: &str) -> String {
    let event = Event::LineSetAside {
        file: text.into(),
        digest: holdpoint_artifact::Digest::of(b"torn"),
        bytes: 1,
    };
    let calls = Calls {
        calls: vec![call(1, text)],
        events: vec![receipt(9, Body::Event(event))],
        unreadable: 1,
    };
    let page = Page {
        calls: &calls,
        narrowed: Some(text),
        verified: &verified(text),
        made: Moment::from_unix_millis(1_800_000_100_000),
    };
    page.to_html()
}

/// The page's tags with the names of their attributes: what a browser makes elements of.
fn skeleton(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        // Values are quoted and hold no quotes, so every second piece is one.
        tags.push(tag.split('"').step_by(2).collect::<Vec<_>>().join("\"\""));
        rest = match tag {
            "style" | "script" => &after[after.find("</").expect("it ends")..],
            _ => after,
        };
    }
    tags
}

#[test]
fn hostile_text_makes_no_elements() {
    let plain = skeleton(&page("x"));
    assert!(plain.len() > 100, "{plain:?}");
    for text in HOSTILE {
        assert_eq!(skeleton(&page(text)), plain, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_elements(text in "[ -~\n\u{80}-\u{2fff}]{0,40}", at in 0..HOSTILE.len()) {
        let text = format!("x{text}{}", HOSTILE[at]);
        prop_assert_eq!(skeleton(&page(&text)), skeleton(&page("x")));
    }
}

#[test]
fn a_page_asks_for_nothing_and_lets_nothing_be_asked_for() {
    let html = page("x");
    let policy = html.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap().replace("&#39;", "'");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    for (text, tag) in [(STYLE, "style"), (SCRIPT, "script")] {
        let hash = BASE64_STANDARD.encode(Sha256::digest(text));
        assert!(policy.contains(&hash), "{tag}");
        assert!(html.contains(&format!("<{tag}>{text}</{tag}>")), "{tag}");
    }
    for word in [
        "http:", "https:", "src=", "href=", "@import", "url(", "fetch", "style=\"", " on",
    ] {
        let tags = skeleton(&html).join("\n") + STYLE + SCRIPT;
        assert!(!tags.contains(word), "{word}");
    }
}

/// The page of these calls alone.
fn html_of(calls: Vec<CallRecord>) -> String {
    let calls = Calls {
        calls,
        events: Vec::new(),
        unreadable: 0,
    };
    let page = Page {
        calls: &calls,
        narrowed: None,
        verified: &verified("fine"),
        made: Moment::from_unix_millis(1_800_000_100_000),
    };
    page.to_html()
}

#[test]
fn a_call_leads_to_its_checkpoint_and_the_way_back() {
    let decision = test_bodies::decision("c", Verdict::Pass);
    let record = CallRecord {
        decision: Some(receipt(1, decision)),
        observations: Vec::new(),
    };
    let html = html_of(vec![record]);
    let machine = "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1042";
    for wanted in [
        "Rewind to checkpoint <b class=\"mono\">4711</b> of WEB, 2027-01-31T12:00:00Z",
        &format!("POST /v1/vms/{machine}/Restore"),
        "restore files",
        "test a failover",
        "<option value=\"0\">web01</option>",
        "data-vms=\"0\"",
        "pending",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    assert!(!html.contains("Narrowed"));
}

#[test]
fn of_very_many_calls_the_newest_are_shown_and_that_is_told() {
    let record = |seq| CallRecord {
        decision: Some(receipt(seq, test_bodies::decision("c", Verdict::Deny))),
        observations: Vec::new(),
    };
    let html = html_of((1..=MOST_ENTRIES as u64 + 5).map(record).collect());
    assert_eq!(html.matches("<article").count(), MOST_ENTRIES);
    assert!(html.contains("5 older entries are not shown"));
    assert!(!html.contains("#5 sha256:") && html.contains("#6 sha256:"));
}
