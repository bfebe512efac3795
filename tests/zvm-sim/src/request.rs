//! What a request's headers say of it.

use hyper::Request;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};

/// The header with a Windows ZVM's session.
pub(crate) const SESSION_HEADER: &str = "x-zerto-session";

/// The scheme by which a request identifies itself.
pub(crate) fn scheme<B>(request: &Request<B>) -> Option<&'static str> {
    if request.headers().contains_key(SESSION_HEADER) {
        return Some("Session");
    }
    let (scheme, _) = authorization(request)?;
    ["Bearer", "Basic"]
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(scheme))
}

/// Whether a request's body is an HTML form.
pub(crate) fn is_form<B>(request: &Request<B>) -> bool {
    has_type(request, "application/x-www-form-urlencoded")
}

/// Whether a request's body is declared to be of a media type.
pub(crate) fn has_type<B>(request: &Request<B>, media: &str) -> bool {
    let declared = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    declared.is_some_and(|declared| {
        declared
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .eq_ignore_ascii_case(media)
    })
}

/// The scheme and credentials of a request.
pub(crate) fn authorization<B>(request: &Request<B>) -> Option<(&str, &str)> {
    request
        .headers()
        .get(AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')
}

/// The session that a request names.
pub(crate) fn session<B>(request: &Request<B>) -> Option<&str> {
    request.headers().get(SESSION_HEADER)?.to_str().ok()
}
