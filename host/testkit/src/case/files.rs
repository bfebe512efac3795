//! Case files: found, read, and taken apart into cases.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use holdpoint_common::read::{self, limit};
use holdpoint_hook::harness::claude_code;
use holdpoint_hook::harness::stdin::LARGEST_EVENT;
use holdpoint_hook::question;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use thiserror::Error;
use toml::Table;

use super::format::{self, Event};
use super::script::Script;
use super::{Case, Question};

/// The lists that a case's own entries are put before.
const JOINED: [&str; 5] = ["vm", "vpg", "fault", "unknown", "catalogs"];

/// Why there are no cases to run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A file or a folder cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// A file is no TOML, or says what no case may say.
    #[error("{path}: {cause}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which case.
        cause: String,
    },
    /// A folder holds no case.
    #[error("{path} holds no case file (*.toml)")]
    Nothing {
        /// The folder.
        path: PathBuf,
    },
}

/// Reads the cases of a file, or of all files in a folder and below it.
///
/// # Errors
///
/// Where one of them cannot be read or used: a case that is not run is no case that passed.
pub fn read(path: &Path) -> Result<Vec<Case>, CaseError> {
    let unreadable = |cause| CaseError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return read_file(path, &stem(path));
    }
    let mut found = Vec::new();
    find(path, "", &mut found)?;
    if found.is_empty() {
        return Err(CaseError::Nothing {
            path: path.to_owned(),
        });
    }
    let cases: Vec<Vec<Case>> = found
        .iter()
        .map(|(path, name)| read_file(path, name))
        .collect::<Result<_, _>>()?;
    Ok(cases.into_iter().flatten().collect())
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Case files in a folder and below it, in order, each with its name from there.
fn find(folder: &Path, below: &str, found: &mut Vec<(PathBuf, String)>) -> Result<(), CaseError> {
    let unreadable = |cause| CaseError::Unreadable {
        path: folder.to_owned(),
        cause,
    };
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for path in entries {
        let name = format!("{below}{}", stem(&path));
        if path.is_dir() {
            find(&path, &format!("{name}/"), found)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push((path, name));
        }
    }
    Ok(())
}

fn read_file(path: &Path, name: &str) -> Result<Vec<Case>, CaseError> {
    let text = read::read_text(path, limit::CASE).map_err(|cause| CaseError::Unreadable {
        path: path.to_owned(),
        cause,
    })?;
    let invalid = |cause: String| CaseError::Invalid {
        path: path.to_owned(),
        cause,
    };
    let tables = apart(&text).map_err(invalid)?;
    let several = tables.len() > 1;
    let written = Written::of(&text);
    let mut cases: Vec<Case> = Vec::new();
    for (number, table) in tables.into_iter().enumerate() {
        let called = table.get("name").and_then(toml::Value::as_str).map(str::to_owned);
        let case = case(table, path, name, several)
            .map_err(|cause| invalid(written.blamed(number, called.as_deref(), &cause)))?;
        if cases.iter().any(|other| other.name == case.name) {
            return Err(invalid(format!("two cases are called '{}'", case.name)));
        }
        cases.push(case);
    }
    Ok(cases)
}

/// A case file's lines, to say where something stands: once the parts are joined, nothing of them knows it.
struct Written<'t> {
    lines: Vec<&'t str>,
    /// Where each case begins; none where the file is one.
    cases: Vec<usize>,
}

impl<'t> Written<'t> {
    fn of(text: &'t str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let begins = |(_, line): &(usize, &&str)| line.trim_start().starts_with("[[case]]");
        let cases = lines
            .iter()
            .enumerate()
            .filter(begins)
            .map(|(at, _)| at)
            .collect();
        Self { lines, cases }
    }

    /// What is wrong, with the case and the line. An unknown key that only the common part has is no case's fault.
    fn blamed(&self, number: usize, name: Option<&str>, cause: &str) -> String {
        let end = self.lines.len();
        let begin = self.cases.get(number).copied().unwrap_or(0);
        let own = begin..self.cases.get(number + 1).copied().unwrap_or(end);
        let common = 0..self.cases.first().copied().unwrap_or(0);
        let key = cause
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split_once('`'))
            .map(|(key, _)| key);
        let line_in = |mut lines: Range<usize>| {
            let key = key?;
            lines.find(|&at| has_key(self.lines[at], key)).map(|at| at + 1)
        };
        let in_own = line_in(own);
        if in_own.is_none()
            && let Some(line) = line_in(common)
        {
            return format!("line {line}, which counts for every case: {cause}");
        }
        let called = name.map(|name| format!(" '{name}'")).unwrap_or_default();
        format!(
            "case {}{called}, line {}: {cause}",
            number + 1,
            in_own.unwrap_or(begin + 1)
        )
    }
}

/// Whether a line of TOML has this key, as far as can be seen without reading it: the word, before a `=`, a `.` or a `]`.
fn has_key(line: &str, key: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    line.match_indices(key).any(|(at, _)| {
        let after = line[at + key.len()..]
            .trim_start_matches(['"', '\''])
            .trim_start();
        !line[..at].ends_with(is_word) && after.starts_with(['=', '.', ']'])
    })
}

/// A file's cases, each with the common part joined to it.
fn apart(text: &str) -> Result<Vec<Table>, String> {
    let mut common: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let Some(cases) = common.remove("case") else {
        return Ok(vec![common]);
    };
    let toml::Value::Array(cases) = cases else {
        return Err("'case' has to be a list: [[case]]".into());
    };
    if common.contains_key("name") {
        return Err("where there are several cases, each has its own name".into());
    }
    let joined = |case| match case {
        toml::Value::Table(case) => Ok(join(common.clone(), case, "")),
        _ => Err("'case' has to be a list of tables: [[case]]".to_owned()),
    };
    cases.into_iter().map(joined).collect()
}

/// What the case says wins; tables are joined key by key, lists one after the other.
fn join(mut common: Table, case: Table, below: &str) -> Table {
    for (key, own) in case {
        let joined = match (common.remove(&key), own) {
            (Some(toml::Value::Table(common)), toml::Value::Table(own)) => {
                toml::Value::Table(join(common, own, &key))
            }
            (Some(toml::Value::Array(common)), toml::Value::Array(mut own))
                if below.is_empty() && JOINED.contains(&key.as_str()) =>
            {
                own.extend(common);
                toml::Value::Array(own)
            }
            (_, own) => own,
        };
        common.insert(key, joined);
    }
    common
}

fn case(table: Table, path: &Path, file: &str, several: bool) -> Result<Case, String> {
    let written = format::Case::deserialize(table).map_err(|error| error.message().to_owned())?;
    let expect = &written.expect;
    if expect.verdict.is_none() && expect.fault.is_none() && !expect.golden {
        return Err("expect has to say a verdict, a fault, or golden = true".into());
    }
    if several && written.name.is_empty() {
        return Err("it has no name".into());
    }
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    Ok(Case {
        name: match written.name.as_str() {
            "" => file.to_owned(),
            name => format!("{file}/{name}"),
        },
        file: path.to_owned(),
        question: question(&written, folder)?,
        script: Script::new(&written),
        time_left_ms: written.time_left_ms.unwrap_or(300_000),
        expect: written.expect,
    })
}

/// What the policy is asked, made by the hook's own code.
fn question(case: &format::Case, folder: &Path) -> Result<Question, String> {
    let bytes = match &case.event {
        Event::Captured(path) => {
            let path = folder.join(path);
            read::read(&path, LARGEST_EVENT as u64).map_err(|error| format!("{}: {error}", path.display()))?
        }
        Event::Written(fields) => wire(fields.clone())?,
    };
    let call = match claude_code::read(&bytes) {
        Ok(holdpoint_hook::event::Event::Before(call)) => call,
        Ok(_) => return Err("no policy is asked about this event, only before a call (PreToolUse)".into()),
        Err(fault) => return Err(fault.cause),
    };
    let mut settings = case.settings.clone();
    if !case.catalogs.is_empty() {
        let catalogs: Vec<Value> = case
            .catalogs
            .iter()
            .map(|path| catalog(&folder.join(path)))
            .collect::<Result<_, _>>()?;
        settings.insert("catalogs".into(), catalogs.into());
    }
    let nonce = case.nonce.clone().unwrap_or_else(|| "0badcafe".into());
    let mut question = question::question(&call, Value::from(settings).to_string(), nonce);
    question.arguments_cut |= case.arguments_cut.unwrap_or(false);
    Ok(question)
}

/// The bytes that the harness would have sent.
fn wire(mut fields: Map<String, Value>) -> Result<Vec<u8>, String> {
    for (key, value) in [
        ("hook_event_name", "PreToolUse"),
        ("session_id", "5569fb1c-2017-44e5-9105-c1592c0afb51"),
        ("tool_use_id", "toolu_00000001abcdefgh"),
    ] {
        fields.entry(key).or_insert_with(|| value.into());
    }
    let arguments = match fields.remove("tool_input_json") {
        None => fields
            .remove("tool_input")
            .unwrap_or_else(|| json!({}))
            .to_string(),
        Some(Value::String(text)) if fields.get("tool_input").is_none() => {
            let checked: Result<&serde_json::value::RawValue, _> = serde_json::from_str(&text);
            checked.map_err(|error| format!("tool_input_json is no JSON ({error})"))?;
            text
        }
        Some(_) => return Err("tool_input_json is a text, and there is no tool_input beside it".into()),
    };
    // The arguments as they are written: a number that is parsed and printed may be another text.
    let mut event = Value::from(fields).to_string();
    event.truncate(event.len() - 1);
    Ok(format!("{event},\"tool_input\":{arguments}}}").into_bytes())
}

fn catalog(path: &Path) -> Result<Value, String> {
    let about = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = read::read_text(path, limit::CATALOG).map_err(|error| about(&error))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| about(&error))?;
    serde_json::to_value(table).map_err(|error| about(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_outside_counts_for_every_case_and_the_cases_own_comes_first() {
        let cases = apart(
            "vm = [{ name = 'a' }]\nexpect = { verdict = 'deny', calls = ['x'] }\n\
             [[case]]\nname = 'one'\nvm = [{ name = 'b' }]\nexpect = { verdict = 'ask', calls = [] }\n\
             [[case]]\nname = 'two'",
        )
        .unwrap();
        let wanted: [Table; 2] = [
            "name = 'one'\nvm = [{ name = 'b' }, { name = 'a' }]\nexpect = { verdict = 'ask', calls = [] }",
            "name = 'two'\nvm = [{ name = 'a' }]\nexpect = { verdict = 'deny', calls = ['x'] }",
        ]
        .map(|text| text.parse().unwrap());
        assert_eq!(cases, wanted);
    }

    fn one(text: &str) -> Result<Case, String> {
        let table = apart(text)?.remove(0);
        case(table, Path::new("folder/file.toml"), "file", false)
    }

    #[test]
    fn an_event_is_what_the_harness_would_send() {
        let text = "expect.verdict = 'ask'\n[event]\ntool_name = 'x'\ntool_input_json = '{\"a\": 1.0, \"b\": null}'\n\
                    agent_type = 'reviewer'\nmcp_server = { name = 's', source = 'user' }";
        let Question {
            arguments,
            extras,
            server,
            session_id,
            nonce,
            ..
        } = one(text).unwrap().question;
        assert_eq!(arguments, r#"{"a":1,"b":null}"#);
        assert!(extras.contains("reviewer"), "{extras}");
        assert_eq!(server.unwrap().name, "s");
        assert!(!session_id.is_empty() && nonce == "0badcafe");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_case_and_its_line() {
        let wrong = |text| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("site.toml");
            fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        let case = "[[case]]\nname = 'one'\nevent.tool_name = 'x'\nexpect.verdict = 'ask'\n";
        for (text, words) in [
            (
                format!("{case}[[case]]\nname = 'two'\nevent.tool_name = 'x'\nexpcet.verdict = 'ask'\n"),
                "case 2 'two', line 8: unknown field `expcet`",
            ),
            (
                format!("setings.unknown_tool = 'deny'\n{case}"),
                "line 1, which counts for every case: unknown field `setings`",
            ),
            (
                format!("{case}[[case]]\nname = 'two'\nevent.tool_name = 'x'\n"),
                "case 2 'two', line 5: missing field `expect`",
            ),
        ] {
            let told = wrong(text);
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_no_case_may_say_is_told() {
        for (text, words) in [
            ("event.tool_name = 'x'", "missing field `expect`"),
            ("event.tool_name = 'x'\nexpect.holds = ['a']", "verdict"),
            ("event.tool_name = 'x'\nexpect.verdcit = 'ask'", "verdcit"),
            ("event.tool_name = 'x'\nexpect.verdict = 'allow'", "allow"),
            ("event = {}\nexpect.verdict = 'ask'", "tool_name"),
            ("event = 'nowhere.json'\nexpect.verdict = 'ask'", "nowhere.json"),
            (
                "event.hook_event_name = 'Stop'\nexpect.verdict = 'ask'",
                "no policy is asked",
            ),
            (
                "event = { tool_name = 'x', tool_input_json = '{' }\nexpect.verdict = 'ask'",
                "no JSON",
            ),
            ("case = 1", "[[case]]"),
            ("name = 'x'\n[[case]]\nname = 'y'", "its own name"),
        ] {
            let told = one(text).unwrap_err();
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
