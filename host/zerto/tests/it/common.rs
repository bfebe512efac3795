//! A simulated ZVM and what asks it.

use std::time::{Duration, Instant};

use holdpoint_zerto::{Login, Secret, Settings, Trust, Zvm};
use zvm_sim::{Scenario, Seen, Sim};

pub(crate) const TAG: &str = "claude-code 1a2b3c4d-5e6f7a8b ssh-mcp/run-command on jp-ubuntu #0f1e2d3c";

/// Serves a scenario.
pub(crate) fn sim(scenario: &str) -> Sim {
    Sim::start(Scenario::from_toml(scenario).unwrap()).unwrap()
}

/// The right settings for a simulation, with a deadline that no test reaches.
pub(crate) fn settings(sim: &Sim) -> Settings {
    Settings {
        url: sim.url(),
        login: password("secret"),
        trust: Trust::Pin(sha256(&sim.certificate_sha256())),
        deadline: Instant::now() + Duration::from_secs(60),
        longest_wait: Duration::from_secs(50),
        keeper: None,
        keep_log_in: true,
        retry_refused: false,
    }
}

pub(crate) fn password(password: &str) -> Login {
    Login::Password {
        client_id: "zerto-client".into(),
        username: "admin".into(),
        password: Secret::new(password),
    }
}

pub(crate) fn zvm(sim: &Sim) -> Zvm {
    Zvm::new(settings(sim)).unwrap()
}

/// A ZVM with a deadline in so many milliseconds.
pub(crate) fn hurried(sim: &Sim, ms: u64) -> Zvm {
    let deadline = Instant::now() + Duration::from_millis(ms);
    Zvm::new(Settings {
        deadline,
        ..settings(sim)
    })
    .unwrap()
}

/// A ZVM with a longest wait of so many milliseconds.
pub(crate) fn impatient(sim: &Sim, ms: u64) -> Zvm {
    Zvm::new(Settings {
        longest_wait: Duration::from_millis(ms),
        ..settings(sim)
    })
    .unwrap()
}

pub(crate) fn sha256(hex: &str) -> [u8; 32] {
    std::array::from_fn(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap())
}

/// The identifier that the simulation gives to a VPG of this name.
pub(crate) fn vpg(name: &str) -> String {
    zvm_sim::Vpg {
        name: name.into(),
        ..zvm_sim::Vpg::default()
    }
    .identifier()
}

/// How the requests that end like this began, in their order.
pub(crate) fn seen(sim: &Sim, method: &str, end: &str) -> Vec<Seen> {
    let mut seen = sim.requests();
    seen.retain(|request| request.method == method && request.path.ends_with(end));
    seen
}

pub(crate) fn inserts(sim: &Sim) -> Vec<Seen> {
    seen(sim, "POST", "/checkpoints")
}

pub(crate) fn polls(sim: &Sim) -> Vec<Seen> {
    seen(sim, "GET", "/checkpoints")
}

pub(crate) fn log_ins(sim: &Sim) -> Vec<Seen> {
    let mut seen = seen(sim, "POST", "/token");
    seen.extend(self::seen(sim, "POST", "/session/add"));
    seen
}
