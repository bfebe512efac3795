//! Policies in OCI registries, in the layout that the CNCF's Wasm working group gives to Wasm artifacts.
//!
//! The few requests of the distribution protocol are made here and not with `oci-client`: that reads answers of any
//! size, follows redirects anywhere with plain http among them, and takes its TLS from a process-wide default.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdpoint_artifact::{Digest, LARGEST};
use holdpoint_net::is_loopback;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::credentials::{Credentials, look_up};
use super::http::{Answer, Http, Redirects, secret_header, shown};
use super::reference::Artifact;
use super::{FetchError, Network};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const LAYER: &str = "application/wasm";
/// No manifest and no token is larger, in bytes.
const SMALL: u64 = 256 * 1024;

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// One visit to a repository.
struct Visit<'a> {
    http: &'a Http,
    network: &'a Network<'a>,
    artifact: &'a Artifact,
    base: Url,
    authorization: Option<HeaderValue>,
}

/// Fetches the one component of an artifact. Manifest and component are what their digests say.
pub(super) async fn fetch(
    http: &Http,
    network: &Network<'_>,
    artifact: &Artifact,
) -> Result<Vec<u8>, FetchError> {
    let mut visit = Visit {
        http,
        network,
        artifact,
        base: base(artifact)?,
        authorization: None,
    };
    let pin = artifact.pin.map(|pin| pin.to_string());
    let name = pin.or_else(|| artifact.tag.clone()).unwrap_or_default();
    let (url, body) = visit.get(&format!("manifests/{name}"), MANIFEST, SMALL).await?;
    if artifact.pin.is_some_and(|pin| pin != Digest::of(&body)) {
        return Err(FetchError::OtherDigest(shown(&url)));
    }
    let layer = layer(&body).map_err(|why| FetchError::Answer(shown(&url), why))?;
    let digest: Digest = layer
        .digest
        .parse()
        .map_err(|_| FetchError::Answer(shown(&url), "the layer's digest is no SHA-256".into()))?;
    if layer.size > LARGEST as u64 {
        return Err(FetchError::TooLarge(shown(&url), LARGEST as u64));
    }
    let (url, body) = visit.get(&format!("blobs/{digest}"), LAYER, layer.size).await?;
    if Digest::of(&body) != digest {
        return Err(FetchError::OtherDigest(shown(&url)));
    }
    Ok(body)
}

/// The one layer of a Wasm artifact's manifest.
fn layer(manifest: &[u8]) -> Result<Descriptor, String> {
    let Manifest { config, mut layers } = serde_json::from_slice(manifest)
        .map_err(|error| format!("no manifest of a single artifact: {error}"))?;
    if config.media_type != CONFIG {
        return Err(format!("no Wasm artifact: its configuration is not {CONFIG}"));
    }
    match (layers.pop(), layers.as_slice()) {
        (Some(layer), []) if layer.media_type == LAYER => Ok(layer),
        _ => Err(format!("no policy: it has not exactly one layer, {LAYER}")),
    }
}

fn base(artifact: &Artifact) -> Result<Url, FetchError> {
    let (host, repository) = match artifact.registry.as_str() {
        "docker.io" => ("registry-1.docker.io", &artifact.repository),
        host => (host, &artifact.repository),
    };
    let base = |scheme| Url::parse(&format!("{scheme}://{host}/v2/{repository}/"));
    let bad = |_| FetchError::Answer(artifact.to_string(), "the registry's name is no host".into());
    let url = base("https").map_err(bad)?;
    if is_loopback(&url) {
        base("http").map_err(bad)
    } else {
        Ok(url)
    }
}

impl Visit<'_> {
    async fn get(&mut self, path: &str, accept: &str, most: u64) -> Result<(Url, Vec<u8>), FetchError> {
        let url = self
            .base
            .join(path)
            .map_err(|_| FetchError::Answer(self.artifact.to_string(), "the name is no address".into()))?;
        let mut answer = self.ask(&url, accept, most).await?;
        if answer.status == StatusCode::UNAUTHORIZED && self.authorization.is_none() {
            self.authorization = Some(self.log_in(&answer, &url).await?);
            answer = self.ask(&url, accept, most).await?;
        }
        let body = answer.success(&url)?;
        Ok((url, body))
    }

    async fn ask(&self, url: &Url, accept: &str, most: u64) -> Result<Answer, FetchError> {
        let mut headers = HeaderMap::new();
        if let Ok(accept) = HeaderValue::from_str(accept) {
            headers.insert(ACCEPT, accept);
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        // A refusal has a text that may be longer than what was asked for.
        self.http
            .get(url, &headers, most.max(SMALL), Redirects::Anywhere)
            .await
    }

    /// Does what the registry's challenge asks for: a password, or a token from its token server.
    async fn log_in(&self, answer: &Answer, url: &Url) -> Result<HeaderValue, FetchError> {
        let header = answer.headers.get(WWW_AUTHENTICATE);
        let challenge = header.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let config = self.network.docker_config;
        let credentials = config.map_or(Ok(None), |config| look_up(config, &self.artifact.registry))?;
        let Some(("bearer", parameters)) = scheme(challenge)
            .as_ref()
            .map(|(name, rest)| (name.as_str(), *rest))
        else {
            return match credentials {
                Some(Credentials::Password { user, password }) => basic(&user, &password),
                _ => Err(FetchError::Unauthorized(shown(url))),
            };
        };
        let mut realm = parameter(parameters, "realm")
            .and_then(|realm| Url::parse(&realm).ok())
            .ok_or_else(|| FetchError::Answer(shown(url), "its token server has no address".into()))?;
        let service = parameter(parameters, "service").unwrap_or_default();
        let scope = parameter(parameters, "scope")
            .unwrap_or_else(|| format!("repository:{}:pull", self.artifact.repository));
        let answer = if let Some(Credentials::Identity(token)) = &credentials {
            let form = [
                ("grant_type", "refresh_token"),
                ("client_id", "holdpoint"),
                ("service", &service),
                ("scope", &scope),
                ("refresh_token", token),
            ];
            self.http.post(&realm, &form, SMALL).await?
        } else {
            let mut headers = HeaderMap::new();
            if let Some(Credentials::Password { user, password }) = &credentials {
                headers.insert(AUTHORIZATION, basic(user, password)?);
            }
            realm
                .query_pairs_mut()
                .append_pair("service", &service)
                .append_pair("scope", &scope);
            self.http
                .get(&realm, &headers, SMALL, Redirects::SameOrigin)
                .await?
        };
        let token: Option<Token> = serde_json::from_slice(&answer.success(&realm)?).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        match token {
            Some(token) => secret_header(&format!("Bearer {token}")),
            None => Err(FetchError::Answer(shown(&realm), "it gave no token".into())),
        }
    }
}

fn basic(user: &str, password: &str) -> Result<HeaderValue, FetchError> {
    secret_header(&format!(
        "Basic {}",
        STANDARD.encode(format!("{user}:{password}"))
    ))
}

/// A challenge's scheme in lower case, and its parameters.
fn scheme(challenge: &str) -> Option<(String, &str)> {
    let (scheme, parameters) = challenge.trim().split_once(' ')?;
    Some((scheme.to_ascii_lowercase(), parameters))
}

/// A parameter of a challenge: `name="value"`, or without the quotes.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (found, after) = rest.trim_start_matches([',', ' ']).split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if found.trim().eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_with_commas_inside_of_quotes() {
        let challenge =
            r#"Bearer realm="https://auth.example/token",service=registry,scope="repository:a/b:pull,push""#;
        let (scheme, parameters) = scheme(challenge).unwrap();
        assert_eq!(scheme, "bearer");
        let read = |name| parameter(parameters, name);
        assert_eq!(read("realm").as_deref(), Some("https://auth.example/token"));
        assert_eq!(read("service").as_deref(), Some("registry"));
        assert_eq!(read("scope").as_deref(), Some("repository:a/b:pull,push"));
        assert_eq!(read("error"), None);
    }

    #[test]
    fn only_an_artifact_of_one_component_is_taken() {
        let manifest = |config: &str, layers: &[&str]| {
            let digest = format!("sha256:{}", "0".repeat(64));
            let layer = |kind: &&str| format!(r#"{{"mediaType":"{kind}","digest":"{digest}","size":1}}"#);
            let layers: Vec<_> = layers.iter().map(layer).collect();
            format!(
                r#"{{"schemaVersion":2,"config":{},"layers":[{}]}}"#,
                layer(&config),
                layers.join(",")
            )
        };
        assert!(layer(manifest(CONFIG, &[LAYER]).as_bytes()).is_ok());
        for other in [
            manifest("application/vnd.oci.image.config.v1+json", &[LAYER]),
            manifest(CONFIG, &[]),
            manifest(CONFIG, &[LAYER, LAYER]),
            manifest(CONFIG, &["application/vnd.oci.image.layer.v1.tar+gzip"]),
            r#"{"schemaVersion":2,"manifests":[]}"#.into(),
        ] {
            assert!(layer(other.as_bytes()).is_err(), "{other}");
        }
    }
}
