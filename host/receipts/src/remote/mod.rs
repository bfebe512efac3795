//! The asqav service as the signer of receipts.
//!
//! What is sent is what the `asqav` package's own hooks send, and no argument or result leaves this machine but as a
//! digest. What comes back counts only where it verifies under a key that the service publishes for this agent, answers
//! exactly what was sent; before a call, only exactly `allow` lets the call go on. One deadline covers all of it.

mod account;
mod check;
mod error;
mod http;
mod kept;
mod keys;
mod request;
mod strict;

use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use self::check::Receipt;
use self::http::Http;
use self::keys::{Cache, KeySet};
use self::request::Request;

pub use self::account::Account;
pub use self::error::Error;
pub use self::request::{Action, Decision, Observation};

/// A receipt of the service that was verified and is about what was sent.
#[derive(Debug)]
pub struct Signed {
    /// The service's name for it.
    pub signature_id: String,
    /// What the service decided: `allow`, `deny`, `rate_limit`, `observation`, or a word that is not known here.
    pub decision: String,
    /// The receipt: `{payload, signature, anchors}`.
    pub receipt: Value,
}

/// What the service answered to a call that asks whether it may go on. Either way its receipt was verified and is about
/// this call.
#[derive(Debug)]
pub enum Gated {
    /// It decided exactly `allow`.
    Allowed(Signed),
    /// It decided anything else: the call must not run.
    Refused(Signed),
}

/// The service, for one account.
pub struct Service {
    account: Account,
    cache: Option<Cache>,
}

impl Service {
    /// Prepares everything that needs neither network nor files. The published keys are kept in the file `cache` for up
    /// to 24 hours, where one is given.
    pub fn new(account: Account, cache: Option<PathBuf>) -> Self {
        Self {
            account,
            cache: cache.map(Cache),
        }
    }

    /// Asks whether the call may go on. Blocks, until the account's deadline or `until` at the latest.
    ///
    /// # Errors
    ///
    /// Anything but a verified receipt about this call; each is a reason not to let the call go on.
    pub fn gate(&self, decision: &Decision, until: Instant) -> Result<Gated, Error> {
        if decision.0.call_id.is_none() {
            return Err(Error::Unbound);
        }
        let signed = signed(self.sign(&decision.0, until)?);
        // Any other word, also one that is not known yet, allows nothing.
        Ok(match signed.decision.as_str() {
            "allow" => Gated::Allowed(signed),
            _ => Gated::Refused(signed),
        })
    }

    /// Has a decision put on record that nothing hangs on any more: one that was a deny, or one in audit mode. Blocks as
    /// [`Service::gate`] does.
    ///
    /// # Errors
    ///
    /// Anything but a verified receipt about this call.
    pub fn record(&self, decision: &Decision, until: Instant) -> Result<Signed, Error> {
        self.sign(&decision.0, until).map(signed)
    }

    /// Has an observation put on record. Blocks as [`Service::gate`] does.
    ///
    /// # Errors
    ///
    /// As for [`Service::record`]; none of them undoes a call that has run.
    pub fn observe(&self, observation: &Observation, until: Instant) -> Result<Signed, Error> {
        self.sign(&observation.0, until).map(signed)
    }

    /// The account that signs.
    pub fn account(&self) -> &Account {
        &self.account
    }

    fn sign(&self, request: &Request, until: Instant) -> Result<Receipt, Error> {
        let time = self
            .account
            .deadline
            .min(until.saturating_duration_since(Instant::now()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unreachable(format!("the network cannot be used ({error})")))?;
        let answer = runtime.block_on(async {
            let late = |_| Error::Late(time);
            tokio::time::timeout(time, self.exchange(request))
                .await
                .map_err(late)?
        });
        // A look-up of a host name cannot be stopped, and is not waited for.
        runtime.shutdown_background();
        answer
    }

    async fn exchange(&self, request: &Request) -> Result<Receipt, Error> {
        let nonce = nonce()?;
        let mut body = request.body.clone();
        body.insert("nonce".into(), nonce.clone().into());
        let http = Http::new(&self.account)?;
        let receipt = Receipt::read(&http.sign(&self.account, &body).await?)?;
        self.verify(&receipt, &http).await?;
        let (now, deadline) = (SystemTime::now(), self.account.deadline);
        receipt.answers(request, &self.account.agent_id, &nonce, now, deadline)?;
        Ok(receipt)
    }

    /// Verifies against the kept keys and, where those do not suffice, once against those published now.
    async fn verify(&self, receipt: &Receipt, http: &Http) -> Result<(), Error> {
        let (service, agent_id) = (self.account.service(), &self.account.agent_id);
        let kept = self
            .cache
            .as_ref()
            .and_then(|cache| cache.read(&service, agent_id, SystemTime::now()));
        if kept.is_some_and(|keys| receipt.verify(&keys).is_ok()) {
            return Ok(());
        }
        let keys = KeySet::new(http.keys(&self.account).await?, agent_id);
        receipt.verify(&keys)?;
        if let Some(cache) = &self.cache {
            cache.write(&service, agent_id, SystemTime::now(), &keys);
        }
        Ok(())
    }
}

fn signed(receipt: Receipt) -> Signed {
    Signed {
        signature_id: receipt.signature_id.clone(),
        decision: receipt.decision().unwrap_or_default().to_owned(),
        receipt: receipt.envelope(),
    }
}

/// 12 random bytes in hexadecimal digits, as the package makes them.
fn nonce() -> Result<String, Error> {
    let mut random = [0; 12];
    getrandom::fill(&mut random)
        .map_err(|error| Error::Unreachable(format!("this machine gives no random bytes ({error})")))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
