//! A stand-in for the asqav signing service: real signatures, a published key set, and troubles on demand.
//!
//! [`Sim::start`] serves it on a free port of the loopback interface, in the clear, until the [`Sim`] is dropped. It
//! answers as the package's own client (PyPI `asqav`) wants it; that client's hooks run against it in the tests, so that
//! what is held against it here is not our own understanding of it alone.
//!
//! ```
//! let sim = asqav_sim::Sim::start(asqav_sim::Algorithm::Ed25519)?;
//! assert!(sim.url().starts_with("http://127.0.0.1:"));
//! # std::io::Result::Ok(())
//! ```

mod digest;
mod key;
mod names;
mod receipt;
mod server;
mod service;
mod trouble;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::key::{Key, Published};
use crate::service::{Service, State};

pub use crate::key::Algorithm;
pub use crate::names::{AGENT_ID, API_KEY, NEIGHBOUR};
pub use crate::service::Asked;
pub use crate::trouble::Trouble;

/// A running service.
pub struct Sim {
    address: SocketAddr,
    service: Arc<Service>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Sim {
    /// Starts a service whose agents sign by this algorithm.
    ///
    /// # Errors
    ///
    /// Where no port of the loopback interface can be had.
    pub fn start(algorithm: Algorithm) -> io::Result<Self> {
        let (ours, neighbours) = (Key::generate(algorithm), Key::generate(algorithm));
        let published = vec![
            neighbours.published(NEIGHBOUR, "active"),
            ours.published(AGENT_ID, "active"),
        ];
        let service = Arc::new(Service(Mutex::new(State {
            trouble: None,
            ours,
            neighbours,
            published,
            asked: Vec::new(),
            nonces: Vec::new(),
            previous: "0".repeat(64),
        })));
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn({
            let service = service.clone();
            move || {
                runtime.block_on(server::serve(service, listener, stopped));
                // Answers that are still being waited with are not waited for.
                runtime.shutdown_background();
            }
        });
        Ok(Self {
            address,
            service,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The service's address, as `ASQAV_API_URL` wants it.
    pub fn url(&self) -> String {
        format!("http://{}/api/v1", self.address)
    }

    /// The whole key set, as it is published in pages.
    pub fn key_set(&self) -> Value {
        let state = self.service.state();
        let keys: Vec<_> = state.published.iter().map(Published::json).collect();
        serde_json::json!({ "keys": keys })
    }

    /// From now on, this goes wrong; `None` for nothing.
    pub fn trouble(&self, trouble: Option<Trouble>) {
        self.service.state().trouble = trouble;
    }

    /// Gives the agent a new key, as a rotation does; the old one is no longer active.
    pub fn rotate(&self) {
        let mut state = self.service.state();
        state.retire("retired");
        state.ours = Key::generate(state.ours.algorithm());
        let published = state.ours.published(AGENT_ID, "active");
        state.published.push(published);
    }

    /// Takes the agent's key back. It still signs.
    pub fn revoke(&self) {
        self.service.state().retire("revoked");
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.service.state().asked.clone()
    }

    /// The bodies of all requests for a signature.
    pub fn bodies(&self) -> Vec<Value> {
        let asked = self.asked().into_iter();
        asked
            .filter(|asked| asked.method == "POST")
            .map(|asked| asked.body)
            .collect()
    }

    /// How often the published keys were asked for; one request is one page.
    pub fn pages_read(&self) -> usize {
        let asked = self.asked();
        asked
            .iter()
            .filter(|asked| asked.path.starts_with("/.well-known/"))
            .count()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
