//! Bodies for tests.

use holdpoint_artifact::Digest;
use serde_json::value::RawValue;

use crate::body::{Body, Call, Checkpoint, Decision, Machine, Observation, Outcome, Policy, Stance, Verdict};
use crate::bound::{Arguments, Results};

pub(crate) fn call(id: &str) -> Call {
    let arguments = RawValue::from_string(r#"{"hostname":"web01","command":"reboot"}"#.into()).unwrap();
    Call {
        harness: "claude-code".into(),
        session: Some("session-1".into()),
        id: Some(id.into()),
        tool: "mcp__falcon__run_command".into(),
        arguments: Arguments::of("mcp__falcon__run_command", &arguments, false),
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
    Body::Decision(
        call(id),
        Decision {
            verdict,
            stance: Stance::Closed,
            fault: None,
            why: Some("a note with a quote \" and an é".into()),
            permission_mode: Some("default".into()),
            policy: Some(Policy {
                digest: Digest::of(b"policy"),
                origin: "shipped".into(),
                version: None,
                signer: None,
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
        },
    )
}

pub(crate) fn observation(id: &str) -> Body {
    let results = RawValue::from_string(r#"[{"type":"text","text":"ran"}]"#.into()).unwrap();
    Body::Observation(
        call(id),
        Observation {
            outcome: Outcome::Ran,
            stance: Stance::Open,
            results: Some(Results::of(&results, false)),
            decision: Some(Digest::of(b"decision")),
            checkpoints: vec![checkpoint()],
        },
    )
}
