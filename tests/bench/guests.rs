//! The small policies of `tests/guests`, in each language, where they have been built.

use std::fs;
use std::path::Path;
use std::process::Command;

use holdpoint_engine::{COMPILED_MAGIC, code_of};

/// A policy and its compiled code, each without anything of ours around it.
pub(crate) struct Guest {
    pub(crate) language: &'static str,
    pub(crate) component: Vec<u8>,
    pub(crate) code: Vec<u8>,
    /// How many times the empty program's time the published build may take with it.
    pub(crate) aim: f64,
}

const LANGUAGES: [(&str, &str, f64); 3] = [
    ("rust", "Rust", 1.4),
    ("python", "Python", 7.0),
    ("javascript", "JavaScript", 4.0),
];

/// All that there are.
pub(crate) fn all() -> Vec<Guest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests");
    let there = LANGUAGES.into_iter().filter_map(|(name, language, aim)| {
        let file = folder.join(name).with_extension("wasm");
        if !file.is_file() {
            println!("NOT MEASURED: a policy in {language}; to have it: tests/guests/build {name}");
            return None;
        }
        Some((language, aim, file))
    });
    there
        .map(|(language, aim, file)| Guest {
            language,
            aim,
            code: compile(&file),
            component: fs::read(&file).expect("the policy that was built"),
        })
        .collect()
}

/// The program that compiles policies.
pub(crate) const COMPILER: &str = holdpoint_runtime::policy::built::COMPILER;

/// What the engine serialised of a component, which is left beside it as well.
pub(crate) fn compile(file: &Path) -> Vec<u8> {
    let status = Command::new(COMPILER)
        .arg(file)
        .stdout(std::process::Stdio::null())
        .status();
    assert!(
        status.expect("the compiler starts").success(),
        "{} is compiled",
        file.display()
    );
    let compiled = fs::read(file.with_extension("cwasm")).expect("its code");
    let (code, _) = code_of(&compiled, COMPILED_MAGIC).expect("of this release");
    code.to_vec()
}
