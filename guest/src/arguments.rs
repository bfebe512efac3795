//! A call's arguments, parsed only when something asks for them.

use std::cell::OnceCell;

use serde_json::Value;

use crate::doubled;
use crate::lookup::same;

/// A call's arguments.
#[derive(Debug)]
pub struct Arguments<'a> {
    text: &'a str,
    cut: bool,
    parsed: OnceCell<Value>,
}

impl<'a> Arguments<'a> {
    /// Arguments as JSON text; `cut` where the host left parts of them out, since they are too large or cannot be read.
    pub fn new(text: &'a str, cut: bool) -> Self {
        Self {
            text,
            cut,
            parsed: OnceCell::new(),
        }
    }

    /// The value of an argument: a name, or a JSON Pointer that starts with `/`.
    pub fn get(&self, argument: &str) -> Option<&Value> {
        get(self.parsed(), argument)
    }

    /// Whether an argument is surely absent: the arguments are an object, nothing of them was left out, and no other
    /// spelling of it is there, which a server could take for it.
    pub fn lacks(&self, argument: &str) -> bool {
        !self.cut() && self.get(argument).is_none() && spellings(self.parsed(), argument) == 0
    }

    /// Whether an argument says something, or may have before parts were left out.
    pub fn may_hold(&self, argument: &str) -> bool {
        match self.get(argument) {
            Some(Value::Null) | None => self.cut(),
            Some(_) => true,
        }
    }

    /// Whether an argument stands there more than once, in spellings that differ by case only.
    pub fn repeats(&self, argument: &str) -> bool {
        spellings(self.parsed(), argument) > 1
    }

    /// One of these arguments that stands twice, or that a part of whose path does, however it is spelt.
    pub fn doubled<'n>(&self, arguments: &[&'n str]) -> Option<&'n str> {
        if arguments.is_empty() {
            return None;
        }
        let doubled: Vec<String> = doubled::names(self.text)
            .iter()
            .map(|name| plainly(name))
            .collect();
        let stands_twice = |argument: &str| {
            let parts = path(argument);
            parts.iter().any(|part| doubled.contains(&plainly(part)))
        };
        arguments.iter().copied().find(|argument| stands_twice(argument))
    }

    /// One of these arguments whose name stands at a place too that is none of theirs, at whatever depth and however
    /// its case and its separators are spelt, and that place.
    pub fn elsewhere<'n>(&self, arguments: &[&'n str]) -> Option<(&'n str, String)> {
        let known: Vec<Known<'n>> = arguments.iter().map(|argument| Known::of(argument)).collect();
        elsewhere(self.parsed(), &mut Vec::new(), &known)
    }

    /// Whether some text holds a template, which a server like Ansible's evaluates by itself, check mode or not. One that
    /// was left out may.
    pub fn may_hold_template(&self) -> bool {
        self.cut() || holds_template(self.parsed())
    }

    /// Whether they may say more than can be read here.
    pub fn cut(&self) -> bool {
        self.unread().is_some()
    }

    /// Why they may say more than can be read here, where they may: a clause that stands alone.
    pub fn unread(&self) -> Option<&'static str> {
        match self.parsed() {
            _ if self.cut => Some("parts of the arguments are too large or cannot be read"),
            Value::Object(_) => None,
            _ => Some("the arguments are not a JSON object"),
        }
    }

    /// All arguments; `null` where the text is not JSON.
    pub fn parsed(&self) -> &Value {
        self.parsed
            .get_or_init(|| serde_json::from_str(self.text).unwrap_or(Value::Null))
    }
}

/// An argument whose name is looked for at other places.
struct Known<'n> {
    argument: &'n str,
    path: Vec<String>,
    /// The last part of its path, as [`plainly`] has it.
    name: String,
}

impl<'n> Known<'n> {
    fn of(argument: &'n str) -> Self {
        let path = path(argument);
        Self {
            argument,
            name: path.last().map(|name| plainly(name)).unwrap_or_default(),
            path,
        }
    }
}

/// A name without what spellings differ in: `vm_name`, `vmName` and `VM-Name` are the same.
fn plainly(name: &str) -> String {
    let parts = name.chars().filter(|c| c.is_alphanumeric());
    parts.flat_map(char::to_lowercase).collect()
}

fn elsewhere<'n>(value: &Value, at: &mut Vec<String>, known: &[Known<'n>]) -> Option<(&'n str, String)> {
    let fields: Vec<(String, &Value)> = match value {
        Value::Array(items) => (0..).map(|index: usize| index.to_string()).zip(items).collect(),
        Value::Object(fields) => fields.iter().map(|(key, field)| (key.clone(), field)).collect(),
        _ => return None,
    };
    for (key, field) in fields {
        let name = plainly(&key);
        at.push(key);
        let same = known.iter().find(|other| !name.is_empty() && other.name == name);
        let counts = known.iter().any(|other| other.path == *at);
        if let Some(same) = same.filter(|_| value.is_object() && !counts && !field.is_null()) {
            return Some((same.argument, format!("/{}", at.join("/"))));
        }
        let found = elsewhere(field, at, known);
        at.pop();
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The parts of a name or a JSON Pointer.
fn path(argument: &str) -> Vec<String> {
    let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
    match argument.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(unescaped).collect(),
        None => vec![argument.to_owned()],
    }
}

/// How many spellings of an argument, or where that is more than one, of an object on the way to it, stand beside each
/// other; 0 where the argument is in none.
fn spellings(arguments: &Value, argument: &str) -> usize {
    let mut at = Some(arguments);
    let mut count = 0;
    for part in &path(argument) {
        let Some(Value::Object(object)) = at else { return 0 };
        count = object.keys().filter(|key| same(key, part)).count();
        if count > 1 {
            return count;
        }
        at = object.get(part);
    }
    count
}

fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("{%"),
        Value::Array(items) => items.iter().any(holds_template),
        Value::Object(fields) => fields.values().any(holds_template),
        _ => false,
    }
}

/// The value at a name or a JSON Pointer.
pub fn get<'a>(arguments: &'a Value, argument: &str) -> Option<&'a Value> {
    if argument.starts_with('/') {
        arguments.pointer(argument)
    } else {
        arguments.get(argument)
    }
}
