//! Takes secrets out of a record before it is written.

use holdpoint_config as config;
use serde_json::Value;

use super::Recorded;
use crate::exchange::{Answer, Asked, Outcome, Trouble};

/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";
/// A shorter text is not looked for elsewhere in the record: it would be found by chance.
const SHORTEST: usize = 4;

/// What is redacted. `*` in a pattern stands for any run of characters.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Names of arguments, at any depth and whatever their case: their values go.
    pub names: Vec<String>,
    /// Words, between blanks, in any text of the arguments.
    pub words: Vec<String>,
}

impl Rules {
    /// What the configuration wants redacted.
    pub fn of(config: &config::Record) -> Self {
        Self {
            names: config.redacted_names(),
            words: config.redacted_words().to_vec(),
        }
    }

    /// Redacts a record: in its arguments by the rules, and elsewhere what was found there.
    pub fn apply(&self, record: &mut Recorded) {
        let Ok(mut arguments) = serde_json::from_str::<Value>(&record.call.arguments) else {
            // What cannot be looked through may hold anything.
            record.call.arguments = Value::from(REDACTED).to_string();
            record.redacted += 1;
            return;
        };
        let mut found = Found::default();
        self.take(&mut arguments, &mut found);
        if found.values == 0 {
            return;
        }
        record.redacted += found.values;
        found.everywhere(&mut arguments);
        record.call.arguments = arguments.to_string();
        found.in_record(record);
    }

    fn take(&self, value: &mut Value, found: &mut Found) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if self
                        .names
                        .iter()
                        .any(|rule| fits(&rule.to_lowercase(), &name.to_lowercase()))
                    {
                        found.secret(value);
                        *value = REDACTED.into();
                    } else {
                        self.take(value, found);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.take(item, found)),
            Value::String(text) => {
                let words = text.split_whitespace();
                let secret = |word: &&str| self.words.iter().any(|rule| fits(rule, word));
                let secrets: Vec<String> = words.filter(secret).map(str::to_owned).collect();
                for word in secrets {
                    *text = text.replace(&word, REDACTED);
                    found.values += 1;
                    found.keep(word);
                }
            }
            _ => {}
        }
    }
}

/// What was taken out.
#[derive(Default)]
struct Found {
    values: usize,
    texts: Vec<String>,
}

impl Found {
    fn keep(&mut self, text: String) {
        if text.len() >= SHORTEST && !self.texts.contains(&text) {
            self.texts.push(text);
            // Longer ones first, so that none is left over for being the end of another.
            self.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        }
    }

    fn secret(&mut self, value: &Value) {
        self.values += 1;
        self.texts_of(value);
    }

    fn texts_of(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.texts_of(value)),
            Value::Array(items) => items.iter().for_each(|item| self.texts_of(item)),
            Value::String(text) => self.keep(text.clone()),
            Value::Number(number) => self.keep(number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn everywhere(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.values_mut().for_each(|value| self.everywhere(value)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.everywhere(item)),
            Value::String(text) => self.in_text(text),
            _ => {}
        }
    }

    fn in_text(&self, text: &mut String) {
        for secret in &self.texts {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), REDACTED);
            }
        }
    }

    /// In a text that holds JSON, where a secret may be written with escapes.
    fn in_json(&self, text: &mut String) {
        if let Ok(mut value) = serde_json::from_str::<Value>(text) {
            let before = value.clone();
            self.everywhere(&mut value);
            if value != before {
                *text = value.to_string();
            }
        }
    }

    fn in_record(&self, record: &mut Recorded) {
        self.in_text(&mut record.verdict.text);
        self.in_text(&mut record.call.tool);
        self.in_json(&mut record.call.settings);
        self.in_json(&mut record.call.extras);
        record.lines.iter_mut().for_each(|line| self.in_text(line));
        for exchange in &mut record.exchanges {
            self.in_question(&mut exchange.asked);
            self.in_answer(&mut exchange.answer);
        }
    }

    fn in_question(&self, asked: &mut Asked) {
        match asked {
            Asked::FindVmsByName { name: text }
            | Asked::FindVmsByIdentifier { identifier: text }
            | Asked::Vpg { vpg: text }
            | Asked::Cadence { vpg: text } => self.in_text(text),
            Asked::Capture { vpgs, tag } => {
                vpgs.iter_mut().for_each(|vpg| self.in_text(vpg));
                self.in_text(tag);
            }
            Asked::Session | Asked::TimeLeft => {}
        }
    }

    fn in_answer(&self, answer: &mut Answer) {
        match answer {
            Answer::Rows(rows) => {
                for row in rows {
                    self.in_text(&mut row.vm_name);
                    self.in_text(&mut row.vm_identifier);
                    self.in_json(&mut row.extras);
                }
            }
            Answer::Captured(results) => {
                for result in results {
                    match &mut result.outcome {
                        Outcome::Seen(seen) => self.in_text(&mut seen.tag),
                        Outcome::Error(trouble) => self.in_trouble(trouble),
                    }
                }
            }
            Answer::Error(trouble) => self.in_trouble(trouble),
            Answer::Fault(text) => self.in_text(text),
            Answer::State(_) | Answer::Cadence(_) | Answer::Session(_) | Answer::TimeLeft(_) => {}
        }
    }

    fn in_trouble(&self, trouble: &mut Trouble) {
        match trouble {
            Trouble::NotFound => {}
            Trouble::Refused(text)
            | Trouble::Unauthorized(text)
            | Trouble::Unreachable(text)
            | Trouble::TimedOut(text)
            | Trouble::Malformed(text) => self.in_text(text),
        }
    }
}

/// Whether a text fits a pattern in which `*` stands for any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pattern_fits_as_a_whole() {
        for (pattern, text, wanted) in [
            ("password", "password", true),
            ("password", "passwords", false),
            ("*token*", "my_token", true),
            ("*token*", "token", true),
            ("*token*", "toke", false),
            ("AKIA*", "AKIA1", true),
            ("AKIA*", "xAKIA1", false),
            ("a*b*c", "a--b--c", true),
            ("a*b*c", "a--c", false),
            ("ab*b", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
        }
    }

    fn record(arguments: &Value) -> Recorded {
        serde_json::from_value(json!({
            "format": 1, "at": "", "host": "", "time_left_ms": 1, "answered": "deny",
            "policy": { "origin": "shipped", "digest": format!("sha256:{}", "0".repeat(64)) },
            "call": {
                "harness": "", "session_id": "", "call_id": "", "tool": "t", "arguments": arguments.to_string(),
                "arguments_cut": false, "nonce": "", "settings": "{}", "extras": "{\"a\":\"hunter2\\\"\"}",
            },
            "exchanges": [
                { "asked": { "call": "find-vms-by-name", "name": "hunter2\"" }, "answer": { "rows": [] } },
                { "asked": { "call": "session" }, "answer": { "fault": "no hunter2\"" } },
            ],
            "lines": ["hunter2\" it was"],
            "verdict": { "word": "deny", "text": "not with hunter2\"" },
        }))
        .unwrap()
    }

    fn rules() -> Rules {
        Rules {
            names: vec!["*PassWord*".into()],
            words: vec!["AKIA*".into()],
        }
    }

    #[test]
    fn a_secret_goes_wherever_it_stands() {
        let mut record = record(&json!({
            "vm": "web01",
            "deep": [{ "db_password": { "is": "hunter2\"" } }],
            "command": "login hunter2\" AKIA0123 now",
        }));
        rules().apply(&mut record);
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("AKIA0123"), "{text}");
        assert!(
            record.call.arguments.contains("web01") && record.call.arguments.contains(" now"),
            "{text}"
        );
        assert_eq!(record.redacted, 2);
    }

    #[test]
    fn what_holds_no_secret_is_kept_byte_by_byte() {
        let mut plain = record(&json!({}));
        plain.call.arguments = r#"{ "n": 1.0 }"#.into();
        rules().apply(&mut plain);
        assert_eq!(
            (plain.call.arguments.as_str(), plain.redacted),
            (r#"{ "n": 1.0 }"#, 0)
        );
        let mut broken = record(&json!({}));
        broken.call.arguments = "{".into();
        rules().apply(&mut broken);
        assert_eq!(broken.redacted, 1);
    }
}
