//! A record as a case file: what was asked then becomes what a host would answer, and the verdict what has to come out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use holdpoint_recording::Recorded;
use holdpoint_recording::exchange::{Answer, Asked, Captured, Exchange, Outcome, Row, Side, Trouble};
use serde_json::{Map, Value};

/// The text of a case file that says what the record says.
pub fn case(record: &Recorded) -> String {
    let call = &record.call;
    let mut text = format!(
        "# Recorded {} under {} {}.\n",
        plain(&record.at),
        plain(&record.policy.origin),
        record.policy.digest
    );
    if record.redacted > 0 {
        text.push_str("# Something in it was redacted.\n");
    }
    if record.cut {
        text.push_str("# The policy asked for more than was kept.\n");
    }
    let name = format!("{} {}", call.tool, call.call_id);
    line(&mut text, "name", &quoted(&name));
    line(&mut text, "nonce", &quoted(&call.nonce));
    if call.arguments_cut {
        text.push_str("arguments_cut = true\n");
    }
    line(&mut text, "time_left_ms", &whole(record.time_left_ms));
    let mut host = Host::default();
    record.exchanges.iter().for_each(|exchange| host.take(exchange));
    host.write_values(&mut text);
    event(&mut text, record);
    settings(&mut text, &call.settings);
    text.push_str(&host.tables);
    expect(&mut text, record);
    text
}

fn event(text: &mut String, record: &Recorded) {
    let call = &record.call;
    text.push_str("\n[event]\n");
    line(text, "tool_name", &quoted(&call.tool));
    line(text, "tool_input_json", &quoted(&call.arguments));
    line(text, "session_id", &quoted(&call.session_id));
    line(text, "tool_use_id", &quoted(&call.call_id));
    if let Some(mode) = &call.permission_mode {
        line(text, "permission_mode", &quoted(mode));
    }
    if let Some(server) = &call.server {
        let (name, source) = (quoted(&server.name), quoted(&server.source));
        line(
            text,
            "mcp_server",
            &format!("{{ name = {name}, source = {source} }}"),
        );
    }
    if let Ok(extras) = serde_json::from_str::<Map<String, Value>>(&call.extras) {
        for (key, value) in extras.iter().filter(|(_, value)| !value.is_null()) {
            line(text, &quoted(key), &toml(value));
        }
    }
}

fn settings(text: &mut String, settings: &str) {
    match serde_json::from_str::<Map<String, Value>>(settings) {
        Ok(settings) if !settings.is_empty() => {
            text.push_str("\n[settings]\n");
            for (key, value) in settings.iter().filter(|(_, value)| !value.is_null()) {
                line(text, &quoted(key), &toml(value));
            }
        }
        _ => {}
    }
}

fn expect(text: &mut String, record: &Recorded) {
    text.push_str("\n[expect]\n");
    line(text, "verdict", &quoted(&record.verdict.word));
    match &record.verdict.fault {
        Some(kind) => line(text, "fault", &quoted(kind)),
        None if record.verdict.text.is_empty() && record.verdict.word == "pass" => {
            text.push_str("silent = true\n");
        }
        None => line(text, "holds", &format!("[{}]", quoted(&record.verdict.text))),
    }
    if !record.cut {
        let told = record.exchanges.iter().map(|exchange| &exchange.asked);
        let calls: Vec<String> = told
            .filter(|asked| **asked != Asked::TimeLeft)
            .map(|asked| quoted(&asked.to_string()))
            .collect();
        line(text, "calls", &format!("[{}]", calls.join(", ")));
    }
}

/// The host's answers, gathered: what was told more than once stands once.
#[derive(Default)]
struct Host {
    written: BTreeSet<String>,
    unknown: Vec<String>,
    session: Option<String>,
    tables: String,
}

impl Host {
    fn take(&mut self, exchange: &Exchange) {
        match (&exchange.asked, &exchange.answer) {
            (Asked::FindVmsByName { name: of } | Asked::FindVmsByIdentifier { identifier: of }, answer) => {
                self.looked_up(exchange, of, answer);
            }
            (Asked::Capture { .. }, Answer::Captured(results)) => {
                results
                    .iter()
                    .for_each(|result| self.captured(result, exchange.ms));
            }
            (Asked::Vpg { .. }, Answer::State(state)) => {
                let mut table = "\n[[vpg]]\n".to_owned();
                line(&mut table, "name", &quoted(&state.vpg_name));
                line(&mut table, "identifier", &quoted(&state.vpg_identifier));
                line(&mut table, "status", &state.status.to_string());
                line(&mut table, "sub_status", &state.sub_status.to_string());
                line(&mut table, "description", &quoted(&state.description));
                self.table(table);
            }
            (Asked::Cadence { vpg }, Answer::Cadence(cadence)) => {
                let mut table = "\n[[vpg]]\n".to_owned();
                line(&mut table, "name", &quoted(vpg));
                line(&mut table, "identifier", &quoted(vpg));
                line(
                    &mut table,
                    "cadence_ms",
                    &cadence.map_or_else(|| "\"none\"".into(), whole),
                );
                self.table(table);
            }
            (Asked::Vpg { vpg } | Asked::Cadence { vpg }, Answer::Error(trouble)) => {
                self.fault(exchange, Some(vpg), Some(trouble));
            }
            (Asked::Session, Answer::Session(count)) => {
                self.session.get_or_insert_with(|| match count {
                    None => "\"none\"".into(),
                    Some(count) => format!("{{ failures = {}, level = {} }}", count.failures, count.level),
                });
            }
            (Asked::Session, Answer::Fault(cause)) => {
                let mut table = "\n[[fault]]\non = \"session\"\n".to_owned();
                line(&mut table, "text", &quoted(cause));
                self.table(table);
            }
            // The virtual clock tells the time; other pairs are no answers.
            _ => {}
        }
    }

    fn looked_up(&mut self, exchange: &Exchange, of: &str, answer: &Answer) {
        match answer {
            Answer::Rows(rows) => {
                if rows.is_empty() && !self.unknown.iter().any(|known| known == of) {
                    self.unknown.push(of.to_owned());
                }
                rows.iter().for_each(|row| self.table(vm(row)));
                if exchange.ms > 0 {
                    self.fault(exchange, Some(of), None);
                }
            }
            Answer::Error(trouble) => self.fault(exchange, Some(of), Some(trouble)),
            _ => {}
        }
    }

    fn captured(&mut self, captured: &Captured, ms: u64) {
        let mut table = "\n[[vpg]]\n".to_owned();
        line(&mut table, "name", &quoted(&captured.vpg));
        line(&mut table, "identifier", &quoted(&captured.vpg));
        match &captured.outcome {
            Outcome::Seen(seen) => line(
                &mut table,
                "checkpoint",
                &format!(
                    "{{ identifier = {}, time = {}, vpg_identifier = {} }}",
                    quoted(&seen.identifier),
                    quoted(&seen.time),
                    quoted(&seen.vpg_identifier)
                ),
            ),
            Outcome::Error(trouble) => error(&mut table, trouble),
        }
        line(&mut table, "delay_ms", &whole(ms));
        self.table(table);
    }

    fn fault(&mut self, exchange: &Exchange, of: Option<&str>, trouble: Option<&Trouble>) {
        let function = exchange.asked.to_string();
        let function = function.split('(').next().unwrap_or_default();
        let mut table = "\n[[fault]]\n".to_owned();
        line(&mut table, "on", &quoted(function));
        if let Some(of) = of {
            line(&mut table, "of", &quoted(of));
        }
        if let Some(trouble) = trouble {
            error(&mut table, trouble);
        }
        line(&mut table, "delay_ms", &whole(exchange.ms));
        self.table(table);
    }

    fn table(&mut self, table: String) {
        if self.written.insert(table.clone()) {
            self.tables.push_str(&table);
        }
    }

    /// What is no table of its own has to stand before the first one.
    fn write_values(&self, text: &mut String) {
        if !self.unknown.is_empty() {
            let unknown: Vec<String> = self.unknown.iter().map(|name| quoted(name)).collect();
            line(text, "unknown", &format!("[{}]", unknown.join(", ")));
        }
        if let Some(session) = &self.session {
            line(text, "session", session);
        }
    }
}

fn vm(row: &Row) -> String {
    let mut table = "\n[[vm]]\n".to_owned();
    line(&mut table, "name", &quoted(&row.vm_name));
    line(&mut table, "identifier", &quoted(&row.vm_identifier));
    line(&mut table, "vpg", &quoted(&row.vpg_name));
    line(&mut table, "vpg_identifier", &quoted(&row.vpg_identifier));
    line(&mut table, "status", &row.status.to_string());
    line(&mut table, "sub_status", &row.sub_status.to_string());
    line(&mut table, "exists", &row.vm_exists.to_string());
    let direction = match row.direction {
        Side::ProtectedHere => "protected-here",
        Side::RecoveredHere => "recovered-here",
        Side::Unknown => "unknown",
    };
    line(&mut table, "direction", &quoted(direction));
    if let Ok(extras) = serde_json::from_str::<Value>(&row.extras) {
        line(&mut table, "extras", &toml(&extras));
    }
    table
}

fn error(table: &mut String, trouble: &Trouble) {
    let (word, text) = match trouble {
        Trouble::NotFound => ("not-found", None),
        Trouble::Refused(text) => ("refused", Some(text)),
        Trouble::Unauthorized(text) => ("unauthorized", Some(text)),
        Trouble::Unreachable(text) => ("unreachable", Some(text)),
        Trouble::TimedOut(text) => ("timed-out", Some(text)),
        Trouble::Malformed(text) => ("malformed", Some(text)),
    };
    line(table, "error", &quoted(word));
    if let Some(text) = text {
        line(table, "text", &quoted(text));
    }
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {value}");
}

/// A value in TOML, in one line. What TOML has no word for (`null`) is left out.
fn toml(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.is_u64() && number.as_i64().is_none() => {
            format!("{:e}", number.as_f64().unwrap_or_default())
        }
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().filter(|item| !item.is_null()).map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{} = {}", quoted(key), toml(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

/// A number that TOML can hold.
fn whole(number: u64) -> String {
    number.min(i64::MAX as u64).to_string()
}

/// A text in TOML: as it stands where that can be, else with escapes.
fn quoted(text: &str) -> String {
    let is_plain =
        |letter: char| letter != '\'' && !letter.is_control() && !('\u{80}'..='\u{9f}').contains(&letter);
    if text.contains('"') && text.chars().all(is_plain) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A text for a comment.
fn plain(text: &str) -> String {
    holdpoint_common::safe_text::clean_line(text, 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn any_text_comes_back_from_toml() {
        for text in [
            "",
            "plain",
            "it's",
            "say \"so\"",
            "it's \"both\"",
            "back\\slash",
            "two\nlines",
            "\u{0}\u{1b}\u{7f}\u{85}",
            "'\\u0041'",
            "ä😀",
        ] {
            let table: toml::Table = format!("a = {}", quoted(text)).parse().unwrap();
            assert_eq!(table["a"].as_str(), Some(text));
        }
    }

    #[test]
    fn any_object_comes_back_from_toml_without_what_is_null() {
        let value = json!({
            "a b": [1, -2, 0.5, true, "x", [], {}], "n": null, "big": 1e300, "": { "deep": [{ "q\"": "'" }] },
        });
        let table: toml::Table = format!("a = {}", toml(&value)).parse().unwrap();
        let mut wanted = value;
        wanted.as_object_mut().unwrap().remove("n");
        assert_eq!(serde_json::to_value(&table["a"]).unwrap(), wanted);
    }
}
