//! When the harness last called an MCP server, by what it writes down itself. Only this tells a hook that is never started
//! from one that has had nothing to do.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use holdpoint_artifact::UtcTime;
use serde::Deserialize;

/// How many transcripts are looked at, the newest first.
const MOST: usize = 8;
/// How much of each, in bytes from its end.
const TAIL: u64 = 2 * 1024 * 1024;

/// What is read of a transcript's line.
#[derive(Deserialize)]
struct Line {
    timestamp: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<serde_json::Value>,
}

/// The last call of an MCP server in the newest transcripts, and where it stands.
pub(super) fn last_call() -> Option<(UtcTime, PathBuf)> {
    let mut files = newest(&super::harness_directory()?.join("projects"));
    files.truncate(MOST);
    let calls = files.into_iter().filter_map(|path| {
        let text = tail(&path)?;
        let last = text.lines().filter_map(called_at).max()?;
        Some((last, path))
    });
    calls.max_by_key(|(time, _)| *time)
}

fn newest(projects: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, PathBuf)> = entries(projects)
        .flat_map(|project| entries(&project.path()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| Some((fs::metadata(&path).and_then(|file| file.modified()).ok()?, path)))
        .collect();
    files.sort_by(|one, other| other.cmp(one));
    files.into_iter().map(|(_, path)| path).collect()
}

fn tail(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// When a line says that a tool of an MCP server was called.
fn called_at(line: &str) -> Option<UtcTime> {
    // Most lines are long and hold none.
    if !line.contains("mcp__") {
        return None;
    }
    let line: Line = serde_json::from_str(line).ok()?;
    let content = line.message?.content?;
    let called = content.as_array()?.iter().any(|part| {
        let name = part["name"].as_str().unwrap_or_default();
        part["type"] == "tool_use" && name.starts_with("mcp__")
    });
    line.timestamp.filter(|_| called)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_from_talk_of_one() {
        let call = r#"{"type":"assistant","timestamp":"2026-11-30T01:02:03.456Z","message":{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"mcp__esxi__powerOff","input":{}}]}}"#;
        assert_eq!(called_at(call), Some("2026-11-30T01:02:03Z".parse().unwrap()));
        for other in [
            call.replace("mcp__esxi__powerOff", "Bash"),
            call.replace("\"tool_use\"", "\"text\""),
            r#"{"timestamp":"2026-11-30T01:02:03Z","message":{"content":"mcp__esxi__powerOff"}}"#.into(),
            "mcp__esxi__powerOff".into(),
        ] {
            assert_eq!(called_at(&other), None, "{other}");
        }
    }
}
