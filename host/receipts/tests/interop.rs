//! Held against somebody else's verifier: the one in PyPI's `asqav`, as it is published, offline.
//!
//! `HOLDPOINT_ASQAV_PYTHON` names a Python that has it. In CI that has to be there; elsewhere the test says that it did
//! not run.

#![expect(clippy::unwrap_used, reason = "these are tests")]

#[path = "support/python.rs"]
mod python;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use holdpoint_artifact::KeyPair;
use holdpoint_receipts::{Arguments, Body, Outcome, Verdict};
use serde_json::Value;
use serde_json::value::RawValue;

use support::{AUDIT, append, begun, decision, lines, observation, segments};

/// The verifier's own program, and the function of the same package that its documentation names for receipts without
/// anchors. The program has no verdict better than "unverifiable" for those, not for the package's own samples either.
const PROGRAM: [&str; 3] = ["-m", "asqav.verifier.verify_receipt", "--offline"];
const FUNCTION: &str = "
import asqav, json, sys
read = lambda path: json.load(open(path)) if path else None
receipt, before, keys = map(read, sys.argv[1:])
result = asqav.verify_receipt_offline(receipt, keys, predecessor=before)
print(result['verdict'], result['failure_class'], *(a['name'] + '=' + a['result'] for a in result['axes']))
";

/// What both are given.
struct Verifier {
    python: PathBuf,
    keys: PathBuf,
    directory: PathBuf,
}

impl Verifier {
    /// The program's exit code and report, and the function's verdict, on a receipt after another one.
    fn judge(&self, receipt: &str, before: Option<&str>) -> (Option<i32>, String, String) {
        let write = |name: &str, text: &str| {
            let path = self.directory.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let receipt = write("receipt.json", receipt);
        let before = before.map(|before| write("before.json", before));
        let mut program = Command::new(&self.python);
        program
            .args(PROGRAM)
            .arg("--jwks")
            .arg(&self.keys)
            .arg("--receipt")
            .arg(&receipt);
        if let Some(before) = &before {
            program.arg("--predecessor").arg(before);
        }
        let mut function = Command::new(&self.python);
        function
            .args(["-c", FUNCTION])
            .arg(&receipt)
            .arg(before.unwrap_or_default())
            .arg(&self.keys);
        let [program, function] = [program, function].map(|mut command| {
            let output = command.env_clear().env("HOME", &self.directory).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8_lossy(&text).into_owned())
        });
        (program.0, program.1, function.1)
    }

    #[track_caller]
    fn passes(&self, receipt: &str, before: Option<&str>) {
        let (code, text, verdict) = self.judge(receipt, before);
        assert!(verdict.starts_with("verified None "), "{verdict}\n{receipt}");
        assert!(
            !verdict.contains("=FAIL") && !verdict.contains("=SKIPPED") || before.is_none(),
            "{verdict}"
        );
        assert!(
            code == Some(2) && !text.contains("[FAIL]"),
            "{code:?} {text}\n{receipt}"
        );
        let unchecked: Vec<_> = text.lines().filter(|line| line.contains("[skip]")).collect();
        assert!(
            matches!(unchecked.as_slice(), [only] if only.contains("no anchors on this receipt")),
            "{text}"
        );
        for axis in [
            "structure",
            "issuer_bind",
            "key_status",
            "signature",
            "payload_digest",
            "chain",
        ] {
            assert!(text.contains(&format!("[  ok] {axis}")), "{axis}: {text}");
        }
    }

    #[track_caller]
    fn fails(&self, receipt: &str, before: Option<&str>, axis: &str) {
        let (code, text, verdict) = self.judge(receipt, before);
        assert!(
            verdict.starts_with("unverified invalid ") && verdict.contains(&format!("{axis}=FAIL")),
            "{verdict}"
        );
        assert!(
            code == Some(1) && text.contains("=> unverified (failure_class: invalid)"),
            "{text}"
        );
        assert!(text.contains(&format!("[FAIL] {axis}")), "{axis}: {text}");
    }
}

/// A mixed log: decisions, observations, arguments in the clear, several segments, a torn line, a change of keys.
fn mixed_log(home: &Path) -> Vec<String> {
    let log = begun(home, 6_000);
    for verdict in [Verdict::Pass, Verdict::Ask, Verdict::Deny] {
        append(&log, &decision(verdict.word(), verdict));
    }
    append(&log, &observation("pass", Outcome::Ran));
    let mut bare = observation("ask", Outcome::Interrupted);
    if let Body::Observation(_, observation) = &mut bare {
        observation.results = None;
    }
    append(&log, &bare);
    let mut clear = decision("clear", Verdict::Pass);
    if let Body::Decision(call, decision) = &mut clear {
        let text = r#"{"b":[1,-0.0,0.1,0.0001,-1234.5678e3,500.0,9007199254740991],"\ud83d\ude00":1,"\uffff":"\u0007\u00e9","a":{"":null}}"#;
        call.arguments = Arguments::of(&call.tool, &RawValue::from_string(text.into()).unwrap(), true);
        assert!(call.arguments.value.is_some());
        // A fault: no policy decided.
        (decision.fault, decision.policy) = (Some("policy".into()), None);
    }
    append(&log, &clear);
    let last = segments(&log).pop().unwrap();
    let torn = fs::read_to_string(&last).unwrap() + "{\"payload\":{\"act";
    fs::write(&last, torn).unwrap();
    append(&log, &decision("after the torn line", Verdict::Pass));
    log.change_key(AUDIT.wait).unwrap();
    append(&log, &decision("after the change", Verdict::Pass));
    append(&log, &observation("after the change", Outcome::Failed));
    assert!(segments(&log).len() > 1);
    lines(&log)
}

#[ignore = "needs HOLDPOINT_ASQAV_PYTHON"]
#[test]
fn the_formats_own_verifier_passes_every_receipt_and_no_other() {
    let python = python::python();
    let home = tempfile::tempdir().unwrap();
    let lines = mixed_log(home.path());
    assert_eq!(lines.len(), 11);
    let verifier = Verifier {
        python,
        keys: home.path().join("receipts/keys.json"),
        directory: home.path().to_owned(),
    };
    for (index, line) in lines.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| lines[before].as_str());
        verifier.passes(line, before);
    }

    let (before, third, fourth) = (Some(lines[1].as_str()), &lines[2], &lines[3]);
    // One byte of the payload.
    let changed = third.replacen("web01", "web02", 1);
    assert_ne!(changed, *third);
    verifier.fails(&changed, before, "signature");
    // One removed.
    verifier.fails(fourth, before, "chain");
    // Two swapped.
    verifier.fails(fourth, Some(&lines[1]), "chain");
    verifier.fails(third, Some(fourth), "chain");
    // A link rewritten, so that it fits again after one was removed.
    let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let mut rewritten = value(fourth);
    rewritten["payload"]["previousReceiptHash"] = value(third)["payload"]["previousReceiptHash"].clone();
    verifier.fails(&rewritten.to_string(), before, "signature");
    // A signature moved to another receipt.
    let mut moved = value(third);
    moved["signature"] = value(fourth)["signature"].clone();
    verifier.fails(&moved.to_string(), before, "signature");
    // Another key's signature under the same name.
    let mut forged = value(third);
    let payload = serde_json_canonicalizer::to_vec(&forged["payload"]).unwrap();
    let signature = KeyPair::generate().unwrap().sign(&payload);
    forged["signature"]["sig"] = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(signature).into();
    verifier.fails(&forged.to_string(), before, "signature");
}
