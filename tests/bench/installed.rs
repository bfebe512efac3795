//! Policies that are signed and installed: what the gate, the store and a policy's own imports cost.

use std::fs;
use std::os::unix::fs as unix;
use std::path::Path;

use holdpoint_engine::COMPILED_HEADER;

use crate::support::{World, chmod, run};

/// A policy that is installed in a store of its own.
pub(crate) struct Installed {
    /// How its rows are named.
    pub(crate) name: &'static str,
    component: &'static [u8],
    compiled: &'static [u8],
    /// Whose hook it is, where it is another user's than the store's, so that nothing in the store has to be proven.
    pub(crate) user: Option<u32>,
}

/// Every policy that is measured beside the shipped one. To measure another, add it here: its component and its compiled
/// code.
pub(crate) fn all() -> Vec<Installed> {
    let shipped = Installed {
        name: "the same policy, signed and installed",
        component: include_bytes!(env!("HOLDPOINT_COMPONENT")),
        compiled: include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")),
        user: None,
    };
    let roots = Installed {
        name: "the same policy, in a store of root's",
        user: Some(NOBODY),
        ..shipped
    };
    let wasi = test_policies::SHIPPED_FOR_WASI;
    let wasi = Installed {
        name: "the same policy, built for wasm32-wasip2",
        component: wasi.component,
        compiled: wasi.compiled,
        user: None,
    };
    let mut all = vec![shipped, wasi];
    if rustix::process::geteuid().is_root() {
        all.push(roots);
    } else {
        println!("NOT MEASURED: a store of root's, for want of root");
    }
    all
}

/// A user with no rights of its own.
const NOBODY: u32 = 65534;

impl Installed {
    /// A world in which it is installed; the program is `bin/holdpoint` there.
    pub(crate) fn world(&self, holdpoint: &Path) -> World {
        let world = World::without_zvm();
        let program = world.with_compiler(holdpoint.to_str().expect("a path in Unicode"));
        fs::write(world.path("bin/code"), &self.compiled[COMPILED_HEADER..]).expect("a file");
        let [key, component, file] = ["team.pem", "bare.wasm", "guard.wasm"].map(|name| world.path(name));
        fs::write(&component, self.component).expect("a file");
        let state = world.path("state");
        fs::create_dir(&state).expect("an empty directory");
        world.configure_bare(&format!(
            "policy.keys.team.public_file = '{}.pub'\npolicy.store = '{}'\nlog.path = '{}/decisions.log'\n",
            key.display(),
            world.path("store").display(),
            state.display(),
        ));
        let policy = |verb: &str, arguments: &[&Path]| {
            let mut command = world.command(&program);
            command.args(["policy", verb]).args(arguments);
            let outcome = run(command, b"");
            assert!(outcome.code == Some(0), "{outcome:?}");
        };
        policy("keygen", &[&key]);
        let mut sign = vec![
            component.as_path(),
            Path::new("--key"),
            &key,
            Path::new("--out"),
            &file,
        ];
        sign.extend(["--name", "guard", "--version", "1.0.0"].map(Path::new));
        policy("sign", &sign);
        policy("install", &[&file]);
        if let Some(user) = self.user {
            open_to_all(&world);
            unix::chown(&state, Some(user), Some(user)).expect("root may give away");
        }
        world
    }

    /// How long the gate took, in microseconds, of each decision that the world's log has.
    pub(crate) fn gate_us(world: &World) -> Vec<f64> {
        let log = fs::read_to_string(world.path("state/decisions.log")).expect("a log");
        let gate = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            line["ms"]["gate"]
                .as_f64()
                .expect("an installed policy has passed the gate")
                * 1000.0
        };
        log.lines().map(gate).collect()
    }
}

/// Lets everybody into a world: they are made for their owner alone.
fn open_to_all(world: &World) {
    for folder in [".", "bin", "project"] {
        chmod(&world.path(folder), 0o755);
    }
    chmod(&world.path("config.toml"), 0o644);
}
