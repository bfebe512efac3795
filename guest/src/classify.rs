//! What a call would do, by the catalogs, its name and its arguments.

use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::catalog::format::{Catalog, Class, Command, Dispatch, Group, Machine, Rule, Scalar};
use crate::catalog::{entry, own, shipped, shipped_builtins};
use crate::command;
use crate::model::Call;
use crate::name::{self, Candidate, Named};
use crate::settings::Settings;
use crate::target::{self, Found, Surroundings};
use crate::text::quoted;

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A tool of the harness that no catalog lists.
    NotMcp,
    /// It changes nothing.
    Read,
    /// It changes a control plane and no existing guest.
    Other,
    /// It changes machines, or nobody can say that it does not.
    Change(Change),
    /// No catalog lists it.
    Unlisted,
}

/// A change to machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The machines, and why a human has to look.
    pub found: Found,
    /// True where it is not even known what the call does.
    pub obscure: bool,
    /// True where a VM may be deleted, which takes it out of protection.
    pub deletes: bool,
}

/// A call's reading and what is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The reading.
    pub reading: Reading,
    /// The server's key; empty for a tool of the harness.
    pub server: String,
    /// The tool's name.
    pub tool: String,
    /// True where an entry of the operator's catalogs was milder than a shipped one and did not count.
    pub ignored_own: bool,
}

/// Reads a call.
pub fn classify(call: &Call, settings: &Settings, arguments: &Arguments<'_>) -> Judged {
    let candidates = match name::read(call) {
        Named::Mcp(candidates) => candidates,
        Named::Builtin => return builtin(call, settings, arguments),
        Named::Disagree => {
            let server = call
                .server
                .as_ref()
                .map(|server| server.name.clone())
                .unwrap_or_default();
            let doubt = format!(
                "the tool's name does not belong to the server {}",
                quoted(&server)
            );
            return Judged {
                reading: obscure(doubt),
                server,
                tool: call.tool.clone(),
                ignored_own: false,
            };
        }
    };
    let mut weighed = Weighed::default();
    let mut fitting: Option<&Candidate> = None;
    for candidate in &candidates {
        let around = Surroundings {
            settings,
            servers: &candidate.servers,
            cut: arguments.cut(),
        };
        let mapped = candidate
            .servers
            .iter()
            .filter_map(|key| settings.servers.get(key)?.catalog.as_ref());
        for alias in candidate.servers.iter().chain(mapped) {
            let shipped = shipped(alias).filter(|catalog| !catalog.server.builtin);
            let own = own(&settings.catalogs, alias).filter(|catalog| !catalog.server.builtin);
            if weighed.weigh(shipped, own, &candidate.tool, arguments, around) {
                fitting = fitting.or(Some(candidate));
            }
        }
    }
    let (reading, ignored_own) = weighed.outcome(settings.allow_widening);
    let shown = fitting.or(candidates.first());
    let key = call.server.as_ref().map(|server| server.name.clone());
    Judged {
        reading,
        server: key
            .or_else(|| shown.map(|shown| shown.servers[0].clone()))
            .unwrap_or_default(),
        tool: shown.map_or_else(|| call.tool.clone(), |shown| shown.tool.clone()),
        ignored_own,
    }
}

fn builtin(call: &Call, settings: &Settings, arguments: &Arguments<'_>) -> Judged {
    let mut weighed = Weighed::default();
    let tool = name::normalise(&call.tool);
    let own = settings.catalogs.iter().filter(|catalog| catalog.server.builtin);
    let aliases = |catalog: &Catalog| -> Vec<String> {
        catalog
            .server
            .aliases
            .iter()
            .map(|alias| alias.to_string())
            .collect()
    };
    for catalog in shipped_builtins() {
        let around = Surroundings {
            settings,
            servers: &aliases(catalog),
            cut: arguments.cut(),
        };
        weighed.weigh([catalog], [], &tool, arguments, around);
    }
    for catalog in own {
        let around = Surroundings {
            settings,
            servers: &aliases(catalog),
            cut: arguments.cut(),
        };
        weighed.weigh([], [catalog], &tool, arguments, around);
    }
    let (reading, ignored_own) = weighed.outcome(settings.allow_widening);
    let reading = if reading == Reading::Unlisted {
        Reading::NotMcp
    } else {
        reading
    };
    Judged {
        reading,
        server: String::new(),
        tool: call.tool.clone(),
        ignored_own,
    }
}

/// What the shipped catalogs and the operator's own say of one call.
#[derive(Debug, Default)]
struct Weighed {
    shipped: Option<Reading>,
    own: Option<Reading>,
}

impl Weighed {
    /// Adds what these catalogs say of a tool; tells whether any of them lists it.
    fn weigh<'a, 'b>(
        &mut self,
        shipped: impl IntoIterator<Item = &'a Catalog>,
        own: impl IntoIterator<Item = &'b Catalog>,
        tool: &str,
        arguments: &Arguments<'_>,
        around: Surroundings<'_>,
    ) -> bool {
        let mut listed = false;
        let mut add = |sum: &mut Option<Reading>, catalog: &Catalog| {
            let Some(group) = entry(catalog, tool) else { return };
            listed = true;
            let reading = read_group(catalog, group, tool, arguments, around);
            *sum = Some(match sum.take() {
                Some(other) => stricter(other, reading),
                None => reading,
            });
        };
        shipped
            .into_iter()
            .for_each(|catalog| add(&mut self.shipped, catalog));
        own.into_iter().for_each(|catalog| add(&mut self.own, catalog));
        listed
    }

    /// The reading that counts, and whether the operator's was milder and did not.
    fn outcome(self, allow_widening: bool) -> (Reading, bool) {
        match (self.shipped, self.own) {
            (None, None) => (Reading::Unlisted, false),
            (Some(only), None) | (None, Some(only)) => (only, false),
            (Some(_), Some(own)) if allow_widening => (own, false),
            (Some(shipped), Some(own)) => {
                let milder = is_milder(&own, &shipped);
                (stricter(shipped, own), milder)
            }
        }
    }
}

fn rank(reading: &Reading) -> u8 {
    match reading {
        Reading::NotMcp | Reading::Read => 0,
        Reading::Other => 1,
        Reading::Unlisted => 2,
        Reading::Change(_) => 3,
    }
}

fn is_milder(own: &Reading, shipped: &Reading) -> bool {
    match (own, shipped) {
        (Reading::Change(own), Reading::Change(shipped)) => {
            own.found.doubts.is_empty() && !shipped.found.doubts.is_empty()
        }
        _ => rank(own) < rank(shipped),
    }
}

/// The stricter of two readings; of two changes, both.
fn stricter(one: Reading, other: Reading) -> Reading {
    match (one, other) {
        (Reading::Change(mut one), Reading::Change(other)) => {
            one.found.add(other.found);
            one.obscure |= other.obscure;
            one.deletes |= other.deletes;
            Reading::Change(one)
        }
        (one, other) if rank(&one) >= rank(&other) => one,
        (_, other) => other,
    }
}

fn obscure(doubt: String) -> Reading {
    let found = Found {
        targets: Vec::new(),
        doubts: vec![doubt],
    };
    Reading::Change(Change {
        found,
        obscure: true,
        deletes: false,
    })
}

fn read_group(
    catalog: &Catalog,
    group: &Group,
    tool: &str,
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Reading {
    if let Some(dispatch) = &group.dispatch {
        return read_dispatch(catalog, dispatch, arguments, around);
    }
    let class = group
        .rules
        .iter()
        .find(|rule| fits(rule, arguments))
        .map_or(group.class, |rule| rule.class);
    of_class(
        class,
        group.machine.as_ref(),
        tool,
        |machine| {
            machine
                .arguments
                .iter()
                .filter_map(|argument| arguments.get(argument))
                .collect::<Vec<_>>()
        },
        around,
    )
}

/// A reading by class; `values` gives what stands at the machine's places, where they are needed.
fn of_class<'v>(
    class: Class,
    machine: Option<&'v Machine>,
    name: &str,
    values: impl FnOnce(&'v Machine) -> Vec<&'v Value>,
    around: Surroundings<'_>,
) -> Reading {
    match class {
        Class::Read => Reading::Read,
        Class::Other => Reading::Other,
        Class::Dispatch => obscure("a dispatcher inside a dispatcher is not followed".into()),
        Class::Guest | Class::Machine => {
            let found = match machine {
                Some(machine) => target::read(machine, &values(machine), around),
                None => Found {
                    targets: Vec::new(),
                    doubts: vec!["none of its arguments names a machine by itself".into()],
                },
            };
            let deletes = class == Class::Machine && deletes(name);
            Reading::Change(Change {
                found,
                obscure: false,
                deletes,
            })
        }
    }
}

fn deletes(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["delete", "unregister", "destroy", "terminate"]
        .iter()
        .any(|word| name.contains(word))
}

fn fits(rule: &Rule, arguments: &Arguments<'_>) -> bool {
    match arguments.get(&rule.argument) {
        Some(value) => rule
            .equals
            .iter()
            .chain(rule.one_of.iter())
            .any(|scalar| is(value, scalar)),
        None => rule.or_absent && arguments.lacks(&rule.argument),
    }
}

fn is(value: &Value, scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Bool(expected) => value.as_bool() == Some(*expected),
        Scalar::Integer(expected) => value.as_i64() == Some(*expected),
        Scalar::Text(expected) => value.as_str() == Some(expected),
    }
}

fn read_dispatch(
    catalog: &Catalog,
    dispatch: &Dispatch,
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Reading {
    if let (Some(tool), Some(carried)) = (&dispatch.tool, &dispatch.arguments) {
        let Some(tool) = arguments.get(tool).and_then(Value::as_str) else {
            return obscure("it does not say which tool it carries".into());
        };
        let normalised = name::normalise(tool);
        let Some(group) = entry(catalog, &normalised).filter(|group| group.dispatch.is_none()) else {
            return obscure(format!(
                "the catalog does not know the tool {} that it carries",
                quoted(tool)
            ));
        };
        let carried = arguments.get(carried).map(Value::to_string).unwrap_or_default();
        let carried = Arguments::new(&carried, arguments.cut());
        return read_group(catalog, group, &normalised, &carried, around);
    }
    match read_commands(dispatch, arguments, around) {
        Ok(reading) => reading,
        Err(why) => obscure(why),
    }
}

/// Judges every command that a dispatcher carries; the strictest counts.
fn read_commands(
    dispatch: &Dispatch,
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Result<Reading, String> {
    let argument = dispatch.command.as_deref().unwrap_or_default();
    let value = arguments
        .get(argument)
        .ok_or_else(|| format!("it carries no {}", quoted(argument)))?;
    let mut extra = Vec::new();
    for argument in dispatch.extra_words.iter() {
        extra.extend(
            arguments
                .get(argument)
                .map_or(Ok(Vec::new()), command::extra_words)?,
        );
    }
    let mut strictest: Option<Reading> = None;
    for mut words in command::commands(value)? {
        words.extend(extra.iter().cloned());
        let parted = command::parted(&words);
        let (known, rest) = command::known(dispatch, &words)
            .or_else(|| command::known(dispatch, &parted))
            .ok_or_else(|| {
                format!(
                    "the catalog does not know the command {}",
                    quoted(&words.join(" "))
                )
            })?;
        let reading = read_command(known, rest, arguments, around)?;
        strictest = Some(match strictest {
            Some(other) => stricter(other, reading),
            None => reading,
        });
    }
    strictest.ok_or_else(|| "it carries no command".to_owned())
}

fn read_command(
    command: &Command,
    rest: &[String],
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Result<Reading, String> {
    let mut words = Vec::new();
    if let Some(machine) = command.machine.as_ref().filter(|_| command.class > Class::Other) {
        for option in machine.option.iter() {
            words.extend(command::option_values(rest, option));
        }
        if let Some(position) = machine.position {
            words.extend(command::positional(rest, position)?);
        }
    }
    let words: Vec<Value> = words.into_iter().map(Value::String).collect();
    let values = |machine: &Machine| {
        let named = machine
            .arguments
            .iter()
            .filter_map(|argument| arguments::get(arguments.parsed(), argument));
        named.chain(&words).collect()
    };
    Ok(of_class(
        command.class,
        command.machine.as_ref(),
        &command.words.join(" "),
        values,
        around,
    ))
}
