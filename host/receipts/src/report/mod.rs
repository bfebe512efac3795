//! Receipts as one page for people: when what was called, what was decided, and what to go back to.
//!
//! The page asks for nothing beyond itself, so it works from a file, and its content policy lets nothing be asked for.
//! It is a picture: what can be checked are the receipts.

mod entry;
mod html;

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use self::html::Html;
use crate::body::Verdict;
use crate::calls::{CallRecord, Calls};
use crate::envelope::Receipt;
use crate::moment::Moment;
use crate::verify::{Checked, Part, Report};

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
            let (first, last) = (in_minutes(first.at().0), in_minutes(last.at().0));
            html.text(&first);
            if first != last {
                html.markup(" to ").text(&last);
            }
            html.markup(" · ");
        }
        html.markup("made ").text(&in_minutes(self.made)).markup("</p>");
        if let Some(narrowed) = self.narrowed {
            html.markup("<p class=\"quiet\">Shown: ")
                .text(narrowed)
                .markup("</p>");
        }
        if left_out > 0 {
            let says =
                format!("{left_out} older entries are not shown; choose a time with --since and --until.");
            html.markup("<p>").text(&says).markup("</p>");
        }
        let otherwise = self
            .calls
            .calls
            .iter()
            .filter(|call| call.deviation().is_some())
            .count();
        if otherwise > 0 {
            let says = format!("{otherwise} calls did not run as they were decided.");
            html.markup("<p><b>").text(&says).markup("</b></p>");
        }
        counts(html, entries);
        self.checks(html);
    }

    fn checks(&self, html: &mut Html) {
        let verified = self.verified;
        html.markup("<details class=\"checks\"");
        if verified.failed() || verified.deviated() || self.calls.unreadable > 0 {
            html.markup(" open");
        }
        html.markup("><summary>Verification:");
        let parts = [
            ("integrity", &verified.integrity),
            ("signer trust", &verified.signer_trust),
            ("completeness", &verified.completeness),
            ("as decided", &verified.as_decided),
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
                entry::of_call(html, call, &time, names, &numbers.collect::<Vec<_>>().join(" "));
            }
            Entry::Event(receipt) => entry::of_event(html, receipt, &time),
        }
    }
    html.markup("</section>");
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
mod tests;
