//! A call's arguments, parsed only when something asks for them.

use std::cell::OnceCell;

use serde_json::Value;

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

    /// Whether an argument is surely absent: the arguments are an object and nothing of them was left out.
    pub fn lacks(&self, argument: &str) -> bool {
        !self.cut && self.parsed().is_object() && self.get(argument).is_none()
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

/// The value at a name or a JSON Pointer.
pub fn get<'a>(arguments: &'a Value, argument: &str) -> Option<&'a Value> {
    if argument.starts_with('/') {
        arguments.pointer(argument)
    } else {
        arguments.get(argument)
    }
}
