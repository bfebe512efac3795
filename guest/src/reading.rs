//! What a call would do, by one entry of a catalog and the call's arguments.

use serde_json::Value;

use crate::arguments::Arguments;
use crate::catalog::Source;
use crate::catalog::format::{Class, Command, Dispatch, Group, Machine, Rule, Scalar};
use crate::command;
use crate::doubts::doubts;
use crate::name;
use crate::options;
use crate::scope;
use crate::surroundings::Surroundings;
use crate::target::{self, Found};
use crate::text::quoted;

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A tool of the harness that no catalog lists.
    NotMcp,
    /// A call of another harness, of what looks like a server's tool.
    Foreign,
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
    /// True where the call, as far as it can be read, changes a control plane.
    pub control_plane: bool,
}

impl Reading {
    /// The stricter of two readings; of two changes, both.
    #[must_use]
    pub fn or_stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Change(mut one), Self::Change(other)) => {
                one.found.add(other.found);
                one.obscure |= other.obscure;
                one.deletes |= other.deletes;
                one.control_plane |= other.control_plane;
                Self::Change(one)
            }
            (one, other) if one.rank() >= other.rank() => one,
            (_, other) => other,
        }
    }

    /// Whether the call changes a control plane, as far as it can be read.
    pub fn is_control_plane(&self) -> bool {
        match self {
            Self::Other => true,
            Self::Change(change) => change.control_plane,
            _ => false,
        }
    }

    /// The same with doubts, where there are any: then a human has to look, whatever the call seems to do.
    #[must_use]
    pub fn doubted(self, doubts: Vec<String>) -> Self {
        if doubts.is_empty() {
            return self;
        }
        let doubted = Self::Change(Change {
            obscure: !matches!(self, Self::Change(_)),
            control_plane: self.is_control_plane(),
            found: Found {
                targets: Vec::new(),
                doubts,
            },
            deletes: false,
        });
        self.or_stricter(doubted)
    }

    /// Whether this reading alone would let through more than the other.
    pub fn is_milder_than(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Change(own), Self::Change(other)) => {
                own.found.doubts.is_empty() && !other.found.doubts.is_empty()
            }
            _ => self.rank() < other.rank(),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::NotMcp | Self::Read => 0,
            Self::Other => 1,
            Self::Unlisted => 2,
            Self::Change(_) => 3,
            Self::Foreign => 4,
        }
    }
}

/// A call of which it is not known what it does.
pub fn obscure(doubt: String) -> Reading {
    Reading::Change(Change {
        found: Found::doubtful(doubt),
        obscure: true,
        ..Change::default()
    })
}

/// Reads a call of a tool of this group.
pub fn of_group(
    catalog: Source<'_>,
    group: &Group,
    tool: &str,
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Reading {
    let doubts = doubts(group, arguments);
    if let Some(dispatch) = &group.dispatch {
        let reading = match (&dispatch.tool, &dispatch.arguments) {
            (Some(tool), Some(carried)) => carried_tool(catalog, tool, carried, arguments, around),
            _ => carried_commands(dispatch, arguments, around),
        };
        return reading.unwrap_or_else(obscure).doubted(doubts);
    }
    let milder = group
        .rules
        .iter()
        .filter(|_| doubts.is_empty() && !arguments.may_hold_template())
        .find(|rule| fits(rule, arguments));
    let class = milder.map_or(group.class, |rule| rule.class);
    of_class(class, group.machine.as_ref(), tool, (&[], &[]), arguments, around).doubted(doubts)
}

/// A reading by class, with the machines at the places that the catalog names and among `words`; `rest` are all words
/// that follow a command's own.
fn of_class(
    class: Class,
    machine: Option<&Machine>,
    name: &str,
    (words, rest): (&[Value], &[String]),
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Reading {
    match class {
        Class::Read => return Reading::Read,
        Class::Other => return Reading::Other,
        Class::Dispatch => return obscure("a dispatcher inside a dispatcher is not followed".into()),
        Class::Guest | Class::Machine => {}
    }
    let found = match machine {
        Some(machine) => {
            let around = Surroundings {
                scope: &scope::foreign(machine, rest, arguments, around),
                ..around
            };
            // What is not there may have been left out: that reads like a value that was.
            let absent = arguments.cut().then_some(&Value::Null);
            let named = machine
                .arguments
                .iter()
                .filter_map(|argument| arguments.get(argument).or(absent));
            target::read(machine, &named.chain(words).collect::<Vec<_>>(), around)
        }
        None => Found::doubtful("none of its arguments names a machine by itself".into()),
    };
    let deletes = class == Class::Machine && deletes(name);
    Reading::Change(Change {
        found,
        deletes,
        ..Change::default()
    })
}

fn deletes(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["delete", "unregister", "destroy", "terminate"]
        .iter()
        .any(|word| name.contains(word))
        // The VM stays where only a snapshot of it goes.
        && !name.contains("snapshot")
}

fn fits(rule: &Rule, arguments: &Arguments<'_>) -> bool {
    let repeats = |value: &Value| {
        rule.repeated_in
            .as_ref()
            .is_none_or(|line| begins_with(arguments, line, value))
    };
    match arguments.get(&rule.argument) {
        Some(value) => {
            let mut fitting = rule.equals.iter().chain(rule.one_of.iter());
            fitting.any(|scalar| is(value, scalar)) && repeats(value)
        }
        None => rule.or_absent && arguments.lacks(&rule.argument) && repeats(&Value::Null),
    }
}

/// Whether the command line in an argument begins with this word. No line at all says nothing else.
fn begins_with(arguments: &Arguments<'_>, line: &str, word: &Value) -> bool {
    match arguments.get(line) {
        None => arguments.lacks(line),
        Some(Value::Null) => true,
        Some(line) => {
            let first = line.as_str().and_then(|line| line.split_whitespace().next());
            first.is_some() && first == word.as_str()
        }
    }
}

fn is(value: &Value, scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Bool(expected) => value.as_bool() == Some(*expected),
        Scalar::Integer(expected) => value.as_i64() == Some(*expected),
        Scalar::Text(expected) => value.as_str() == Some(expected),
    }
}

/// A dispatcher that names another tool of the same catalog.
fn carried_tool(
    catalog: Source<'_>,
    tool: &str,
    carried: &str,
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Result<Reading, String> {
    let tool = arguments
        .get(tool)
        .and_then(Value::as_str)
        .ok_or("it does not say which tool it carries")?;
    let normalised = name::normalise(tool);
    let group = catalog
        .entry(&normalised)
        .filter(|group| group.dispatch.is_none())
        .ok_or_else(|| {
            format!(
                "the catalog does not know the tool {} that it carries",
                quoted(tool)
            )
        })?;
    let carried = match arguments.get(carried) {
        // A tool may be carried without any; where some may have been left out, the cut says so.
        None | Some(Value::Null) => "{}".to_owned(),
        Some(carried) => carried.to_string(),
    };
    let carried = Arguments::new(&carried, arguments.cut());
    Ok(of_group(catalog, &group, &normalised, &carried, around))
}

/// A dispatcher that carries commands; the strictest of them counts.
fn carried_commands(
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
    let flags = dispatch.flags.as_ref().and_then(|flags| arguments.get(flags));
    let commands = match value {
        Value::String(name) if dispatch.exact => vec![vec![name.clone()]],
        _ if dispatch.exact => return Err("the command is no text".into()),
        _ => command::commands(value)?,
    };
    for mut words in commands {
        words.extend(extra.iter().cloned());
        let (known, rest) = command::known(dispatch, &words).ok_or_else(|| {
            format!(
                "the catalog does not know the command {}",
                quoted(&words.join(" "))
            )
        })?;
        options::check(dispatch, known, rest, flags.unwrap_or(&Value::Null))?;
        let machines = machine_words(known, rest)?;
        let name = known.words.join(" ");
        let reading = of_class(
            known.class,
            known.machine.as_ref(),
            &name,
            (&machines, rest),
            arguments,
            around,
        );
        strictest = Some(match strictest {
            Some(other) => other.or_stricter(reading),
            None => reading,
        });
    }
    strictest.ok_or_else(|| "it carries no command".to_owned())
}

/// The words of a command that name machines.
fn machine_words(command: &Command, rest: &[String]) -> Result<Vec<Value>, &'static str> {
    let mut words = Vec::new();
    if let Some(machine) = command.machine.as_ref().filter(|_| command.class > Class::Other) {
        for option in machine.option.iter() {
            words.extend(command::option_values(rest, option));
        }
        if let Some(position) = machine.position {
            words.extend(command::positional(rest, position)?);
        }
    }
    Ok(words.into_iter().map(Value::String).collect())
}
