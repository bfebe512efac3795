//! What all requests that leave this machine have in common.

use holdpoint_net::{Proxies, cause, is_loopback, trust};
use reqwest::{Client, Url};

/// Why an address cannot be used.
pub(crate) fn address(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is no address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "holds a user or a password, which would be seen wherever the address is; write it without",
        );
    }
    if url.host_str().is_none() {
        return Err("names no host");
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
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

/// A client for such an address. Certificates are checked against the system's authorities; connections do not outlive the
/// runtime that they were made in.
pub(crate) fn client(url: &Url, proxies: Proxies) -> Result<Client, String> {
    let tls = match url.scheme() {
        "http" => trust::nobody(),
        _ => trust::tls(None),
    };
    let tls = tls.map_err(|error| error.to_string())?;
    // What is on this machine is not asked for through a proxy.
    let proxies = match is_loopback(url) {
        true => Proxies::None,
        false => proxies,
    };
    if proxies == Proxies::OfEnvironment {
        holdpoint_common::proxy::check()?;
    }
    holdpoint_net::client(tls, proxies)
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| cause(&error))
}
