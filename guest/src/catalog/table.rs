//! The policy's own catalogs: a table in memory, searched where it lies. Only the one entry that a call needs is read.
//!
//! A table that is not as [`super::pack`] writes it ends the decision: the host then denies the call.

use std::borrow::Cow;

use super::format::{Command, Dispatch, Group, List, Machine, Rule, Scalar, Separator, Text};
use super::pack::{CLASSES, HEADER, KINDS, MAGIC, NAME, SERVER};

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Table(&'static [u8]);

/// One server in a table.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    table: Table,
    at: usize,
}

impl Table {
    /// The table in these bytes.
    ///
    /// # Panics
    ///
    /// Where they do not begin as one does.
    pub fn new(bytes: &'static [u8]) -> Self {
        assert!(bytes.starts_with(&MAGIC), "the catalogs are not a table");
        Self(bytes)
    }

    /// The servers that are known by this alias (normalised).
    pub fn servers(self, alias: &str) -> impl Iterator<Item = Server> {
        let aliases = self.number(MAGIC.len());
        let first = self.first(HEADER, aliases, alias);
        (first..aliases)
            .map(|index| HEADER + index * NAME)
            .take_while(move |at| self.name(*at) == alias.as_bytes())
            .map(move |at| self.server(self.number(at + 8)))
    }

    /// All servers.
    pub fn all(self) -> impl Iterator<Item = Server> {
        let first = HEADER + self.number(MAGIC.len()) * NAME;
        let count = self.number(MAGIC.len() + 4);
        (0..count).map(move |index| self.server(first + index * SERVER))
    }

    fn server(self, at: usize) -> Server {
        Server { table: self, at }
    }

    /// The first of `count` names from `at` on that is not before this one.
    fn first(self, at: usize, count: usize, name: &str) -> usize {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(at + middle * NAME) < name.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The name in the entry at this offset.
    fn name(self, at: usize) -> &'static [u8] {
        let start = self.number(at);
        &self.0[start..start + self.number(at + 4)]
    }

    fn number(self, at: usize) -> usize {
        Reader { table: self, at }.number()
    }
}

impl Server {
    /// True for tools of the harness itself.
    pub fn builtin(self) -> bool {
        self.table.number(self.at) != 0
    }

    /// The keys under which it is known.
    pub fn aliases(self) -> List<Text> {
        let at = self.table.number(self.at + 4);
        let mut reader = Reader {
            table: self.table,
            at,
        };
        reader.list(Reader::text)
    }

    /// The repository that its catalog was read from; empty where the catalog names none.
    pub fn repository(self) -> Text {
        let at = self.table.number(self.at + 16);
        Reader {
            table: self.table,
            at,
        }
        .text()
    }

    /// What its catalog says of a tool (its name normalised). The group comes without the names of its tools.
    pub fn entry(self, tool: &str) -> Option<Group> {
        let (at, count) = (self.table.number(self.at + 8), self.table.number(self.at + 12));
        let index = self.table.first(at, count, tool);
        let entry = at + index * NAME;
        if index == count || self.table.name(entry) != tool.as_bytes() {
            return None;
        }
        let mut reader = Reader {
            table: self.table,
            at: self.table.number(entry + 8),
        };
        Some(reader.group())
    }
}

struct Reader {
    table: Table,
    at: usize,
}

impl Reader {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let bytes = self.table.0[self.at..].first_chunk();
        self.at += N;
        *bytes.expect("the table does not end within a number")
    }

    fn number(&mut self) -> usize {
        u32::from_le_bytes(self.take()) as usize
    }

    fn flag(&mut self) -> bool {
        self.take() != [0]
    }

    fn choice<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.take::<1>()[0])]
    }

    fn text(&mut self) -> Text {
        let length = self.number();
        let text = &self.table.0[self.at..self.at + length];
        self.at += length;
        Cow::Borrowed(std::str::from_utf8(text).expect("the table holds texts"))
    }

    fn list<T: Clone>(&mut self, mut read: impl FnMut(&mut Self) -> T) -> List<T> {
        let count = self.number();
        if count == 0 {
            return Cow::Borrowed(&[]);
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| read(self))
    }

    fn group(&mut self) -> Group {
        Group {
            class: self.choice(&CLASSES),
            names: Cow::Borrowed(&[]),
            machine: self.optional(Self::machine),
            note: None,
            doubtful: self.list(Self::text),
            switches: self.list(Self::text),
            values: self.list(Self::text),
            words: self.list(Self::text),
            command_line: self.flag(),
            segments: self.list(Self::text),
            rules: self.list(Self::rule),
            dispatch: self.optional(Self::dispatch),
        }
    }

    fn machine(&mut self) -> Machine {
        Machine {
            arguments: self.list(Self::text),
            option: self.list(Self::text),
            position: self.optional(Self::number),
            kind: self.choice(&KINDS),
            separator: self.flag().then_some(Separator::Space),
            scope: self.list(Self::text),
        }
    }

    fn rule(&mut self) -> Rule {
        Rule {
            argument: self.text(),
            equals: self.optional(Self::scalar),
            one_of: self.list(Self::scalar),
            or_absent: self.flag(),
            repeated_in: self.optional(Self::text),
            class: self.choice(&CLASSES),
            because: self.text(),
            enforced: self.optional(Self::text),
        }
    }

    fn scalar(&mut self) -> Scalar {
        match self.take() {
            [0] => Scalar::Bool(self.flag()),
            [1] => Scalar::Integer(i64::from_le_bytes(self.take())),
            [_] => Scalar::Text(self.text()),
        }
    }

    fn dispatch(&mut self) -> Dispatch {
        let [tool, arguments, command, flags, program] = std::array::from_fn(|_| self.optional(Self::text));
        Dispatch {
            tool,
            arguments,
            command,
            flags,
            program,
            exact: self.flag(),
            refused: self.list(Self::text),
            extra_words: self.list(Self::text),
            commands: self.list(Self::command),
        }
    }

    fn command(&mut self) -> Command {
        Command {
            words: self.list(Self::text),
            class: self.choice(&CLASSES),
            options: self.list(Self::text),
            machine: self.optional(Self::machine),
        }
    }
}
