//! The machines that a call's arguments name.

use serde_json::Value;

use crate::catalog::format::{Kind, Machine, Separator};
use crate::settings::{Mapped, Settings};
use crate::surroundings::{Scope, Surroundings};
use crate::text::quoted;

/// The longest value that is taken for a machine's name, in characters: a fully qualified domain name has at most 253.
const LONGEST: usize = 255;

/// The most machines that one call may name.
pub const MOST_TARGETS: usize = 32;

/// A machine that a call would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What the call says.
    pub said: String,
    /// What Zerto is asked for.
    pub wanted: Wanted,
}

/// What Zerto is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A VM by its name.
    Name(String),
    /// A VM by Zerto's identifier.
    Identifier(String),
    /// A text that can be one VM's name or several names.
    Joined {
        /// What the names in it mean.
        parts: Box<Found>,
        /// Whether the server surely takes it for several names.
        split: bool,
    },
}

impl Target {
    /// How many machines it can mean.
    fn count(&self) -> usize {
        match &self.wanted {
            Wanted::Joined { parts, .. } => parts.count(),
            _ => 1,
        }
    }

    /// The names in it.
    pub fn said(&self) -> Vec<&str> {
        match &self.wanted {
            Wanted::Joined { parts, .. } => parts.targets.iter().flat_map(Self::said).collect(),
            _ => vec![&self.said],
        }
    }
}

/// What the machine arguments of one call hold: machines, and reasons why a human has to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The machines.
    pub targets: Vec<Target>,
    /// Why not all is known. Each is a clause that stands alone.
    pub doubts: Vec<String>,
}

impl Found {
    /// No machine, and why.
    pub fn doubtful(why: String) -> Self {
        Self {
            targets: Vec::new(),
            doubts: vec![why],
        }
    }

    /// Adds what another reading of the same call found.
    pub fn add(&mut self, other: Self) {
        other.targets.into_iter().for_each(|target| self.target(target));
        other.doubts.into_iter().for_each(|doubt| self.doubt(doubt));
    }

    /// How many machines it names.
    pub fn count(&self) -> usize {
        self.targets.iter().map(Target::count).sum()
    }

    /// Adds a machine. One more than a call may name is kept, which is enough to know that there are too many.
    fn target(&mut self, target: Target) {
        if self.count() <= MOST_TARGETS && !self.targets.contains(&target) {
            self.targets.push(target);
        }
    }

    fn doubt(&mut self, doubt: String) {
        if self.doubts.len() <= MOST_TARGETS && !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}

/// Reads machines out of the values at the places that the catalog names.
pub fn read(machine: &Machine, values: &[&Value], around: Surroundings<'_>) -> Found {
    let mut found = Found::default();
    if machine.kind == Kind::ServerBound {
        server_bound(around, &mut found);
        return found;
    }
    for value in values {
        read_value(machine, value, around, &mut found);
    }
    if found.targets.is_empty() && found.doubts.is_empty() {
        found.doubt(nothing_named(machine));
    }
    found
}

fn server_bound(around: Surroundings<'_>, found: &mut Found) {
    let mut machines: Vec<Option<&String>> = around
        .servers
        .iter()
        .map(|server| server.machine.as_ref())
        .collect();
    machines.dedup();
    match machines.as_slice() {
        [Some(name)] => {
            found.target(Target { said: String::clone(name), wanted: Wanted::Name(String::clone(name)) });
        }
        [] | [None] => found.doubt(
            "this tool changes the machine that its server runs on, and the settings name no VM for the server".into(),
        ),
        _ => found.doubt(
            "this tool changes the machine that its server runs on, and the settings say different things of servers that are spelt alike".into(),
        ),
    }
}

fn nothing_named(machine: &Machine) -> String {
    let places: Vec<String> = machine
        .arguments
        .iter()
        .chain(machine.option.iter())
        .map(|a| quoted(a))
        .collect();
    let place = if places.is_empty() {
        "the command".to_owned()
    } else {
        places.join(" or ")
    };
    match machine.kind {
        Kind::Pattern => {
            format!("no machine stands in {place}, and an empty limit can mean the whole inventory")
        }
        _ => format!("no machine stands in {place}"),
    }
}

fn read_value(machine: &Machine, value: &Value, around: Surroundings<'_>, found: &mut Found) {
    match value {
        Value::Null => {
            let missing = around
                .unread
                .map(|why| format!("{why}, and a machine may be missing"));
            found.doubts.extend(missing);
        }
        Value::String(text) => read_text(machine, text, around, found),
        Value::Number(number) => read_piece(machine.kind, &number.to_string(), around, found),
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) if !text.trim().is_empty() => {
                        read_value(machine, item, around, found);
                    }
                    Value::Number(_) => read_value(machine, item, around, found),
                    _ => found
                        .doubts
                        .push("a list of machines holds something that is no name".into()),
                }
            }
        }
        Value::Bool(_) | Value::Object(_) => {
            found
                .doubts
                .push("where a machine is expected stands something that is no name".into());
        }
    }
}

/// A text that holds one name, or several: surely where the catalog says how the server splits it, and perhaps where
/// commas stand in it.
fn read_text(machine: &Machine, text: &str, around: Surroundings<'_>, found: &mut Found) {
    if text.trim().is_empty() {
        return;
    }
    // The map's keys may hold what otherwise separates.
    if around.mapped(text.trim()) != Mapped::Not || machine.kind == Kind::Template {
        read_piece(machine.kind, text.trim(), around, found);
        return;
    }
    let spaces = machine.separator == Some(Separator::Space);
    if spaces && text.contains(|c: char| matches!(c, '"' | '\'' | '\\') || (c.is_whitespace() && c != ' ')) {
        found.doubt(format!(
            "{} holds quotation marks or blanks that the server may read otherwise",
            quoted(text)
        ));
        return;
    }
    let pieces = text.split(if spaces { ' ' } else { ',' });
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.trim().is_empty()).collect();
    let split = spaces || machine.kind == Kind::Pattern;
    match pieces.as_slice() {
        // A name is looked up as it stands: with a blank at its end it can be another VM's.
        [_] if !split && !text.contains(',') => read_piece(machine.kind, text, around, found),
        [only] if split => read_piece(machine.kind, only.trim(), around, found),
        _ => {
            let mut parts = Found::default();
            for piece in pieces {
                read_piece(machine.kind, piece.trim(), around, &mut parts);
            }
            if parts.targets.is_empty() {
                found.add(parts);
            } else {
                found.target(Target {
                    said: text.to_owned(),
                    wanted: Wanted::Joined {
                        parts: Box::new(parts),
                        split,
                    },
                });
            }
        }
    }
}

/// A name that begins like an option: a server that hands it to a program may be led anywhere by it, also where it
/// only reads.
pub fn option_among(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text
            .split(',')
            .map(str::trim)
            .find(|piece| piece.starts_with('-'))
            .map(like_option),
        Value::Array(items) => items.iter().find_map(option_among),
        _ => None,
    }
}

/// A template among the names: Ansible evaluates one on the machine that it runs on, where a lookup is any command, also where
/// the hosts are only read.
pub fn template_among(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => ["{{", "{%"].iter().any(|mark| text.contains(mark)).then(|| {
            format!(
                "{} stands where a machine is expected and holds a template",
                quoted(text)
            )
        }),
        Value::Array(items) => items.iter().find_map(template_among),
        _ => None,
    }
}

fn like_option(piece: &str) -> String {
    format!(
        "{} stands where a machine is expected and begins like an option",
        quoted(piece)
    )
}

fn read_piece(kind: Kind, piece: &str, around: Surroundings<'_>, found: &mut Found) {
    if piece.trim_start().starts_with('-') {
        found.doubt(like_option(piece));
        return;
    }
    if kind == Kind::Template {
        read_template(piece, around, found);
        return;
    }
    let wanted = match around.mapped(piece) {
        Mapped::To(name) => Ok(Wanted::Name(name.to_owned())),
        Mapped::Several => Err("fits several keys of the settings' machines".to_owned()),
        Mapped::Not if !around.scope.is_empty() => Err(elsewhere(around.scope)),
        Mapped::Not => wanted(kind, piece, around.settings).map_err(str::to_owned),
    };
    match wanted {
        Ok(wanted) => found.target(Target {
            said: piece.to_owned(),
            wanted,
        }),
        Err(why) => found.doubt(format!("{} {why}", quoted(piece))),
    }
}

/// What a name means within a scope that the settings do not name.
fn elsewhere(scope: &[Scope]) -> String {
    let scopes: Vec<String> = scope
        .iter()
        .map(|scope| format!("{} {}", scope.name, quoted(&scope.said)))
        .collect();
    format!(
        "is a name within {}, and the settings do not say that Zerto's VMs are in it",
        scopes.join(", ")
    )
}

/// A template reaches the machines that it says itself. A limit beside it counts only where it prompts for one.
fn read_template(template: &str, around: Surroundings<'_>, found: &mut Found) {
    let mut mapped = around.servers.iter().map(|server| server.templates.get(template));
    let first = mapped.next().flatten();
    match first.filter(|_| mapped.all(|other| other == first)) {
        Some(vms) => vms.iter().for_each(|vm| {
            found.target(Target {
                said: vm.clone(),
                wanted: Wanted::Name(vm.clone()),
            });
        }),
        None => found.doubt(format!(
            "the template {} decides which machines are reached, whatever limit the call names, and the settings of the server do not map it to VMs",
            quoted(template)
        )),
    }
}

fn wanted(kind: Kind, piece: &str, settings: &Settings) -> Result<Wanted, &'static str> {
    if piece.chars().count() > LONGEST {
        return Err("is too long for a machine's name");
    }
    let names = matches!(kind, Kind::VmName | Kind::Name | Kind::Fqdn);
    if names && piece.contains(['*', '?', '[', ']', '{', '}']) {
        return Err("is a pattern, which may fit many machines");
    }
    match kind {
        Kind::VmName | Kind::Name | Kind::Fqdn => Ok(Wanted::Name(piece.to_owned())),
        Kind::Pattern if is_plain(piece) => Ok(Wanted::Name(piece.to_owned())),
        Kind::Pattern => Err("is a pattern, which may fit many machines"),
        Kind::Moref => match (&settings.vcenter, piece.rsplit_once('.')) {
            (_, Some((vcenter, moref))) if !vcenter.is_empty() && is_moref(moref) => {
                Ok(Wanted::Identifier(piece.to_owned()))
            }
            (Some(vcenter), None) if is_moref(piece) => Ok(Wanted::Identifier(format!("{vcenter}.{piece}"))),
            _ => Err(
                "is vSphere's own reference, and the settings neither map it to a VM nor name the vCenter",
            ),
        },
        Kind::Vmid | Kind::SensorId | Kind::Opaque | Kind::Session => {
            Err("is an id that says nothing to Zerto, and the settings do not map it to a VM")
        }
        Kind::ControlPlane => Err("names a control plane, not the VM"),
        Kind::ServerBound => Err("does not name the machine that the server runs on"),
        Kind::Template => Err("is a template, not a machine"),
    }
}

/// A name that no inventory reads as a pattern or a group of everything.
fn is_plain(piece: &str) -> bool {
    let words = ["all", "ungrouped"];
    piece
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
        && !words.iter().any(|word| piece.eq_ignore_ascii_case(word))
}

fn is_moref(text: &str) -> bool {
    text.strip_prefix("vm-")
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Arguments that usually name the machine. The original hook looked there when an entry of its lists named none.
pub const USUAL_ARGUMENTS: [&str; 10] = [
    "host",
    "hostname",
    "computer_name",
    "computerName",
    "vm",
    "vm_name",
    "target",
    "limit",
    "address",
    "server",
];

/// A hint for the human where the catalog's argument names no machine: what other usual arguments hold. It is never
/// looked up, because such an argument may name something else (a vCenter, for example).
pub fn hint(arguments: &Value) -> Option<String> {
    let hints: Vec<String> = USUAL_ARGUMENTS
        .iter()
        .chain(&["name"])
        .filter_map(|key| Some((key, arguments.get(key)?.as_str()?.trim())))
        .filter(|(_, value)| !value.is_empty())
        .take(2)
        .map(|(key, value)| format!("{key} {}", quoted(value)))
        .collect();
    (!hints.is_empty()).then(|| {
        format!(
            "The arguments also hold {}, which was not looked up.",
            hints.join(" and ")
        )
    })
}
