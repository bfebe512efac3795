//! The session tally in the host: what the hook makes of an event, and what a policy is told.

use holdpoint_common::way;
use holdpoint_config::{self as config, ConfigError};
use holdpoint_runtime::sandbox::capabilities::Tally;
use holdpoint_runtime::verdict::{Fault, FaultKind};
use holdpoint_session::{Payload, Scope, Store, Tools};

/// Where tallies lie.
///
/// # Errors
///
/// Where nothing is configured and there is no home directory.
pub fn store(config: &config::Session) -> Result<Store, ConfigError> {
    Ok(Store::at(&config.directory()?).sweeping())
}

/// Does to the tally what an event asks for, and says what the model is told of that, if anything.
///
/// # Errors
///
/// A fault where the tally cannot be kept.
pub fn observe(config: &config::Config, event: &[u8]) -> Result<Option<String>, Fault> {
    let durable = config.policy.asks_by_session();
    let config = &config.session;
    if !config.enabled() {
        return Ok(None);
    }
    // A power cut must not set the count back where decisions rest on it.
    let store = store(config).map_err(fault)?.durable(durable);
    let tools = config
        .tools()
        .map_or_else(Tools::default, |tools| Tools::new(tools.to_vec()));
    let observed = holdpoint_session::observe(&store, &Payload::read(event), &tools).map_err(fault)?;
    Ok(observed.note().filter(|_| config.tell()))
}

/// The session that a call belongs to. Nothing is read before a policy asks.
#[derive(Debug)]
pub struct Session {
    config: config::Session,
    id: String,
    cwd: Option<String>,
}

impl Session {
    /// The session with this id, in the workspace that the harness named.
    pub fn new(config: config::Session, id: String, cwd: Option<String>) -> Self {
        Self { config, id, cwd }
    }

    /// Its tally; none where nothing is known of it: nothing failed, nothing is counted, or the harness did not say which
    /// session in which workspace it is.
    ///
    /// # Errors
    ///
    /// A fault where it cannot be read.
    pub fn tally(&self) -> Result<Option<Tally>, Fault> {
        let scope = Scope::new(&self.id, self.cwd.as_deref().unwrap_or_default());
        let Some(scope) = scope.filter(|_| self.config.enabled()) else {
            return Ok(None);
        };
        let tally = store(&self.config).map_err(fault)?.read(&scope).map_err(fault)?;
        // A link that leads nowhere is not a session without failures.
        if let (None, Some(link)) = (&tally, way::dangling(&self.config.directory().map_err(fault)?)) {
            let cause = format!(
                "the session tally cannot be read (the link {} leads nowhere)",
                link.display()
            );
            return Err(fault(cause));
        }
        Ok(tally.map(|tally| Tally {
            failures: tally.failures,
            level: tally.level,
        }))
    }
}

fn fault(error: impl ToString) -> Fault {
    Fault::new(FaultKind::Session, error.to_string())
}
