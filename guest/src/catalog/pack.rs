//! Writes catalogs as one table that is searched where it lies, so that a decision parses no catalog. [`super::table`]
//! reads it.
//!
//! All numbers are 32 bits, little-endian; all offsets count from the table's beginning.
//!
//! ```text
//! hpcatlg2  aliases  servers              8 bytes, two counts
//! aliases × { text, length, server }      sorted by text, then by server (the offset of its entry)
//! servers × { builtin, aliases, tools, count, repository }   the offset of a list of texts; that of the tools, and how
//!                                         many; that of a text, which is empty where the catalog names none
//! tools   × { text, length, group }       per server, sorted by text; the offset of the group's record
//! records and texts
//! ```
//!
//! In a record a text is counted by a number before it, a list likewise, what may be absent stands behind a byte 0 or 1,
//! and a choice is the byte of its place in the lists below.

use std::collections::BTreeMap;

use super::format::{Catalog, Class, Command, Dispatch, Group, Kind, Machine, Rule, Scalar, Separator, Text};

/// What a table begins with.
pub const MAGIC: [u8; 8] = *b"hpcatlg2";
/// How many bytes stand before the first entry.
pub const HEADER: usize = 16;
/// How many bytes an alias's or a tool's entry has.
pub const NAME: usize = 12;
/// How many bytes a server's entry has.
pub const SERVER: usize = 20;

/// The classes, by their bytes.
pub const CLASSES: [Class; 5] = [
    Class::Read,
    Class::Other,
    Class::Guest,
    Class::Machine,
    Class::Dispatch,
];
/// The kinds, by their bytes.
pub const KINDS: [Kind; 12] = [
    Kind::VmName,
    Kind::Name,
    Kind::Fqdn,
    Kind::Pattern,
    Kind::Vmid,
    Kind::Moref,
    Kind::SensorId,
    Kind::Opaque,
    Kind::Session,
    Kind::ServerBound,
    Kind::ControlPlane,
    Kind::Template,
];

/// The table of these catalogs, which have to be prepared.
///
/// # Panics
///
/// Where the catalogs have more than 4 GiB.
pub fn table(catalogs: &[Catalog]) -> Vec<u8> {
    let tools: usize = catalogs
        .iter()
        .flat_map(|catalog| catalog.tools.iter())
        .map(|group| group.names.len())
        .sum();
    let aliases: usize = catalogs.iter().map(|catalog| catalog.server.aliases.len()).sum();
    let servers_at = HEADER + aliases * NAME;
    let mut tools_at = servers_at + catalogs.len() * SERVER;
    let mut heap = Heap {
        base: tools_at + tools * NAME,
        bytes: Vec::new(),
    };
    let (mut by_alias, mut server_entries, mut tool_entries) = (Vec::new(), Vec::new(), Vec::new());
    for (index, catalog) in catalogs.iter().enumerate() {
        for alias in catalog.server.aliases.iter() {
            by_alias.push((alias.as_ref(), servers_at + index * SERVER));
        }
        let mut groups = BTreeMap::new();
        for group in catalog.tools.iter() {
            let record = heap.put(|record| record.group(group));
            groups.extend(group.names.iter().map(|name| (name.as_ref(), record)));
        }
        let listed = heap.put(|record| record.list(&catalog.server.aliases, Record::text));
        let source = catalog.source.as_ref();
        let repository = source.map(|source| source.repository.clone()).unwrap_or_default();
        let repository = heap.put(|record| record.text(&repository));
        for number in [
            usize::from(catalog.server.builtin),
            listed,
            tools_at,
            groups.len(),
            repository,
        ] {
            server_entries.extend(bytes(number));
        }
        tools_at += groups.len() * NAME;
        for (name, record) in groups {
            tool_entries.extend(heap.named(name, record));
        }
    }
    by_alias.sort_unstable();
    let mut table = MAGIC.to_vec();
    table.extend(bytes(by_alias.len()));
    table.extend(bytes(catalogs.len()));
    for (alias, server) in by_alias {
        table.extend(heap.named(alias, server));
    }
    table.extend(server_entries);
    table.extend(tool_entries);
    table.extend(heap.bytes);
    table
}

fn bytes(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("less than 4 GiB").to_le_bytes()
}

/// What lies behind the entries.
struct Heap {
    base: usize,
    bytes: Vec<u8>,
}

impl Heap {
    /// Puts something there, and tells where it begins.
    fn put(&mut self, write: impl FnOnce(&mut Record<'_>)) -> usize {
        let at = self.base + self.bytes.len();
        write(&mut Record(&mut self.bytes));
        at
    }

    /// An entry: a name, and what it stands for.
    fn named(&mut self, name: &str, stands_for: usize) -> Vec<u8> {
        let at = self.put(|record| record.0.extend_from_slice(name.as_bytes()));
        [bytes(at), bytes(name.len()), bytes(stands_for)].concat()
    }
}

struct Record<'a>(&'a mut Vec<u8>);

impl Record<'_> {
    fn number(&mut self, number: usize) {
        self.0.extend(bytes(number));
    }

    fn flag(&mut self, flag: bool) {
        self.0.push(flag.into());
    }

    fn text(&mut self, text: &Text) {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(list.len());
        list.iter().for_each(|item| write(self, item));
    }

    fn optional<T>(&mut self, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn choice<T: PartialEq>(&mut self, choices: &[T], choice: &T) {
        let place = choices.iter().position(|other| other == choice);
        self.0.push(place.expect("every choice is listed") as u8);
    }

    fn group(&mut self, group: &Group) {
        self.choice(&CLASSES, &group.class);
        self.optional(group.machine.as_ref(), Self::machine);
        self.list(&group.doubtful, Self::text);
        self.list(&group.switches, Self::text);
        self.list(&group.values, Self::text);
        self.list(&group.words, Self::text);
        self.flag(group.command_line);
        self.list(&group.segments, Self::text);
        self.list(&group.rules, Self::rule);
        self.optional(group.dispatch.as_ref(), Self::dispatch);
    }

    fn machine(&mut self, machine: &Machine) {
        self.list(&machine.arguments, Self::text);
        self.list(&machine.option, Self::text);
        self.optional(machine.position.as_ref(), |record, position| {
            record.number(*position);
        });
        self.choice(&KINDS, &machine.kind);
        self.flag(machine.separator == Some(Separator::Space));
        self.list(&machine.scope, Self::text);
    }

    fn rule(&mut self, rule: &Rule) {
        self.text(&rule.argument);
        self.optional(rule.equals.as_ref(), Self::scalar);
        self.list(&rule.one_of, Self::scalar);
        self.flag(rule.or_absent);
        self.optional(rule.repeated_in.as_ref(), Self::text);
        self.choice(&CLASSES, &rule.class);
        self.text(&rule.because);
        self.optional(rule.enforced.as_ref(), Self::text);
    }

    fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Bool(value) => self.0.extend([0, u8::from(*value)]),
            Scalar::Integer(value) => {
                self.0.push(1);
                self.0.extend(value.to_le_bytes());
            }
            Scalar::Text(text) => {
                self.0.push(2);
                self.text(text);
            }
        }
    }

    fn dispatch(&mut self, dispatch: &Dispatch) {
        for name in [
            &dispatch.tool,
            &dispatch.arguments,
            &dispatch.command,
            &dispatch.flags,
            &dispatch.program,
        ] {
            self.optional(name.as_ref(), Self::text);
        }
        self.flag(dispatch.exact);
        self.list(&dispatch.refused, Self::text);
        self.list(&dispatch.extra_words, Self::text);
        self.list(&dispatch.commands, Self::command);
    }

    fn command(&mut self, command: &Command) {
        self.list(&command.words, Self::text);
        self.choice(&CLASSES, &command.class);
        self.list(&command.options, Self::text);
        self.optional(command.machine.as_ref(), Self::machine);
    }
}
