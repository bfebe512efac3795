//! The machines that a call's arguments name.

use serde_json::Value;

use crate::catalog::format::{Kind, Machine, Separator};
use crate::settings::{Mapped, Settings};
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

    /// Adds a machine. One more than a call may name is kept, which is enough to know that there are too many.
    fn target(&mut self, target: Target) {
        if self.targets.len() <= MOST_TARGETS && !self.targets.contains(&target) {
            self.targets.push(target);
        }
    }

    fn doubt(&mut self, doubt: String) {
        if self.doubts.len() <= MOST_TARGETS && !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }
}

/// What is known beside the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The operator's settings.
    pub settings: &'a Settings,
    /// The keys under which the settings may say which VM the server runs on.
    pub servers: &'a [String],
    /// Whether the host left parts of the arguments out.
    pub cut: bool,
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
    let settings = around
        .servers
        .iter()
        .filter_map(|key| around.settings.servers.get(key));
    match settings.filter_map(|server| server.machine.as_ref()).next() {
        Some(name) => {
            found.target(Target { said: name.clone(), wanted: Wanted::Name(name.clone()) });
        }
        None => found.doubt(
            "this tool changes the machine that its server runs on, and the settings name no VM for the server".into(),
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
        Value::Null if around.cut => {
            found
                .doubts
                .push("the arguments were too large to read as a whole, and a machine may be missing".into());
        }
        Value::Null => {}
        Value::String(text) => {
            // The map's keys may hold what otherwise separates.
            if around.settings.mapped(text.trim()) != Mapped::Not {
                read_piece(machine.kind, text.trim(), around.settings, found);
                return;
            }
            let blank = |c: char| machine.separator == Some(Separator::Space) && c.is_whitespace();
            let pieces = text.split(|c: char| c == ',' || blank(c)).map(str::trim);
            for piece in pieces.filter(|piece| !piece.is_empty()) {
                read_piece(machine.kind, piece, around.settings, found);
            }
        }
        Value::Number(number) => read_piece(machine.kind, &number.to_string(), around.settings, found),
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

fn like_option(piece: &str) -> String {
    format!(
        "{} stands where a machine is expected and begins like an option",
        quoted(piece)
    )
}

fn read_piece(kind: Kind, piece: &str, settings: &Settings, found: &mut Found) {
    if piece.starts_with('-') {
        found.doubt(like_option(piece));
        return;
    }
    let wanted = match settings.mapped(piece) {
        Mapped::To(name) => Ok(Wanted::Name(name.to_owned())),
        Mapped::Several => Err("fits several keys of the settings' machines, which differ by case only"),
        Mapped::Not => wanted(kind, piece, settings),
    };
    match wanted {
        Ok(wanted) => found.target(Target {
            said: piece.to_owned(),
            wanted,
        }),
        Err(why) => found.doubt(format!("{} {why}", quoted(piece))),
    }
}

fn wanted(kind: Kind, piece: &str, settings: &Settings) -> Result<Wanted, &'static str> {
    if piece.chars().count() > LONGEST {
        return Err("is too long for a machine's name");
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

/// A hint for the human where the catalog's argument names no machine: what other usual arguments hold. It is never
/// looked up, because such an argument may name something else (a vCenter, for example).
pub fn hint(arguments: &Value) -> Option<String> {
    const USUAL: [&str; 11] = [
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
        "name",
    ];
    let hints: Vec<String> = USUAL
        .iter()
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
