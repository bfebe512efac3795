//! `holdpoint policy new`: the beginning of a policy.

use std::fs;
use std::path::Path;

use super::{Done, about, not_made, print};

/// The files, by their paths. In each, `NAME` stands for the policy's name and `FILE` for its file's as cargo spells it.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("new/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("new/lib.rs.txt")),
    ("wit/policy.wit", include_str!("../../../../../wit/policy.wit")),
    ("cases/NAME.toml", include_str!("new/case.toml.txt")),
    ("README.md", include_str!("new/README.md.txt")),
    (".gitignore", "/target\n*.pem\n"),
];

/// Writes a crate that builds to a policy, in a folder of that name that is not there yet.
pub(super) fn new(name: &str) -> Done {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    if !name.starts_with(|first: char| first.is_ascii_lowercase())
        || !name.bytes().all(plain)
        || name.len() > 64
    {
        return Err(format!(
            "'{name}' is no policy's name: 1 to 64 lower-case letters, digits and dashes, beginning with a letter"
        )
        .into());
    }
    let folder = Path::new(name);
    fs::create_dir(folder).map_err(|error| not_made(folder, &error))?;
    let file = name.replace('-', "_");
    for (path, text) in FILES {
        let path = folder.join(path.replace("NAME", name));
        // The contract is copied as it is.
        let text = match path.extension() {
            Some(extension) if extension == "wit" => text.to_owned(),
            _ => text.replace("NAME", name).replace("FILE", &file),
        };
        fs::create_dir_all(path.parent().unwrap_or(folder))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| about(&path, error))?;
    }
    print(&format!(
        "{name}: a policy that asks for tools of production; what to do with it is in {name}/README.md\n"
    ))
}
