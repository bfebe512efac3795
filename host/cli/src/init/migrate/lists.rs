//! The original's own lists of tools, which become catalog files.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_guest::target::USUAL_ARGUMENTS;
use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

/// The members that list tools which only read, and those that list tools which change a machine.
const READ_ONLY: [&str; 2] = ["read_only_tools", "read_only"];
const MUTATING: [&str; 3] = ["mutating_tools", "guest_mutating_tools", "mutating"];

/// The tools of each server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lists {
    servers: BTreeMap<String, Tools>,
    /// What could not be taken, in words.
    pub(super) not_taken: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
struct Tools {
    read: BTreeSet<String>,
    /// With the argument that names the machine, where one is named.
    change: BTreeMap<String, Option<String>>,
}

struct Tool {
    server: String,
    name: String,
    argument: Option<String>,
}

impl Lists {
    /// Reads the lists in a configuration, or in its `catalog`.
    pub(super) fn read(values: &[&Value]) -> Self {
        let mut lists = Self::default();
        for value in values {
            for member in MUTATING {
                lists.add(member, value.get(member), true);
            }
            for member in READ_ONLY {
                lists.add(member, value.get(member), false);
            }
        }
        // One that stands in both lists was taken for one that changes a machine.
        for tools in lists.servers.values_mut() {
            tools.read.retain(|name| !tools.change.contains_key(name));
        }
        lists
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    fn add(&mut self, member: &str, list: Option<&Value>, changes: bool) {
        let mut found = Vec::new();
        match list {
            None | Some(Value::Null) => return,
            Some(Value::Array(items)) => items.iter().for_each(|item| found.push(tool(item))),
            Some(Value::Object(items)) => items.iter().for_each(|(key, item)| by_key(key, item, &mut found)),
            Some(_) => found.push(Err("it is neither a list nor an object".into())),
        }
        for tool in found {
            match tool {
                Ok(Tool {
                    server,
                    name,
                    argument,
                }) => {
                    let tools = self.servers.entry(server).or_default();
                    if changes {
                        tools.change.insert(name, argument);
                    } else {
                        tools.read.insert(name);
                    }
                }
                Err(why) => self.not_taken.push(format!("{member}: {why}")),
            }
        }
    }

    /// A catalog file for each server: its name, and its text.
    pub(super) fn catalogs(&self, from: &str) -> Vec<(String, String)> {
        let files = self.servers.iter().map(|(server, tools)| {
            let stem: String = server
                .chars()
                .map(|letter| {
                    if letter.is_ascii_alphanumeric() || letter == '-' {
                        letter
                    } else {
                        '_'
                    }
                })
                .collect();
            (format!("{stem}.toml"), tools.catalog(server, from))
        });
        let mut names = BTreeMap::new();
        let numbered = files.map(|(name, text)| {
            let count: &mut usize = names.entry(name.clone()).or_default();
            *count += 1;
            match *count {
                1 => (name, text),
                more => (name.replace(".toml", &format!("-{more}.toml")), text),
            }
        });
        numbered.collect()
    }
}

impl Tools {
    fn catalog(&self, server: &str, from: &str) -> String {
        let mut groups = ArrayOfTables::new();
        let mut by_argument: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
        for (name, argument) in &self.change {
            by_argument.entry(argument.as_deref()).or_default().push(name);
        }
        for (argument, names) in by_argument {
            let mut machine = InlineTable::new();
            let arguments: Array = match argument {
                Some(argument) => [argument].into_iter().collect(),
                // Where the original looked for the machine.
                None => USUAL_ARGUMENTS.into_iter().collect(),
            };
            machine.insert("arguments", arguments.into());
            machine.insert("kind", "name".into());
            let mut group = group("guest", &names);
            group.insert("machine", machine.into());
            groups.push(group);
        }
        if !self.read.is_empty() {
            let names: Vec<&str> = self.read.iter().map(String::as_str).collect();
            groups.push(group("read", &names));
        }
        let mut document = DocumentMut::new();
        let mut table = Table::new();
        table.insert(
            "aliases",
            Item::Value([server].into_iter().collect::<Array>().into()),
        );
        document.insert("server", Item::Table(table));
        document.insert("tools", Item::ArrayOfTables(groups));
        format!(
            "# The tool lists of {from}, as holdpoint init took them over.\n# What Holdpoint itself knows of a tool more \
             strictly counts all the same: docs/catalogs.md.\n\n{document}"
        )
    }
}

fn group(class: &str, names: &[&str]) -> Table {
    let mut group = Table::new();
    group.insert("class", Item::Value(class.into()));
    group.insert(
        "names",
        Item::Value(names.iter().copied().collect::<Array>().into()),
    );
    group
}

/// An item of a list: a name with its server, or an object.
fn tool(item: &Value) -> Result<Tool, String> {
    match item {
        Value::String(name) => named(name, None),
        Value::Object(_) => {
            let text = |key: &str| item.get(key).and_then(Value::as_str);
            let name = text("tool").or_else(|| text("name"));
            let name = name.ok_or("an entry names no tool")?;
            match text("server") {
                Some(server) => checked(server, name, text("vm_arg")),
                None => named(name, text("vm_arg")),
            }
        }
        _ => Err("an entry is neither a name nor an object".into()),
    }
}

/// An item of an object: a tool under its name, or a server's tools under the server's.
fn by_key(key: &str, item: &Value, found: &mut Vec<Result<Tool, String>>) {
    let argument = |value: &Value| -> Option<String> {
        let text = value.as_str().or_else(|| value.get("vm_arg")?.as_str());
        text.map(str::to_owned)
    };
    let is_server = split(key).is_none();
    match item {
        Value::Array(names) if is_server => {
            for name in names {
                found.push(match (name.as_str(), name.get("tool").and_then(Value::as_str)) {
                    (Some(name), _) => checked(key, name, None),
                    (None, Some(tool)) => checked(key, tool, argument(name).as_deref()),
                    (None, None) => Err(format!("an entry of {key} names no tool")),
                });
            }
        }
        Value::Object(tools) if is_server => {
            for (name, value) in tools {
                found.push(checked(key, name, argument(value).as_deref()));
            }
        }
        value => found.push(named(key, argument(value).as_deref())),
    }
}

/// Server and tool: `mcp__server__tool`, `server/tool`.
fn split(name: &str) -> Option<(&str, &str)> {
    match name.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__"),
        None => name.split_once('/'),
    }
}

fn named(name: &str, argument: Option<&str>) -> Result<Tool, String> {
    let (server, tool) = split(name).ok_or_else(|| format!("'{name}' does not say of which server it is"))?;
    checked(server, tool, argument)
}

fn checked(server: &str, name: &str, argument: Option<&str>) -> Result<Tool, String> {
    if name.contains('*') || server.contains('*') {
        return Err(format!(
            "'{server}/{name}' is a pattern, and a catalog lists each tool"
        ));
    }
    if name.is_empty() || server.is_empty() {
        return Err(format!("'{server}/{name}' lacks a name"));
    }
    Ok(Tool {
        server: server.to_owned(),
        name: name.to_owned(),
        argument: argument
            .filter(|argument| !argument.is_empty())
            .map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_every_shape_become_catalogs() {
        let shapes = [
            json!({
                "read_only_tools": ["tickets/list", "tickets/fix"],
                "mutating_tools": [{"server": "tickets", "tool": "fix", "vm_arg": "host"}]
            }),
            json!({
                "read_only_tools": {"tickets": ["list"]},
                "mutating_tools": {"tickets": {"fix": {"vm_arg": "host"}}}
            }),
            json!({
                "read_only_tools": ["mcp__tickets__list"],
                "mutating_tools": {"tickets/fix": "host"}
            }),
        ];
        for shape in &shapes {
            let lists = Lists::read(&[shape]);
            assert!(lists.not_taken.is_empty(), "{:?}", lists.not_taken);
            let catalogs = lists.catalogs("config.json");
            assert_eq!(catalogs.len(), 1);
            let (name, text) = &catalogs[0];
            assert_eq!(name, "tickets.toml");
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(table["server"]["aliases"][0].as_str(), Some("tickets"));
            let groups = table["tools"].as_array().unwrap();
            assert_eq!(groups[0]["names"][0].as_str(), Some("fix"));
            assert_eq!(groups[0]["machine"]["arguments"][0].as_str(), Some("host"));
            assert_eq!(
                (
                    groups[1]["class"].as_str(),
                    groups[1]["names"].as_array().unwrap().len()
                ),
                (Some("read"), 1)
            );
        }
    }

    #[test]
    fn what_is_no_tool_of_a_server_is_named() {
        let lists =
            Lists::read(&[&json!({"read_only_tools": ["list", "a/get_*", 5], "mutating_tools": "all"})]);
        assert!(lists.is_empty());
        assert_eq!(lists.not_taken.len(), 4, "{:?}", lists.not_taken);
    }
}
