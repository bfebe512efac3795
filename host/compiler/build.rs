//! Hands the target triple to the program, which compiles for the platform that it was itself built for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-env=TARGET={}",
        std::env::var("TARGET").expect("cargo sets TARGET")
    );
}
