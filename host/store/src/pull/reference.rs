//! What an update is called.

use std::fmt;
use std::str::FromStr;

use holdpoint_artifact::Digest;
use reqwest::Url;
use thiserror::Error;

/// From where an update comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// An artifact in an OCI registry: `registry/repository:tag`, or `…@sha256:…`.
    Registry(Artifact),
    /// A channel's document: `https://…` or `file:///…`.
    Channel(Url),
}

/// An artifact in an OCI registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The registry's host, with its port where it has one.
    pub registry: String,
    /// The repository's path.
    pub repository: String,
    /// The tag, where one is given.
    pub tag: Option<String>,
    /// The digest of the artifact's manifest, where it is pinned. It counts before the tag.
    pub pin: Option<Digest>,
}

/// A text that names no place for updates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text} names no update ({why}); write REGISTRY/REPOSITORY:TAG, REGISTRY/REPOSITORY@sha256:…, or a channel's https: or file: address"
)]
pub struct NoReference {
    text: String,
    why: &'static str,
}

impl FromStr for Reference {
    type Err = NoReference;

    fn from_str(text: &str) -> Result<Self, NoReference> {
        let no = |why| NoReference {
            text: without_credentials(text),
            why,
        };
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        if let Some("https" | "http" | "file") = scheme {
            let url = Url::parse(text).map_err(|_| no("the address cannot be read"))?;
            if !url.username().is_empty() || url.password().is_some() {
                return Err(no("an address holds no user and no password here"));
            }
            if url.scheme() == "http" && !holdpoint_net::is_loopback(&url) {
                return Err(no("plain http reaches no further than this machine"));
            }
            return Ok(Self::Channel(url));
        }
        artifact(text.strip_prefix("oci://").unwrap_or(text))
            .map(Self::Registry)
            .map_err(no)
    }
}

/// What somebody wrote, to be told of it: without what stands before an `@`, which may be a password.
fn without_credentials(text: &str) -> String {
    let shown = match text.rsplit_once('@') {
        Some((_, host)) if !host.starts_with("sha256:") => format!("(hidden)@{host}"),
        _ => text.to_owned(),
    };
    shown.chars().take(200).collect()
}

fn artifact(text: &str) -> Result<Artifact, &'static str> {
    let (text, pin) = match text.split_once('@') {
        Some((text, pin)) if pin.starts_with("sha256:") => {
            (text, Some(pin.parse().map_err(|_| "the pin is no SHA-256")?))
        }
        Some(_) => return Err("the pin is no SHA-256"),
        None => (text, None),
    };
    let (registry, rest) = text.split_once('/').ok_or("the repository is missing")?;
    let (repository, tag) = match rest.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag.to_owned())),
        None => (rest, None),
    };
    let host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let is_host = registry == "localhost" || registry.contains(['.', ':']);
    if !is_host || !registry.bytes().all(host) {
        return Err("it does not begin with a registry's host");
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let is_component = |part: &str| {
        !part.is_empty()
            && part.bytes().all(plain)
            && part.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    if !repository.split('/').all(is_component) {
        return Err("the repository is not lower-case letters, digits and ._- between slashes");
    }
    let in_tag = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_tag = |tag: &String| {
        (1..=128).contains(&tag.len()) && tag.bytes().all(in_tag) && !tag.starts_with(['.', '-'])
    };
    match (&tag, pin) {
        (Some(tag), _) if !is_tag(tag) => Err("the tag is not up to 128 letters, digits and ._-"),
        (None, None) => Err("neither a tag nor a digest is given"),
        _ => Ok(Artifact {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag,
            pin,
        }),
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(artifact) => artifact.fmt(f),
            Self::Channel(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.pin.iter().try_for_each(|pin| write!(f, "@{pin}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        let pin = format!("sha256:{}", "ab".repeat(32));
        for text in [
            "ghcr.io/acme/policies/guard:1.2.0",
            "localhost/guard:latest",
            "127.0.0.1:5000/guard:v1_2",
            &format!("ghcr.io/acme/guard@{pin}"),
            &format!("ghcr.io/acme/guard:1.2.0@{pin}"),
            "https://updates.example/stable.json",
            "file:///srv/updates/stable.json",
            "http://127.0.0.1:8000/stable.json",
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        let with_scheme = "oci://ghcr.io/acme/guard:1".parse::<Reference>().unwrap();
        assert_eq!(with_scheme.to_string(), "ghcr.io/acme/guard:1");
    }

    #[test]
    fn what_is_no_reference_says_why() {
        for text in [
            "",
            "guard",
            "acme/guard:1",
            "ghcr.io/guard",
            "ghcr.io/Guard:1",
            "ghcr.io/../guard:1",
            "ghcr.io/guard:a/b",
            "ghcr.io/guard@sha256:12",
            "ghcr.io/guard@md5:12",
            "user@ghcr.io/guard:1",
            "https://user:word@updates.example/stable.json",
            "http://updates.example/stable.json",
            "ftp://updates.example/stable.json",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }
}
