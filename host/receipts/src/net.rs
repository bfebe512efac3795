//! What all requests that leave this machine have in common.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};

/// Why an address cannot be used.
pub(crate) fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is no address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "holds a user or a password, which would be seen wherever the address is; write it without",
        );
    }
    let host = url.host_str().ok_or("names no host")?;
    let ip = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let here = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err("would be talked to in the clear; https:// is needed"),
        _ => Err("is not https://"),
    }
}

/// An address as somebody wrote it, to be told of it: not where it may hold a password.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains('@') {
        "it".into()
    } else {
        format!("{text:?}")
    }
}

/// A client for such an address. Certificates are checked against the system's roots, and redirects are not followed.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        // A connection does not outlive the runtime that it was made in.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")));
    // What is on this machine is not asked for through a proxy.
    let client = match url.scheme() {
        "http" => client.no_proxy(),
        _ => {
            holdpoint_common::proxy::check()?;
            client
        }
    };
    client.build().map_err(|error| cause(&error))
}

/// The innermost error in words; the outer ones repeat the address.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match error.source() {
        Some(_) => cause.to_string(),
        None => "the connection broke".into(),
    }
}
