//! Updates from elsewhere: from OCI registries and from channels, through the same gate as any file.

mod channel;
mod credentials;
mod http;
mod reference;
mod registry;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use thiserror::Error;
use tokio::time::timeout;

pub use channel::{Channel, ChannelError};
pub use credentials::docker_configuration;
pub use reference::{Artifact, NoReference, Reference};

pub use crate::entries::Seen;

use crate::admission::Admission;
use crate::change::{Change, ChangeError, Changed};
use crate::entries::{Entry, What};
use crate::error::StoreError;
use crate::store::Store;
use http::Http;

/// How the world is reached.
#[derive(Debug, Clone, Copy)]
pub struct Network<'a> {
    /// Certificates to trust instead of the system's, in PEM form.
    pub ca_file: Option<&'a Path>,
    /// Docker's configuration, for credentials; see [`docker_configuration`].
    pub docker_config: Option<&'a Path>,
    /// How long fetching may take in all.
    pub timeout: Duration,
}

/// Why something could not be fetched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Nothing can be fetched at all.
    #[error("no connection can be made ({0})")]
    Setup(String),
    /// There is no answer.
    #[error("{0} cannot be reached ({1})")]
    Unreachable(String, String),
    /// There is no answer in time.
    #[error("{0} did not give everything within {secs} s", secs = .1.as_secs())]
    Late(String, Duration),
    /// There is nothing of this name.
    #[error("{0} is not there")]
    NotFound(String),
    /// We are not let in.
    #[error("{0} lets nobody in without other credentials; log in with: docker login REGISTRY")]
    Unauthorized(String),
    /// The credentials cannot be had.
    #[error("the registry's credentials cannot be had: {0}")]
    Credentials(String),
    /// The answer is not what it should be.
    #[error("{0}: {1}")]
    Answer(String, String),
    /// The answer is larger than it may be.
    #[error("{0} is larger than the {1} bytes that it may have")]
    TooLarge(String, u64),
    /// What came is not what its digest says.
    #[error("{0} is not what its SHA-256 says: somebody changed it, or it was cut short")]
    OtherDigest(String),
    /// The server sends us elsewhere.
    #[error("{from} leads away to {to}, and is not followed there")]
    LedAway {
        /// Whoever was asked.
        from: String,
        /// Where that leads.
        to: String,
    },
    /// Everybody on the way could read and change it.
    #[error("{0} is neither https nor on this machine")]
    InTheClear(String),
}

/// Why an update did not come into force. What was in force before still is.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PullError {
    /// It could not be fetched.
    #[error("the update was not fetched: {0}")]
    Fetch(#[from] FetchError),
    /// The channel is not believed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// It was fetched and not put in force.
    #[error(transparent)]
    Change(#[from] ChangeError),
}

impl From<StoreError> for PullError {
    fn from(error: StoreError) -> Self {
        Self::Change(error.into())
    }
}

impl Store {
    /// Fetches a policy and installs it, where it is not in force already. Blocks until it is done; to be called
    /// outside of any asynchronous runtime.
    ///
    /// # Errors
    ///
    /// Whatever keeps it away or out. It is written down in the history, and what was in force stays in force.
    pub fn pull(
        &self,
        reference: &Reference,
        network: &Network<'_>,
        change: Change<'_>,
        admission: &Admission<'_>,
    ) -> Result<Changed, PullError> {
        let done = match reference {
            Reference::Registry(artifact) => within(network.timeout, reference, async {
                let http = Http::new(network.ca_file)?;
                registry::fetch(&http, network, artifact).await
            })
            .map_err(PullError::from),
            Reference::Channel(url) => self.follow(url, network, change, admission),
        };
        let origin = reference.to_string();
        match done {
            Ok(bytes) => Ok(self.install(&bytes, &origin, change, admission)?),
            Err(error) => {
                let _lock = self.write()?;
                self.write_down_failure(Entry::now(What::Failure).because(&error).from(&origin));
                Err(error)
            }
        }
    }

    /// What was last seen of each channel, by its address.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read.
    pub fn channels(&self) -> Result<Vec<(String, Seen)>, StoreError> {
        Ok(self.files.channels()?.into_iter().collect())
    }

    /// Fetches the policy that a channel names as current.
    fn follow(
        &self,
        url: &Url,
        network: &Network<'_>,
        change: Change<'_>,
        admission: &Admission<'_>,
    ) -> Result<Vec<u8>, PullError> {
        let reference = Reference::Channel(url.clone());
        let trust = admission.trust_but(&self.files.revoked()?).into_owned();
        let http = Http::new(network.ca_file)?;
        let document = channel::document(&http, url, &trust, admission.now);
        let channel = within(network.timeout, &reference, document)??;
        {
            let _lock = self.write()?;
            let mut all = self.files.channels()?;
            let seen = channel.follow(all.get(url.as_str()), change.allow_downgrade)?;
            // Remembered before anything is fetched: from now on, nobody can say that it was never there.
            all.insert(url.to_string(), seen);
            self.files.write_channels(&all)?;
        }
        let bytes = within(network.timeout, &reference, channel::file(&http, url, &channel))??;
        let facts = admission
            .admit(&bytes, &self.files.revoked()?)
            .map_err(ChangeError::from)?;
        channel.names(&facts)?;
        Ok(bytes)
    }
}

/// Runs something to its end or the time limit, on a runtime of its own.
fn within<T>(
    limit: Duration,
    reference: &Reference,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| FetchError::Setup(error.to_string()))?;
    let done = runtime.block_on(async { timeout(limit, work).await });
    // A name that is still being looked up must not hold us up.
    runtime.shutdown_background();
    done.unwrap_or_else(|_| Err(FetchError::Late(reference.to_string(), limit)))
}
