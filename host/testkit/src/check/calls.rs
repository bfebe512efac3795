//! The calls of the probes.

use holdpoint_runtime::sandbox::{Call, Server};
use serde_json::json;

use super::Named;

/// How long a text the host hands over at most, in bytes: larger arguments are cut.
const WHOLE: usize = 256 * 1024;

fn call(tool: &str, arguments: impl Into<String>) -> Call {
    Call {
        harness: "claude-code".into(),
        session_id: "5569fb1c-2017-44e5-9105-c1592c0afb51".into(),
        call_id: "toolu_00000001abcdefgh".into(),
        tool: tool.to_owned(),
        server: None,
        permission_mode: Some("default".into()),
        arguments: arguments.into(),
        arguments_cut: false,
        nonce: "0badcafe".into(),
        settings: "{}".into(),
        extras: "{}".into(),
    }
}

/// A call of a tool that nobody knows.
pub(super) fn unknown() -> Call {
    call("mcp__nobody__knows", "{}")
}

/// Usual calls: tools of well-known servers that read and that change a machine, the harness's own, and unknown ones.
pub(super) fn plain() -> Vec<Named> {
    [
        ("mcp__esxi__powerOff", json!({ "name": "web01" })),
        ("mcp__esxi__listVMs", json!({})),
        (
            "mcp__ssh-mcp__run-command",
            json!({ "host": "web01", "command": "reboot" }),
        ),
        ("mcp__nobody__knows", json!({ "vm": "web01" })),
        ("Bash", json!({ "command": "ls" })),
        ("Write", json!({ "file_path": "/tmp/x", "content": "x" })),
    ]
    .into_iter()
    .map(|(tool, arguments)| (tool.to_owned(), call(tool, arguments.to_string())))
    .collect()
}

/// Odd names and odd arguments.
pub(super) fn odd() -> Vec<Named> {
    let tools = [
        "mcp__",
        "mcp____",
        "mcp__a",
        "mcp__a__",
        "MCP__esxi__powerOff",
        " mcp__esxi__powerOff",
        "mcp__esxi__powerOff__powerOff",
        "mcp__\u{1b}[31m__\u{202e}",
        "m\u{0}cp",
        "mcp__ä__😀",
        "../../etc/passwd",
        "%s%n",
    ];
    let arguments = [
        "null",
        "true",
        "0",
        "-1e999",
        "\"text\"",
        "[]",
        "[[]]",
        "{\"name\":null}",
        "{\"name\":[\"a\",1,null]}",
        "{\"name\":{\"name\":\"web01\"}}",
        "{\"name\":\"web01\",\"name\":\"db01\"}",
        "{\"\":\"\"}",
        "{\"name\":\"\\ud800\"}",
        "{\"name\":\"\\u0000\"}",
        "{\"name\":\"web*\"}",
        "{\"name\":\"-web01\"}",
        "{\"name\":12345678901234567890123}",
    ];
    let odd_tools = tools.into_iter().map(|tool| {
        let name = format!("the tool {tool:?}");
        (name, call(tool, "{\"name\":\"web01\"}"))
    });
    let odd_arguments = arguments.into_iter().map(|arguments| {
        let name = format!("the arguments {arguments}");
        (name, call("mcp__esxi__powerOff", arguments))
    });
    let mut named = call("mcp__esxi__powerOff", "{\"name\":\"web01\"}");
    named.server = Some(Server {
        name: "other\u{202e}".into(),
        source: "\n".into(),
    });
    let named = ("a server of another name".to_owned(), named);
    odd_tools.chain(odd_arguments).chain([named]).collect()
}

/// Nothing in anything that may be empty.
pub(super) fn empty() -> Vec<Named> {
    let mut nothing = call("", "null");
    for text in [
        &mut nothing.harness,
        &mut nothing.session_id,
        &mut nothing.call_id,
        &mut nothing.nonce,
    ] {
        text.clear();
    }
    nothing.permission_mode = None;
    let mut of_server = nothing.clone();
    of_server.server = Some(Server {
        name: String::new(),
        source: String::new(),
    });
    let mut of_mcp = nothing.clone();
    "mcp__esxi__powerOff".clone_into(&mut of_mcp.tool);
    "{}".clone_into(&mut of_mcp.arguments);
    vec![
        ("nothing at all".into(), nothing),
        ("nothing but a server".into(), of_server),
        ("nothing but a tool".into(), of_mcp),
    ]
}

/// As much as the host hands over.
pub(super) fn large() -> Vec<Named> {
    let fill = |unit: &str, around: usize| unit.repeat((WHOLE - around) / unit.len());
    let long = json!({ "name": fill("x", 20) }).to_string();
    let many = format!("{{\"name\":[{}\"\"]}}", fill("\"web01\",", 20));
    let names: Vec<String> = (0..WHOLE / 20)
        .map(|number| format!("\"n{number}\":\"web01\""))
        .collect();
    let keys = format!("{{{}}}", names.join(","));
    let deep = format!("{}{}", "[".repeat(WHOLE / 2), "]".repeat(WHOLE / 2));
    let deep_objects = format!("{}0{}", "{\"name\":".repeat(WHOLE / 10), "}".repeat(WHOLE / 10));
    let mut calls: Vec<Named> = [
        ("one long text", long),
        ("many names", many),
        ("many arguments", keys),
        ("arguments nested deep", deep),
        ("objects nested deep", deep_objects),
    ]
    .into_iter()
    .map(|(name, arguments)| (name.to_owned(), call("mcp__esxi__powerOff", arguments)))
    .collect();
    calls.push((
        "a long tool name".into(),
        call(&format!("mcp__{}__x", fill("a__", 20)), "{}"),
    ));
    let mut cut = call("mcp__esxi__powerOff", "{\"name\":null}");
    cut.arguments_cut = true;
    calls.push(("arguments that were cut".into(), cut));
    calls
}
