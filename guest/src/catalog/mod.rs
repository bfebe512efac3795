//! What is known of the tools of MCP servers.

pub mod check;
pub mod format;
pub mod pack;
pub mod place;
pub mod table;

use std::borrow::Cow;

use format::{Catalog, Group};
use table::Table;

/// The catalogs in the repository, which the build script wrote as a table.
static SHIPPED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogs.bin"));

/// One server's catalog: one of the policy's own, or of the operator's.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// In the policy's table.
    Policy(table::Server),
    /// From the operator's files.
    Operator(&'a Catalog),
}

impl<'a> Source<'a> {
    /// True for tools of the harness itself.
    pub fn builtin(self) -> bool {
        match self {
            Self::Policy(server) => server.builtin(),
            Self::Operator(catalog) => catalog.server.builtin,
        }
    }

    /// The keys under which harnesses know the server.
    pub fn aliases(self) -> Vec<String> {
        let texts = match self {
            Self::Policy(server) => server.aliases(),
            Self::Operator(catalog) => catalog.server.aliases.clone(),
        };
        texts.iter().map(ToString::to_string).collect()
    }

    /// What people call the catalog: the repository that it was read from, else the key of its server.
    pub fn title(self) -> String {
        let (of, repository) = match self {
            Self::Policy(server) => ("the catalog", server.repository()),
            Self::Operator(catalog) => {
                let source = catalog.source.as_ref();
                let repository = source.map(|source| source.repository.clone());
                ("the operator's catalog", repository.unwrap_or_default())
            }
        };
        if !repository.is_empty() {
            return repository.into_owned();
        }
        let aliases = self.aliases();
        let key = aliases.first().map_or("no server", String::as_str);
        format!("{of} of {key}")
    }

    /// What the catalog says of a tool (its name normalised).
    pub fn entry(self, tool: &str) -> Option<Cow<'a, Group>> {
        match self {
            Self::Policy(server) => server.entry(tool).map(Cow::Owned),
            Self::Operator(catalog) => {
                let lists = |group: &&Group| {
                    let names = &group.names;
                    names.binary_search_by(|name| name.as_ref().cmp(tool)).is_ok()
                };
                catalog.tools.iter().find(lists).map(Cow::Borrowed)
            }
        }
    }
}

/// The policy's own catalogs: those that were packed into it, else the shipped ones.
fn own_table() -> Table {
    Table::new(place::packed().unwrap_or(SHIPPED))
}

/// The policy's catalogs that know a server by this key (normalised).
pub fn shipped(alias: &str) -> impl Iterator<Item = Source<'static>> {
    own_table().servers(alias).map(Source::Policy)
}

/// Every catalog of the policy's.
pub fn all_shipped() -> impl Iterator<Item = Source<'static>> {
    own_table().all().map(Source::Policy)
}

/// A normalised name with one `_` for several that follow each other, and none at either end.
pub fn without_runs(spelt: &str) -> String {
    let parts: Vec<&str> = spelt.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// Whether a catalog knows a server by a key that a harness spells like this where it leaves runs of `_` out.
pub fn is_known_without_runs(catalog: Source<'_>, spelt: &str) -> bool {
    let aliases = catalog.aliases();
    aliases.iter().any(|alias| without_runs(alias) == spelt)
}

/// The policy's catalogs of tools that a harness has itself.
pub fn shipped_builtins() -> impl Iterator<Item = Source<'static>> {
    own_table()
        .all()
        .filter(|server| server.builtin())
        .map(Source::Policy)
}

/// The operator's catalogs that know a server by this key (normalised).
pub fn own<'a>(catalogs: &'a [Catalog], alias: &'a str) -> impl Iterator<Item = Source<'a>> {
    catalogs
        .iter()
        .filter(move |catalog| {
            catalog
                .server
                .aliases
                .binary_search_by(|known| known.as_ref().cmp(alias))
                .is_ok()
        })
        .map(Source::Operator)
}
