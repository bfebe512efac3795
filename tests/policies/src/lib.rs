//! Hostile and odd policies: what a host must survive, as components with their compiled code.
//!
//! The sources are the files in `wat/`; each says in its first line what it does.

/// One policy, ready to be written to a file.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The name of its file in `wat/`.
    pub name: &'static str,
    /// The component.
    pub component: &'static [u8],
    /// Its compiled code, as the host loads it.
    pub compiled: &'static [u8],
    /// Its compiled code for the bench.
    pub metered: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/policies.rs"));

/// The shipped policy, built for `wasm32-wasip2` as policy teams build theirs.
pub const SHIPPED_FOR_WASI: Policy = Policy {
    name: "shipped-for-wasi",
    component: include_bytes!(concat!(env!("OUT_DIR"), "/for-wasi.wasm")),
    compiled: include_bytes!(concat!(env!("OUT_DIR"), "/for-wasi.cwasm")),
    metered: include_bytes!(concat!(env!("OUT_DIR"), "/for-wasi.metered.cwasm")),
};

/// The compiled code of `passes`, but by an engine with other settings than the host's: with the right header.
pub const COMPILED_OTHERWISE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/otherwise.cwasm"));

/// The policy of this name.
///
/// # Panics
///
/// Where there is none.
pub fn named(name: &str) -> Policy {
    let found = ALL.iter().find(|policy| policy.name == name);
    *found.unwrap_or_else(|| panic!("there is no wat/{name}.wat"))
}
