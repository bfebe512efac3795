//! What the service has and remembers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::key::{Key, Published};
use crate::names::AGENT_ID;
use crate::trouble::Trouble;

/// The state, shared by the service's thread and its owner.
pub(crate) struct Service(pub(crate) Mutex<State>);

pub(crate) struct State {
    pub(crate) trouble: Option<Trouble>,
    pub(crate) ours: Key,
    pub(crate) neighbours: Key,
    pub(crate) published: Vec<Published>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) nonces: Vec<String>,
    pub(crate) previous: String,
}

/// A request that the service was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The body, `null` where there was none.
    pub body: Value,
}

impl Service {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(crate) fn retire(&mut self, status: &'static str) {
        for key in &mut self.published {
            if key.agent_id == AGENT_ID {
                key.status = status;
            }
        }
    }
}
