//! The calls that the harness made, by what it writes down itself: one JSON object a line, in a file for each session and
//! for each of its subagents. Only this tells a hook that is never started from one that has had nothing to do.
//!
//! Nothing in these files is trusted: the agent can write them, and so can whatever it runs.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use holdpoint_artifact::UtcTime;
use holdpoint_common::read;
use holdpoint_common::safe_text::clean_line;
use serde::Deserialize;
use serde_json::value::RawValue;

/// How many transcripts are read, the newest first.
const MOST_FILES: usize = 200;
/// How many names are looked at to find them.
const MOST_NAMES: usize = 20_000;
/// How deep below a project's folder a subagent's transcript lies: `SESSION/subagents/…/agent-ID.jsonl`.
const DEEPEST: usize = 5;
/// How much of each is read, in bytes from its end.
const TAIL: u64 = 8 * 1024 * 1024;
/// How much of all of them is read, in bytes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The longest name that the decision log keeps, in characters: ids are compared as it has them.
const LONGEST_NAME: usize = 160;

/// A call that came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Its id, as the decision log has it.
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) at: UtcTime,
    pub(super) transcript: PathBuf,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Transcripts {
    /// Calls that the harness ran, each once, in no order.
    pub(super) calls: Vec<Call>,
    /// A transcript that could not be read, and why.
    pub(super) unreadable: Option<(PathBuf, String)>,
}

/// One line, as far as it matters. What does not matter may be whatever it likes, also what our parser would refuse.
#[derive(Deserialize)]
struct Line<'a> {
    timestamp: Option<String>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    tool_use_id: Option<String>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextPart {
    text: String,
}

/// Calls by id, and how each ended.
#[derive(Default)]
struct Seen {
    calls: HashMap<String, Call>,
    /// Whether a hook had to be started for it.
    ended: HashMap<String, bool>,
}

/// The calls of these tools since then. `project` is the folder that the hook is installed for, where it is for one only.
pub(super) fn since(since: UtcTime, project: Option<&Path>, is_wanted: impl Fn(&str) -> bool) -> Transcripts {
    let mut transcripts = Transcripts::default();
    let Some(harness) = super::harness_directory() else {
        return transcripts;
    };
    let mut seen = Seen::default();
    let mut left = MOST_BYTES;
    for path in newest(&harness.join("projects"), since, project) {
        match tail(&path, left.min(TAIL)) {
            Ok(bytes) => {
                left -= bytes.len() as u64;
                seen.add(&bytes, &path, &is_wanted);
            }
            Err(cause) => drop(
                transcripts
                    .unreadable
                    .get_or_insert_with(|| (path, cause.to_string())),
            ),
        }
        if left == 0 {
            break;
        }
    }
    let Seen { calls, ended } = seen;
    let counts = |call: &Call| call.at >= since && ended.get(&call.id) == Some(&true);
    transcripts.calls = calls.into_values().filter(counts).collect();
    transcripts
}

/// The transcripts that were written since then, the newest first.
fn newest(projects: &Path, since: UtcTime, project: Option<&Path>) -> Vec<PathBuf> {
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(since.unix());
    let mut files = Vec::new();
    let mut names = MOST_NAMES;
    let mut folders: Vec<(PathBuf, usize)> = match project {
        Some(project) => vec![(projects.join(folder_name(project)), 1)],
        None => vec![(projects.to_owned(), 0)],
    };
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            names = names.saturating_sub(1);
            if names == 0 {
                break;
            }
            // Not following links: what a link leads to is not the harness's.
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else {
                continue;
            };
            let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl");
            if metadata.is_dir() && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if metadata.is_file() && is_transcript {
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                if modified >= since {
                    files.push((modified, path));
                }
            }
        }
    }
    files.sort_by(|one, other| other.cmp(one));
    files.truncate(MOST_FILES);
    files.into_iter().map(|(_, path)| path).collect()
}

/// What the harness calls the folder of a project's transcripts.
fn folder_name(project: &Path) -> String {
    let name = project.to_string_lossy();
    let keep = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    name.chars().map(keep).collect()
}

/// The end of a file, from the beginning of a line on.
fn tail(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let (mut file, metadata) = read::open(path)?;
    let length = metadata.len();
    let begin = length.saturating_sub(most);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    if begin > 0 {
        let first = bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(bytes.len(), |at| at + 1);
        bytes.drain(..first);
    }
    Ok(bytes)
}

impl Seen {
    fn add(&mut self, bytes: &[u8], path: &Path, is_wanted: impl Fn(&str) -> bool) {
        for line in bytes.split(|&byte| byte == b'\n') {
            // Most lines are long and hold neither a call nor an end of one.
            if memchr::memmem::find(line, b"tool_use").is_some() {
                self.add_line(&String::from_utf8_lossy(line), path, &is_wanted);
            }
        }
    }

    fn add_line(&mut self, line: &str, path: &Path, is_wanted: impl Fn(&str) -> bool) -> Option<()> {
        let line: Line<'_> = serde_json::from_str(line).ok()?;
        let at: UtcTime = line.timestamp?.parse().ok()?;
        let parts: Vec<&RawValue> = serde_json::from_str(line.message?.content?.get()).ok()?;
        for part in parts {
            let Ok(part) = serde_json::from_str::<Part<'_>>(part.get()) else {
                continue;
            };
            match (part.kind.as_str(), part.id, part.name, part.tool_use_id) {
                ("tool_use", Some(id), Some(tool), _) if is_wanted(&tool) => {
                    let id = clean_line(&id, LONGEST_NAME);
                    // A session that was resumed or forked repeats what came before.
                    self.calls.entry(id.clone()).or_insert_with(|| Call {
                        id,
                        tool: clean_line(&tool, LONGEST_NAME),
                        at,
                        transcript: path.to_owned(),
                    });
                }
                ("tool_result", _, _, Some(id)) => {
                    let failed = part.is_error == Some(true);
                    let started = !(failed && part.content.is_some_and(|said| is_without_hook(said.get())));
                    self.ended.insert(clean_line(&id, LONGEST_NAME), started);
                }
                _ => {}
            }
        }
        Some(())
    }
}

/// Whether the harness itself refused the call before it would start a hook: there is no such tool, or its arguments do not
/// fit. Also where another hook has blocked it, or it was called off: nothing ran then.
fn is_without_hook(content: &str) -> bool {
    let said = match serde_json::from_str::<String>(content) {
        Ok(text) => text,
        Err(_) => match serde_json::from_str::<Vec<TextPart>>(content) {
            Ok(parts) if parts.len() == 1 => parts.into_iter().map(|part| part.text).collect(),
            _ => return false,
        },
    };
    [
        "<tool_use_error>Error: No such tool available: ",
        "<tool_use_error>InputValidationError: ",
        "<tool_use_error>Cancelled: ",
        "<tool_use_error>Sibling tool call errored",
        "PreToolUse:",
    ]
    .iter()
    .any(|beginning| said.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"type":"assistant","timestamp":"2026-11-30T01:02:03.456Z","message":{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"mcp__esxi__powerOff","input":{}}]}}"#;

    fn result(content: &str, is_error: bool) -> String {
        format!(
            r#"{{"type":"user","timestamp":"2026-11-30T01:02:04Z","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","is_error":{is_error},"content":{content}}}]}}}}"#
        )
    }

    /// The calls that count in a transcript of these lines.
    fn counted(lines: &[&str]) -> Vec<String> {
        let mut seen = Seen::default();
        seen.add(lines.join("\n").as_bytes(), Path::new("/t"), |tool: &str| {
            tool.starts_with("mcp__")
        });
        let ended = seen.ended;
        let counts = |call: &Call| ended.get(&call.id) == Some(&true);
        seen.calls
            .into_values()
            .filter(counts)
            .map(|call| call.tool)
            .collect()
    }

    #[test]
    fn a_call_counts_once_it_has_ended_and_only_where_a_hook_had_to_be_started() {
        let ran = result(r#""done""#, false);
        assert_eq!(counted(&[CALL, &ran]), ["mcp__esxi__powerOff"]);
        assert_eq!(counted(&[CALL, &ran, CALL, &ran]).len(), 1, "a fork repeats it");
        assert_eq!(counted(&[CALL]), [""; 0], "it is under way");
        for said in [
            r#""<tool_use_error>Error: No such tool available: mcp__esxi__powerOff</tool_use_error>""#,
            r#"[{"type":"text","text":"<tool_use_error>InputValidationError: x</tool_use_error>"}]"#,
            r#""PreToolUse:mcp__esxi__powerOff hook error: no""#,
        ] {
            assert_eq!(counted(&[CALL, &result(said, true)]), [""; 0], "{said}");
            // A server may say so, too, and has run then.
            assert_eq!(counted(&[CALL, &result(said, false)]).len(), 1, "{said}");
        }
        assert_eq!(counted(&[CALL, &result(r#""it failed""#, true)]).len(), 1);
    }

    #[test]
    fn a_call_is_told_from_talk_of_one() {
        let ran = result(r#""done""#, false);
        for other in [
            CALL.replace("mcp__esxi__powerOff", "Bash"),
            CALL.replace("\"tool_use\"", "\"text\""),
            CALL.replace("\"id\":\"t\"", "\"id\":7"),
            CALL.replace("2026-11-30", "yesterday"),
            r#"{"timestamp":"2026-11-30T01:02:03Z","message":{"content":"tool_use mcp__esxi__powerOff"}}"#
                .into(),
            "tool_use".into(),
        ] {
            assert_eq!(counted(&[&other, &ran]), [""; 0], "{other}");
        }
    }

    #[test]
    fn what_our_parser_would_refuse_in_arguments_and_results_hides_no_call() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for odd in [deep.as_str(), r#"{"a":"\ud83d"}"#, r#"{"a":1e999}"#] {
            let call = CALL.replace("\"input\":{}", &format!("\"input\":{odd}"));
            assert_eq!(counted(&[&call, &result(odd, false)]).len(), 1, "{odd}");
        }
    }
}
