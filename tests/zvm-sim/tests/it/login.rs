//! Both ways in, and how long they stay open.

use std::time::Duration;

use reqwest::Method;
use reqwest::blocking::Response;

use crate::caller::{Caller, json, message, password_form};

const SERVICE: [(&str, &str); 4] = [
    ("grant_type", "client_credentials"),
    ("client_id", "holdpoint"),
    ("client_secret", "service-secret"),
    ("scope", "profile openid"),
];

/// A form with one field changed, or left out.
fn changed<'a>(form: &[(&'a str, &'a str)], key: &str, value: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let change = |(name, old): &(&'a str, &'a str)| match *name == key {
        true => value.map(|value| (*name, value)),
        false => Some((*name, *old)),
    };
    form.iter().filter_map(change).collect()
}

fn error(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body = json(response);
    assert!(body["error_description"].is_string(), "{body}");
    (status, body["error"].as_str().unwrap().to_owned())
}

#[test]
fn both_grants_give_a_token_that_works() {
    let mut caller = Caller::stranger("");
    for form in [password_form(), SERVICE.to_vec()] {
        let response = caller.token_request(&form).send().unwrap();
        assert_eq!(response.status(), 200);
        let token = json(response);
        assert_eq!(
            (&token["token_type"], &token["expires_in"]),
            (&"Bearer".into(), &60.into())
        );
        let service = form[0].1 == "client_credentials";
        assert_eq!(token["refresh_token"].is_null(), service);
        caller.bear(token["access_token"].as_str().unwrap());
        assert_eq!(caller.get("/v1/vms").status(), 200);
    }
}

#[test]
fn a_wrong_log_in_is_refused_in_keycloak_s_words() {
    let caller = Caller::stranger("");
    let refused = |form: &[(&str, &str)]| error(caller.token_request(form).send().unwrap());
    let (password, service) = (password_form(), SERVICE);
    let cases = [
        (
            changed(&password, "password", Some("guess")),
            401,
            "invalid_grant",
        ),
        (changed(&password, "username", None), 401, "invalid_grant"),
        (
            changed(&password, "client_id", Some("other")),
            401,
            "invalid_client",
        ),
        (changed(&password, "scope", None), 400, "invalid_scope"),
        (changed(&password, "scope", Some("openidx")), 400, "invalid_scope"),
        (
            changed(&password, "grant_type", Some("implicit")),
            400,
            "unsupported_grant_type",
        ),
        (
            changed(&service, "client_secret", Some("guess")),
            401,
            "invalid_client",
        ),
        (
            changed(&service, "client_id", Some("zerto-client")),
            401,
            "invalid_client",
        ),
    ];
    for (form, status, code) in cases {
        assert_eq!(refused(&form), (status, code.to_owned()), "{form:?}");
    }
    let path = "/auth/realms/zerto/protocol/openid-connect/token";
    let json = caller
        .request(Method::POST, path)
        .json(&serde_json::json!({}))
        .send()
        .unwrap();
    assert_eq!(error(json), (400, "invalid_request".to_owned()));
}

#[test]
fn the_scope_can_be_left_out_where_it_is_not_required() {
    let caller = Caller::stranger("[login]\nrequire_openid = false");
    let form = changed(&password_form(), "scope", None);
    assert_eq!(caller.token_request(&form).send().unwrap().status(), 200);
}

#[test]
fn a_token_ends_when_it_says_so() {
    let mut caller = Caller::stranger("[login]\ntoken_seconds = 2");
    caller.log_in();
    std::thread::sleep(Duration::from_millis(2100));
    let response = caller.get("/v1/vms");
    assert_eq!(response.status(), 401);
    assert!(!message(response).is_empty());
    caller.log_in();
    assert_eq!(caller.get("/v1/vms").status(), 200);
}

#[test]
fn without_a_good_token_there_is_nothing() {
    let mut caller = Caller::stranger("");
    for token in [None, Some("made up")] {
        token.into_iter().for_each(|token| caller.bear(token));
        for path in ["/v1/vms", "/v1/localsite", "/v1/tasks/unknown"] {
            assert_eq!(caller.get(path).status(), 401, "{path}");
        }
    }
    let basic = caller
        .http
        .get(format!("{}/v1/vms", caller.sim.url()))
        .basic_auth("admin", Some("secret"));
    assert_eq!(basic.send().unwrap().status(), 401);
}

#[test]
fn one_simulation_s_token_is_nothing_to_another() {
    let (one, mut other) = (Caller::stranger(""), Caller::stranger(""));
    let token = json(one.token_request(&password_form()).send().unwrap());
    other.bear(token["access_token"].as_str().unwrap());
    assert_eq!(other.get("/v1/vms").status(), 401);
}

#[test]
fn a_windows_session_is_a_header_until_it_is_deleted() {
    let caller = Caller::stranger("[site]\nplatform = 'windows'");
    assert_eq!(caller.session_request("guess").send().unwrap().status(), 401);
    let answer = caller.session_request("secret").send().unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.content_length()),
        (200, Some(0))
    );
    let session = answer.headers()["x-zerto-session"].to_str().unwrap().to_owned();

    let with = |method, path| {
        caller
            .request(method, path)
            .header("x-zerto-session", &session)
            .send()
            .unwrap()
    };
    assert_eq!(with(Method::GET, "/v1/vms").status(), 200);
    assert_eq!(with(Method::DELETE, "/v1/session").status(), 200);
    assert_eq!(with(Method::GET, "/v1/vms").status(), 401);

    let schemes: Vec<_> = caller
        .sim
        .requests()
        .into_iter()
        .map(|seen| seen.authorization)
        .collect();
    let (basic, session) = (Some("Basic"), Some("Session"));
    assert_eq!(schemes, [basic, basic, session, session, session]);
}

#[test]
fn a_windows_session_lives_on_while_it_is_used() {
    let caller = Caller::stranger("[site]\nplatform = 'windows'\n[login]\nsession_idle_seconds = 2");
    let answer = caller.session_request("secret").send().unwrap();
    let session = answer.headers()["x-zerto-session"].clone();
    let status = || {
        let request = caller
            .request(Method::GET, "/v1/localsite")
            .header("x-zerto-session", &session);
        request.send().unwrap().status().as_u16()
    };
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1000));
        assert_eq!(status(), 200);
    }
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(status(), 401);
}

#[test]
fn each_platform_knows_only_its_own_log_in() {
    let linux = Caller::stranger("");
    assert_eq!(linux.session_request("secret").send().unwrap().status(), 404);
    assert_eq!(
        linux
            .request(Method::DELETE, "/v1/session")
            .send()
            .unwrap()
            .status(),
        404
    );
    let windows = Caller::stranger("[site]\nplatform = 'windows'");
    assert_eq!(
        windows.token_request(&password_form()).send().unwrap().status(),
        404
    );
}

#[test]
fn what_was_asked_is_kept_without_its_secrets() {
    let caller = Caller::start("");
    caller.token_request(&SERVICE).send().unwrap();
    let seen = caller.sim.requests();
    assert!(
        seen[0].body.contains("username=admin&password=***&scope=openid"),
        "{}",
        seen[0].body
    );
    assert!(seen[1].body.contains("client_secret=***"), "{}", seen[1].body);
    assert!(!format!("{seen:?}").contains("secret&") && !format!("{seen:?}").contains("service-secret"));
}
