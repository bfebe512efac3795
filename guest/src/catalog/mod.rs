//! What is known of the tools of MCP servers.

pub mod check;
pub mod format;
mod table;

use format::{Catalog, Group};

/// The shipped catalogs that know a server by this key (normalised).
pub fn shipped(alias: &str) -> impl Iterator<Item = &'static Catalog> {
    let first = table::ALIASES.partition_point(|(known, _)| *known < alias);
    table::ALIASES[first..]
        .iter()
        .take_while(move |(known, _)| *known == alias)
        .map(|(_, index)| &table::SHIPPED[*index])
}

/// The shipped catalogs of tools that a harness has itself.
pub fn shipped_builtins() -> impl Iterator<Item = &'static Catalog> {
    table::SHIPPED.iter().filter(|catalog| catalog.server.builtin)
}

/// The operator's catalogs that know a server by this key (normalised).
pub fn own<'a>(catalogs: &'a [Catalog], alias: &'a str) -> impl Iterator<Item = &'a Catalog> {
    catalogs.iter().filter(move |catalog| {
        catalog
            .server
            .aliases
            .binary_search_by(|known| known.as_ref().cmp(alias))
            .is_ok()
    })
}

/// What people call a catalog: the repository that it was read from, else the key of its server.
pub fn title(catalog: &Catalog) -> String {
    let key = || catalog.server.aliases.first().map_or("no server", AsRef::as_ref);
    match &catalog.source {
        Some(source) => source.repository.to_string(),
        None => format!("the operator's catalog of {}", key()),
    }
}

/// What a prepared catalog says of a tool (its name normalised).
pub fn entry<'a>(catalog: &'a Catalog, tool: &str) -> Option<&'a Group> {
    catalog.tools.iter().find(|group| {
        group
            .names
            .binary_search_by(|name| name.as_ref().cmp(tool))
            .is_ok()
    })
}
