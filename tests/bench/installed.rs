//! The shipped policy once more, signed and installed: what the gate and the store cost.

use std::fs;
use std::path::Path;

use crate::support::{World, run};

/// The component that the host carries, and its compiled code after its header.
const COMPONENT: &str = env!("HOLDPOINT_COMPONENT");
const CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm"));

/// A world in which that policy is installed.
pub(crate) fn world(holdpoint: &str) -> World {
    let world = World::without_zvm();
    let program = world.with_compiler(holdpoint);
    fs::write(world.path("bin/code"), &CODE[holdpoint_engine::COMPILED_HEADER..]).expect("a file");
    let (key, file) = (world.path("team.pem"), world.path("guard.wasm"));
    world.configure_bare(&format!(
        "policy.keys.team.public_file = '{}.pub'\n",
        key.display()
    ));
    let name = ["--name", "guard", "--version", "1.0.0"].map(Path::new);
    let policy = |verb: &str, arguments: &[&Path]| {
        let mut command = world.command(&program);
        command.args(["policy", verb]).args(arguments);
        let outcome = run(command, b"");
        assert!(outcome.code == Some(0), "{outcome:?}");
    };
    policy("keygen", &[&key]);
    let (with, to) = (Path::new("--key"), Path::new("--out"));
    let mut sign = vec![Path::new(COMPONENT), with, &key, to, &file];
    sign.extend(name);
    policy("sign", &sign);
    policy("install", &[&file]);
    world
}
