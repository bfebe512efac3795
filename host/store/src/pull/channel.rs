//! Channels: a signed document that says which version is current, and until when that is to be believed.

use std::io::ErrorKind;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdpoint_artifact::{Digest, Facts, KeyPair, LARGEST, Trust, UtcTime, Version};
use holdpoint_common::read;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::FetchError;
use super::http::{Http, Redirects, shown};
use crate::entries::Seen;

/// What a document says it is.
const FORMAT: &str = "holdpoint-channel-1";
/// No document and no signature is larger, in bytes.
const SMALL: u64 = 64 * 1024;
/// So many signatures beside a document are looked at.
const MOST_SIGNATURES: usize = 16;
/// So far a publisher's clock may be ahead of this machine's.
const SKEW: Duration = Duration::from_secs(24 * 3600);

/// What a channel's document says. The policy's makers sign its exact bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// `holdpoint-channel-1`.
    pub format: String,
    /// The channel's name, so that one channel's document is not taken for another's.
    pub channel: String,
    /// The policy's name in its manifest.
    pub name: String,
    /// The current version.
    pub version: Version,
    /// The policy's digest, which signing it anew does not change.
    pub digest: Digest,
    /// The file's size, in bytes.
    pub size: u64,
    /// Where the file lies, relative to the document or on the same host.
    pub location: String,
    /// When this was written.
    pub issued: UtcTime,
    /// Until when it is to be believed that there is nothing newer.
    pub expires: UtcTime,
}

/// Why a channel is not believed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// No trusted key signed the document.
    #[error(
        "no key that this host trusts signed the channel's document: whoever serves it may have changed it"
    )]
    Unsigned,
    /// The document is none.
    #[error("the channel's document cannot be used ({0}); the host may be too old for it")]
    Malformed(String),
    /// Nothing newer came for too long.
    #[error(
        "the channel's document was to be believed until {0}: its makers no longer renew it, or somebody holds newer ones back"
    )]
    Expired(UtcTime),
    /// It was written after now.
    #[error(
        "the channel's document was written at {0}, which is still to come: look at this machine's clock"
    )]
    FromTheFuture(UtcTime),
    /// It is another channel's.
    #[error("the document is of the channel '{found}', and this address was '{known}' before")]
    Other {
        /// Which it is.
        found: String,
        /// Which it was.
        known: String,
    },
    /// Something newer was seen before.
    #[error(
        "the channel offers {offered} of {issued}, and offered {known} before: somebody serves an old document (where that is meant, say so with --allow-downgrade)"
    )]
    RolledBack {
        /// What it offers.
        offered: Version,
        /// When that was written.
        issued: UtcTime,
        /// What was seen.
        known: Version,
    },
    /// The same version was another policy before.
    #[error(
        "the channel's version {0} was another policy before: versions are not used twice (where that is meant, say so with --allow-downgrade)"
    )]
    Reused(Version),
    /// What lies there is not what the document says.
    #[error("the file is not the {name} {version} that the channel names")]
    NotTheNamed {
        /// The policy's name.
        name: String,
        /// Its version.
        version: Version,
    },
    /// The file lies elsewhere.
    #[error("the channel's file lies on another host ({0}), and is not fetched from there")]
    Elsewhere(String),
}

impl Channel {
    /// The document for this policy, from what the gate or `inspect` says of it; none where it has no manifest.
    #[must_use]
    pub fn of(
        facts: &Facts,
        channel: &str,
        location: &str,
        issued: UtcTime,
        expires: UtcTime,
    ) -> Option<Self> {
        let manifest = facts.manifest.as_ref()?;
        Some(Self {
            format: FORMAT.into(),
            channel: channel.into(),
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            digest: facts.digest,
            size: facts.size,
            location: location.into(),
            issued,
            expires,
        })
    }

    /// What is published: the document's bytes, and the contents of the file beside it whose name ends in `.sig`.
    /// Lines that other keys' holders made of the same bytes can be added to it.
    ///
    /// # Errors
    ///
    /// Where the document cannot be written as JSON.
    pub fn sign(&self, key: &KeyPair) -> Result<(Vec<u8>, String), serde_json::Error> {
        let mut document = serde_json::to_vec_pretty(self)?;
        document.push(b'\n');
        let signature = format!("{}\n", STANDARD.encode(key.sign(&document)));
        Ok((document, signature))
    }

    /// Reads a document that a trusted key signed and whose time is not over.
    pub(super) fn read(
        document: &[u8],
        signatures: &[u8],
        trust: &Trust,
        now: UtcTime,
    ) -> Result<Self, ChannelError> {
        if !is_signed(document, signatures, trust, now) {
            return Err(ChannelError::Unsigned);
        }
        let channel: Self =
            serde_json::from_slice(document).map_err(|error| ChannelError::Malformed(error.to_string()))?;
        if channel.format != FORMAT {
            return Err(ChannelError::Malformed("its format is another".into()));
        }
        if now > channel.expires {
            return Err(ChannelError::Expired(channel.expires));
        }
        if channel.issued > now.plus(SKEW) {
            return Err(ChannelError::FromTheFuture(channel.issued));
        }
        Ok(channel)
    }

    /// Compares with what was seen before, and gives what to remember.
    pub(super) fn follow(&self, seen: Option<&Seen>, allow_downgrade: bool) -> Result<Seen, ChannelError> {
        if let Some(seen) = seen {
            if seen.channel != self.channel {
                return Err(ChannelError::Other {
                    found: self.channel.clone(),
                    known: seen.channel.clone(),
                });
            }
            if (self.version < seen.version || self.issued < seen.issued) && !allow_downgrade {
                return Err(ChannelError::RolledBack {
                    offered: self.version.clone(),
                    issued: self.issued,
                    known: seen.version.clone(),
                });
            }
            if self.version == seen.version && self.digest != seen.digest && !allow_downgrade {
                return Err(ChannelError::Reused(self.version.clone()));
            }
        }
        Ok(Seen {
            channel: self.channel.clone(),
            version: self.version.clone(),
            digest: self.digest,
            issued: self.issued,
            expires: self.expires,
        })
    }

    /// Whether a policy is the one that the document names.
    pub(super) fn names(&self, facts: &Facts) -> Result<(), ChannelError> {
        let manifest = facts.manifest.as_ref();
        let same =
            manifest.is_some_and(|manifest| manifest.name == self.name && manifest.version == self.version);
        if same && facts.digest == self.digest {
            return Ok(());
        }
        Err(ChannelError::NotTheNamed {
            name: self.name.clone(),
            version: self.version.clone(),
        })
    }

    /// Where the file lies: on the document's own host.
    fn file(&self, document: &Url) -> Result<Url, ChannelError> {
        let file = document
            .join(&self.location)
            .map_err(|_| ChannelError::Malformed("its location is no address".into()))?;
        // Every file: address is an origin of its own.
        let same = match document.scheme() {
            "file" => file.scheme() == "file" && file.host_str() == document.host_str(),
            _ => file.origin() == document.origin(),
        };
        if same {
            Ok(file)
        } else {
            Err(ChannelError::Elsewhere(shown(&file)))
        }
    }
}

fn is_signed(document: &[u8], signatures: &[u8], trust: &Trust, now: UtcTime) -> bool {
    let keys = trust.keys.iter().filter(|key| {
        trust.revokes(&key.public).is_none()
            && key.not_before.is_none_or(|from| now >= from)
            && key.not_after.is_none_or(|until| now <= until)
    });
    let keys: Vec<_> = keys.collect();
    let lines = signatures.split(|byte| *byte == b'\n').take(MOST_SIGNATURES);
    let mut signatures = lines.filter_map(|line| STANDARD.decode(line.trim_ascii()).ok()?.try_into().ok());
    signatures.any(|signature: [u8; 64]| keys.iter().any(|key| key.public.verifies(document, &signature)))
}

/// Fetches the document, as far as it can be believed.
pub(super) async fn document(
    http: &Http,
    url: &Url,
    trust: &Trust,
    now: UtcTime,
) -> Result<Result<Channel, ChannelError>, FetchError> {
    let mut beside = url.clone();
    beside.set_path(&format!("{}.sig", url.path()));
    let document = fetch(http, url, SMALL).await?;
    let signatures = fetch(http, &beside, SMALL).await?;
    Ok(Channel::read(&document, &signatures, trust, now))
}

/// Fetches the file that the document names: not a byte more than it says.
pub(super) async fn file(
    http: &Http,
    url: &Url,
    channel: &Channel,
) -> Result<Result<Vec<u8>, ChannelError>, FetchError> {
    match channel.file(url) {
        Ok(file) => Ok(Ok(fetch(http, &file, channel.size.min(LARGEST as u64)).await?)),
        Err(error) => Ok(Err(error)),
    }
}

async fn fetch(http: &Http, url: &Url, most: u64) -> Result<Vec<u8>, FetchError> {
    if url.scheme() != "file" {
        let answer = http
            .get(url, &HeaderMap::new(), most, Redirects::SameOrigin)
            .await?;
        return answer.success(url);
    }
    let unreachable = |why: String| FetchError::Unreachable(url.to_string(), why);
    let path = url
        .to_file_path()
        .map_err(|()| unreachable("it is no path here".into()))?;
    read::read(&path, most).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => FetchError::TooLarge(url.to_string(), most),
        _ => unreachable(error.to_string()),
    })
}
