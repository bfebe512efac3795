//! What a scenario file holds. Every key may be left out; `README.md` lists the defaults.

use std::collections::HashSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::names;
use crate::trouble::Trouble;

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is not a scenario: bad TOML, an unknown key or a value out of range. The message shows the line.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Each entry is sound by itself but they contradict one another.
    #[error("contradiction in the scenario: {0}")]
    Contradiction(String),
}

/// What the ZVM holds and how it behaves.
///
/// The default is a healthy small site: one VPG, `APP-VPG`, that protects one VM, `jp-ubuntu`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// The site that the ZVM manages, and its clock.
    pub site: Site,
    /// The certificate that the ZVM shows.
    pub certificate: Certificate,
    /// Who may log in.
    pub login: Login,
    /// The VPGs and the VMs in them.
    pub vpgs: Vec<Vpg>,
    /// What goes wrong. The first one that matches a request and is not used up applies.
    pub troubles: Vec<Trouble>,
}

/// The site that the ZVM manages.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Site {
    /// The site's name.
    pub name: String,
    /// The site's identifier, a GUID; made from the name when absent.
    pub identifier: Option<String>,
    /// The version that `/v1/localsite` reports.
    pub version: String,
    /// How far the ZVM's clock is ahead of this machine's, in seconds.
    pub clock_offset_seconds: i64,
    /// The distance of the ZVM's local time from UTC, in minutes: dates without `Z` are local.
    pub utc_offset_minutes: i32,
    /// Which kind of ZVM it is, and with that which log-in exists.
    pub platform: Platform,
}

/// The certificate that the ZVM shows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Certificate {
    /// In how many days it ends, and it began a year before that; below zero it has ended. Absent: it never does.
    pub days_left: Option<i16>,
    /// Who signed it, and in which form it is.
    pub kind: CertificateKind,
}

/// The form of the certificate that the ZVM shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateKind {
    /// Signed by the simulation's authority.
    #[default]
    Issued,
    /// Signed by itself and marked as an authority's, as appliances often make them.
    SelfSignedCa,
    /// Signed by itself, of X.509's first version: it has no extensions and names no host.
    Version1,
}

/// The kind of a ZVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// The Linux appliance: tokens from Keycloak.
    #[default]
    Linux,
    /// The older ZVM on Windows: a session header.
    Windows,
}

/// Who may log in, and for how long.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    /// User of the password grant and of the Windows session.
    pub username: String,
    /// Password of that user.
    pub password: String,
    /// The public client that the password grant names.
    pub client_id: String,
    /// The client of the client-credentials grant.
    pub service_client_id: String,
    /// The secret of that client.
    pub service_client_secret: String,
    /// How long a token lives, in seconds, at most a day; `expires_in` says the same.
    #[serde(deserialize_with = "ranged::<_, _, 0, 86_400>")]
    pub token_seconds: u64,
    /// How long a Windows session lives without use, in seconds; at most a day.
    #[serde(deserialize_with = "ranged::<_, _, 0, 86_400>")]
    pub session_idle_seconds: u64,
    /// Whether a token request without `scope=openid` is refused.
    pub require_openid: bool,
    /// Whether the user's role may insert checkpoints; without it, an insert is a 403, whatever VPG it names.
    pub may_insert: bool,
}

/// A Virtual Protection Group with its journal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Vpg {
    /// The VPG's name.
    pub name: String,
    /// The VPG's identifier, a GUID; made from the name when absent.
    pub identifier: Option<String>,
    /// The VPG's status, 0 to 8.
    #[serde(deserialize_with = "ranged::<_, _, 0, 8>")]
    pub status: u8,
    /// The VPG's sub-status, 0 to 42.
    #[serde(deserialize_with = "ranged::<_, _, 0, 42>")]
    pub sub_status: u8,
    /// Milliseconds between two untagged checkpoints, from 1 to a day.
    #[serde(deserialize_with = "ranged::<_, _, 1, 86_400_000>")]
    pub cadence_ms: u64,
    /// How long the task of an insert is in progress, in milliseconds; at most a day.
    #[serde(deserialize_with = "ranged::<_, _, 0, 86_400_000>")]
    pub task_ms: u64,
    /// How long a tag waits, in milliseconds, before it surfaces at the next tick; at most a day.
    #[serde(deserialize_with = "ranged::<_, _, 0, 86_400_000>")]
    pub visible_after_ms: u64,
    /// Where the ticks are counted from.
    pub align: Align,
    /// Whether a tag surfaces without waiting for a tick.
    pub instant: bool,
    /// What becomes of an insert.
    pub outcome: Outcome,
    /// Zerto's words when an insert fails or is refused.
    pub reason: String,
    /// The VMs in the VPG.
    pub vms: Vec<Vm>,
}

/// Where a VPG's ticks are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// From the moment the simulation started.
    #[default]
    Start,
}

/// What becomes of a tagged checkpoint's insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The task completes and the tag surfaces.
    #[default]
    Ok,
    /// The task completes but the tag is never in the journal.
    NeverSurfaces,
    /// The task fails with the reason, and there is no checkpoint.
    TaskFails,
    /// The insert is answered with an error: HTTP 400 on Linux, 500 on Windows.
    Refused,
}

/// A VM in a VPG.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vm {
    /// The VM's name in the inventory.
    pub name: String,
    /// `<server id>.<moref>`; made from the name when absent, so that one name is one VM.
    #[serde(default, deserialize_with = "server_and_moref")]
    pub identifier: Option<String>,
    /// Whether the VM is still in the inventory.
    #[serde(default = "yes")]
    pub exists: bool,
    /// Whether it is protected from this site or to it.
    #[serde(default)]
    pub direction: Direction,
    /// The addresses of its one network adapter.
    #[serde(default)]
    pub ip_addresses: Vec<String>,
}

/// Which way a VM is replicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// It runs on this site.
    #[default]
    ProtectedHere,
    /// It runs on the peer site and is recovered to this one.
    RecoveredHere,
}

fn yes() -> bool {
    true
}

/// Checked while reading, because only then is the line known.
fn ranged<'de, D, T, const LEAST: u64, const MOST: u64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let value = u64::deserialize(deserializer)?;
    T::try_from(value)
        .ok()
        .filter(|_| (LEAST..=MOST).contains(&value))
        .ok_or_else(|| D::Error::custom(format_args!("{value} is not between {LEAST} and {MOST}")))
}

fn server_and_moref<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let identifier = String::deserialize(deserializer)?;
    if names::is_vm_identifier(&identifier) {
        return Ok(Some(identifier));
    }
    Err(D::Error::custom(format_args!(
        "`{identifier}` is not of the form <server id>.<moref>"
    )))
}

impl Scenario {
    /// Reads a scenario file's text.
    ///
    /// # Errors
    /// [`ScenarioError::Toml`] with the line for anything that is wrong with an entry, and
    /// [`ScenarioError::Contradiction`] for entries that do not go together.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        let mut seen = HashSet::new();
        for vpg in &self.vpgs {
            if vpg.vms.iter().any(|vm| vm.direction != vpg.direction()) {
                let text = format!("the VMs of VPG `{}` are replicated in both directions", vpg.name);
                return Err(ScenarioError::Contradiction(text));
            }
            if !seen.insert(vpg.identifier().to_lowercase()) {
                let text = format!("two VPGs have the identifier of `{}`", vpg.name);
                return Err(ScenarioError::Contradiction(text));
            }
        }
        Ok(())
    }
}

impl Site {
    /// The identifier that was given, or the one that follows from the name.
    pub fn identifier(&self) -> String {
        self.identifier
            .clone()
            .unwrap_or_else(|| names::guid("site", &self.name))
    }
}

impl Vpg {
    /// The identifier that was given, or the one that follows from the name.
    pub fn identifier(&self) -> String {
        self.identifier
            .clone()
            .unwrap_or_else(|| names::guid("vpg", &self.name))
    }

    /// The way that the VPG's VMs are replicated.
    pub(crate) fn direction(&self) -> Direction {
        self.vms
            .first()
            .map_or(Direction::ProtectedHere, |vm| vm.direction)
    }
}

impl Vm {
    /// A VM that exists and is protected here.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            identifier: None,
            exists: true,
            direction: Direction::ProtectedHere,
            ip_addresses: Vec::new(),
        }
    }

    /// The identifier that was given, or the one that follows from the name.
    pub fn identifier(&self) -> String {
        self.identifier
            .clone()
            .unwrap_or_else(|| names::vm_identifier(&self.name))
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            site: Site::default(),
            certificate: Certificate::default(),
            login: Login::default(),
            vpgs: vec![Vpg::default()],
            troubles: Vec::new(),
        }
    }
}

impl Default for Vpg {
    fn default() -> Self {
        Self {
            name: "APP-VPG".into(),
            identifier: None,
            status: 1,
            sub_status: 0,
            cadence_ms: 5000,
            task_ms: 0,
            visible_after_ms: 0,
            align: Align::Start,
            instant: false,
            outcome: Outcome::Ok,
            reason: "The operation cannot be carried out".into(),
            vms: vec![Vm::named("jp-ubuntu")],
        }
    }
}

impl Default for Site {
    fn default() -> Self {
        Self {
            name: "Local".into(),
            identifier: None,
            version: "10.0.60".into(),
            clock_offset_seconds: 0,
            // Not zero, so that a date sent without `Z` is not right by chance.
            utc_offset_minutes: 120,
            platform: Platform::Linux,
        }
    }
}

impl Default for Login {
    fn default() -> Self {
        Self {
            username: "admin".into(),
            password: "secret".into(),
            client_id: "zerto-client".into(),
            service_client_id: "holdpoint".into(),
            service_client_secret: "service-secret".into(),
            token_seconds: 60,
            session_idle_seconds: 1800,
            require_openid: true,
            may_insert: true,
        }
    }
}
