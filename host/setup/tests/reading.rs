//! Settings files as they were put before Claude Code 2.1.332, and which hooks it ran.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::path::{Path, PathBuf};

use holdpoint_setup::Event;
use holdpoint_setup::reading::{Content, Drops, Fires, Installation, Level, Places, Skipped, Source, State};
use serde_json::{Value, json};

/// A group whose one hook says who it is.
fn says(who: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": who}]})
}

/// A settings file with such a hook at a session's start, and these settings.
fn file(who: &str, more: &Value) -> String {
    let mut settings = json!({"hooks": {"SessionStart": [says(who)]}});
    let object = settings.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    settings.to_string()
}

fn judge(files: &[(Level, &str)]) -> Installation {
    let sources = files.iter().map(|(level, text)| Source {
        level: *level,
        path: PathBuf::from(format!("/{}.json", level.name())),
        content: Content::Bytes(text.as_bytes().to_vec()),
    });
    Installation::judge(sources.collect())
}

/// Who ran as the session started.
fn ran(installation: &Installation) -> Vec<String> {
    let mut who: Vec<_> = installation
        .firing(Event::SessionStart, "startup")
        .map(|(_, entry, _)| match &entry.handler {
            holdpoint_setup::Handler::Command(command) => command.command.clone(),
            holdpoint_setup::Handler::McpTool { .. } => "mcp_tool".to_owned(),
            holdpoint_setup::Handler::Other(kind) => kind.clone(),
        })
        .collect();
    who.sort();
    who
}

#[track_caller]
fn assert_ran(files: &[(Level, &str)], expected: &[&str]) {
    assert_eq!(ran(&judge(files)), expected, "{files:#?}");
}

#[test]
fn hooks_of_all_files_run() {
    let none = json!({});
    let files = [
        Level::User,
        Level::Project,
        Level::Local,
        Level::Managed,
        Level::DropIn,
    ]
    .map(|level| (level, file(&format!("{level:?}"), &none)));
    let files = files.each_ref().map(|(level, text)| (*level, text.as_str()));
    assert_ran(&files, &["DropIn", "Local", "Managed", "Project", "User"]);
}

#[test]
fn what_is_no_json_object_is_skipped_whole() {
    let good = file("user", &json!({}));
    let trailing = format!("{},}}", &good[..good.len() - 1]);
    for (text, hint) in [
        (format!("// why\n{good}"), "neither comments"),
        (format!("/* why */{good}"), "neither comments"),
        (trailing, "neither comments"),
        (good[1..].to_owned(), "mend it"),
        ("[]".to_owned(), "no JSON object"),
        ("null".to_owned(), "no JSON object"),
        (String::new(), "empty"),
    ] {
        let installation = judge(&[
            (Level::User, &text),
            (Level::Project, &file("project", &json!({}))),
        ]);
        assert_eq!(ran(&installation), ["project"], "{text}");
        match &installation.files[0].state {
            State::Skipped(why) => assert!(why.to_string().contains(hint), "{text}: {why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // A byte order mark is none of that; of a key that is there twice the last one counts.
    assert_ran(&[(Level::User, &format!("\u{feff}{good}"))], &["user"]);
    let twice = good.replacen('{', r#"{"hooks": {}, "#, 1);
    assert_ran(&[(Level::User, &twice)], &["user"]);
}

#[test]
fn a_wrong_setting_that_has_nothing_to_do_with_hooks_skips_the_file() {
    for wrong in [
        json!({"permissions": 5}),
        json!({"permissions": {"allow": "x"}}),
        json!({"permissions": {"defaultMode": "yolo"}}),
        json!({"env": "x"}),
        json!({"model": 5}),
        json!({"cleanupPeriodDays": "x"}),
        json!({"disableAllHooks": "true"}),
        json!({"disableAllHooks": null}),
        json!({"enabledPlugins": 5}),
        json!({"statusLine": 5}),
        json!({"sandbox": 5}),
        json!({"enabledMcpjsonServers": 5}),
    ] {
        let text = file("user", &wrong);
        let installation = judge(&[(Level::User, &text)]);
        let state = &installation.files[0].state;
        assert!(
            matches!(state, State::Skipped(Skipped::Setting { .. })),
            "{wrong}: {state:?}"
        );
        assert!(ran(&installation).is_empty(), "{wrong}");
    }
    for fine in [
        json!({"permissions": {"allow": [5]}}),
        json!({"env": {"A": 1}}),
        json!({"env": {"A": [1]}}),
        json!({"nobodyKnows": 1}),
        json!({"forceLoginMethod": "x"}),
        json!({"$schema": "https://example.org/s.json"}),
        json!({"allowManagedHooksOnly": true}),
        json!({"strictPluginOnlyCustomization": ["hooks"]}),
    ] {
        assert_ran(&[(Level::User, &file("user", &fine))], &["user"]);
    }
}

/// Each of these stood as a third handler beside a good one, with a good group before it and a good event after it.
#[test]
fn a_wrong_handler_goes_and_the_others_stay() {
    let wrong = [
        json!({"type": "command", "command": "bad", "timeout": "10"}),
        json!({"type": "command", "command": "bad", "timeout": 0}),
        json!({"type": "command", "command": "bad", "timeout": -5}),
        json!({"type": "command", "command": "bad", "timeout": null}),
        json!({"type": "command", "command": "bad", "onFailure": "maybe"}),
        json!({"type": "command", "command": "bad", "onFailure": true}),
        json!({"type": "command", "command": "bad", "args": "x"}),
        json!({"type": "command", "command": "bad", "args": [1]}),
        json!({"type": "command", "command": "bad", "async": "x"}),
        json!({"type": "command", "command": "bad", "if": 1}),
        json!({"type": "command", "command": "bad", "shell": "zsh"}),
        json!({"type": "command", "command": "bad", "statusMessage": 1}),
        json!({"type": "command", "command": "bad", "once": "a"}),
        json!({"type": "shell", "command": "bad"}),
        json!({"type": "Command", "command": "bad"}),
        json!({"command": "bad"}),
        json!({"type": "command"}),
        json!({"type": "command", "command": 5}),
        json!("bad"),
    ];
    for handler in wrong {
        let group = json!({"hooks": [{"type": "command", "command": "beside"}, handler]});
        let text = json!({"hooks": {"SessionStart": [says("other"), group]}}).to_string();
        let installation = judge(&[(Level::User, &text)]);
        assert_eq!(ran(&installation), ["beside", "other"], "{handler}");
        let problems = installation.files[0].problems();
        assert_eq!(problems.len(), 1, "{handler}: {problems:?}");
        assert_eq!(problems[0].drops, Drops::Handler);
        assert!(
            problems[0].at.starts_with("hooks.SessionStart[1].hooks[1]"),
            "{problems:?}"
        );
    }
    for fine in [
        json!({"type": "command", "command": "bad", "onFailure": "block"}),
        json!({"type": "command", "command": "bad", "timeout": 0.5}),
        json!({"type": "command", "command": "bad", "async": true}),
        json!({"type": "command", "command": "bad", "nobodyKnows": 1}),
    ] {
        let text = json!({"hooks": {"SessionStart": [{"hooks": [fine]}]}}).to_string();
        assert_ran(&[(Level::User, &text)], &["bad"]);
    }
}

#[test]
fn a_wrong_group_or_event_goes_and_the_others_stay() {
    let handlers = json!([{"type": "command", "command": "bad"}]);
    for group in [
        json!({"matcher": {"a": 1}, "hooks": handlers}),
        json!({"matcher": 5, "hooks": handlers}),
        json!({"matcher": null, "hooks": handlers}),
        json!({"hooks": null}),
        json!({"hooks": handlers[0]}),
        json!({"type": "command", "command": "bad"}),
        json!("bad"),
    ] {
        let text = json!({"hooks": {"SessionStart": [says("other"), group]}}).to_string();
        let installation = judge(&[(Level::User, &text)]);
        assert_eq!(ran(&installation), ["other"], "{group}");
        assert_eq!(installation.files[0].problems()[0].drops, Drops::Group, "{group}");
    }
    for (event, wrong) in [
        ("PreToolUse", json!(null)),
        ("PreToolUse", says("bad")),
        ("BeforeTool", json!(5)),
    ] {
        let mut hooks = json!({"SessionStart": [says("other")]});
        hooks[event] = wrong;
        let installation = judge(&[(Level::User, &json!({"hooks": hooks}).to_string())]);
        assert_eq!(ran(&installation), ["other"]);
        assert_eq!(installation.files[0].problems()[0].drops, Drops::Event);
    }
    let installation = judge(&[(Level::User, r#"{"hooks": [], "disableAllHooks": true}"#)]);
    assert_eq!(installation.files[0].problems()[0].drops, Drops::Hooks);
    assert!(matches!(installation.files[0].state, State::HooksOff(_)));
}

/// The switches: who sets what, and who ran.
#[test]
fn switches_count_by_level() {
    let none = json!({});
    let disable = json!({"disableAllHooks": true});
    let only = json!({"allowManagedHooksOnly": true});
    let enable = json!({"disableAllHooks": false});
    let strict = json!({"strictPluginOnlyCustomization": true});
    let strict_hooks = json!({"strictPluginOnlyCustomization": ["hooks"]});
    type Row<'a> = (&'a [(Level, &'a Value)], &'a [&'a str]);
    let rows: [Row<'_>; 17] = [
        (
            &[
                (Level::User, &disable),
                (Level::Project, &none),
                (Level::Managed, &none),
            ],
            &["Managed"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Project, &disable),
                (Level::Managed, &none),
            ],
            &["Managed"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Local, &disable),
                (Level::Managed, &none),
            ],
            &["Managed"],
        ),
        (&[(Level::User, &none), (Level::Managed, &disable)], &[]),
        (
            &[
                (Level::User, &none),
                (Level::Managed, &none),
                (Level::DropIn, &disable),
            ],
            &[],
        ),
        (
            &[(Level::User, &disable), (Level::Local, &enable)],
            &["Local", "User"],
        ),
        (&[(Level::User, &enable), (Level::Local, &disable)], &[]),
        (
            &[(Level::User, &disable), (Level::Managed, &enable)],
            &["Managed", "User"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Project, &none),
                (Level::Local, &none),
                (Level::Managed, &only),
            ],
            &["Managed"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Managed, &none),
                (Level::DropIn, &only),
            ],
            &["DropIn", "Managed"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Managed, &only),
                (Level::DropIn, &json!({"allowManagedHooksOnly": false})),
            ],
            &["DropIn", "Managed", "User"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Managed, &json!({"allowManagedHooksOnly": "true"})),
            ],
            &["Managed"],
        ),
        (
            &[
                (Level::User, &none),
                (Level::Managed, &json!({"disableAllHooks": "true"})),
            ],
            &["Managed", "User"],
        ),
        (
            &[
                (Level::User, &none),
                (
                    Level::Managed,
                    &json!({"model": 5, "allowManagedHooksOnly": true}),
                ),
            ],
            &["Managed"],
        ),
        (&[(Level::User, &none), (Level::Managed, &strict)], &["Managed"]),
        (
            &[(Level::User, &none), (Level::Managed, &strict_hooks)],
            &["Managed"],
        ),
        (
            &[(Level::User, &only), (Level::Project, &none)],
            &["Project", "User"],
        ),
    ];
    for (files, expected) in rows {
        let texts: Vec<_> = files
            .iter()
            .map(|(level, more)| (*level, file(&format!("{level:?}"), more)))
            .collect();
        let files: Vec<_> = texts
            .iter()
            .map(|(level, text)| (*level, text.as_str()))
            .collect();
        assert_ran(&files, expected);
    }
}

#[test]
fn variables_for_the_client_switch_hooks_off() {
    let simple = |value: &str| file("user", &json!({"env": {"CLAUDE_CODE_SIMPLE": value}}));
    let managed = file("managed", &json!({}));
    for (value, expected) in [
        ("1", &["managed"][..]),
        ("true", &["managed"]),
        ("0", &["managed", "user"]),
        ("no", &["managed", "user"]),
    ] {
        assert_ran(
            &[(Level::User, &simple(value)), (Level::Managed, &managed)],
            expected,
        );
    }
    // From a project or a local file, it comes too late.
    let simple = simple("1");
    assert_ran(
        &[(Level::Project, &simple), (Level::Local, &simple)],
        &["user", "user"],
    );
    let safe = file("user", &json!({"env": {"CLAUDE_CODE_SAFE_MODE": "1"}}));
    assert_ran(&[(Level::User, &safe)], &[]);
}

#[test]
fn the_client_does_not_start_with_managed_settings_that_are_no_json() {
    let good = file("managed", &json!({}));
    for text in [format!("// why\n{good}"), "[]".into(), "{".into()] {
        let installation = judge(&[(Level::Managed, &text)]);
        let state = &installation.files[0].state;
        assert!(matches!(state, State::RefusesToStart(_)), "{text}: {state:?}");
    }
    assert_ran(
        &[(Level::User, &file("user", &json!({}))), (Level::Managed, "")],
        &["user"],
    );
}

#[test]
fn an_entry_says_whether_it_runs_for_a_call() {
    let text = json!({"hooks": {"PreToolUse": [
        {"matcher": "mcp__esxi", "hooks": [{"type": "command", "command": "/opt/bin/holdpoint", "args": ["hook"]}]},
        {"matcher": "mcp__.*", "hooks": [{"type": "command", "command": "/opt/bin/holdpoint hook", "if": "mcp__a__b"}]},
        {"matcher": "mcp__.*", "hooks": [{"type": "http", "url": "http://127.0.0.1/"}]},
    ]}});
    let installation = judge(&[(Level::User, &text.to_string())]);
    let seen: Vec<_> = installation
        .firing(Event::PreToolUse, "mcp__esxi__powerOff")
        .map(|(_, entry, fires)| (entry.at(), fires, entry.ours().is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            ("hooks.PreToolUse[1].hooks[0]".to_owned(), Fires::Unknown, true),
            ("hooks.PreToolUse[2].hooks[0]".to_owned(), Fires::Yes, false),
        ]
    );
    assert_eq!(installation.in_force(Event::PreToolUse).count(), 3);
}

/// A folder with files in it.
fn folder(files: &[(&str, Value)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    }
    folder
}

#[test]
fn plugins_that_are_enabled_bring_their_hooks() {
    let hooks = |who: &str| json!({"hooks": {"SessionStart": [says(who)]}});
    let root = folder(&[
        ("plugins/cache/shop/one/1.0.0/hooks/hooks.json", hooks("one")),
        ("plugins/cache/shop/off/1.0.0/hooks/hooks.json", hooks("off")),
        ("elsewhere/hooks/hooks.json", hooks("two")),
        (
            "elsewhere/.claude-plugin/plugin.json",
            json!({"hooks": ["./more.json", hooks("inline")["hooks"]]}),
        ),
        ("elsewhere/more.json", hooks("more")),
        ("beside/hooks/hooks.json", hooks("beside")),
        ("other-project/hooks/hooks.json", hooks("other project")),
        (
            "settings.json",
            json!({"enabledPlugins": {"one@shop": true, "off@shop": false, "two@shop": true, "gone@shop": true}}),
        ),
    ]);
    let at = |name: &str| root.path().join(name);
    let registry = json!({"version": 2, "plugins": {"two@shop": [
        {"scope": "project", "projectPath": "/other", "installPath": at("other-project")},
        {"scope": "user", "installPath": at("elsewhere")}
    ]}});
    std::fs::write(at("plugins/installed_plugins.json"), registry.to_string()).unwrap();
    let places = Places {
        user: at("settings.json"),
        project: at("none.json"),
        local: at("none.json"),
        managed: at("managed"),
    };
    let read = || Installation::read(&places, Path::new("/project"), &[at("beside")]);
    assert_eq!(ran(&read()), ["beside", "inline", "more", "one", "two"]);
    // Managed settings leave only those that they enable themselves.
    std::fs::create_dir(at("managed")).unwrap();
    let only = json!({"allowManagedHooksOnly": true, "enabledPlugins": {"one@shop": true}});
    std::fs::write(at("managed/managed-settings.json"), only.to_string()).unwrap();
    assert_eq!(ran(&read()), ["one"]);
    // A project switches one off.
    std::fs::remove_dir_all(at("managed")).unwrap();
    std::fs::write(
        at("none.json"),
        json!({"enabledPlugins": {"one@shop": false}}).to_string(),
    )
    .unwrap();
    assert_eq!(ran(&read()), ["beside", "inline", "more", "two"]);
}

#[test]
fn an_entry_of_ours_that_is_dropped_is_told_from_anothers() {
    let entry = |command: &str, timeout: Value| json!({"hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [{"type": "command", "command": command, "timeout": timeout}]}]}});
    let loses = |settings: &Value| {
        let installation = judge(&[(Level::User, &settings.to_string())]);
        let problems = installation.files[0].problems();
        problems.iter().map(|problem| problem.loses).collect::<Vec<_>>()
    };
    for timeout in [json!(0), json!(-1), json!("360"), json!(null)] {
        assert_eq!(
            loses(&entry("/opt/holdpoint hook", timeout.clone())),
            [Some(Event::PreToolUse)],
            "{timeout}"
        );
        assert_eq!(loses(&entry("/opt/other", timeout.clone())), [None], "{timeout}");
    }
    let mut group = entry("env A=b /opt/holdpoint hook", json!(360));
    group["hooks"]["PreToolUse"][0]["matcher"] = json!(1);
    assert_eq!(loses(&group), [Some(Event::PreToolUse)]);
    group["hooks"]["PreToolUse"] = group["hooks"]["PreToolUse"][0].take();
    assert_eq!(loses(&group), [Some(Event::PreToolUse)]);
}

#[test]
fn handlers_under_other_events_and_variables_are_read() {
    let settings = json!({
        "env": {"A": "user", "B": "user"},
        "hooks": {"Stop": [{"hooks": [{"type": "mcp_tool", "server": "esxi", "tool": "powerOff"}]}]}
    });
    let local = json!({"env": {"B": 1}});
    let installation = judge(&[
        (Level::User, &settings.to_string()),
        (Level::Local, &local.to_string()),
    ]);
    let [other] = installation.files[0].settings.others.as_slice() else {
        panic!()
    };
    assert_eq!(
        (other.event.as_str(), other.at.as_str()),
        ("Stop", "hooks.Stop[0].hooks[0]")
    );
    let tool = holdpoint_setup::Handler::McpTool {
        server: "esxi".into(),
        tool: "powerOff".into(),
    };
    assert_eq!(other.handler, tool);
    let variables: Vec<_> = installation.environment().into_iter().collect();
    assert_eq!(
        variables,
        [
            ("A".to_owned(), "user".to_owned()),
            ("B".to_owned(), "1".to_owned())
        ]
    );
}

/// Bytes as they were put before Claude Code 2.1.197, and whether it ran the hook in them.
#[test]
fn a_file_is_read_in_the_encodings_and_with_the_oddities_that_the_client_takes() {
    let text = |more: &str| {
        let text = file("user", &json!({}));
        format!("{}{more}}}", &text[..text.len() - 1])
    };
    let utf16 = |order: fn(u16) -> [u8; 2], mark: &[u8]| {
        let units: Vec<u8> = text("").encode_utf16().flat_map(order).collect();
        [mark, &units].concat()
    };
    let deep =
        |depth: usize| text(&format!(",\"x\":{}{}", "[".repeat(depth), "]".repeat(depth))).into_bytes();
    for (name, bytes, runs) in [
        ("plain", text("").into_bytes(), true),
        ("a mark", [b"\xef\xbb\xbf", text("").as_bytes()].concat(), true),
        ("UTF-16", utf16(u16::to_le_bytes, b"\xff\xfe"), true),
        ("UTF-16, big-endian", utf16(u16::to_be_bytes, b"\xfe\xff"), false),
        ("UTF-16 without a mark", utf16(u16::to_le_bytes, b""), false),
        ("half a pair", text(",\"x\":\"\\ud83d\"").into_bytes(), true),
        ("half a pair as a name", text(",\"\\ud83d\":1").into_bytes(), true),
        ("a number beyond all", text(",\"x\":1e999").into_bytes(), true),
        ("130 levels", deep(130), true),
        ("4,000 levels", deep(3_990), true),
        (
            "no UTF-8",
            text(",\"x\":\"?\"").replace('?', "\u{ff}").into_bytes(),
            true,
        ),
        (
            "a stray byte",
            [&text("")[..1], "\"x\":\"", "\u{1}"].concat().into_bytes(),
            false,
        ),
        (
            "two marks",
            [b"\xef\xbb\xbf\xef\xbb\xbf", text("").as_bytes()].concat(),
            false,
        ),
        ("a comment", format!("//x\n{}", text("")).into_bytes(), false),
        ("a tab in a string", text(",\"x\":\"a\tb\"").into_bytes(), false),
        (
            "something behind it",
            [text("").as_bytes(), b"\0"].concat(),
            false,
        ),
    ] {
        let source = |level, bytes: &[u8]| Source {
            level,
            path: PathBuf::from("/settings.json"),
            content: Content::Bytes(bytes.to_vec()),
        };
        let installation = Installation::judge(vec![source(Level::User, &bytes)]);
        assert_eq!(!ran(&installation).is_empty(), runs, "{name}: {installation:#?}");
    }
}

#[test]
fn disable_all_hooks_counts_however_oddly_it_is_written() {
    let good = file("user", &json!({}));
    let le: Vec<u8> = "{\"disableAllHooks\":true}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [
        [b"\xff\xfe".to_vec(), le].concat(),
        b"\xef\xbb\xbf{\"disableAllHooks\":true}".to_vec(),
        br#"{"disableAllHooks":true,"x":"\ud83d"}"#.to_vec(),
        br#"{"disableAllHooks":false,"x":1e999,"disableAllHooks":true}"#.to_vec(),
        format!(
            "{{\"disableAllHooks\":true,\"x\":{}{}}}",
            "[".repeat(130),
            "]".repeat(130)
        )
        .into_bytes(),
    ] {
        let source = |level, bytes: &[u8]| Source {
            level,
            path: PathBuf::from(format!("/{}.json", level.name())),
            content: Content::Bytes(bytes.to_vec()),
        };
        let files = vec![
            source(Level::User, good.as_bytes()),
            source(Level::Project, &bytes),
        ];
        let installation = Installation::judge(files);
        assert!(
            ran(&installation).is_empty(),
            "{}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn whether_a_file_is_read_that_is_nested_without_end_is_not_known() {
    let deep = format!(
        "{{\"disableAllHooks\":true,\"x\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let installation = judge(&[(Level::Project, &deep)]);
    let State::Unreadable(why) = &installation.files[0].state else {
        panic!("{:?}", installation.files[0].state)
    };
    assert!(why.contains("100000 levels"), "{why}");
    // What is no JSON besides takes nobody down who looks for comments in it.
    let installation = judge(&[(Level::Project, &deep[..deep.len() - 1])]);
    assert!(matches!(
        &installation.files[0].state,
        State::Skipped(Skipped::NoJson { .. })
    ));
}
