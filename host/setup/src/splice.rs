//! Puts an item into an object or a list and takes one out, and leaves every other byte as it is.

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::{Range, Ranged};

use crate::node::Layout;

/// A change of a text: what is between two places becomes something else. Those of one change do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

impl Edit {
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at, at, text)
    }

    pub(crate) fn delete(start: usize, end: usize) -> Self {
        Self::replace(start, end, "")
    }

    pub(crate) fn replace(start: usize, end: usize, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { start, end, text }
    }
}

/// The text after the edits, which are in the order of their places.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut position = 0;
    for edit in edits {
        result.push_str(&text[position..edit.start]);
        result.push_str(&edit.text);
        position = edit.end;
    }
    result.push_str(&text[position..]);
    result
}

/// An object or a list: where it stands, and where its items do.
pub(crate) struct Container {
    range: Range,
    items: Vec<Range>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        Self {
            range: object.range,
            items: object.properties.iter().map(|property| property.range).collect(),
        }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Self {
        Self {
            range: array.range,
            items: array.elements.iter().map(Ranged::range).collect(),
        }
    }
}

impl Container {
    /// Puts an item behind the last one. `render` gets the layout and the indentation that fit the place.
    pub(crate) fn append(
        &self,
        text: &str,
        layout: Layout<'_>,
        render: impl Fn(Layout<'_>, &str) -> String,
    ) -> Vec<Edit> {
        let one_line = Layout {
            newline: None,
            ..layout
        };
        let Some(last) = self.items.last() else {
            let outer = indentation(text, self.range.start);
            let inside = self.range.start + 1;
            let Some(newline) = layout.newline else {
                return vec![Edit::insert(inside, render(one_line, ""))];
            };
            let indent = format!("{outer}{}", layout.step);
            let item = render(layout, &indent);
            let rest = &text[inside..self.range.end - 1];
            let end = if rest.contains('\n') {
                String::new()
            } else {
                format!("{newline}{outer}")
            };
            return vec![Edit::insert(inside, format!("{newline}{indent}{item}{end}"))];
        };
        let between = Trivia::find(text, last.end, self.range.end - 1);
        let has_comma = between.comma.is_some();
        let separator = match layout.newline {
            Some(newline) if text[self.range.start..self.range.end].contains('\n') => {
                // Beside a line's comment there has to be a new line, and one is fine everywhere else.
                let indent = indentation(text, last.start);
                (format!("{newline}{indent}"), render(layout, indent))
            }
            _ => (" ".to_owned(), render(one_line, "")),
        };
        let (gap, item) = separator;
        let end = if has_comma { "," } else { "" };
        let mut edits = Vec::new();
        if !has_comma {
            edits.push(Edit::insert(last.end, ","));
        }
        edits.push(Edit::insert(between.same_line_end, format!("{gap}{item}{end}")));
        edits
    }

    /// Takes an item out.
    pub(crate) fn remove(&self, text: &str, index: usize) -> Vec<Edit> {
        let item = self.items[index];
        let next = self
            .items
            .get(index + 1)
            .map_or(self.range.end - 1, |next| next.start);
        let after = Trivia::find(text, item.end, next);
        let end = after.comma.map_or(item.end, |comma| comma + 1);
        let Some(before) = index.checked_sub(1).map(|index| self.items[index]) else {
            let inside = self.range.start + 1;
            if self.items.len() > 1 {
                let spaces = text[end..].len() - text[end..].trim_start().len();
                return vec![Edit::delete(item.start, end + spaces)];
            }
            // What is left is nothing or comments.
            let head = &text[inside..item.start];
            let tail = &text[end..self.range.end - 1];
            if head.trim().is_empty() && tail.trim().is_empty() {
                return vec![Edit::delete(inside, self.range.end - 1)];
            }
            let start = Trivia::find(text, inside, item.start).cut(text, end);
            return vec![Edit::delete(start, end)];
        };
        let between = Trivia::find(text, before.end, item.start);
        let start = between.cut(text, end);
        match between.comma {
            Some(comma) if index + 1 == self.items.len() && after.comma.is_none() => {
                if comma + 1 == start {
                    vec![Edit::delete(comma, end)]
                } else {
                    vec![Edit::delete(comma, comma + 1), Edit::delete(start, end)]
                }
            }
            _ => vec![Edit::delete(start, end)],
        }
    }
}

/// What stands between two items, or behind the last one: a comma, comments, white space.
struct Trivia {
    /// Where the comma is.
    comma: Option<usize>,
    /// The end of what belongs to the item before: the comma and the comments in its line.
    same_line_end: usize,
    /// The end of the last comma or comment.
    last_end: usize,
    /// Whether that is a comment that ends with its line.
    ends_in_line_comment: bool,
}

impl Trivia {
    fn find(text: &str, start: usize, end: usize) -> Self {
        let mut found = Self {
            comma: None,
            same_line_end: start,
            last_end: start,
            ends_in_line_comment: false,
        };
        let mut in_first_line = true;
        let mut position = start;
        while position < end {
            let rest = &text[position..end];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |length| length + 2)
            } else {
                let letter = rest.chars().next().unwrap_or(' ');
                in_first_line &= letter != '\n';
                if letter == ',' {
                    found.comma = Some(position);
                    1
                } else {
                    position += letter.len_utf8();
                    continue;
                }
            };
            let piece = &rest[..length];
            // A carriage return belongs to the line's end.
            let piece = piece.trim_end_matches('\r');
            found.last_end = position + piece.len();
            found.ends_in_line_comment = piece.starts_with("//");
            in_first_line &= !piece.contains('\n');
            if in_first_line || found.comma == Some(position) {
                found.same_line_end = found.last_end;
            }
            position += length;
        }
        found
    }

    /// Where a cut that reaches to `end` begins: behind what stands before. A line's comment needs its line break, unless
    /// what follows the cut brings one along.
    fn cut(&self, text: &str, end: usize) -> usize {
        let follows = text[end..].trim_start_matches([' ', '\t', '\r']);
        if !self.ends_in_line_comment || follows.starts_with('\n') {
            return self.last_end;
        }
        let newline = text[self.last_end..end].find('\n');
        newline.map_or(self.last_end, |newline| self.last_end + newline + 1)
    }
}

/// The white space at the beginning of the line that a place is in.
pub(crate) fn indentation(text: &str, place: usize) -> &str {
    let line = text[..place].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}
