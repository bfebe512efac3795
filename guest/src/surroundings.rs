//! What is known beside a call's arguments when machines are read out of them.

use crate::settings::{Mapped, ServerSettings, Settings};

/// A scope that a call names and that is not known to be that of Zerto's VMs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The argument or option that names it, without dashes.
    pub name: String,
    /// What it says.
    pub said: String,
}

/// What is known beside the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The operator's settings.
    pub settings: &'a Settings,
    /// What the settings say of the server; of several where its name is spelt like theirs.
    pub servers: &'a [&'a ServerSettings],
    /// Why the arguments may say more than can be read, where they may.
    pub unread: Option<&'static str>,
    /// Scopes that the call names beside its machines, and that are not known to be those of Zerto's VMs.
    pub scope: &'a [Scope],
}

impl<'a> Surroundings<'a> {
    /// What the operator's map says of an id or alias. Where the call names a scope, only a key that names it too
    /// counts: `vcenter02/vm-38`.
    pub fn mapped(&self, said: &str) -> Mapped<'a> {
        if self.scope.is_empty() {
            return self.settings.mapped(self.servers, said);
        }
        let scopes = self.scope.iter().map(|scope| scope.said.as_str());
        let key: Vec<&str> = scopes.chain([said]).collect();
        self.settings.mapped(self.servers, &key.join("/"))
    }
}
