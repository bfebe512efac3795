//! Logging in: Keycloak's tokens on the Linux appliance, a session header on Windows.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::filter::Query;
use crate::request::{SESSION_HEADER, authorization, is_form, session};
use crate::scenario::Platform;
use crate::zvm::{Login, Zvm};

/// The user behind a request, if its token or session is alive.
pub(crate) fn user<B>(zvm: &Zvm, request: &Request<B>) -> Option<String> {
    let mut state = zvm.state();
    let now = Instant::now();
    state.logins.retain(|_, login| login.ends > now);
    match zvm.scenario.site.platform {
        Platform::Linux => match authorization(request)? {
            (scheme, token) if scheme.eq_ignore_ascii_case("bearer") => {
                state.logins.get(token).map(|login| login.user.clone())
            }
            _ => None,
        },
        Platform::Windows => {
            // A session ends after some time without use, so each use moves its end.
            let login = state.logins.get_mut(session(request)?)?;
            login.ends = now + Duration::from_secs(zvm.scenario.login.session_idle_seconds);
            Some(login.user.clone())
        }
    }
}

/// Keycloak's token endpoint.
pub(crate) fn token(zvm: &Zvm, request: &Request<Bytes>) -> Answer {
    let login = &zvm.scenario.login;
    if !is_form(request) {
        return refusal(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "Missing form parameter: grant_type",
        );
    }
    let form = Query::of_bytes(request.body());
    let field = |name| form.get(name).unwrap_or_default();
    let user = match field("grant_type") {
        "password" => {
            if field("client_id") != login.client_id {
                return bad_client();
            }
            if (field("username"), field("password")) != (&*login.username, &*login.password) {
                return refusal(
                    StatusCode::UNAUTHORIZED,
                    "invalid_grant",
                    "Invalid user credentials",
                );
            }
            login.username.clone()
        }
        "client_credentials" => {
            let client = (field("client_id"), field("client_secret"));
            if client != (&*login.service_client_id, &*login.service_client_secret) {
                return bad_client();
            }
            format!("service-account-{}", login.service_client_id)
        }
        _ => {
            return refusal(
                StatusCode::BAD_REQUEST,
                "unsupported_grant_type",
                "Unsupported grant_type",
            );
        }
    };
    let openid = field("scope")
        .split_ascii_whitespace()
        .any(|scope| scope == "openid");
    if login.require_openid && !openid {
        return refusal(
            StatusCode::BAD_REQUEST,
            "invalid_scope",
            "The scope openid is required",
        );
    }
    let seconds = login.token_seconds;
    let access = log_in(zvm, user, seconds);
    let mut answer = json!({
        "access_token": access,
        "expires_in": seconds,
        "refresh_expires_in": 0,
        "token_type": "Bearer",
        "not-before-policy": 0,
        "scope": field("scope"),
    });
    // Keycloak gives a service client no refresh token.
    if field("grant_type") == "password" {
        let mut state = zvm.state();
        answer["refresh_expires_in"] = json!(1800);
        answer["refresh_token"] = json!(zvm.fresh_guid(&mut state));
        answer["session_state"] = json!(zvm.fresh_guid(&mut state));
    }
    Answer::json(&answer)
}

/// The Windows ZVM's log-in: HTTP Basic in, a session header out.
pub(crate) fn add_session(zvm: &Zvm, request: &Request<Bytes>) -> Answer {
    let login = &zvm.scenario.login;
    let given = authorization(request)
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
        .and_then(|(_, encoded)| BASE64_STANDARD.decode(encoded.trim()).ok());
    if given.is_none_or(|given| given != format!("{}:{}", login.username, login.password).into_bytes()) {
        return Answer::message(StatusCode::UNAUTHORIZED, "Invalid user name or password");
    }
    if !request.body().is_empty() && !names_a_method(request.body()) {
        return Answer::message(StatusCode::BAD_REQUEST, "AuthenticationMethod is neither 0 nor 1");
    }
    let session = log_in(zvm, login.username.clone(), login.session_idle_seconds);
    HeaderValue::try_from(session).map_or_else(
        |_| Answer::message(StatusCode::INTERNAL_SERVER_ERROR, "The session has no name"),
        |session| Answer::empty().with_header(SESSION_HEADER, session),
    )
}

/// Ends a Windows session.
pub(crate) fn end_session<B>(zvm: &Zvm, request: &Request<B>) -> Answer {
    if let Some(session) = session(request) {
        zvm.state().logins.remove(session);
    }
    Answer::empty()
}

fn log_in(zvm: &Zvm, user: String, seconds: u64) -> String {
    let mut state = zvm.state();
    let token = zvm.fresh_guid(&mut state);
    state.logins.insert(
        token.clone(),
        Login {
            user,
            ends: Instant::now() + Duration::from_secs(seconds),
        },
    );
    token
}

fn names_a_method(body: &[u8]) -> bool {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return false;
    };
    let method = body
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case("AuthenticationMethod"));
    method.is_some_and(|(_, value)| matches!(value.as_u64(), Some(0 | 1)))
}

fn bad_client() -> Answer {
    refusal(
        StatusCode::UNAUTHORIZED,
        "invalid_client",
        "Invalid client or Invalid client credentials",
    )
}

fn refusal(status: StatusCode, error: &str, description: &str) -> Answer {
    Answer::json(&json!({ "error": error, "error_description": description })).with_status(status)
}
