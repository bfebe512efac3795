//! No text that leaves the library holds a secret.

use holdpoint_zerto::{Error, Login, Secret, Settings, Zvm};
use zvm_sim::Sim;

use crate::common::*;

const ODD: &str = r#"p"ä\s% &+<ß>"#;
/// The forms in which a request carries it, or a server would give it back.
const FORMS: [&str; 4] = [
    ODD,
    r#"p\"ä\\s% &+<ß>"#,
    "p%22%C3%A4%5Cs%25+%26%2B%3C%C3%9F%3E",
    "YWRtaW46cCLDpFxzJSAmKzzDnz4=",
];

/// A server that gives back, in its refusals, whatever it was sent.
fn echoing(on: &str, status: u16) -> Sim {
    let words = FORMS.join(" and ");
    let body = serde_json::json!({"Message": words, "error_description": words}).to_string();
    let body = serde_json::Value::from(body);
    sim(&format!(
        "[login]\npassword = {}\nservice_client_id = 'admin'\nservice_client_secret = {}\n[[troubles]]\non = '{on}'\nkind = 'status'\nstatus = {status}\nbody = {body}",
        serde_json::Value::from(ODD),
        serde_json::Value::from(ODD),
    ))
}

fn check(error: &Error) {
    for shown in [error.to_string(), format!("{error:?}")] {
        for form in FORMS {
            assert!(!shown.contains(form), "{shown}");
        }
        assert!(!shown.contains('ä') && !shown.contains('ß'), "{shown}");
    }
}

#[tokio::test]
async fn errors_hold_no_secret() {
    let logins = || {
        [
            password(ODD),
            Login::ClientCredentials {
                client_id: "admin".into(),
                client_secret: Secret::new(ODD),
            },
        ]
    };
    for on in ["POST /auth/*", "GET /v1/vms", "POST /v1/vpgs/*/checkpoints"] {
        for status in [400, 401, 403, 404, 409, 500, 503] {
            let sim = echoing(on, status);
            for login in logins() {
                let zvm = Zvm::new(Settings {
                    login,
                    ..settings(&sim)
                })
                .unwrap();
                let mut errors = Vec::new();
                errors.extend(zvm.find_vms_by_name("jp-ubuntu").await.err());
                if on.starts_with("POST") {
                    errors.extend(zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).err());
                }
                assert!(!errors.is_empty(), "{on} {status}");
                errors.iter().for_each(check);
            }
        }
    }
}

#[tokio::test]
async fn other_errors_hold_no_secret() {
    let scenario = |rest: &str| {
        sim(&format!(
            "[login]\npassword = {}\n{rest}",
            serde_json::Value::from(ODD)
        ))
    };
    let redirect = format!(
        "[[troubles]]\non = 'GET /v1/vms'\nkind = 'redirect'\nlocation = 'https://evil.example/{}'",
        FORMS[2]
    );
    for rest in [
        redirect.as_str(),
        "[[troubles]]\non = 'GET /v1/vms'\nkind = 'close'",
        "[[troubles]]\non = 'GET /v1/vms'\nkind = 'bad-json'",
    ] {
        let sim = scenario(rest);
        let zvm = Zvm::new(Settings {
            login: password(ODD),
            ..settings(&sim)
        })
        .unwrap();
        check(&zvm.find_vms_by_name("jp-ubuntu").await.unwrap_err());
    }
    let sim = scenario(
        "[[vpgs]]\nname = 'APP-VPG'\noutcome = 'task-fails'\nreason = 'by admin with p\"ä\\s% &+<ß>'",
    );
    let zvm = Zvm::new(Settings {
        login: password(ODD),
        ..settings(&sim)
    })
    .unwrap();
    let error = zvm.capture(&[vpg("APP-VPG")], TAG).await.remove(0).unwrap_err();
    assert_eq!(error, Error::Refused("by admin with [secret]".into()));
}

#[tokio::test]
async fn a_token_that_is_given_back_is_hidden() {
    let token = "tok-0123456789";
    let sim = sim(&format!(
        "[[troubles]]\non = 'POST /auth/*'\nkind = 'status'\nstatus = 200\nbody = '{{\"access_token\":\"{token}\"}}'\n\
         [[troubles]]\non = 'GET /*'\nkind = 'status'\nstatus = 403\nbody = 'not you, Bearer {token}'"
    ));
    let error = zvm(&sim).find_vms_by_name("jp-ubuntu").await.unwrap_err();
    assert!(
        !format!("{error:?} {error}").contains(token) && error.to_string().contains("[secret]"),
        "{error}"
    );
}
