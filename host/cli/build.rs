//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The static program moves itself to where it was loaded. Said so, its list of what has to be moved is a fiftieth.
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|library| library == "musl") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
