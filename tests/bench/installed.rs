//! Policies that are signed and installed: what the gate, the store and a policy's own imports cost.

use std::fs;
use std::os::unix::fs as unix;
use std::path::Path;
use std::rc::Rc;

use holdpoint_engine::COMPILED_FOOTER;
use holdpoint_runtime::policy::built;

use crate::guests;
use crate::support::{World, chmod, run};

/// A policy that is installed in a store of its own.
pub(crate) struct Installed {
    /// How its rows are named.
    pub(crate) name: String,
    component: Rc<[u8]>,
    /// What the engine serialised.
    code: Rc<[u8]>,
    /// Whose hook it is, where it is another user's than the store's, so that nothing in the store has to be proven.
    pub(crate) user: Option<u32>,
    /// How many times the empty program's time the published build may take with it; aimed at by nobody where none.
    pub(crate) aim: Option<f64>,
}

/// Every policy that is measured beside the shipped one. To measure another, add it here: its component and its compiled
/// code.
pub(crate) fn all() -> Vec<Installed> {
    let own = |compiled: &[u8]| compiled[..compiled.len() - COMPILED_FOOTER].to_vec();
    let read = |file| std::fs::read(file).expect("the build left it");
    let (shipped, compiled) = (read(built::COMPONENT), read(built::CODE));
    let wasi = test_policies::SHIPPED_FOR_WASI;
    let mut all = Installed::in_both_stores("the same policy", shipped, own(&compiled));
    all.extend(Installed::in_both_stores(
        "the same policy for wasm32-wasip2",
        wasi.component.to_vec(),
        own(wasi.compiled),
    ));
    for guest in guests::all() {
        let name = format!("a small policy in {}", guest.language);
        let both = Installed::in_both_stores(&name, guest.component, guest.code);
        all.extend(both.into_iter().map(|policy| Installed {
            aim: policy.user.map(|_| guest.aim),
            ..policy
        }));
    }
    if !rustix::process::geteuid().is_root() {
        println!("NOT MEASURED: stores of root's, for want of root");
    }
    all
}

/// A user with no rights of its own.
const NOBODY: u32 = 65534;

impl Installed {
    /// In a store that the hook's user can write, and in one of root's, which only root can make.
    pub(crate) fn in_both_stores(name: &str, component: Vec<u8>, code: Vec<u8>) -> Vec<Self> {
        let users = Self {
            name: format!("{name}, installed"),
            component: component.into(),
            code: code.into(),
            user: None,
            aim: None,
        };
        let roots = Self {
            name: format!("{name}, in a store of root's"),
            component: Rc::clone(&users.component),
            code: Rc::clone(&users.code),
            user: Some(NOBODY),
            aim: None,
        };
        if rustix::process::geteuid().is_root() {
            vec![users, roots]
        } else {
            vec![users]
        }
    }

    /// A world in which it is installed; the program is `bin/holdpoint` there.
    pub(crate) fn world(&self, holdpoint: &Path) -> World {
        let world = World::without_zvm();
        let program = world.with_compiler(holdpoint.to_str().expect("a path in Unicode"));
        fs::write(world.path("bin/code"), &self.code).expect("a file");
        let [key, component, file] = ["team.pem", "bare.wasm", "guard.wasm"].map(|name| world.path(name));
        fs::write(&component, &self.component).expect("a file");
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
