//! The service's HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::names::{AGENT_ID, API_KEY};
use crate::receipt;
use crate::service::{Asked, Service};
use crate::trouble::Trouble;

/// The largest request that is read, in bytes.
const REQUEST_LIMIT: usize = 1 << 20;

/// How many keys a page of the key set has: few, so that there is more than one page.
const PAGE: usize = 1;

pub(crate) async fn serve(
    service: Arc<Service>,
    listener: std::net::TcpListener,
    stopped: oneshot::Receiver<()>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener that does not block");
    let router = Router::new().fallback(move |request| answer(service, request));
    tokio::select! {
        _ = axum::serve(listener, router) => {}
        _ = stopped => {}
    }
}

async fn answer(service: Arc<Service>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST_LIMIT).await.unwrap_or_default();
    let path = head
        .uri
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let asked = Asked {
        method: head.method.to_string(),
        path: path.clone(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let body = asked.body.clone();
    service.state().asked.push(asked);
    if head.uri.path() == "/.well-known/jwks.json" {
        return keys(&service, head.uri.query()).await;
    }
    if head.headers.get("x-api-key").is_none_or(|key| key != API_KEY) {
        return refuse(StatusCode::UNAUTHORIZED, "Invalid API key");
    }
    let agent = format!("/api/v1/agents/{AGENT_ID}");
    match (head.method.as_str(), path.strip_prefix(&agent)) {
        ("GET", Some("")) => agent_record(),
        ("POST", Some("/sign")) => sign(&service, &body).await,
        _ => refuse(StatusCode::NOT_FOUND, "There is no such agent"),
    }
}

fn answer_with(status: StatusCode, body: &Value) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn refuse(status: StatusCode, detail: &str) -> Response {
    answer_with(status, &json!({ "detail": detail }))
}

/// The agent, which the package's client reads before it signs.
fn agent_record() -> Response {
    let agent = json!({
        "agent_id": AGENT_ID,
        "name": "Holdpoint",
        "public_key": "",
        "key_id": "",
        "algorithm": "ml-dsa-65",
        "capabilities": [],
        "created_at": "2027-01-01T00:00:00Z",
    });
    answer_with(StatusCode::OK, &agent)
}

async fn sign(service: &Service, body: &Value) -> Response {
    let trouble = service.state().trouble.clone();
    match trouble {
        Some(Trouble::Slow(time)) => tokio::time::sleep(time).await,
        Some(Trouble::Status(status)) => return failure(status),
        Some(Trouble::Busy(0)) => service.state().trouble = None,
        Some(Trouble::Busy(left)) => {
            service.state().trouble = Some(Trouble::Busy(left - 1));
            return failure(503);
        }
        Some(Trouble::Text(text)) => return text.into_response(),
        Some(Trouble::Huge) => return format!("{{\"payload\":\"{}\"}}", "x".repeat(8 << 20)).into_response(),
        Some(Trouble::Redirect) => {
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/elsewhere")]).into_response();
        }
        _ => {}
    }
    let mut state = service.state();
    let nonce = body["nonce"].as_str().unwrap_or_default().to_owned();
    if state.nonces.contains(&nonce) {
        return refuse(StatusCode::CONFLICT, "A live signature has this nonce");
    }
    state.nonces.push(nonce);
    answer_with(StatusCode::OK, &receipt::sign(&mut state, body))
}

/// An error whose words repeat the key, as a careless service's could.
fn failure(status: u16) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    refuse(status, &format!("out of order\nfor {API_KEY}"))
}

async fn keys(service: &Service, query: Option<&str>) -> Response {
    let trouble = service.state().trouble.clone();
    match trouble {
        Some(Trouble::KeysStatus(status)) => return failure(status),
        Some(Trouble::KeysSlow(time)) => tokio::time::sleep(time).await,
        _ => tokio::time::sleep(Duration::ZERO).await,
    }
    let offset = query
        .and_then(|query| query.strip_prefix("offset="))
        .and_then(|offset| offset.parse().ok())
        .unwrap_or(0);
    let state = service.state();
    let mut page = json!({
        "keys": state.published.iter().skip(offset).take(PAGE).map(crate::key::Published::json).collect::<Vec<_>>(),
    });
    if offset + PAGE < state.published.len() {
        page["next_offset"] = (offset + PAGE).into();
    }
    answer_with(StatusCode::OK, &page)
}
