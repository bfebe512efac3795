//! Reads the catalogs, checks them and writes them as the table that the policy searches, so that a decision parses no
//! catalog.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[expect(
    unreachable_pub,
    reason = "the modules are the library's own, which exports them"
)]
#[path = "src/catalog"]
mod catalog {
    #[path = "check.rs"]
    pub(crate) mod check;
    #[path = "format.rs"]
    pub(crate) mod format;
    #[path = "pack.rs"]
    pub(crate) mod pack;
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../catalogs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();

    let mut catalogs = Vec::new();
    for file in &files {
        let catalog: catalog::format::Catalog =
            toml::from_str(&fs::read_to_string(file)?).map_err(|why| format!("{}: {why}", file.display()))?;
        let catalog = catalog::check::prepare(catalog).map_err(|why| format!("{}: {why}", file.display()))?;
        catalogs.push(catalog);
    }
    let table = catalog::pack::table(&catalogs);
    fs::write(Path::new(&env::var("OUT_DIR")?).join("catalogs.bin"), table)?;
    Ok(())
}
