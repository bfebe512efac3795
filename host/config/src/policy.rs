//! The policy: which one decides, whom it has to come from, what it may use, and what it is told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdpoint_artifact::{Digest, Required};
use serde::{Deserialize, Serialize};

use crate::directories;
use crate::error::{ConfigError, in_range};
use crate::record::Shadow;
use crate::trust::{Key, Require, SignatureRule};

/// The capabilities that there are to be lent, by the names of the interfaces in `wit/`.
pub const CAPABILITIES: [&str; 4] = ["deadline", "log", "session", "zerto"];

/// The policy, what it may use, and what it is told.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// A policy in place of the shipped one: a component, compiled beforehand by `holdpoint-compile`.
    pub path: Option<PathBuf>,
    pub(crate) signature: SignatureRule,
    pub(crate) keys: BTreeMap<String, Key>,
    pub(crate) revoked: Vec<Digest>,
    pub(crate) require: Require,
    pub(crate) store: Option<PathBuf>,
    pub(crate) grants: Option<Vec<String>>,
    pub(crate) catalogs: Vec<PathBuf>,
    pub(crate) unknown_tool: Option<Choice>,
    pub(crate) control_plane: Option<Choice>,
    pub(crate) domains: Vec<String>,
    pub(crate) vcenter: Option<String>,
    pub(crate) machines: BTreeMap<String, String>,
    pub(crate) servers: BTreeMap<String, Server>,
    pub(crate) allow_widening: Option<bool>,
    pub(crate) session_ask_level: Option<u8>,
    pub(crate) shadow: Option<String>,
    pub(crate) shadow_share: Option<f64>,
}

/// The settings that a policy gets, under the names that they have in the configuration. What is not listed here stays with
/// the host.
#[derive(Debug, Serialize)]
pub struct Settings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_tool: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane: Option<Choice>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    domains: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    vcenter: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    machines: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    servers: &'a BTreeMap<String, Server>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_widening: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_ask_level: Option<u8>,
}

/// One MCP server of the operator's.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    machines: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    templates: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    scopes: BTreeMap<String, String>,
}

/// A verdict that can be chosen by configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// A human decides.
    Ask,
    /// The call does not run.
    Deny,
    /// The call runs.
    Pass,
}

impl Policy {
    /// What of it a policy is told.
    pub fn settings(&self) -> Settings<'_> {
        Settings {
            unknown_tool: self.unknown_tool,
            control_plane: self.control_plane,
            domains: &self.domains,
            vcenter: self.vcenter.as_deref(),
            machines: &self.machines,
            servers: &self.servers,
            allow_widening: self.allow_widening,
            session_ask_level: self.session_ask_level,
        }
    }

    /// The capabilities that the policy is lent.
    pub fn grants(&self) -> Vec<String> {
        self.grants
            .clone()
            .unwrap_or_else(|| CAPABILITIES.map(str::to_owned).to_vec())
    }

    /// The operator's own catalogs.
    pub fn catalog_files(&self) -> &[PathBuf] {
        &self.catalogs
    }

    /// Whether the level of a session's failures decides on calls.
    pub fn asks_by_session(&self) -> bool {
        self.session_ask_level.is_some()
    }

    /// The VM names that the configuration gives in the place of others, each with the key that does.
    pub fn vm_names(&self) -> Vec<(String, String)> {
        let aliases = self
            .machines
            .iter()
            .map(|(alias, vm)| (format!("policy.machines.{alias}"), vm.clone()));
        let servers = self.servers.iter().filter_map(|(name, server)| {
            Some((format!("policy.servers.{name}.machine"), server.machine.clone()?))
        });
        aliases.chain(servers).collect()
    }

    /// The policy that sees each call beside the one in force, if there is one.
    pub fn shadow(&self) -> Option<Shadow> {
        let named = self.shadow.as_ref()?;
        Some(match named.parse() {
            Ok(digest) => Shadow::Kept(digest),
            Err(_) => Shadow::File(named.into()),
        })
    }

    /// The share of the time that is left which the shadow may take after the answer.
    pub fn shadow_share(&self) -> f64 {
        self.shadow_share.unwrap_or(0.01)
    }

    pub(crate) fn check_shadow(&self) -> Result<(), ConfigError> {
        in_range("policy.shadow_share", self.shadow_share, 0.001..=0.5)?;
        match self.shadow() {
            Some(Shadow::File(path)) if !path.is_absolute() => Err(ConfigError::value(
                "policy.shadow",
                format!(
                    "is '{}', and has to be a digest (sha256:…) or a path that begins with '/'",
                    path.display()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Whether a policy has to be signed.
    pub fn signature_rule(&self) -> SignatureRule {
        self.signature
    }

    /// The keys that may sign policies, by the operator's names for them.
    pub fn keys(&self) -> &BTreeMap<String, Key> {
        &self.keys
    }

    /// The policies that are not taken, whoever signed them.
    pub fn revoked(&self) -> &[Digest] {
        &self.revoked
    }

    /// Which policy the host wants, whoever signed it.
    pub fn required(&self) -> Required {
        Required {
            name: self.require.name.clone(),
            version: self.require.version.clone(),
        }
    }

    /// What an operator should know who trusts keys, and so means a policy of their own to decide, without saying which.
    pub fn advice(&self) -> Option<&'static str> {
        let unsaid = !self.keys.is_empty() && self.path.is_none() && !self.required().is_something();
        unsaid.then_some(
            "keys are trusted, and policy.require names no policy: where the store is removed, the shipped policy \
             decides, and an older signed one may be put back in force by whoever can write the store",
        )
    }

    /// The folder of the installed policies; none where neither it is configured nor there is a home directory.
    pub fn store(&self) -> Option<PathBuf> {
        let configured = self.store.clone();
        configured.or_else(|| Some(directories::data().ok()?.join("policies")))
    }
}
