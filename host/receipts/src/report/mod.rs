//! Receipts as one page for people: when what was called, what was decided, and what to go back to.
//!
//! The page asks for nothing beyond itself, so it works from a file, and its content policy lets nothing be asked for.
//! It is a picture: what can be checked are the receipts.

mod html;

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use self::html::Html;
use crate::body::{Body, Checkpoint, Event, Observation, Outcome, Verdict};
use crate::calls::{CallRecord, Calls, Ending};
use crate::envelope::Receipt;
use crate::moment::Moment;
use crate::verify::{Checked, Part, Report};
use crate::way_back::way_back;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most entries on a page: more make it slow on a phone. The newest are shown.
pub const MOST_ENTRIES: usize = 2000;

/// What a page is made of.
#[derive(Debug)]
pub struct Page<'a> {
    /// The calls to show.
    pub calls: &'a Calls,
    /// What was narrowed down, in words; none where nothing was.
    pub narrowed: Option<&'a str>,
    /// What `verify` found.
    pub verified: &'a Report,
    /// When the page is made.
    pub made: Moment,
}

/// One entry of the timeline.
enum Entry<'a> {
    Call(&'a CallRecord),
    Event(&'a Receipt),
}

impl Entry<'_> {
    fn at(&self) -> (Moment, u64) {
        let receipt = match self {
            Self::Call(call) => call.receipt(),
            Self::Event(receipt) => receipt,
        };
        (receipt.issued_at, receipt.seq)
    }
}

impl Page<'_> {
    /// Makes the page.
    pub fn to_html(&self) -> String {
        let mut entries: Vec<_> = self.calls.calls.iter().map(Entry::Call).collect();
        entries.extend(self.calls.events.iter().map(Entry::Event));
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.at()));
        let left_out = entries.len().saturating_sub(MOST_ENTRIES);
        entries.truncate(MOST_ENTRIES);
        let machines = machines(&entries);

        let mut html = Html::default();
        head(&mut html);
        self.header(&mut html, &entries, left_out);
        filters(&mut html, &machines);
        html.markup("</header><main>");
        timeline(&mut html, &entries, &machines);
        html.markup(
            "</main><footer><p>Times are UTC. This page is a picture of the receipts and proves nothing by \
                     itself: what can be checked is the log, with <code>holdpoint receipts verify</code>.</p>\
                     </footer><script>",
        )
        .markup(SCRIPT)
        .markup("</script></body></html>\n");
        html.finish()
    }

    fn header(&self, html: &mut Html, entries: &[Entry<'_>], left_out: usize) {
        html.markup("<header><h1>Holdpoint receipts</h1><p class=\"quiet\">");
        if let (Some(last), Some(first)) = (entries.first(), entries.last()) {
            html.text(&in_minutes(first.at().0))
                .markup(" to ")
                .text(&in_minutes(last.at().0))
                .markup(" · ");
        }
        html.markup("made ").text(&in_minutes(self.made)).markup("</p>");
        if let Some(narrowed) = self.narrowed {
            html.markup("<p class=\"quiet\">Narrowed to ")
                .text(narrowed)
                .markup("</p>");
        }
        if left_out > 0 {
            let says =
                format!("{left_out} older entries are not shown; choose a time with --since and --until.");
            html.markup("<p>").text(&says).markup("</p>");
        }
        counts(html, entries);
        self.checks(html);
    }

    fn checks(&self, html: &mut Html) {
        let verified = self.verified;
        html.markup("<details class=\"checks\"");
        if verified.failed() || self.calls.unreadable > 0 {
            html.markup(" open");
        }
        html.markup("><summary>Verification:");
        let parts = [
            ("integrity", &verified.integrity),
            ("signer trust", &verified.signer_trust),
            ("completeness", &verified.completeness),
        ];
        for (name, part) in parts {
            let class = match part.outcome {
                Checked::Pass => "pass",
                Checked::Fail => "deny",
                Checked::NotChecked => "ask",
            };
            html.markup(" <span")
                .attribute("class", &format!("badge {class}"))
                .markup(">");
            html.text(name)
                .markup(" ")
                .text(part.outcome.words())
                .markup("</span>");
        }
        html.markup("</summary>");
        for (name, part) in parts {
            findings(html, name, part);
        }
        for note in &verified.notes {
            html.markup("<p class=\"quiet\">").text(note).markup("</p>");
        }
        if self.calls.unreadable > 0 {
            let says = format!(
                "{} lines of the log are no receipts and are not shown.",
                self.calls.unreadable
            );
            html.markup("<p>").text(&says).markup("</p>");
        }
        html.markup("</details>");
    }
}

fn head(html: &mut Html) {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    html.markup("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\"")
        .attribute("content", &policy)
        .markup(
            "><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"referrer\" content=\"no-referrer\"><meta name=\"color-scheme\" content=\"light dark\">\
             <title>Holdpoint receipts</title><style>",
        )
        .markup(STYLE)
        .markup("</style></head><body>");
}

fn counts(html: &mut Html, entries: &[Entry<'_>]) {
    let calls = || {
        entries.iter().filter_map(|entry| match entry {
            Entry::Call(call) => Some(*call),
            Entry::Event(_) => None,
        })
    };
    let verdicts = |verdict| {
        calls()
            .filter(|call| call.decided().is_some_and(|decided| decided.verdict == verdict))
            .count()
    };
    let counted = [
        ("calls", calls().count()),
        ("pass", verdicts(Verdict::Pass)),
        ("ask", verdicts(Verdict::Ask)),
        ("deny", verdicts(Verdict::Deny)),
        (
            "with a checkpoint",
            calls().filter(|call| !call.checkpoints().is_empty()).count(),
        ),
    ];
    html.markup("<ul class=\"counts\">");
    for (name, count) in counted {
        html.markup("<li><b>")
            .text(&count.to_string())
            .markup("</b>")
            .text(name)
            .markup("</li>");
    }
    html.markup("</ul>");
}

fn findings(html: &mut Html, name: &str, part: &Part) {
    html.markup("<p><b>").text(name).markup("</b></p><ul>");
    for finding in &part.found {
        html.markup("<li>").text(finding).markup("</li>");
    }
    if part.more > 0 {
        html.markup("<li>")
            .text(&format!("and {} more", part.more))
            .markup("</li>");
    }
    html.markup("</ul>");
}

/// The machines that calls name, each with a number: names are anybody's text, numbers are ours. A machine that Zerto
/// found goes by its own name, whatever a call named it by.
fn machines(entries: &[Entry<'_>]) -> BTreeMap<String, usize> {
    let calls = entries.iter().filter_map(|entry| match entry {
        Entry::Call(call) => Some(call),
        Entry::Event(_) => None,
    });
    let names: std::collections::BTreeSet<_> = calls.flat_map(|call| names(call)).collect();
    names.into_iter().zip(0..).collect()
}

fn names(call: &CallRecord) -> Vec<String> {
    let found = call.machines();
    match found.is_empty() {
        false => found.iter().map(|machine| machine.name.clone()).collect(),
        true => call
            .decided()
            .map(|decided| decided.targets.clone())
            .unwrap_or_default(),
    }
}

/// Hidden until the script shows them: without it they would do nothing.
fn filters(html: &mut Html, machines: &BTreeMap<String, usize>) {
    html.markup(
        "<div class=\"filters\" hidden><label>Machine<select id=\"vm\"><option value=\"\">all</option>",
    );
    for (name, number) in machines {
        html.markup("<option")
            .attribute("value", &number.to_string())
            .markup(">");
        html.text(name).markup("</option>");
    }
    html.markup("</select></label><label>Verdict<select id=\"verdict\"><option value=\"\">all</option>");
    for verdict in [Verdict::Pass, Verdict::Ask, Verdict::Deny] {
        html.markup("<option>").text(verdict.word()).markup("</option>");
    }
    html.markup("</select></label><p id=\"shown\" class=\"quiet\" role=\"status\"></p></div>");
}

fn timeline(html: &mut Html, entries: &[Entry<'_>], machines: &BTreeMap<String, usize>) {
    if entries.is_empty() {
        html.markup("<p>There are no receipts to show.</p>");
        return;
    }
    let decided: HashMap<_, _> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Call(call) => Some((call.receipt().seq, names(call))),
            Entry::Event(_) => None,
        })
        .collect();
    let mut today = String::new();
    for entry in entries {
        let (day, time) = day_and_time(entry.at().0);
        if day != today {
            if !today.is_empty() {
                html.markup("</section>");
            }
            html.markup("<section class=\"day\"><h2>")
                .text(&day)
                .markup("</h2>");
            today = day;
        }
        match entry {
            Entry::Call(call) => {
                let names = decided
                    .get(&call.receipt().seq)
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                let numbers = names
                    .iter()
                    .filter_map(|name| machines.get(name))
                    .map(usize::to_string);
                call_entry(html, call, &time, names, &numbers.collect::<Vec<_>>().join(" "));
            }
            Entry::Event(receipt) => event_entry(html, receipt, &time),
        }
    }
    html.markup("</section>");
}

fn call_entry(html: &mut Html, call: &CallRecord, time: &str, names: &[String], numbers: &str) {
    let verdict = call.decided().map(|decided| decided.verdict.word());
    html.markup("<article")
        .attribute("class", verdict.unwrap_or("seen"))
        .attribute("data-verdict", verdict.unwrap_or_default())
        .attribute("data-vms", numbers)
        .markup("><div class=\"head\"><time>")
        .text(time)
        .markup("</time>");
    badge(
        html,
        verdict.unwrap_or_default(),
        verdict.unwrap_or("no decision on record"),
    );
    html.markup("<h3 class=\"mono\">")
        .text(&call.call().tool)
        .markup("</h3>");
    if !names.is_empty() {
        html.markup("<span>on <b>")
            .text(&names.join(", "))
            .markup("</b></span>");
    }
    let ending = call.ending();
    let class = match ending {
        Ending::Seen(Outcome::Failed | Outcome::Interrupted) => "ask",
        Ending::Seen(Outcome::Ran) | Ending::Denied | Ending::Pending => "",
    };
    badge(html, class, ending.word());
    html.markup("</div>");
    if let Some(why) = call.decided().and_then(|decided| decided.why.as_deref()) {
        html.markup("<p class=\"why\">").text(why).markup("</p>");
    }
    rewind(html, call);
    details(html, call);
    html.markup("</article>");
}

fn badge(html: &mut Html, class: &'static str, words: &str) {
    html.markup("<span")
        .attribute("class", &format!("badge {class}"))
        .markup(">");
    html.text(words).markup("</span>");
}

/// The checkpoints of a change, and how to go back to them.
fn rewind(html: &mut Html, call: &CallRecord) {
    let checkpoints = call.checkpoints();
    if checkpoints.is_empty() {
        return;
    }
    html.markup("<div class=\"rewind\">");
    for checkpoint in checkpoints {
        html.markup("<p>Rewind to checkpoint <b class=\"mono\">")
            .text(&checkpoint.id)
            .markup("</b> of ");
        html.text(&group(call, checkpoint))
            .markup(", ")
            .text(&checkpoint.time);
        if let Some(tag) = &checkpoint.tag {
            html.markup(" <span class=\"quiet\">").text(tag).markup("</span>");
        }
        html.markup("</p>");
    }
    html.markup("<details><summary>How to go back</summary><ol class=\"steps\">");
    for step in way_back(checkpoints, call.machines()) {
        html.markup("<li><b>")
            .text(step.what)
            .markup("</b>: ")
            .text(&step.subject);
        html.markup("<br>").text(&step.by_hand).markup("<pre>");
        for (method, path, body) in &step.by_api {
            html.text(method).markup(" ").text(path);
            if !body.is_null() {
                html.markup(" ").text(&body.to_string());
            }
            html.markup("\n");
        }
        html.markup("</pre></li>");
    }
    html.markup("</ol></details></div>");
}

/// The VPG's name, where the decision knows it, else its identifier.
fn group(call: &CallRecord, checkpoint: &Checkpoint) -> String {
    let machine = call
        .machines()
        .iter()
        .find(|machine| machine.vpg == checkpoint.vpg);
    machine.map_or_else(|| checkpoint.vpg.clone(), |machine| machine.vpg_name.clone())
}

fn details(html: &mut Html, call: &CallRecord) {
    html.markup("<details><summary>Receipt</summary><dl>");
    let it = call.call();
    for receipt in call.decision.iter().chain(&call.observations) {
        let what = match &receipt.body {
            Body::Decision(..) => "decision",
            Body::Observation(..) | Body::Event(_) => "observation",
        };
        fact(
            html,
            what,
            &format!("#{} {} by {}", receipt.seq, receipt.digest, receipt.signature.kid),
        );
        if let Body::Observation(
            _,
            Observation {
                results: Some(results),
                ..
            },
        ) = &receipt.body
        {
            fact(html, "results", &results.digest.to_string());
        }
    }
    fact(html, "harness", &it.harness);
    for (name, value) in [("session", &it.session), ("call", &it.id)] {
        if let Some(value) = value {
            fact(html, name, value);
        }
    }
    fact(html, "arguments", &it.arguments.digest.to_string());
    if let Some(value) = &it.arguments.value {
        fact(html, "", &value.to_string());
    }
    if let Some(decided) = call.decided() {
        if let Some(policy) = &decided.policy {
            let version = policy.version.as_deref().unwrap_or("without a version");
            let signer = policy
                .signer
                .as_deref()
                .map(|signer| format!(", signed by {signer}"));
            let policy = format!(
                "{} {version} {}{}",
                policy.origin,
                policy.digest,
                signer.unwrap_or_default()
            );
            fact(html, "policy", &policy);
        }
        if let Some(fault) = &decided.fault {
            fact(html, "fault", fault);
        }
        for trouble in &decided.troubles {
            fact(html, "trouble", trouble);
        }
        if !decided.targets.is_empty() {
            fact(html, "asked for", &decided.targets.join(", "));
        }
    }
    html.markup("</dl></details>");
}

fn fact(html: &mut Html, name: &str, value: &str) {
    html.markup("<dt>")
        .text(name)
        .markup("</dt><dd>")
        .text(value)
        .markup("</dd>");
}

fn event_entry(html: &mut Html, receipt: &Receipt, time: &str) {
    let says = match &receipt.body {
        Body::Event(Event::KeyChanged { public_key }) => {
            format!("From here on the key {} signs.", public_key.id())
        }
        Body::Event(Event::LineSetAside { file, bytes, .. }) => {
            format!("An unfinished line of {bytes} bytes was set aside in {file}.")
        }
        _ => return,
    };
    html.markup("<article data-vms=\"\" data-verdict=\"\"><div class=\"head\"><time>")
        .text(time)
        .markup("</time>");
    badge(html, "", "log");
    html.markup("<span>")
        .text(&says)
        .markup("</span></div></article>");
}

fn day_and_time(at: Moment) -> (String, String) {
    let text = at.to_string();
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    (day.to_owned(), time.get(..8).unwrap_or(time).to_owned())
}

fn in_minutes(at: Moment) -> String {
    let (day, time) = day_and_time(at);
    format!("{day} {}", time.get(..5).unwrap_or(&time))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
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
            test_bodies::observation("c"),
        );
        let mut checkpoint = test_bodies::checkpoint();
        for field in [&mut checkpoint.id, &mut checkpoint.vpg, &mut checkpoint.time] {
            text.clone_into(field);
        }
        checkpoint.tag = Some(text.into());
        if let Body::Decision(call, decided) = &mut decision {
            for field in [&mut call.tool, &mut call.harness] {
                text.clone_into(field);
            }
            call.session = Some(text.into());
            call.id = Some(text.into());
            let arguments = serde_json::value::to_raw_value(text).unwrap();
            call.arguments = Arguments::of(text, &arguments, true);
            decided.fault = Some(text.into());
            decided.why = Some(text.into());
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

    #[test]
    fn a_call_leads_to_its_checkpoint_and_the_way_back() {
        let decision = test_bodies::decision("c", Verdict::Pass);
        let record = CallRecord {
            decision: Some(receipt(1, decision)),
            observations: Vec::new(),
        };
        let calls = Calls {
            calls: vec![record],
            events: Vec::new(),
            unreadable: 0,
        };
        let page = Page {
            calls: &calls,
            narrowed: None,
            verified: &verified("fine"),
            made: Moment::from_unix_millis(1_800_000_100_000),
        };
        let html = page.to_html();
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
        let calls = Calls {
            calls: (1..=MOST_ENTRIES as u64 + 5).map(record).collect(),
            events: Vec::new(),
            unreadable: 0,
        };
        let page = Page {
            calls: &calls,
            narrowed: None,
            verified: &verified("fine"),
            made: Moment::from_unix_millis(1_800_000_100_000),
        };
        let html = page.to_html();
        assert_eq!(html.matches("<article").count(), MOST_ENTRIES);
        assert!(html.contains("5 older entries are not shown"));
        assert!(!html.contains("#5 sha256:") && html.contains("#6 sha256:"));
    }
}
