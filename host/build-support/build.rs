//! Looks for the targets of policies. This package depends on nothing, so a missing one is found in the first seconds of a
//! build and not after the engine was compiled.

#[expect(unreachable_pub, reason = "the module is the library's own, which exports it")]
#[path = "src/target.rs"]
mod target;

fn main() {
    println!("cargo::rerun-if-changed=src/target.rs");
    for name in [target::MODULE, target::WASI] {
        if let Err(cause) = target::require(name) {
            eprintln!("error: {cause}");
            std::process::exit(1);
        }
    }
}
