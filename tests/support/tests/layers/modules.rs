//! Which of a crate's top-level modules use which.
//!
//! An edge is a path that begins with `crate::`, `super::` or `self::` and leads into another top-level module: in a `use`,
//! in code, or in an attribute's string (`#[serde(with = "crate::keys::raw")]`). A name that the crate's root re-exports
//! stands for the module that it comes from; one that the root defines stands for the root, which is a node of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::tokens::{self, Kind, Token};

/// A place in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    file: PathBuf,
    line: usize,
}

/// Who uses whom, and where first.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    pub(crate) names: BTreeSet<String>,
    uses: BTreeMap<String, BTreeMap<String, Place>>,
}

/// A path as it was written, from the crate's root on.
struct Use {
    /// The module that it stands in; empty for the root.
    from: Vec<String>,
    to: Vec<String>,
    place: Place,
}

/// What a `use` in the crate's root gives a name to.
struct Named {
    public: bool,
    name: String,
    path: Vec<String>,
    place: Place,
}

/// All that one crate's sources say.
#[derive(Default)]
struct Reading {
    files: usize,
    top: BTreeSet<String>,
    uses: Vec<Use>,
    named: Vec<Named>,
    /// Words in the root's own code, outside of its `use` items.
    root_words: BTreeSet<String>,
}

impl Modules {
    /// Reads a crate from its root (`lib.rs`, `main.rs`) on, as the compiler does.
    pub(crate) fn read(root: &Path) -> Self {
        let mut reading = Reading::default();
        let folder = root.parent().expect("a root lies in a folder");
        reading.file(root, &[], folder);
        let root_name = root.file_stem().unwrap_or_default().to_string_lossy();
        reading.modules(&root_name)
    }

    /// The shortest cycle, beginning with the module whose name comes first.
    pub(crate) fn cycle(&self) -> Option<Cycle> {
        let shortest = self
            .uses
            .keys()
            .filter_map(|start| self.way_back(start))
            .min_by_key(Vec::len)?;
        let steps = shortest.windows(2).map(|pair| {
            let place = self.uses[&pair[0]][&pair[1]].clone();
            (pair[0].clone(), pair[1].clone(), place)
        });
        Some(Cycle(steps.collect()))
    }

    /// The shortest way from a module to itself.
    fn way_back(&self, start: &str) -> Option<Vec<String>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(module) = next.pop_front() {
            for used in self.uses.get(module).into_iter().flat_map(BTreeMap::keys) {
                if used == start {
                    let mut way = vec![start.to_owned()];
                    let mut at = module;
                    while at != start {
                        way.push(at.to_owned());
                        at = came_from[at];
                    }
                    way.push(start.to_owned());
                    way.reverse();
                    return Some(way);
                }
                if !came_from.contains_key(used.as_str()) {
                    came_from.insert(used, module);
                    next.push_back(used);
                }
            }
        }
        None
    }
}

/// Modules that depend on each other.
pub(crate) struct Cycle(Vec<(String, String, Place)>);

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (from, _, _) in &self.0 {
            write!(f, "{from} -> ")?;
        }
        f.write_str(self.0.first().map_or("", |(first, _, _)| first))?;
        for (from, to, Place { file, line }) in &self.0 {
            write!(f, "\n    {from} -> {to}: {}:{line}", file.display())?;
        }
        Ok(())
    }
}

impl Reading {
    /// Reads a file, and those of the modules that it declares.
    fn file(&mut self, file: &Path, module: &[String], folder: &Path) {
        self.files += 1;
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens = tokens::without_tests(&tokens::split(&text, 1));
        self.tokens(&tokens, file, &mut module.to_vec(), folder);
    }

    fn tokens(&mut self, tokens: &[Token], file: &Path, module: &mut Vec<String>, folder: &Path) {
        let is = |at: usize, text| tokens.get(at).is_some_and(|token: &Token| token.is(text));
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some((_, end)) = tokens::attribute(tokens, at) {
                self.attribute(&tokens[at..end], file, module);
                at = end;
            } else if token.is("mod") && tokens.get(at + 1).is_some_and(|name| name.kind == Kind::Word) {
                let name = tokens[at + 1].text.clone();
                let inside = folder.join(&name);
                if module.is_empty() {
                    self.top.insert(name.clone());
                }
                module.push(name);
                if is(at + 2, "{") {
                    let end = tokens::closing(tokens, at + 2);
                    self.tokens(&tokens[at + 3..end], file, module, &inside);
                    at = end;
                } else {
                    let beside = inside.with_extension("rs");
                    let file = Some(beside).filter(|file| file.is_file());
                    let file = file.unwrap_or_else(|| inside.join("mod.rs"));
                    self.file(&file, module, &inside);
                    at += 2;
                }
                module.pop();
                at += 1;
            } else if token.is("use") && !is(at + 1, "<") {
                let public = at > 0 && (is(at - 1, "pub") || is(at - 1, ")"));
                let end = (at..tokens.len()).find(|&at| is(at, ";")).unwrap_or(tokens.len());
                self.tree(&tokens[at + 1..end], &[], public, file, module);
                at = end;
            } else {
                at += self.path(&tokens[at..], at > 0 && is(at - 1, "::"), file, module);
            }
        }
    }

    /// A path in code, if one begins here that leads anywhere; how many tokens it has.
    fn path(&mut self, tokens: &[Token], goes_on: bool, file: &Path, module: &[String]) -> usize {
        let first = &tokens[0];
        if module.is_empty() && first.kind == Kind::Word {
            self.root_words.insert(first.text.clone());
        }
        if goes_on || first.kind != Kind::Word {
            return 1;
        }
        let mut path = vec![first.text.clone()];
        let mut length = 1;
        while let [colons, word, ..] = &tokens[length..]
            && colons.is("::")
            && word.kind == Kind::Word
        {
            path.push(word.text.clone());
            length += 2;
        }
        if length > 1 {
            let place = Place {
                file: file.to_owned(),
                line: first.line,
            };
            self.put(&path, module, place);
        }
        length
    }

    /// Paths in an attribute: in its own words and in its strings, which macros read as paths. Documentation has none.
    fn attribute(&mut self, tokens: &[Token], file: &Path, module: &[String]) {
        if tokens.iter().any(|token| token.is("doc")) {
            return;
        }
        for (at, token) in tokens.iter().enumerate() {
            if token.kind == Kind::String {
                let inside = tokens::split(&token.text, token.line);
                for start in 0..inside.len() {
                    let goes_on = start > 0 && inside[start - 1].is("::");
                    self.path(&inside[start..], goes_on, file, module);
                }
            } else {
                self.path(&tokens[at..], at > 0 && tokens[at - 1].is("::"), file, module);
            }
        }
    }

    /// What stands after `use`, up to the semicolon.
    fn tree(&mut self, tokens: &[Token], before: &[String], public: bool, file: &Path, module: &[String]) {
        let mut path = before.to_vec();
        let mut name = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if token.is("{") {
                let end = tokens::closing(tokens, at);
                let mut start = at + 1;
                let mut comma = start;
                while comma <= end {
                    if tokens[comma].is("{") {
                        comma = tokens::closing(tokens, comma);
                    }
                    if tokens[comma].is(",") || comma == end {
                        self.tree(&tokens[start..comma], &path, public, file, module);
                        start = comma + 1;
                    }
                    comma += 1;
                }
                return;
            }
            if token.is("as") {
                name = tokens.get(at + 1).map(|token| token.text.clone());
                break;
            }
            if !token.is("::") {
                path.push(token.text.clone());
            }
            at += 1;
        }
        let Some(first) = tokens.first() else { return };
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let place = Place {
            file: file.to_owned(),
            line: first.line,
        };
        if module.is_empty() {
            let from_here = usize::from(matches!(path[0].as_str(), "crate" | "self"));
            let path = path[from_here..].to_vec();
            if let Some(name) = name.or_else(|| path.last().cloned()) {
                self.named.push(Named {
                    public,
                    name,
                    path,
                    place,
                });
            }
        } else {
            self.put(&path, module, place);
        }
    }

    /// Keeps a path, where it leads to another module of this crate.
    fn put(&mut self, path: &[String], module: &[String], place: Place) {
        let ups = path.iter().take_while(|word| *word == "super").count();
        let from_root = match path[0].as_str() {
            "crate" => &[],
            "self" => module,
            "super" => &module[..module.len().saturating_sub(ups)],
            // In the root a module's name alone leads there.
            _ if module.is_empty() => &[],
            _ => return,
        };
        let rest = match path[0].as_str() {
            "crate" | "self" => &path[1..],
            "super" => &path[ups..],
            _ => path,
        };
        let to: Vec<_> = from_root.iter().chain(rest).cloned().collect();
        if !to.is_empty() {
            self.uses.push(Use {
                from: module.to_vec(),
                to,
                place,
            });
        }
    }

    fn modules(self, root: &str) -> Modules {
        let mut modules = Modules {
            names: self.top.clone(),
            uses: BTreeMap::new(),
        };
        let mut put = |from: &str, to: &str, place: &Place| {
            if from != to {
                let uses = modules.uses.entry(from.to_owned()).or_default();
                uses.entry(to.to_owned()).or_insert_with(|| place.clone());
            }
        };
        for used in &self.uses {
            let from = used.from.first().map_or(root, String::as_str);
            for to in self.targets(&used.to[0], root, 0) {
                // A word before `::` in the root may be anything; only a module's name counts there.
                if from != root || self.top.contains(&used.to[0]) {
                    put(from, to, &used.place);
                }
            }
        }
        // The root does not use what it only re-exports.
        for named in &self.named {
            if !named.public || self.root_words.contains(&named.name) {
                for to in self.targets(&named.path[0], root, 0) {
                    if self.top.contains(&named.path[0]) {
                        put(root, to, &named.place);
                    }
                }
            }
        }
        modules
    }

    /// The modules that a name of the root stands for; the root itself, for what it defines.
    fn targets<'s>(&'s self, name: &'s str, root: &'s str, depth: usize) -> Vec<&'s str> {
        if self.top.contains(name) {
            return vec![name];
        }
        let named: Vec<_> = self
            .named
            .iter()
            .filter(|named| name == "*" || named.name == name || named.name == "*")
            .collect();
        if named.is_empty() || depth > 8 {
            return vec![root];
        }
        named
            .iter()
            .filter(|named| {
                self.top.contains(&named.path[0])
                    || self.named.iter().any(|other| other.name == named.path[0])
            })
            .flat_map(|named| self.targets(&named.path[0], root, depth + 1))
            .collect()
    }
}
