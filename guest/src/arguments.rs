//! A call's arguments, parsed only when something asks for them.

use std::cell::OnceCell;

use serde_json::Value;

use crate::lookup::same;

/// A call's arguments.
#[derive(Debug)]
pub struct Arguments<'a> {
    text: &'a str,
    cut: bool,
    parsed: OnceCell<Value>,
}

impl<'a> Arguments<'a> {
    /// Arguments as JSON text; `cut` where the host left parts of them out.
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
        !self.cut
            && self.parsed().is_object()
            && self.get(argument).is_none()
            && spellings(self.parsed(), argument) == 0
    }

    /// Whether an argument says something, or may have before parts were left out.
    pub fn may_hold(&self, argument: &str) -> bool {
        match self.get(argument) {
            Some(Value::Null) | None => self.cut,
            Some(_) => true,
        }
    }

    /// Whether an argument stands there more than once, in spellings that differ by case only.
    pub fn repeats(&self, argument: &str) -> bool {
        spellings(self.parsed(), argument) > 1
    }

    /// Whether some text holds a template, which a server like Ansible's evaluates by itself, check mode or not.
    pub fn hold_template(&self) -> bool {
        holds_template(self.parsed())
    }

    /// Whether the host left parts out.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// All arguments; `null` where the text is no JSON.
    pub fn parsed(&self) -> &Value {
        self.parsed
            .get_or_init(|| serde_json::from_str(self.text).unwrap_or(Value::Null))
    }
}

/// How many spellings of an argument, or where that is more than one, of an object on the way to it, stand beside each
/// other; 0 where the argument is in none.
fn spellings(arguments: &Value, argument: &str) -> usize {
    let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let parts = match argument.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(unescaped).collect(),
        None => vec![argument.to_owned()],
    };
    let mut at = Some(arguments);
    let mut count = 0;
    for part in &parts {
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
