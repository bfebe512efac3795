//! The pure modules do no input or output: everything comes through `World`.

use std::path::{Path, PathBuf};

/// What reaches outside, by the text that a source would hold.
const OUTSIDE: [&str; 17] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::io",
    "std::os",
    "std::sync::mpsc",
    "SystemTime",
    "Instant",
    "println!",
    "print!",
    "dbg!",
    "env!(\"",
    "extern \"C\"",
    "unsafe {",
    "wit_bindgen",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn outside(source: &str) -> Vec<&'static str> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    // The build script's tables are compiled in by path.
    let code = code.replace("env!(\"OUT_DIR\")", "");
    OUTSIDE.into_iter().filter(|word| code.contains(word)).collect()
}

#[test]
fn only_the_shell_reaches_outside() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let modules = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let declared = modules
        .lines()
        .filter(|line| line.starts_with("pub mod "))
        .count();
    assert!(
        declared >= 15 && files.len() > declared,
        "the scan misses modules: {} files",
        files.len()
    );

    let (shell, pure): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|file| file.ends_with("src/component.rs") || file.ends_with("src/catalog/place.rs"));
    assert_eq!(shell.len(), 2);
    let read = |file: &PathBuf| std::fs::read_to_string(file).unwrap();
    for file in shell {
        assert!(
            !outside(&read(&file)).is_empty(),
            "the scan does not see what the shell does"
        );
    }
    for file in pure {
        assert_eq!(outside(&read(&file)), Vec::<&str>::new(), "{}", file.display());
    }
}

#[test]
fn the_scan_sees_what_it_looks_for() {
    assert_eq!(outside("use std::fs;\n"), ["std::fs"]);
    assert_eq!(outside("fn f() {\n    println!(\"x\");\n}\n"), ["println!"]);
    assert!(outside("/// std::fs is not used here\nfn f() {}\n").is_empty());
}
