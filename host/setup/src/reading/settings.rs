//! One settings file: what the client takes from it, and what it drops without a word.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use thiserror::Error;

use super::places::Level;
use super::{Fires, matches, schema};
use crate::json::{self, Limits};
use crate::{Command, Event, Handler};

/// What a settings file says, as far as it concerns hooks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// `disableAllHooks`, where it is set.
    pub disable_all_hooks: Option<bool>,
    /// `allowManagedHooksOnly`, where it is set. Counts in managed settings only.
    pub managed_hooks_only: Option<bool>,
    /// Whether `strictPluginOnlyCustomization` takes hooks in. Counts in managed settings only.
    pub plugin_hooks_only: bool,
    /// Variables that the client sets for itself.
    pub environment: BTreeMap<String, String>,
    /// Plugins that are switched on or off, by `name@marketplace`: `enabledPlugins`.
    pub plugins: BTreeMap<String, bool>,
    /// The handlers under our events, in the file's order.
    pub entries: Vec<Entry>,
    /// The handlers under other events.
    pub others: Vec<Other>,
    /// What the client does not take.
    pub problems: Vec<Problem>,
}

/// One handler under one of our events.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The event that it stands under.
    pub event: Event,
    /// The group's matcher.
    pub matcher: Option<String>,
    /// The group's position under the event, from 0.
    pub group: usize,
    /// The handler's position in its group, from 0.
    pub position: usize,
    /// What is done.
    pub handler: Handler,
}

impl Entry {
    /// Whether it runs for a tool of that name or, under `PreCompact` and `SessionStart`, for that trigger or source.
    pub fn fires(&self, name: &str) -> Fires {
        match (matches(self.matcher.as_deref(), name), &self.handler) {
            (
                Fires::Yes,
                Handler::Command(Command {
                    condition: Some(_), ..
                }),
            ) => Fires::Unknown,
            (fires, _) => fires,
        }
    }

    /// Where it stands in the file: `hooks.PreToolUse[0].hooks[1]`.
    pub fn at(&self) -> String {
        format!(
            "hooks.{}[{}].hooks[{}]",
            self.event.name(),
            self.group,
            self.position
        )
    }

    /// The program that it starts, where it is one of ours.
    pub fn ours(&self) -> Option<&Command> {
        match &self.handler {
            Handler::Command(command) if command.is_ours() => Some(command),
            _ => None,
        }
    }
}

/// One handler under an event that is none of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Other {
    /// The event's name.
    pub event: String,
    /// The group's matcher.
    pub matcher: Option<String>,
    /// Where it stands in the file.
    pub at: String,
    /// What is done.
    pub handler: Handler,
}

/// Something that the client does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `hooks.PreToolUse[0].hooks[1].timeout`.
    pub at: String,
    /// What is wrong with it: `has to be a number above 0`.
    pub says: String,
    /// How much goes with it.
    pub drops: Drops,
    /// The event of ours whose entry of ours goes with it.
    pub loses: Option<Event>,
}

/// How much of a file goes with a mistake. Claude Code 2.1.332 drops what is said here; clients up to 2.1.233, at least,
/// dropped the whole file for each of these mistakes in hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drops {
    /// The key alone.
    Key,
    /// The handler.
    Handler,
    /// The group of handlers.
    Group,
    /// Everything under the event.
    Event,
    /// All hooks of the file.
    Hooks,
    /// The file.
    File,
}

/// Why nothing of a file counts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Skipped {
    /// Nothing stands in it.
    #[error("it is empty")]
    Empty,
    /// It is no JSON. Comments and trailing commas are none, either.
    #[error("it is no JSON ({cause}); {hint}")]
    NoJson {
        /// Where and why the parser stopped.
        cause: String,
        /// What else may be the matter.
        hint: &'static str,
    },
    /// It is JSON, and no object.
    #[error("it is no JSON object")]
    NoObject,
    /// It is nested so deep that the client may or may not read it: seen to read 4,000 levels, and to hang at 8,000.
    #[error("it is nested {0} levels deep, and whether the client reads it is not known")]
    TooDeep(usize),
    /// A setting that has nothing to do with hooks has a value of the wrong kind.
    #[error("{at} {says}, and the client skips the whole file for that")]
    Setting {
        /// The setting.
        at: String,
        /// What is wrong with it.
        says: String,
    },
}

/// Reads a settings file's bytes.
///
/// # Errors
///
/// Where the client takes nothing from the file, and for what reason. It says so where a human may overlook it: on a
/// terminal as it starts; in `-p` on standard error, and clients up to 2.1.233, at least, nothing. For managed settings that
/// are no JSON object it does not start at all.
pub fn read(bytes: &[u8], level: Level) -> Result<Settings, Skipped> {
    let object = object(bytes)?;
    let mut problems = schema::problems(&object);
    if level.is_managed() {
        // There the client drops the setting, and keeps the rest in force. This one counts whatever it is, if not `false`.
        problems.retain(|problem| problem.at != "allowManagedHooksOnly");
        for problem in &mut problems {
            problem.drops = Drops::Key;
        }
    } else if let Some(problem) = problems.first() {
        return Err(Skipped::Setting {
            at: problem.at.clone(),
            says: problem.says.clone(),
        });
    }
    let mut settings = Settings {
        problems,
        ..Settings::default()
    };
    match object.get("disableAllHooks") {
        Some(Value::Bool(value)) => settings.disable_all_hooks = Some(*value),
        Some(_) if level.is_managed() => {
            settings.problem("disableAllHooks", "has to be true or false", Drops::Key);
        }
        Some(_) => {
            return Err(Skipped::Setting {
                at: "disableAllHooks".into(),
                says: "has to be true or false".into(),
            });
        }
        None => {}
    }
    // A managed value that is no boolean counted as true.
    settings.managed_hooks_only = object
        .get("allowManagedHooksOnly")
        .map(|value| value != &Value::Bool(false));
    settings.plugin_hooks_only = match object.get("strictPluginOnlyCustomization") {
        Some(Value::Bool(value)) => *value,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "hooks"),
        _ => false,
    };
    if let Some(Value::Object(variables)) = object.get("env") {
        settings.environment = variables
            .iter()
            .map(|(name, value)| {
                (
                    name.clone(),
                    value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                )
            })
            .collect();
    }
    if let Some(Value::Object(plugins)) = object.get("enabledPlugins") {
        // A list of versions switches a plugin on, too.
        let is_on = |value: &Value| !matches!(value, Value::Bool(false) | Value::Null);
        settings.plugins = plugins
            .iter()
            .map(|(name, value)| (name.clone(), is_on(value)))
            .collect();
    }
    settings.read_hooks(object.get("hooks"));
    Ok(settings)
}

/// Reads the bytes of a plugin's `hooks/hooks.json`.
///
/// # Errors
///
/// Where it is no JSON object.
pub fn read_plugin(bytes: &[u8]) -> Result<Settings, Skipped> {
    let mut settings = Settings::default();
    settings.read_hooks(object(bytes)?.get("hooks"));
    Ok(settings)
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Skipped> {
    let text = json::decode(bytes);
    if text.trim().is_empty() {
        return Err(Skipped::Empty);
    }
    match json::parse(&text, Limits::FILE) {
        Ok(parsed) if parsed.depth > DEEPEST => Err(Skipped::TooDeep(parsed.depth)),
        Ok(parsed) => match parsed.value {
            Value::Object(object) => Ok(object),
            _ => Err(Skipped::NoObject),
        },
        Err(wrong) => {
            let at = match wrong {
                json::Wrong::Syntax(at) => at,
                json::Wrong::TooMuch => 0,
            };
            let (line, column) = json::line_and_column(&text, at);
            Err(Skipped::NoJson {
                cause: format!("line {line}, column {column}"),
                hint: if is_with_comments(&text) {
                    "the client takes neither comments nor trailing commas"
                } else if bytes.starts_with(b"\xfe\xff") {
                    "it is UTF-16 in the order that the client does not read; save it as UTF-8"
                } else {
                    "mend it there"
                },
            })
        }
    }
}

/// How deep a file may be nested that the client was seen to read.
const DEEPEST: usize = 4_000;

/// Whether it would be right if comments and trailing commas were.
fn is_with_comments(text: &str) -> bool {
    crate::jsonc::parse(text).is_some()
}

impl Settings {
    fn problem(&mut self, at: &str, says: &str, drops: Drops) {
        self.loss(at, says, drops, None);
    }

    fn loss(&mut self, at: &str, says: &str, drops: Drops, loses: Option<Event>) {
        self.problems.push(Problem {
            at: at.to_owned(),
            says: says.to_owned(),
            drops,
            loses,
        });
    }

    fn read_hooks(&mut self, hooks: Option<&Value>) {
        let events = match hooks {
            None => return,
            Some(Value::Object(events)) => events,
            Some(_) => return self.problem("hooks", "has to be an object", Drops::Hooks),
        };
        for (name, groups) in events {
            let at = format!("hooks.{name}");
            if !EVENTS.contains(&name.as_str()) {
                self.problem(
                    &at,
                    "is no event that is known here; clients that do not know it either ignore it",
                    Drops::Event,
                );
                continue;
            }
            match groups {
                Value::Array(groups) => {
                    for (group, value) in groups.iter().enumerate() {
                        self.read_group(name, group, value, &format!("{at}[{group}]"));
                    }
                }
                _ => {
                    let loses = Event::named(name).filter(|_| names_us(groups));
                    self.loss(&at, "has to be a list of groups", Drops::Event, loses);
                }
            }
        }
    }

    fn read_group(&mut self, name: &str, group: usize, value: &Value, at: &str) {
        let event = Event::named(name);
        let loses = event.filter(|_| names_us(value));
        let Value::Object(fields) = value else {
            return self.loss(
                at,
                "has to be an object with a list of hooks",
                Drops::Group,
                loses,
            );
        };
        let matcher = match fields.get("matcher") {
            None => None,
            Some(Value::String(matcher)) => Some(matcher.clone()),
            Some(_) => {
                return self.loss(
                    &format!("{at}.matcher"),
                    "has to be a string",
                    Drops::Group,
                    loses,
                );
            }
        };
        let Some(Value::Array(handlers)) = fields.get("hooks") else {
            let says = "has to be there, and a list";
            return self.loss(&format!("{at}.hooks"), says, Drops::Group, loses);
        };
        for (position, value) in handlers.iter().enumerate() {
            let at = format!("{at}.hooks[{position}]");
            match handler(value) {
                Err((key, says)) => {
                    let loses = event.filter(|_| names_us(value));
                    self.loss(&format!("{at}{key}"), says, Drops::Handler, loses);
                }
                Ok(handler) => match event {
                    Some(event) => self.entries.push(Entry {
                        event,
                        matcher: matcher.clone(),
                        group,
                        position,
                        handler,
                    }),
                    None => self.others.push(Other {
                        event: name.to_owned(),
                        matcher: matcher.clone(),
                        at,
                        handler,
                    }),
                },
            }
        }
    }
}

/// Whether a handler of ours stands in what the client does not take.
fn names_us(value: &Value) -> bool {
    match value {
        Value::Object(fields) if fields.get("command").is_some_and(Value::is_string) => {
            let args = fields.get("args").and_then(Value::as_array);
            let strings =
                |all: &Vec<Value>| all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let line = fields["command"].as_str().unwrap_or_default();
            Command {
                command: line.to_owned(),
                args: args.map(strings),
                ..Command::default()
            }
            .is_ours()
        }
        Value::Object(fields) => fields.values().any(names_us),
        Value::Array(values) => values.iter().any(names_us),
        _ => false,
    }
}

type Wrong = (&'static str, &'static str);

fn handler(value: &Value) -> Result<Handler, Wrong> {
    let Value::Object(fields) = value else {
        return Err(("", "has to be an object"));
    };
    let check = |key: &str, is_right: fn(&Value) -> bool| fields.get(key).is_none_or(is_right);
    if !check("timeout", |value| {
        value.as_f64().is_some_and(|seconds| seconds > 0.0)
    }) {
        return Err((".timeout", "has to be a number of seconds above 0"));
    }
    if !check("onFailure", |value| value == "block" || value == "continue") {
        return Err((".onFailure", "has to be \"block\" or \"continue\""));
    }
    if !check("args", |value| {
        value
            .as_array()
            .is_some_and(|all| all.iter().all(Value::is_string))
    }) {
        return Err((".args", "has to be a list of strings"));
    }
    if !check("async", Value::is_boolean) || !check("asyncRewake", Value::is_boolean) {
        return Err((".async", "has to be true or false"));
    }
    if !check("if", Value::is_string) {
        return Err((".if", "has to be a string"));
    }
    if !check("statusMessage", Value::is_string) {
        return Err((".statusMessage", "has to be a string"));
    }
    if !check("once", Value::is_boolean) {
        return Err((".once", "has to be true or false"));
    }
    if !check("shell", |value| value == "bash" || value == "powershell") {
        return Err((".shell", "has to be \"bash\" or \"powershell\""));
    }
    match fields.get("type").and_then(Value::as_str) {
        Some("command") => command(fields).map(Handler::Command),
        Some("mcp_tool") => {
            let word = |key: &str| {
                fields
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            Ok(Handler::McpTool {
                server: word("server"),
                tool: word("tool"),
            })
        }
        Some(kind @ ("http" | "prompt" | "agent")) => Ok(Handler::Other(kind.to_owned())),
        _ => Err((".type", "has to be command, http, mcp_tool, prompt or agent")),
    }
}

fn command(fields: &Map<String, Value>) -> Result<Command, Wrong> {
    let line = fields.get("command").and_then(Value::as_str);
    let line = line.ok_or((".command", "has to be there, and a string"))?;
    let strings = |all: &Vec<Value>| all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let flag = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    Ok(Command {
        command: line.to_owned(),
        args: fields.get("args").and_then(Value::as_array).map(strings),
        shell: fields.get("shell").and_then(Value::as_str).map(str::to_owned),
        timeout: fields.get("timeout").and_then(Value::as_f64),
        blocks_on_failure: fields.get("onFailure").is_some_and(|word| word == "block"),
        is_async: flag("async") || flag("asyncRewake"),
        is_once: flag("once"),
        condition: fields.get("if").and_then(Value::as_str).map(str::to_owned),
    })
}

/// The events of Claude Code 2.1.332. Older clients know fewer, and skip a file that names one that they do not know.
const EVENTS: [&str; 34] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
    "PreSkillShellCommand",
];
