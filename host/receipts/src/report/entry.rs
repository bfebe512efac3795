//! One entry of the timeline.

use super::html::Html;
use crate::body::{Body, Checkpoint, Event, Observation, Outcome};
use crate::calls::{CallRecord, Ending};
use crate::envelope::Receipt;

/// A call.
pub(super) fn of_call(html: &mut Html, call: &CallRecord, time: &str, names: &[String], numbers: &str) {
    let verdict = call.decided().map(|decided| decided.verdict.word());
    let deviation = call.deviation();
    html.markup("<article")
        .attribute(
            "class",
            if deviation.is_some() {
                "deny"
            } else {
                verdict.unwrap_or("seen")
            },
        )
        .attribute("data-verdict", verdict.unwrap_or_default())
        .attribute("data-vms", numbers)
        .markup("><div class=\"head\"><time>")
        .text(time)
        .markup("</time>");
    if let Some(deviation) = &deviation {
        badge(html, "deny", &deviation.words());
    }
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
    if let Some(deviation) = &deviation {
        html.markup("<p class=\"why\"><b>")
            .text(&deviation.machines())
            .markup("</b></p>");
    }
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
    for step in call.way_back() {
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
    for (name, value) in [
        ("harness", &it.harness),
        ("session", &it.session),
        ("call", &it.id),
    ] {
        if let Some(value) = value {
            fact(html, name, value);
        }
    }
    for (name, value) in it.environment.facts() {
        fact(html, name, value);
    }
    fact(html, "arguments", &it.arguments.digest.to_string());
    if let Some(other) = call.ran_arguments() {
        fact(html, "arguments that ran", &other.to_string());
    }
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
        if let Some(zvm) = &decided.zvm {
            fact(html, "ZVM", &zvm.url);
            if let Some(site) = &zvm.site {
                fact(html, "site", site);
            }
        }
        if let Some(fault) = &decided.fault {
            fact(html, "fault", fault);
        }
        if let Some(signer) = &decided.signer {
            fact(html, "remote signer", signer);
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

/// Something that happened to the log.
pub(super) fn of_event(html: &mut Html, receipt: &Receipt, time: &str) {
    let says = match &receipt.body {
        Body::Event(Event::KeyChanged { public_key }) => {
            format!("From here on the key {} signs.", public_key.id())
        }
        Body::Event(Event::LineSetAside { file, bytes, .. }) => {
            format!("An unfinished line of {bytes} bytes was set aside in {file}.")
        }
        Body::Event(Event::Archived { through, file, .. }) => {
            format!("The receipts up to #{through} were archived in {file}.")
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
