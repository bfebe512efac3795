//! The three ways in, and being turned away.

use holdpoint_zerto::{Error, Login, Secret, Settings, Zvm};
use zvm_sim::Sim;

use crate::common::*;

fn with(sim: &Sim, login: Login) -> Zvm {
    Zvm::new(Settings {
        login,
        ..settings(sim)
    })
    .unwrap()
}

fn windows(password: &str) -> Login {
    Login::WindowsSession {
        username: "admin".into(),
        password: Secret::new(password),
    }
}

#[tokio::test]
async fn a_user_of_the_appliance_is_let_in() {
    let sim = sim("");
    assert!(zvm(&sim).find_vms_by_name("jp-ubuntu").await.is_ok());
    let body = &log_ins(&sim)[0].body;
    for field in [
        "grant_type=password",
        "client_id=zerto-client",
        "username=admin",
        "scope=openid",
    ] {
        assert!(body.contains(field), "{body}");
    }
}

#[tokio::test]
async fn a_client_of_its_own_is_let_in() {
    let sim = sim("");
    let client_secret = Secret::new("service-secret");
    let zvm = with(
        &sim,
        Login::ClientCredentials {
            client_id: "holdpoint".into(),
            client_secret,
        },
    );
    assert!(zvm.find_vms_by_name("jp-ubuntu").await.is_ok());
    let body = &log_ins(&sim)[0].body;
    assert!(
        body.contains("grant_type=client_credentials") && body.contains("scope=openid"),
        "{body}"
    );
}

#[tokio::test]
async fn a_windows_zvm_gives_a_session() {
    let sim = sim("[site]\nplatform = 'windows'\n[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 300");
    let zvm = with(&sim, windows("secret"));
    let result = zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0);
    assert!(result.is_ok(), "{result:?}");
    let requests = sim.requests();
    assert_eq!(
        (requests[0].path.as_str(), requests[0].authorization),
        ("/v1/session/add", Some("Basic"))
    );
    assert_eq!(requests[0].body, r#"{"AuthenticationMethod":1}"#);
    assert!(
        requests[1..]
            .iter()
            .all(|request| request.authorization == Some("Session"))
    );
}

#[tokio::test]
async fn a_windows_session_that_ended_is_renewed() {
    let sim = sim(
        "[site]\nplatform = 'windows'\n[[troubles]]\non = 'GET /v1/vms'\nkind = 'unauthorized'\ntimes = 1",
    );
    let result = with(&sim, windows("secret")).find_vms_by_name("jp-ubuntu").await;
    assert!(result.is_ok_and(|rows| rows.len() == 1));
    assert_eq!(log_ins(&sim).len(), 2);
}

#[tokio::test]
async fn a_refused_log_in_is_never_repeated() {
    for (platform, login) in [("linux", password("wrong")), ("windows", windows("wrong"))] {
        let sim = sim(&format!("[site]\nplatform = '{platform}'"));
        let zvm = with(&sim, login);
        let first = zvm.find_vms_by_name("jp-ubuntu").await.unwrap_err();
        let Error::Unauthorized(text) = &first else {
            panic!("{first:?}")
        };
        let code = if platform == "linux" {
            ", invalid_grant"
        } else {
            ""
        };
        assert_eq!(*text, format!("log-in: HTTP 401{code}"));
        assert_eq!(zvm.find_vms_by_identifier("a.vm-1").await.unwrap_err(), first);
        assert_eq!(
            zvm.capture(&[vpg("APP-VPG"), vpg("B")], TAG).await,
            [Err(first.clone()), Err(first)]
        );
        assert_eq!(sim.requests().len(), 1, "{platform}");
    }
}

#[tokio::test]
async fn keycloak_declines_with_400_as_well() {
    let sim = sim(
        "[[troubles]]\non = 'POST /auth/*'\nkind = 'status'\nstatus = 400\nbody = '{\"error\":\"invalid_grant\",\"error_description\":\"Account disabled\"}'",
    );
    let Err(Error::Unauthorized(text)) = zvm(&sim).vpg(&vpg("APP-VPG")).await else {
        panic!()
    };
    assert_eq!(text, "log-in: HTTP 400, invalid_grant");
}

#[tokio::test]
async fn what_a_declined_log_in_echoes_is_not_told() {
    for status in [400, 401, 403, 418, 500, 503] {
        let sim = sim(&format!(
            "[[troubles]]\non = 'POST /auth/*'\nkind = 'status'\nstatus = {status}\n\
             body = '{{\"error\":\"s%63ret\",\"error_description\":\"s%63ret &amp;ecret\"}}'"
        ));
        let error = zvm(&sim).vpg(&vpg("APP-VPG")).await.unwrap_err();
        assert!(!error.to_string().contains("ret"), "{status}: {error}");
    }
}

#[tokio::test]
async fn the_wrong_platform_is_named_as_a_cause() {
    let linux = sim("");
    let result = with(&linux, windows("secret"))
        .find_vms_by_name("jp-ubuntu")
        .await;
    assert!(
        matches!(&result, Err(Error::Unreachable(text)) if text.contains("platform")),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_log_in_that_makes_no_sense_is_malformed() {
    for kind in ["bad-json", "html", "null", "empty", "wrong-type", "huge"] {
        let sim = sim(&format!("[[troubles]]\non = 'POST /auth/*'\nkind = '{kind}'"));
        let result = zvm(&sim).find_vms_by_name("jp-ubuntu").await;
        assert!(matches!(result, Err(Error::Malformed(_))), "{kind}: {result:?}");
    }
}

#[tokio::test]
async fn a_log_in_that_failed_by_accident_may_be_repeated() {
    let sim = sim("[[troubles]]\non = 'POST /auth/*'\nkind = 'status'\nstatus = 503\ntimes = 1");
    let zvm = zvm(&sim);
    assert!(matches!(
        zvm.find_vms_by_name("jp-ubuntu").await,
        Err(Error::Unreachable(_))
    ));
    assert!(zvm.find_vms_by_name("jp-ubuntu").await.is_ok());
}
