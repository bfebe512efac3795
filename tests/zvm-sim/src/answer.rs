//! A whole answer, before a trouble gets at it.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// The media type of JSON, as the API writes it.
pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// An answer that is complete in memory.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Status 200 without a body.
    pub(crate) fn empty() -> Self {
        Self {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// Status 200 with a body of some media type.
    pub(crate) fn text(media: &'static str, body: impl Into<Bytes>) -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]);
        Self {
            status: StatusCode::OK,
            headers,
            body: body.into(),
        }
    }

    /// Status 200 with JSON.
    pub(crate) fn json(value: &Value) -> Self {
        Self::text(JSON, value.to_string())
    }

    /// An error in the form that Zerto's API gives it.
    pub(crate) fn message(status: StatusCode, message: &str) -> Self {
        Self::json(&json!({ "Message": message })).with_status(status)
    }

    /// The answer to a request whose token or session is missing, unknown or over.
    pub(crate) fn unauthorized() -> Self {
        Self::message(
            StatusCode::UNAUTHORIZED,
            "The request is not authorized: log in first",
        )
        .with_header("www-authenticate", HeaderValue::from_static("Bearer"))
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The answer with one header more, or with a new value for it.
    pub(crate) fn with_header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The answer's head with another body.
    pub(crate) fn response<B>(self, body: B) -> Response<B> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Why a request gets no answer of its own, in Zerto's form.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: &str) -> Self {
        Self {
            status,
            message: message.to_owned(),
        }
    }

    pub(crate) fn not_found(message: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn bad_request(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::message(refusal.status, &refusal.message)
    }
}
