//! Settings files of every shape, before and after our entries.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_setup::file::{self, Change, Copies, FileError, Readers};
use holdpoint_setup::reading::{Content, Fires, Installation, Level, Source};
use holdpoint_setup::{Event, Hook, merge, remove};
use jsonc_parser::{CollectOptions, ParseOptions};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn hook() -> Hook {
    Hook {
        program: "/opt/hold point/bin/holdpoint".into(),
        args: vec![
            "hook".into(),
            "--config".into(),
            "/etc/holdpoint/config.toml".into(),
        ],
        timeout_seconds: 360,
        matcher: None,
        managed_only: false,
    }
}

/// The copies go beside the directory with the files.
fn copies(path: &Path) -> Copies {
    Copies::at(path.parent().unwrap().join(".copies"))
}

fn install(path: &Path, hook: &Hook) -> Result<Change, FileError> {
    file::install(path, hook, &copies(path), Readers::Owner)
}

fn uninstall(path: &Path) -> Result<Change, FileError> {
    file::uninstall(path, &copies(path))
}

/// What is in a directory, beside copies.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != ".copies").collect()
}

/// Where the copy of a file lies.
fn copy(path: &Path) -> PathBuf {
    copies(path).path(&fs::canonicalize(path).unwrap())
}

/// A value that somebody may have in a settings file.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z]{1,8}",
        "[ -~äß\u{1f512}]{0,12}",
        Just("// no comment".to_owned()),
        Just("/* nor this */ , ] }".to_owned()),
        Just("C:\\dir\\\"x\"\n".to_owned()),
    ]
}

/// Hooks as others install them; among them, sometimes, an older entry of ours and forms that the client does not take.
fn hooks() -> impl Strategy<Value = Value> {
    let command = prop_oneof![
        Just(json!({"type": "command", "command": "/usr/bin/notify"})),
        Just(json!({"type": "command", "command": "python x.py", "timeout": 5, "statusMessage": "// wait"})),
        Just(json!({"type": "http", "url": "http://127.0.0.1:1/"})),
        Just(json!({"type": "command", "command": "/opt/holdpointer", "args": ["hook"]})),
        Just(json!("no handler at all")),
    ];
    let group =
        (prop::option::of(text()), prop::collection::vec(command, 0..3)).prop_map(|(matcher, hooks)| {
            let mut group = json!({"hooks": hooks});
            if let Some(matcher) = matcher {
                group["matcher"] = matcher.into();
            }
            group
        });
    let event = prop_oneof![
        Just("PreToolUse"),
        Just("PostToolUse"),
        Just("SessionStart"),
        Just("Stop"),
        Just("Unheard")
    ];
    prop::collection::btree_map(event, prop::collection::vec(group, 0..3), 0..4).prop_map(|map| json!(map))
}

fn settings() -> impl Strategy<Value = Value> {
    (
        prop::collection::btree_map(text(), value(), 0..4),
        prop::option::of(hooks()),
    )
        .prop_map(|(others, hooks)| {
            let mut settings: Map<String, Value> =
                others.into_iter().filter(|(key, _)| key != "hooks").collect();
            if let Some(hooks) = hooks {
                settings.insert("hooks".into(), hooks);
            }
            settings.into()
        })
}

/// How a file is written: what stands between two tokens, by turns, and whether a comma may stand before a closing bracket.
#[derive(Debug, Clone)]
struct Style {
    gaps: Vec<&'static str>,
    trailing_commas: bool,
    mark: bool,
}

fn style(comments: bool) -> impl Strategy<Value = Style> {
    let plain = ["", " ", "\n", "\n  ", "\n    ", "\t", "\r\n\t"];
    let mut gaps = plain.to_vec();
    if comments {
        gaps.extend([
            " /* a, b ] } */ ",
            " // a line, {\n",
            "\n  // \"quoted\", [\n  ",
            "/**/",
            "\n/* two\n lines */\n",
            " // cr\r\n",
        ]);
    }
    (
        prop::collection::vec(prop::sample::select(gaps), 1..24),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(move |(gaps, trailing_commas, mark)| Style {
            gaps,
            trailing_commas: trailing_commas && comments,
            mark,
        })
}

/// The value in that style.
fn write(value: &Value, style: &Style) -> String {
    let mut text = if style.mark {
        "\u{feff}".to_owned()
    } else {
        String::new()
    };
    let mut turn = 0;
    write_below(value, style, &mut turn, &mut text);
    text.push('\n');
    text
}

fn write_below(value: &Value, style: &Style, turn: &mut usize, text: &mut String) {
    let mut gap = |text: &mut String| {
        text.push_str(style.gaps[*turn % style.gaps.len()]);
        *turn += 1;
    };
    gap(text);
    let items: Vec<(Option<String>, &Value)> = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (Some(Value::from(key.as_str()).to_string()), value))
            .collect(),
        Value::Array(array) => array.iter().map(|value| (None, value)).collect(),
        plain => {
            text.push_str(&plain.to_string());
            return gap(text);
        }
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    text.push(open);
    let count = items.len();
    for (index, (key, value)) in items.into_iter().enumerate() {
        if let Some(key) = key {
            text.push_str(style.gaps[(*turn + index) % style.gaps.len()]);
            text.push_str(&key);
            text.push(':');
        }
        write_below(value, style, turn, text);
        if index + 1 < count || style.trailing_commas {
            text.push(',');
        }
    }
    text.push_str(style.gaps[*turn % style.gaps.len()]);
    *turn += 1;
    text.push(close);
    text.push_str(style.gaps[*turn % style.gaps.len()]);
}

fn parsed(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let read = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    read.unwrap().value.unwrap().into()
}

/// The value without our entries and without what holds nothing else.
fn without_ours(mut settings: Value) -> Value {
    let is_ours = |handler: &Value| handler["command"] == "/opt/hold point/bin/holdpoint";
    let Some(hooks) = settings.get_mut("hooks").and_then(Value::as_object_mut) else {
        return settings;
    };
    let mut touched = false;
    hooks.retain(|_, groups| {
        let Some(groups) = groups.as_array_mut() else {
            return true;
        };
        let before = groups.len();
        groups.retain_mut(|group| {
            let Some(handlers) = group.get_mut("hooks").and_then(Value::as_array_mut) else {
                return true;
            };
            let before = handlers.len();
            handlers.retain(|handler| !is_ours(handler));
            before == handlers.len() || !handlers.is_empty()
        });
        let emptied = groups.len() < before && groups.is_empty();
        touched |= emptied;
        !emptied
    });
    if touched && hooks.is_empty() {
        settings.as_object_mut().unwrap().remove("hooks");
    }
    settings
}

/// Whether every byte of the one stands in the other, in the same order.
fn is_contained(part: &str, whole: &str) -> bool {
    let mut rest = whole.bytes();
    part.bytes().all(|byte| rest.any(|other| other == byte))
}

/// Without our entries, no list or object may be left over that was empty before: whether it was there cannot be known.
fn has_empty_places(settings: &Value) -> bool {
    let is_empty = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
    };
    let ours = |name: &str| Event::named(name).is_some();
    is_empty(settings)
        || settings.get("hooks").is_some_and(|hooks| {
            is_empty(hooks)
                || hooks
                    .as_object()
                    .unwrap()
                    .iter()
                    .any(|(name, groups)| ours(name) && is_empty(groups))
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_that_was_there_is_still_there((settings, style) in (settings(), style(true))) {
        let before = write(&settings, &style);
        let after = merge(&before, &hook()).unwrap();
        prop_assert!(is_contained(&before, &after), "{before}\n---\n{after}");
        let mut expected = settings.clone();
        if has_empty_places(&settings) {
            expected = without_ours(parsed(&merge(&settings.to_string(), &hook()).unwrap()));
        }
        prop_assert_eq!(without_ours(parsed(&after)), expected, "{}\n---\n{}", before, after);
    }

    #[test]
    fn twice_is_once((settings, style) in (settings(), style(true))) {
        let once = merge(&write(&settings, &style), &hook()).unwrap();
        prop_assert_eq!(merge(&once, &hook()).unwrap(), once);
    }

    #[test]
    fn entries_come_out_as_they_went_in((settings, style) in (settings(), style(true))) {
        let before = write(&settings, &style);
        let after = remove(&merge(&before, &hook()).unwrap()).unwrap();
        if has_empty_places(&settings) {
            prop_assert!(!after.contains("/opt/hold point/bin/holdpoint"));
            prop_assert_eq!(remove(&after).unwrap(), after);
        } else {
            prop_assert_eq!(after, before);
        }
    }

    #[test]
    fn a_file_gets_its_bytes_back((settings, style) in (settings(), style(true))) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let before = write(&settings, &style);
        fs::write(&path, &before).unwrap();
        prop_assert_eq!(install(&path, &hook()).unwrap(), Change::Written { copy: Some(copy(&path)) });
        let newer = Hook { timeout_seconds: 900, program: "/usr/bin/holdpoint".into(), ..hook() };
        install(&path, &newer).unwrap();
        prop_assert_eq!(install(&path, &newer).unwrap(), Change::Unchanged);
        prop_assert_eq!(fs::read_to_string(copy(&path)).unwrap(), &before[..]);
        let change = uninstall(&path).unwrap();
        prop_assert_eq!(fs::read_to_string(&path).unwrap(), before);
        prop_assert_eq!(change, Change::Restored);
        prop_assert_eq!(uninstall(&path).unwrap(), Change::Unchanged);
        prop_assert_eq!(names(directory.path()), ["settings.json"]);
    }

    /// What the client can read has our hooks in force afterwards: for calls of MCP servers, before and after.
    #[test]
    fn the_client_would_run_it((settings, style) in (settings(), style(false))) {
        let after = merge(&write(&settings, &style), &hook()).unwrap();
        let source = Source { level: Level::User, path: "/s.json".into(), content: Content::Bytes(after.into_bytes()) };
        let installation = Installation::judge(vec![source]);
        for event in Event::ALL {
            let name = if event.is_of_a_tool() { "mcp__esxi__powerOff" } else { "startup" };
            let found = installation.firing(event, name).filter(|(_, entry, fires)| {
                let command = entry.ours();
                *fires == Fires::Yes && command.is_some_and(|command| {
                    command.timeout == Some(360.0)
                        && command.blocks_on_failure == (event == Event::PreToolUse)
                        && command.args.as_deref() == Some(&hook().args)
                })
            });
            prop_assert_eq!(found.count(), 1, "{:?}", event);
        }
    }
}

#[test]
fn a_usual_file_is_laid_out_as_it_was() {
    let before = r#"{
    "model": "opus", // the big one
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" }] }
        ],
        "Stop": []
    },
}
"#;
    let expected = r#"{
    "model": "opus", // the big one
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" }] },
            {
                "matcher": "mcp__.*",
                "hooks": [
                    {
                        "type": "command",
                        "command": "/usr/bin/holdpoint",
                        "args": ["hook"],
                        "timeout": 360,
                        "onFailure": "block"
                    }
                ]
            }
        ],
        "Stop": [],
        "PostToolUse": [
"#;
    let hook = Hook {
        program: "/usr/bin/holdpoint".into(),
        args: vec!["hook".into()],
        ..hook()
    };
    let after = merge(before, &hook).unwrap();
    assert!(after.starts_with(expected), "{after}");
    assert!(after.ends_with("\n    },\n}\n"), "{after}");
    assert_eq!(remove(&after).unwrap(), before);
}

#[test]
fn a_file_in_one_line_stays_in_one_line() {
    let after = merge(r#"{"model":"opus"}"#, &hook()).unwrap();
    assert!(
        !after.contains('\n') && after.starts_with(r#"{"model":"opus", "hooks": {"PreToolUse": [{"#),
        "{after}"
    );
    assert_eq!(remove(&after).unwrap(), r#"{"model":"opus"}"#);
}

#[test]
fn an_entry_of_ours_that_was_changed_is_mended_where_it_is() {
    let changed = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "mcp__.*|Bash", // both
        "hooks": [
          {
            "type": "command",
            "command": "/old/holdpoint",
            "args": ["hook"],
            "async": true,
            "timeout": 60, // too short
            "statusMessage": "asking Zerto"
          }
        ]
      }
    ]
  }
}
"#;
    let after = merge(changed, &hook()).unwrap();
    let settings = parsed(&after);
    let groups = settings["hooks"]["PreToolUse"].as_array().unwrap();
    // The matcher is the operator's; ours comes beside it, and the client runs identical handlers once.
    assert_eq!(groups.len(), 2, "{after}");
    let mended = &groups[0]["hooks"][0];
    assert_eq!(
        mended,
        &json!({
            "type": "command", "command": "/opt/hold point/bin/holdpoint", "args": hook().args, "timeout": 360,
            "statusMessage": "asking Zerto", "onFailure": "block"
        })
    );
    assert!(
        after.contains("// both") && after.contains("// too short"),
        "{after}"
    );
}

#[test]
fn others_entries_in_our_group_stay() {
    let mut settings = parsed(&merge("", &hook()).unwrap());
    settings["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "command", "command": "mine"}));
    let after = parsed(&remove(&settings.to_string()).unwrap());
    assert_eq!(
        after,
        json!({"hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [{"type": "command", "command": "mine"}]}]}})
    );
}

#[test]
fn what_cannot_be_changed_is_left_alone() {
    for (text, words) in [
        ("{", "no JSON"),
        ("{'a': 1}", "no JSON"),
        ("[]", "the file is no object"),
        (r#"{"hooks": []}"#, "hooks is no object"),
        (r#"{"hooks": {"PreToolUse": {}}}"#, "hooks.PreToolUse is no list"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        fs::write(&path, text).unwrap();
        let error = install(&path, &hook()).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(directory.path()), ["settings.json"], "{text}");
    }
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".claude/settings.json");
    assert_eq!(install(&path, &hook()).unwrap(), Change::Written { copy: None });
    assert_eq!(uninstall(&path).unwrap(), Change::Deleted);
    assert!(!path.exists());
    assert_eq!(uninstall(&path).unwrap(), Change::Unchanged);
}

#[test]
fn what_was_changed_in_between_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    fs::write(&path, "{\n  \"model\": \"opus\"\n}\n").unwrap();
    install(&path, &hook()).unwrap();
    let edited = fs::read_to_string(&path).unwrap().replace("opus", "sonnet");
    fs::write(&path, edited).unwrap();
    let copy = Some(copy(&path));
    assert_eq!(uninstall(&path).unwrap(), Change::Written { copy });
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"model\": \"sonnet\"\n}\n"
    );
}

#[cfg(unix)]
#[test]
fn a_links_target_is_changed_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("dotfiles.json");
    let path = directory.path().join("settings.json");
    fs::write(&target, "{}").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    install(&path, &hook()).unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(uninstall(&path).unwrap(), Change::Restored);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}");
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
}

/// It would be put in again at each look, without end.
#[test]
fn a_program_of_another_name_is_refused_at_once() {
    for program in ["/etc/program", "/opt/holdpoint-2", "/usr/bin/env"] {
        let hook = Hook {
            program: program.into(),
            ..hook()
        };
        let error = merge("{}", &hook).unwrap_err().to_string();
        assert!(error.contains(program) && error.contains("holdpoint"), "{error}");
    }
}
