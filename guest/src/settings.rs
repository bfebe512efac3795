//! What the operator configured for this policy.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::{self, check, format::Catalog};
use crate::lookup::same;
use crate::name::{Candidate, normalise, normalise_key, without_runs};
use crate::text::quoted;

/// What becomes of a call that nothing more is known about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stance {
    /// A human decides.
    #[default]
    Ask,
    /// It does not run.
    Deny,
    /// It runs, without a word.
    Pass,
}

/// What the operator says of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerSettings {
    /// The key in the harness's configuration.
    pub key: String,
    /// An alias of the catalog that describes the server, normalised.
    pub catalog: Option<String>,
    /// The VM that the server runs on.
    pub machine: Option<String>,
    /// VM names by an id of this server; where there are any, [`Settings::machines`] does not count for its ids.
    pub machines: BTreeMap<String, String>,
    /// The VMs that a template of this server (a job template, a workflow) reaches, by its id or name.
    pub templates: BTreeMap<String, Vec<String>>,
    /// The scope in which Zerto's VMs stand, by the argument's or option's name without dashes: the one vCenter,
    /// resource group or zone.
    pub scopes: BTreeMap<String, String>,
}

/// The settings. Every key may be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// What becomes of a tool that no catalog lists.
    pub unknown_tool: Stance,
    /// What becomes of a tool that changes a control plane.
    pub control_plane: Stance,
    /// Domains in which a host's short and full name mean the same VM; lower case.
    pub domains: Vec<String>,
    /// The UUID of the only vCenter; makes `vm-38` an identifier.
    pub vcenter: Option<String>,
    /// VM names by id or alias.
    pub machines: BTreeMap<String, String>,
    /// Servers by their key, normalised; several where a harness spells their keys alike.
    pub servers: BTreeMap<String, Vec<ServerSettings>>,
    /// The operator's own catalogs, prepared.
    pub catalogs: Vec<Catalog>,
    /// Whether the operator's catalogs may read a call less strictly than the shipped ones.
    pub allow_widening: bool,
    /// The level of the session tally, 1 to 4, from which on a change asks although its checkpoint was taken.
    pub session_ask_level: Option<u8>,
    /// The agent's name in a tag.
    pub agent: Option<String>,
}

/// What the operator's map says of an id or alias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapped<'a> {
    /// Nothing.
    Not,
    /// It is this VM.
    To(&'a str),
    /// Several keys differ from it by case only, or several servers that are spelt alike map it differently.
    Several,
}

impl Settings {
    /// Reads the settings. An empty text or object is the default, and costs no parsing.
    ///
    /// # Errors
    /// A sentence that names the key at fault: a setting that is misread must never widen anything.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        if matches!(text.trim(), "" | "{}") {
            return Ok(settings);
        }
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| "the settings are no JSON object".to_owned())?;
        for (key, value) in object {
            settings
                .set(&key, value)
                .map_err(|why| format!("the setting {} {why}", quoted(&key)))?;
        }
        settings.check_servers()?;
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
        match key {
            "unknown_tool" => self.unknown_tool = stance(&value)?,
            "control_plane" => self.control_plane = stance(&value)?,
            "domains" => self.domains = domains(&value)?,
            "vcenter" => self.vcenter = Some(uuid(&value)?),
            "machines" => self.machines = names(value)?,
            "servers" => {
                for (key, value) in object(value)? {
                    let mut server = server(value).map_err(|why| format!("{why} at {}", quoted(&key)))?;
                    server.key.clone_from(&key);
                    self.servers.entry(normalise_key(&key)).or_default().push(server);
                }
            }
            "catalogs" => {
                let Value::Array(items) = value else {
                    return Err("is no list".into());
                };
                self.catalogs = items
                    .into_iter()
                    .enumerate()
                    .map(own_catalog)
                    .collect::<Result<_, _>>()?;
            }
            "allow_widening" => {
                self.allow_widening = value.as_bool().ok_or("is neither true nor false")?;
            }
            "session_ask_level" => self.session_ask_level = Some(level(&value)?),
            "agent" => self.agent = Some(filled(&value)?),
            _ => return Err("is not known".into()),
        }
        Ok(())
    }

    /// What the operator says of the server that a name means in one of its readings: by its whole key, and by what it is
    /// called without what a plugin or a connector put before it. A key that the harness names apart decides between those
    /// that it spells alike.
    pub fn servers_of(&self, candidate: &Candidate, named: Option<&str>) -> Vec<&ServerSettings> {
        let whole = self.servers_by(&candidate.servers[0], named);
        let by_parts = candidate.servers[1..]
            .iter()
            .filter_map(|key| self.servers.get(key));
        let mut found: Vec<&ServerSettings> = by_parts.flatten().collect();
        if let Some(own) = &candidate.connector {
            let with_runs = self
                .servers
                .iter()
                .filter(|(key, _)| *key != own && without_runs(key) == *own);
            found.extend(with_runs.flat_map(|(_, servers)| servers));
        }
        whole.into_iter().chain(found).collect()
    }

    /// What the operator says of a server by its whole key.
    pub fn servers_by(&self, key: &str, named: Option<&str>) -> Vec<&ServerSettings> {
        let alike = self.servers.get(key).map_or(&[][..], Vec::as_slice);
        match alike.iter().find(|server| Some(server.key.as_str()) == named) {
            Some(exactly) => vec![exactly],
            None => alike.iter().collect(),
        }
    }

    /// What the operator says that an id or alias of a server means. A key counts whatever its case; one that is spelt
    /// exactly so counts before others. Of several servers that the call may go to, all have to mean the same.
    pub fn mapped<'a>(&'a self, servers: &[&'a ServerSettings], said: &str) -> Mapped<'a> {
        let mut meanings = servers.iter().map(|server| match server.machines.is_empty() {
            true => in_map(&self.machines, said),
            false => in_map(&server.machines, said),
        });
        let first = meanings.next().unwrap_or_else(|| in_map(&self.machines, said));
        if meanings.all(|other| other == first) {
            first
        } else {
            Mapped::Several
        }
    }

    /// Every catalog that a server is said to have must be there, or its tools would pass for unlisted ones.
    fn check_servers(&self) -> Result<(), String> {
        for alias in self
            .servers
            .values()
            .flatten()
            .filter_map(|server| server.catalog.as_deref())
        {
            let shipped = catalog::shipped(alias).next().is_some();
            if !shipped && catalog::own(&self.catalogs, alias).next().is_none() {
                let alias = quoted(alias);
                return Err(format!(
                    "the setting \"servers\" names the catalog {alias}, which does not exist"
                ));
            }
        }
        Ok(())
    }
}

fn in_map<'a>(machines: &'a BTreeMap<String, String>, said: &str) -> Mapped<'a> {
    if let Some(name) = machines.get(said) {
        return Mapped::To(name);
    }
    let mut fitting = machines.iter().filter(|(key, _)| same(key, said));
    match (fitting.next(), fitting.next()) {
        (None, _) => Mapped::Not,
        (Some((_, name)), None) => Mapped::To(name),
        _ => Mapped::Several,
    }
}

fn stance(value: &Value) -> Result<Stance, String> {
    match value.as_str() {
        Some("ask") => Ok(Stance::Ask),
        Some("deny") => Ok(Stance::Deny),
        Some("pass") => Ok(Stance::Pass),
        _ => Err("is none of \"ask\", \"deny\" and \"pass\"".into()),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("is no object".into()),
    }
}

fn filled(value: &Value) -> Result<String, String> {
    match value.as_str().map(str::trim) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err("holds something that is no text, or an empty one".into()),
    }
}

fn domains(value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().ok_or("is no list")?;
    items
        .iter()
        .map(|item| Ok(filled(item)?.trim_matches('.').to_ascii_lowercase()))
        .collect()
}

fn level(value: &Value) -> Result<u8, String> {
    let level = value.as_u64().and_then(|level| u8::try_from(level).ok());
    level
        .filter(|level| (1..=4).contains(level))
        .ok_or_else(|| "is no whole number from 1 to 4".into())
}

fn uuid(value: &Value) -> Result<String, String> {
    let text = filled(value)?;
    let dashes = [8, 13, 18, 23];
    let fits = text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| match dashes.contains(&at) {
                true => byte == b'-',
                false => byte.is_ascii_hexdigit(),
            });
    if fits { Ok(text) } else { Err("is no UUID".into()) }
}

fn names(value: Value) -> Result<BTreeMap<String, String>, String> {
    object(value)?
        .into_iter()
        .map(|(key, name)| {
            let name = filled(&name).map_err(|why| format!("{why} at {}", quoted(&key)))?;
            Ok((key, name))
        })
        .collect()
}

fn templates(value: Value) -> Result<BTreeMap<String, Vec<String>>, String> {
    object(value)?
        .into_iter()
        .map(|(template, vms)| {
            let at = |why: &str| format!("{why} at {}", quoted(&template));
            let vms = vms.as_array().filter(|vms| !vms.is_empty());
            let vms =
                vms.ok_or_else(|| at("holds something that is no list of VM names, or an empty one"))?;
            let vms = vms.iter().map(|vm| filled(vm).map_err(|why| at(&why)));
            Ok((template.clone(), vms.collect::<Result<_, String>>()?))
        })
        .collect()
}

fn server(value: Value) -> Result<ServerSettings, String> {
    let mut server = ServerSettings::default();
    for (key, value) in object(value)? {
        match key.as_str() {
            "catalog" => server.catalog = Some(normalise(&filled(&value)?)),
            "machine" => server.machine = Some(filled(&value)?),
            "machines" => server.machines = names(value)?,
            "scopes" => server.scopes = names(value)?,
            "templates" => server.templates = templates(value)?,
            _ => return Err(format!("holds the unknown key {}", quoted(&key))),
        }
    }
    Ok(server)
}

fn own_catalog((index, value): (usize, Value)) -> Result<Catalog, String> {
    Catalog::deserialize(value)
        .map_err(|why| why.to_string())
        .and_then(check::prepare)
        .map_err(|why| format!("cannot be used at number {}: {}", index + 1, quoted(&why)))
}
