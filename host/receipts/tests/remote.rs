//! The remote signer against the stand-in service.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use asqav_sim::{AGENT_ID, API_KEY, Algorithm, NEIGHBOUR, Sim, Trouble};
use holdpoint_receipts::remote::{Account, Action, Decision, Error, Gated, Observation, Service, Signed};

const ACTION: Action<'_> = Action {
    tool: "mcp__Falcon__run_command",
    arguments: r#"{"hostname":"web01","command":"reboot"}"#,
    session_id: "session-1",
    call_id: "toolu_1",
};

/// How long a locked file is waited for.
const WAIT: Duration = Duration::from_secs(60);

/// A service and a folder for the keys that are kept.
struct World {
    sim: Sim,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self::with(Algorithm::Ed25519)
    }

    fn with(algorithm: Algorithm) -> Self {
        Self {
            sim: Sim::start(algorithm).expect("a service"),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn troubled(trouble: Trouble) -> Self {
        let world = Self::new();
        world.sim.trouble(Some(trouble));
        world
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("asqav-keys.json")
    }

    fn service(&self, more: &[(&str, &str)]) -> Service {
        let url = self.sim.url();
        let account = account(&url, more);
        Service::new(account, Some(self.cache()))
    }

    fn gate(&self) -> Result<Signed, Error> {
        gate(&self.service(&[]))
    }
}

fn account(url: &str, more: &[(&str, &str)]) -> Account {
    let all = [
        ("ASQAV_API_KEY", API_KEY),
        ("ASQAV_AGENT_ID", AGENT_ID),
        ("ASQAV_API_URL", url),
    ];
    let find = |name: &str| {
        let found = more.iter().chain(&all).find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Account::read(find, None, None).expect("an account")
}

fn permit(call_id: &str) -> Decision {
    let action = Action { call_id, ..ACTION };
    Decision::permit(&action, AGENT_ID).expect("a request")
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// What a service that is asked for a permit answers with, where it is one.
fn gate(service: &Service) -> Result<Signed, Error> {
    match service.gate(&permit(ACTION.call_id), far())? {
        Gated::Allowed(signed) => Ok(signed),
        Gated::Refused(signed) => panic!("it refused: {signed:?}"),
    }
}

#[test]
fn a_permit_of_either_algorithm_opens_the_gate() {
    for algorithm in [Algorithm::Ed25519, Algorithm::MlDsa65] {
        let world = World::with(algorithm);
        let signed = world.gate().unwrap();
        assert_eq!(signed.decision, "allow");
        assert_eq!(signed.receipt["payload"]["invocation_ref"], ACTION.call_id);
        assert_eq!(signed.receipt["payload"]["agent_id"], AGENT_ID);
        assert!(signed.receipt["signature"]["sig"].is_string());
        assert!(signed.receipt["anchors"].is_array());
    }
}

#[test]
fn an_observation_is_one_and_binds_the_result() {
    let world = World::new();
    let observation = Observation::new(&ACTION, AGENT_ID, r#"[{"type":"text","text":"ran"}]"#).unwrap();
    let signed = world.service(&[]).observe(&observation, far()).unwrap();
    assert_eq!(signed.decision, "observation");
    let payload = &signed.receipt["payload"];
    assert_eq!(payload["type"], "protectmcp:observation:result_bound");
    assert_eq!(payload["capture_topology"], "passive_telemetry");
    assert!(payload["result_digest"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn a_deny_is_put_on_record_and_opens_nothing() {
    let world = World::new();
    let deny = Decision::deny(&ACTION, AGENT_ID, "policy").unwrap();
    let service = world.service(&[]);
    assert_eq!(service.record(&deny, far()).unwrap().decision, "deny");
    assert!(matches!(service.gate(&deny, far()), Ok(Gated::Refused(signed)) if signed.decision == "deny"));
}

#[test]
fn an_ask_is_sent_as_a_permit_that_says_what_it_is() {
    let world = World::new();
    let ask = Decision::ask(&ACTION, AGENT_ID).unwrap();
    let Gated::Allowed(signed) = world.service(&[]).gate(&ask, far()).unwrap() else {
        panic!("an ask may go on to the human");
    };
    world.gate().unwrap();
    let [asked, passed] = <[_; 2]>::try_from(world.sim.bodies()).unwrap();
    for (body, reason) in [(asked, Some("ask")), (passed, None)] {
        assert_eq!(body["policy_decision"], "permit");
        assert_eq!(body["reason"].as_str(), reason);
    }
    assert_eq!(signed.receipt["payload"]["reason"], "ask");
}

#[test]
fn no_argument_and_no_result_leaves_in_clear() {
    let world = World::new();
    world.gate().unwrap();
    let result = r#"{"stdout":"a very private line"}"#;
    let observation = Observation::new(&ACTION, AGENT_ID, result).unwrap();
    world.service(&[]).observe(&observation, far()).unwrap();
    let sent = format!("{:?}", world.sim.asked());
    for secret in ["web01", "reboot", "private", "hostname"] {
        assert!(!sent.contains(secret), "{secret} was sent: {sent}");
    }
}

#[test]
fn only_exactly_allow_opens_the_gate() {
    for word in [
        "deny",
        "rate_limit",
        "observation",
        "permit",
        "ALLOW",
        "allow ",
        "allowed",
        "",
    ] {
        let world = World::troubled(Trouble::Decision(word));
        let answer = world.service(&[]).gate(&permit(ACTION.call_id), far());
        assert!(
            matches!(&answer, Ok(Gated::Refused(signed)) if signed.decision == word),
            "{word}: {answer:?}"
        );
    }
    let world = World::troubled(Trouble::Omits("decision"));
    let answer = world.service(&[]).gate(&permit(ACTION.call_id), far());
    assert!(matches!(answer, Ok(Gated::Refused(_))), "{answer:?}");
}

#[test]
fn what_no_key_of_this_agent_signed_does_not_verify() {
    for algorithm in [Algorithm::Ed25519, Algorithm::MlDsa65] {
        for trouble in [
            Trouble::OtherKey,
            Trouble::NeighboursKey,
            Trouble::Tampered("decision", "ALLOW"),
            Trouble::Tampered("invocation_ref", "toolu_2"),
            Trouble::Tampered("unheard_of", "x"),
            Trouble::Says("issuer_id", "somebody-else"),
            Trouble::Omits("issuer_id"),
        ] {
            let world = World::with(algorithm);
            world.sim.trouble(Some(trouble.clone()));
            let error = world.gate().unwrap_err();
            assert!(matches!(error, Error::Unverified(_)), "{trouble:?}: {error}");
            assert!(
                !world.cache().exists(),
                "{trouble:?}: keys that verified nothing are kept"
            );
        }
    }
    // A thumbprint stands inside the signed bytes: it has to be the signer's.
    let world = World::with(Algorithm::MlDsa65);
    let other = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
    world.sim.trouble(Some(Trouble::Says("key_thumbprint", other)));
    assert!(matches!(world.gate(), Err(Error::Unverified(_))));
}

#[test]
fn a_key_that_was_taken_back_does_not_count() {
    let world = World::new();
    world.sim.revoke();
    let error = world.gate().unwrap_err();
    assert!(error.to_string().contains("not active"), "{error}");
}

#[test]
fn a_genuine_receipt_about_something_else_does_not_count() {
    let other = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    for trouble in [
        Trouble::Says("invocation_ref", "toolu_2"),
        Trouble::Omits("invocation_ref"),
        Trouble::Says("agent_id", NEIGHBOUR),
        Trouble::Says("hash", other),
        Trouble::Says("action_ref", other),
        Trouble::Says("nonce", "000000000000000000000000"),
        Trouble::Says("type", "protectmcp:observation"),
        Trouble::Omits("type"),
        Trouble::Omits("issued_at"),
        Trouble::Says("issued_at", "yesterday"),
        Trouble::Says("issued_at", "2100-01-01T00:00:00Z"),
        Trouble::Says("expires_at", "2026-01-01T00:00:00Z"),
        Trouble::Stale(Duration::from_secs(10)),
    ] {
        let world = World::troubled(trouble.clone());
        let error = world.gate().unwrap_err();
        assert!(matches!(error, Error::Mismatch(_)), "{trouble:?}: {error}");
    }
}

#[test]
fn a_receipt_names_its_action_by_one_of_two_names() {
    for name in ["hash", "action_ref"] {
        assert!(World::troubled(Trouble::Omits(name)).gate().is_ok(), "{name}");
    }
}

#[test]
fn an_answer_that_is_no_receipt_is_told() {
    for text in [
        "",
        "<html>log in first</html>",
        "{}",
        r#"{"payload":null,"signature":{},"signature_id":"s"}"#,
        r#"{"payload":{},"signature":"c2ln","signature_id":"s"}"#,
        r#"{"payload":{"a":1,"a":1},"signature":{"alg":"Ed25519","kid":"k","sig":"AA"},"signature_id":"s"}"#,
    ] {
        let error = World::troubled(Trouble::Text(text)).gate().unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{text}: {error}");
    }
    let error = World::troubled(Trouble::Huge).gate().unwrap_err();
    assert!(matches!(error, Error::Malformed(_)), "{error}");
}

#[test]
fn a_refusal_is_told_in_the_services_words_without_the_key() {
    for status in [400, 409, 500] {
        let error = World::troubled(Trouble::Status(status)).gate().unwrap_err();
        let told = error.to_string();
        assert!(
            matches!(error, Error::Refused(code, _) if code == status),
            "{told}"
        );
        assert!(told.contains("out of order for [secret]"), "{told}");
    }
    let world = World::new();
    let wrong = world.service(&[("ASQAV_API_KEY", "sk_wrong")]);
    assert!(matches!(gate(&wrong), Err(Error::Refused(401, _))));
    let redirected = World::troubled(Trouble::Redirect);
    assert!(matches!(redirected.gate(), Err(Error::Refused(307, _))));
    assert_eq!(
        redirected.sim.asked().len(),
        1,
        "a redirect would carry the key elsewhere"
    );
}

#[test]
fn a_service_that_is_busy_is_asked_again_and_no_more_than_that() {
    let world = World::troubled(Trouble::Busy(2));
    world.gate().unwrap();
    assert_eq!(world.sim.bodies().len(), 3);
    let nonces: Vec<_> = world
        .sim
        .bodies()
        .into_iter()
        .map(|body| body["nonce"].clone())
        .collect();
    assert!(nonces.windows(2).all(|pair| pair[0] == pair[1]), "{nonces:?}");
    let world = World::troubled(Trouble::Busy(3));
    assert!(matches!(world.gate(), Err(Error::Refused(503, _))));
    assert_eq!(world.sim.bodies().len(), 3);
}

#[test]
fn one_deadline_covers_signature_and_keys() {
    let hour = Duration::from_secs(3600);
    for trouble in [Trouble::Slow(hour), Trouble::KeysSlow(hour)] {
        let world = World::troubled(trouble.clone());
        let service = world.service(&[("ASQAV_HOOK_DEADLINE_SECONDS", "0.5")]);
        let error = gate(&service).unwrap_err();
        assert!(
            matches!(error, Error::Late(time) if time == Duration::from_millis(500)),
            "{trouble:?}: {error}"
        );
        // The caller's own deadline counts where it is nearer.
        let until = Instant::now() + Duration::from_millis(200);
        let error = world.service(&[]).gate(&permit("toolu_1"), until).unwrap_err();
        assert!(
            matches!(error, Error::Late(time) if time <= Duration::from_millis(200)),
            "{trouble:?}: {error}"
        );
    }
    let world = World::new();
    let error = world
        .service(&[])
        .gate(&permit("toolu_1"), Instant::now())
        .unwrap_err();
    assert!(matches!(error, Error::Late(_)), "{error}");
}

#[test]
fn a_service_that_is_not_there_is_unreachable() {
    let url = World::new().sim.url();
    let error = gate(&Service::new(account(&url, &[]), None)).unwrap_err();
    assert!(matches!(error, Error::Unreachable(_)), "{error}");
    let world = World::troubled(Trouble::KeysStatus(500));
    assert!(matches!(world.gate(), Err(Error::Refused(500, _))));
}

#[test]
fn without_a_tool_use_id_no_receipt_is_bound_to_the_call() {
    let world = World::new();
    let error = world.service(&[]).gate(&permit(""), far()).unwrap_err();
    assert!(matches!(error, Error::Unbound), "{error}");
    assert!(world.sim.asked().is_empty());
    // Afterwards it is worth having all the same.
    let action = Action {
        call_id: "",
        ..ACTION
    };
    let observation = Observation::new(&action, AGENT_ID, "null").unwrap();
    world.service(&[]).observe(&observation, far()).unwrap();
    world
        .sim
        .trouble(Some(Trouble::Says("invocation_ref", "toolu_9")));
    let error = world.service(&[]).observe(&observation, far()).unwrap_err();
    assert!(matches!(error, Error::Mismatch(_)), "{error}");
}

#[test]
fn what_has_no_canonical_form_is_not_signed() {
    for arguments in [
        r#"{"a":1,"a":2}"#,
        r#"{"n":9007199254740993}"#,
        r#"{"n":1e400}"#,
        "{",
    ] {
        let action = Action { arguments, ..ACTION };
        assert!(
            matches!(Decision::permit(&action, AGENT_ID), Err(Error::Canonical(_))),
            "{arguments}"
        );
        assert!(
            matches!(
                Observation::new(&ACTION, AGENT_ID, arguments),
                Err(Error::Canonical(_))
            ),
            "{arguments}"
        );
    }
}

#[test]
fn published_keys_are_kept_and_asked_for_once_more_where_they_do_not_suffice() {
    let world = World::new();
    world.gate().unwrap();
    let pages = world.sim.pages_read();
    assert_eq!(pages, 2, "every page is read");
    world.gate().unwrap();
    assert_eq!(world.sim.pages_read(), pages, "kept keys are used");
    world.sim.rotate();
    world.gate().unwrap();
    let after = world.sim.pages_read();
    assert!(after > pages, "a key that is not known is asked for");
    world.gate().unwrap();
    assert_eq!(world.sim.pages_read(), after);
    world.sim.trouble(Some(Trouble::OtherKey));
    assert!(world.gate().is_err());
    assert_eq!(world.sim.pages_read(), after + 3, "one refresh, no more");
}

#[test]
fn keys_of_another_service_agent_or_day_are_not_used() {
    let world = World::new();
    world.gate().unwrap();
    let good = std::fs::read_to_string(world.cache()).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&good).unwrap();
    let fetched = kept["fetched_at"].as_u64().unwrap();
    let mut pages = world.sim.pages_read();
    let day = 24 * 3600;
    let changes: [(&str, serde_json::Value); 5] = [
        ("service", "https://other.example".into()),
        ("agent_id", NEIGHBOUR.into()),
        ("fetched_at", (fetched - day - 60).into()),
        ("fetched_at", (fetched + day).into()),
        ("keys", serde_json::json!([])),
    ];
    for (name, value) in changes {
        let mut changed = kept.clone();
        changed[name] = value.clone();
        std::fs::write(world.cache(), changed.to_string()).unwrap();
        world.gate().unwrap();
        assert!(world.sim.pages_read() > pages, "{name} {value}");
        pages = world.sim.pages_read();
    }
    for text in ["", "[]", "not JSON", "{\"keys\":1}"] {
        std::fs::write(world.cache(), text).unwrap();
        world.gate().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn kept_keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.gate().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.cache()), 0o600);
    let pages = world.sim.pages_read();
    std::fs::set_permissions(world.cache(), std::fs::Permissions::from_mode(0o666)).unwrap();
    world.gate().unwrap();
    assert!(
        world.sim.pages_read() > pages,
        "keys that others may write are used"
    );
    assert_eq!(mode(&world.cache()), 0o600);
}

#[test]
fn keys_that_cannot_be_kept_cost_a_question_each_time() {
    let world = World::new();
    let nowhere = world.folder.path().join("no/such/folder/keys.json");
    let service = Service::new(account(&world.sim.url(), &[]), Some(nowhere));
    gate(&service).unwrap();
    gate(&service).unwrap();
    assert_eq!(world.sim.pages_read(), 4);
}

#[test]
fn receipts_are_kept_as_they_came_whoever_else_keeps_some() {
    let world = World::new();
    let path = world.folder.path().join("asqav.jsonl");
    // What a process that was killed left behind.
    std::fs::write(&path, "{\"payload\":").unwrap();
    let signed = world.gate().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| signed.keep(&path, WAIT).unwrap()));
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("{\"payload\":"));
    let kept: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept.len(), 80);
    assert!(kept.iter().all(|receipt| *receipt == signed.receipt));
    let nowhere = world.folder.path().join("no/such/folder");
    assert!(signed.keep(&nowhere, WAIT).is_err());
}

#[test]
fn a_file_that_stays_locked_is_waited_for_no_longer_than_asked() {
    let world = World::new();
    let path = world.folder.path().join("asqav.jsonl");
    let signed = world.gate().unwrap();
    let other = std::fs::File::create(&path).unwrap();
    other.lock().unwrap();
    let started = Instant::now();
    let error = signed.keep(&path, Duration::from_millis(100)).unwrap_err();
    assert!(error.to_string().contains("locked"), "{error}");
    assert!(started.elapsed() >= Duration::from_millis(100));
    drop(other);
    signed.keep(&path, WAIT).unwrap();
}
