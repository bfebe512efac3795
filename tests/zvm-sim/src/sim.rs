//! The running simulation, as tests hold it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::scenario::Scenario;
use crate::server::{self, Log, Shared};
use crate::tls::Tls;
use crate::zvm::{Answered, Inserted, Seen, Zvm};

/// A running simulated ZVM. It has a thread and a runtime of its own, and stops when dropped.
pub struct Sim {
    shared: Arc<Shared>,
    ca_pem: String,
    certificate_sha256: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sim {
    /// Serves a scenario on a free port of 127.0.0.1, with a CA and a certificate made for it.
    ///
    /// # Errors
    /// A scenario that contradicts itself, or no port, thread or runtime to be had.
    pub fn start(scenario: Scenario) -> anyhow::Result<Self> {
        Self::start_on(scenario, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Serves a scenario on an address; port 0 takes a free one. The certificate is for `localhost` and 127.0.0.1.
    ///
    /// # Errors
    /// As [`Sim::start`].
    pub fn start_on(scenario: Scenario, addr: SocketAddr) -> anyhow::Result<Self> {
        Self::start_logged(scenario, addr, |_| ())
    }

    /// As [`Sim::start_on`], and hands each answer to a function, which must not block.
    ///
    /// # Errors
    /// As [`Sim::start`].
    pub fn start_logged(
        scenario: Scenario,
        addr: SocketAddr,
        log: impl Fn(&Answered) + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let tls = Tls::generate(&scenario.certificate).context("making the simulation's certificate")?;
        let listener = TcpListener::bind(addr).with_context(|| format!("listening on {addr}"))?;
        listener.set_nonblocking(true)?;
        let url = format!("https://localhost:{}", listener.local_addr()?.port());
        let zvm = Zvm::new(scenario, url, tls.certificate_sha256.clone())?;
        let shared = Arc::new(Shared {
            zvm,
            log: Box::new(log) as Log,
        });

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let serve = server::serve(shared.clone(), listener, TlsAcceptor::from(tls.config), stopped);
        // When `serve` ends the runtime is dropped with the thread, and every open connection with it.
        let thread = std::thread::Builder::new()
            .name("zvm-sim".into())
            .spawn(move || runtime.block_on(serve))?;
        Ok(Self {
            shared,
            ca_pem: tls.ca_pem,
            certificate_sha256: tls.certificate_sha256,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens: `https://localhost:PORT`.
    pub fn url(&self) -> String {
        self.shared.zvm.url.clone()
    }

    /// The CA's certificate, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The SHA-256 of the server certificate's DER, in lower-case hexadecimal digits.
    pub fn certificate_sha256(&self) -> String {
        self.certificate_sha256.clone()
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.zvm.state().seen.clone()
    }

    /// Every tagged checkpoint that was inserted so far, whether it surfaces or not.
    pub fn checkpoints(&self) -> Vec<Inserted> {
        self.shared.zvm.state().inserted.clone()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has already been printed, and a drop must not panic for it.
            let _ = thread.join();
        }
    }
}
