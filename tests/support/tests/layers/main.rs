//! The top-level modules of each crate have no dependency cycles, and production packages do not depend on test packages.

mod modules;
mod packages;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use modules::Modules;
use test_support::{files, repository};

/// The folders of packages under `guest/`, `host/` and `tests/`.
fn folders(repository: &Path) -> Vec<PathBuf> {
    let manifests = ["guest", "host", "tests"].map(|part| files(part, "toml"));
    let manifests = manifests.into_iter().flatten();
    let manifests = manifests.filter(|file| file.file_name().is_some_and(|name| name == "Cargo.toml"));
    let folder = |file: PathBuf| repository.join(file.parent().expect("a folder"));
    manifests.map(folder).collect()
}

/// The roots of the crates that a package has in `src`.
fn roots(package: &Path) -> Vec<PathBuf> {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| package.join(root));
    roots.into_iter().filter(|root| root.is_file()).collect()
}

#[test]
fn modules_have_no_dependency_cycles() {
    let repository = repository();
    let mut read = 0;
    let mut cycles = Vec::new();
    for package in folders(&repository) {
        for root in roots(&package) {
            let modules = Modules::read(&root);
            read += modules.names.len();
            let name = package.strip_prefix(&repository).unwrap_or(&package).display();
            if let Some(cycle) = modules.cycle() {
                cycles.push(format!("{name}: {cycle}"));
            }
        }
    }
    assert!(read > 150, "the walk misses modules: {read} were read");
    let report = cycles
        .join("\n")
        .replace(&format!("{}/", repository.display()), "");
    assert!(cycles.is_empty(), "dependency cycles between modules:\n{report}");
}

#[test]
fn production_packages_do_not_depend_on_test_packages() {
    let repository = repository();
    let mut read = 0;
    for package in folders(&repository) {
        if package.starts_with(repository.join("tests")) {
            continue;
        }
        read += 1;
        let used = packages::used_from("tests", &package, &repository);
        assert_eq!(used, Vec::<String>::new(), "in {}", package.display());
    }
    assert!(read > 10, "the walk misses packages: {read} were read");
}

/// Writes a made-up source tree.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    tree
}

/// The cycle among the modules of a made-up crate, with its places relative to the tree.
fn cycle(files: &[(&str, &str)]) -> Option<String> {
    let tree = tree(files);
    let cycle = Modules::read(&tree.path().join("src/lib.rs")).cycle()?;
    Some(
        cycle
            .to_string()
            .replace(&format!("{}/", tree.path().display()), ""),
    )
}

#[test]
fn reports_a_cycle_with_its_path_and_the_place_of_each_use() {
    let found = cycle(&[
        (
            "src/lib.rs",
            "mod files;\nmod pull;\nmod store;\n\npub use crate::store::Store as Shop;\n",
        ),
        (
            "src/files.rs",
            "//! Files.\n\nuse crate::{\n    pull::{self, Seen},\n};\n",
        ),
        ("src/pull/mod.rs", "mod http;\n"),
        ("src/pull/http.rs", "fn follow(shop: &super::super::Shop) {}\n"),
        (
            "src/store.rs",
            "#[serde(with = \"crate::files::text\")]\nstruct Store;\n",
        ),
    ]);
    let expected = "files -> pull -> store -> files\n    \
                    files -> pull: src/files.rs:4\n    \
                    pull -> store: src/pull/http.rs:1\n    \
                    store -> files: src/store.rs:1";
    assert_eq!(found.as_deref(), Some(expected));
}

#[test]
fn counts_what_the_root_defines_and_not_what_it_re_exports() {
    let server = ("src/server.rs", "use crate::Service;\n");
    let service = ("src/service.rs", "pub struct Service;\n");
    let defines = "mod server;\npub struct Service;\npub fn start() { server::serve() }\n";
    let found = cycle(&[("src/lib.rs", defines), server]);
    assert!(found.is_some_and(|found| found.starts_with("lib -> server -> lib\n")));
    let re_exports = "mod server;\nmod service;\npub use server::serve;\npub use service::Service;\n";
    assert_eq!(cycle(&[("src/lib.rs", re_exports), server, service]), None);
}

#[test]
fn ignores_tests_comments_and_strings() {
    let found = cycle(&[
        ("src/lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod all;\n"),
        (
            "src/a.rs",
            "use crate::b;\nfn c<'a>(_: &'a str) -> char { '\"' }\nuse std::fs;\n",
        ),
        (
            "src/b.rs",
            "/// [`a`](crate::a)\n/* crate::a /* */ crate::a */\nconst T: &str = \"crate::a \\\" crate::a\";\n\
             const R: &str = r#\"\" crate::a\"#;\n#[cfg(test)]\nuse crate::a;\n\
             struct S {\n    #[cfg(test)]\n    a: crate::a::A,\n}\n\
             #[cfg(all(test, unix))]\nmod tests {\n    use crate::a;\n    fn f() {}\n}\n\
             #[cfg(test)]\n#[path = \"elsewhere.rs\"]\nmod elsewhere;\n#[cfg(test)]\nmod more;\n",
        ),
        ("src/b/more.rs", "use crate::a;\n"),
        ("src/all.rs", "use crate::{a, b};\n"),
    ]);
    assert_eq!(found, None);
    let outside_of_tests = cycle(&[
        ("src/lib.rs", "mod a;\nmod b;\n"),
        ("src/a.rs", "use crate::b;\n"),
        (
            "src/b.rs",
            "#[cfg(test)]\nlog! {}\n#[cfg(not(test))]\nuse super::a;\n",
        ),
    ]);
    assert!(outside_of_tests.is_some());
}

#[test]
fn finds_a_test_package_among_the_dependencies_however_it_is_named() {
    let tree = tree(&[
        (
            "Cargo.toml",
            "[workspace.dependencies]\nsim = { path = 'tests/sim' }\nserde = '1'\nnet = { path = 'host/net' }\n",
        ),
        (
            "host/store/Cargo.toml",
            "[dependencies]\nserde.workspace = true\nnet.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\nsupport = { path = '../../tests/support' }\n\
             [build-dependencies]\nsim.workspace = true\n\
             [dev-dependencies]\npolicies = { path = '../../tests/policies' }\n",
        ),
    ]);
    let used = packages::used_from("tests", &tree.path().join("host/store"), tree.path());
    assert_eq!(used, ["sim", "support"]);
}
