//! A client, and what it reads.

use std::error::Error;
use std::io;
use std::net::IpAddr;

use reqwest::{Client, ClientBuilder, Response, Url};
use rustls::ClientConfig;

/// Whether requests may go through a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// Never: what decides on a call is asked directly.
    None,
    /// Through those that the environment names. Only for what a person starts; whoever uses it first asks
    /// [`holdpoint_common::proxy::check`].
    OfEnvironment,
}

/// A client that follows no redirect and does not say where it comes from.
pub fn client(tls: ClientConfig, proxies: Proxies) -> ClientBuilder {
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")));
    match proxies {
        Proxies::None => client.no_proxy(),
        Proxies::OfEnvironment => client,
    }
}

/// Whether an address is one of this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Why an answer's body was not read whole.
#[derive(Debug)]
pub enum Unread {
    /// It is longer than the limit.
    TooLarge,
    /// The connection broke.
    Broken(reqwest::Error),
}

/// Reads an answer's body, of at most so many bytes.
///
/// # Errors
///
/// Where it is longer, or the connection breaks.
pub async fn body(response: &mut Response, most: u64) -> Result<Vec<u8>, Unread> {
    if response.content_length().is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Unread::Broken)? {
        if (body.len() + chunk.len()) as u64 > most {
            return Err(Unread::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The innermost error. An `io::Error` hides what it wraps from `source`.
pub fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match inner
        .map(|inner| inner as &(dyn Error + 'static))
        .or_else(|| error.source())
    {
        Some(inner) => root(inner),
        None => error,
    }
}

/// The innermost error in words; the outer ones repeat the address, query and all.
pub fn cause(error: &reqwest::Error) -> String {
    match error.source() {
        Some(inner) => root(inner).to_string(),
        None if error.is_timeout() => "it took too long".to_owned(),
        None => "the connection broke".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_an_error_is_found_inside_an_io_error() {
        let error = io::Error::other(io::Error::other("the certificate has ended"));
        assert_eq!(root(&error).to_string(), "the certificate has ended");
        let plain = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(root(&plain).to_string(), plain.to_string());
    }

    #[test]
    fn only_this_machines_addresses_are_loopback() {
        let is_it = |url: &str| is_loopback(&Url::parse(url).expect("an address"));
        for url in ["http://localhost:1", "http://127.0.0.2", "http://[::1]:1"] {
            assert!(is_it(url), "{url}");
        }
        for url in ["http://localhost.example", "http://10.0.0.1", "http://[::2]"] {
            assert!(!is_it(url), "{url}");
        }
    }
}
