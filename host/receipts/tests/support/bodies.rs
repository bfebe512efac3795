//! Bodies of receipts, for the tests here and those in the library.

use holdpoint_artifact::Digest;
use holdpoint_receipts::{
    Arguments, Body, Call, Checkpoint, Decision, Environment, Machine, Observation, Outcome, Policy, Results,
    Stance, Verdict, Zvm,
};
use serde_json::value::RawValue;

pub(crate) fn call(id: &str) -> Call {
    let tool = "mcp__falcon__run_command";
    let arguments = RawValue::from_string(r#"{"hostname":"web01","command":"reboot"}"#.into()).expect("JSON");
    Call {
        harness: Some("claude-code".into()),
        session: Some("session-1".into()),
        id: Some(id.into()),
        tool: tool.into(),
        arguments: Arguments::of(tool, &arguments, false),
        environment: Environment {
            user: Some("dev (1000)".into()),
            host_name: Some("workstation".into()),
            cwd: Some("/home/dev/project".into()),
            transcript: Some("/home/dev/.claude/projects/p/s.jsonl".into()),
            agent_id: Some("a1".into()),
            agent_type: Some("Explore".into()),
        },
    }
}

pub(crate) fn checkpoint() -> Checkpoint {
    Checkpoint {
        id: "4711".into(),
        vpg: "3b6f0a2e-1111-4c22-8f33-5a5a5a5a5a5a".into(),
        tag: Some("holdpoint claude-code 12345678".into()),
        time: "2027-01-31T12:00:00Z".into(),
    }
}

pub(crate) fn decision(id: &str, verdict: Verdict) -> Body {
    let facts = Decision {
        verdict,
        stance: Stance::Closed,
        fault: None,
        why: Some("a \"quoted\" note, \u{e9}, \u{1f512}".into()),
        permission_mode: Some("default".into()),
        policy: Some(Policy {
            digest: Digest::of(b"policy"),
            origin: "shipped".into(),
            version: Some("1.4.0".into()),
            signer: Some("team".into()),
            wit: "0.1.0".into(),
        }),
        targets: vec!["web01".into()],
        machines: vec![Machine {
            name: "web01".into(),
            vm: "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1042".into(),
            vpg: "3b6f0a2e-1111-4c22-8f33-5a5a5a5a5a5a".into(),
            vpg_name: "WEB".into(),
        }],
        checkpoints: vec![checkpoint()],
        troubles: Vec::new(),
        zvm: Some(Zvm {
            url: "https://zvm.example".into(),
            site: Some("3b6f0a2e-2222-4c22-8f33-5a5a5a5a5a5a".into()),
        }),
        signer: Some("sig_2, which says \"deny\"".into()),
    };
    Body::Decision(call(id), facts)
}

pub(crate) fn observation(id: &str, outcome: Outcome) -> Body {
    let results = RawValue::from_string(r#"[{"type":"text","text":"ran"}]"#.into()).expect("JSON");
    let facts = Observation {
        outcome,
        stance: Stance::Open,
        results: Some(Results::of(&results, false)),
        decision: None,
        checkpoints: vec![checkpoint()],
        deviation: None,
    };
    Body::Observation(call(id), facts)
}
