//! What we write into a settings file, before it has a form.

use serde_json::Value;

/// JSON with its keys in the order in which a reader wants them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Object(Vec<(&'static str, Self)>),
    List(Vec<Self>),
    Plain(Value),
}

/// How a file is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout<'a> {
    /// How lines end; none where everything goes into one line.
    pub(crate) newline: Option<&'a str>,
    /// One step of indentation.
    pub(crate) step: &'a str,
}

impl Node {
    pub(crate) fn string(text: &str) -> Self {
        Self::Plain(text.into())
    }

    /// The same without an order.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Object(fields) => fields
                .iter()
                .map(|(key, node)| ((*key).to_owned(), node.to_value()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::List(nodes) => nodes.iter().map(Self::to_value).collect::<Vec<_>>().into(),
            Self::Plain(value) => value.clone(),
        }
    }

    /// The text, whose first line stands where the caller put it and whose others begin with `indent`.
    pub(crate) fn render(&self, layout: Layout<'_>, indent: &str) -> String {
        match self {
            Self::Plain(value) => value.to_string(),
            Self::Object(fields) => {
                let inner = format!("{indent}{}", layout.step);
                let items: Vec<String> = fields
                    .iter()
                    .map(|(key, node)| property(key, node, layout, &inner))
                    .collect();
                enclose(('{', '}'), &items, layout, indent)
            }
            // Lists of plain values read best in one line.
            Self::List(nodes) if nodes.iter().all(|node| matches!(node, Self::Plain(_))) => {
                let items: Vec<String> = nodes.iter().map(|node| node.render(layout, indent)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::List(nodes) => {
                let inner = format!("{indent}{}", layout.step);
                let items: Vec<String> = nodes.iter().map(|node| node.render(layout, &inner)).collect();
                enclose(('[', ']'), &items, layout, indent)
            }
        }
    }
}

/// A property of an object, as text.
pub(crate) fn property(key: &str, node: &Node, layout: Layout<'_>, indent: &str) -> String {
    format!("{}: {}", Value::from(key), node.render(layout, indent))
}

fn enclose((open, close): (char, char), items: &[String], layout: Layout<'_>, indent: &str) -> String {
    let Some(newline) = layout.newline else {
        return format!("{open}{}{close}", items.join(", "));
    };
    let between = format!("{newline}{indent}{}", layout.step);
    let items = items.join(&format!(",{between}"));
    format!("{open}{between}{items}{newline}{indent}{close}")
}
