//! Makers of signed policies, and a machine that trusts them.

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_engine::COMPILED_FOOTER;
use serde_json::{Value, json};
use test_policies::Policy;

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, run};

/// A policy's makers and a machine that trusts them, in one.
pub(crate) struct House {
    pub(crate) world: World,
    /// The program, with what compiles beside it.
    pub(crate) program: PathBuf,
}

impl House {
    pub(crate) fn new() -> Self {
        let world = World::without_zvm();
        let program = world.with_compiler(HOLDPOINT);
        let house = Self { world, program };
        house.done(&["keygen", &house.at("team.pem")]);
        house.configure("");
        house
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.world.path(name).to_str().unwrap().to_owned()
    }

    /// Trust in the team's key, and these lines.
    pub(crate) fn configure(&self, lines: &str) {
        let key = self.at("team.pem.pub");
        let text = format!("policy.keys.team.public_file = '{key}'\n{lines}\n");
        self.world.configure_bare(&text);
    }

    pub(crate) fn policy(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.world.command(&self.program);
        command.arg("policy").args(arguments).env("PASSPHRASE", "correct");
        run(command, b"")
    }

    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let outcome = self.policy(arguments);
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}: {outcome:?}"
        );
        outcome.stdout
    }

    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], words: &str) {
        let outcome = self.policy(arguments);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(3), ""),
            "{arguments:?}: {outcome:?}"
        );
        assert!(outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
    }

    /// Signs a component with a key, under a version; `FILE.wasm`.
    pub(crate) fn sign(&self, policy: Policy, version: &str, key: &str) -> String {
        let component = self.at("component.wasm");
        fs::write(&component, policy.component).unwrap();
        // What the stand-in hands out from now on.
        fs::write(self.world.path("bin/code"), engines_own(policy.compiled)).unwrap();
        let out = self.at(&format!("guard-{version}.wasm"));
        let key = self.at(key);
        self.done(&[
            "sign",
            &component,
            "--key",
            &key,
            "--name",
            "guard",
            "--version",
            version,
            "--out",
            &out,
        ]);
        out
    }

    pub(crate) fn install(&self, policy: Policy, version: &str) -> String {
        let file = self.sign(policy, version, "team.pem");
        self.done(&["install", &file]);
        file
    }

    pub(crate) fn list(&self) -> Value {
        serde_json::from_str(&self.done(&["list", "--json"])).unwrap()
    }

    /// What the history says was done.
    pub(crate) fn history(&self) -> Vec<String> {
        let list = self.list();
        let entries = list["history"].as_array().unwrap().iter();
        entries
            .map(|entry| entry["what"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn object(&self, file: &str) -> PathBuf {
        let verified: Value = serde_json::from_str(&self.done(&["verify", file, "--json"])).unwrap();
        let digest = verified["digest"].as_str().unwrap().replace("sha256:", "");
        let store = "home/.local/share/holdpoint/policies/objects";
        self.world.path(store).join(digest)
    }

    /// The verdict over a call that the shipped policy lets through, and what the log says of it.
    pub(crate) fn judged(&self) -> (String, Value) {
        let program = self.program.to_str().unwrap();
        let outcome = self.world.hook(program, &before("mcp__esxi__listVMs", json!({})));
        (outcome.decision(), self.world.log().pop().unwrap())
    }

    #[track_caller]
    pub(crate) fn decides(&self, decision: &str, policy: &str) {
        let (decided, line) = self.judged();
        assert_eq!(
            (decided.as_str(), &line["fault"]),
            (decision, &Value::Null),
            "{line}"
        );
        assert!(line["policy"].as_str().unwrap().starts_with(policy), "{line}");
    }

    #[track_caller]
    pub(crate) fn denies_everything(&self, words: &str) {
        let (decided, line) = self.judged();
        assert_eq!(
            (decided.as_str(), &line["fault"]),
            ("deny", &json!("policy")),
            "{line}"
        );
        assert!(line["why"].as_str().unwrap().contains(words), "{words}: {line}");
    }
}

/// Compiled code without what says whose it is, which the stand-in adds.
pub(crate) fn engines_own(compiled: &[u8]) -> &[u8] {
    &compiled[..compiled.len() - COMPILED_FOOTER]
}

/// The real compiler, as the build of the shipped policy left it.
pub(crate) const COMPILER: &str = holdpoint_runtime::policy::built::COMPILER;

/// Puts the real compiler in the place of its stand-in, for a test that needs what no build made ahead.
pub(crate) fn with_real_compiler(world: &World) {
    fs::copy(COMPILER, world.path("bin/holdpoint-compile")).unwrap();
}

/// What another build makes has to be there.
pub(crate) fn assert_built(file: &Path, command: &str) {
    assert!(file.is_file(), "{} is missing: {command}", file.display());
}
