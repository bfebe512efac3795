//! Puts our entries into the text of a settings file, and takes them out.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged as _;
use thiserror::Error;

use crate::hook::Hook;
use crate::node::{Layout, Node, property};
use crate::splice::{Container, Edit, apply, indentation};
use crate::{Command, Event, jsonc};

/// Why a settings file's text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is nothing that could be read, even with comments.
    #[error("it is no JSON; mend it first")]
    NoJson,
    /// What should hold something else is no object or no list.
    #[error("{at} is no {wanted}; mend it first")]
    Shape {
        /// The place: `hooks.PreToolUse`.
        at: String,
        /// `object` or `list`.
        wanted: &'static str,
    },
    /// The entry would not be known as ours again.
    #[error(
        "the program {0} is not named holdpoint, so doctor, status and uninstalling would not find its entry; rename it"
    )]
    OtherName(String),
    /// One change called for the next without end: a fault of ours, which must not fill the memory.
    #[error("the changes do not come to an end; please report this with the file")]
    Endless,
}

/// More changes than any settings file needs: an entry for each event, and each of a user's own brought up to date.
const MOST_CHANGES: usize = 10_000;

/// The text with our entries in it, under every event of ours. Whatever else stands there stays, byte for byte; entries of
/// ours are brought up to date where they are; a text that has them already is the same afterwards.
///
/// # Errors
///
/// Where the text is no JSON, or has something else in the place of an object or a list.
pub fn merge(text: &str, hook: &Hook) -> Result<String, EditError> {
    let entry = Command {
        command: hook.program.clone(),
        args: Some(hook.args.clone()),
        ..Command::default()
    };
    // Else each look at the text would find the entry missing again.
    if !entry.is_ours() {
        return Err(EditError::OtherName(hook.program.clone()));
    }
    change(text, |text, root| missing(text, root, hook))
}

/// The text without our entries, and without the groups, events and `hooks` that hold nothing else then.
///
/// # Errors
///
/// As [`merge`].
pub fn remove(text: &str) -> Result<String, EditError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(text.to_owned());
    }
    change(text, |text, root| Ok(first_where(text, root, &Command::is_ours)))
}

/// The text without the handlers that a rule names, and without what holds nothing else then.
pub(crate) fn remove_where(text: &str, is_meant: impl Fn(&Command) -> bool) -> Result<String, EditError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(text.to_owned());
    }
    change(text, |text, root| Ok(first_where(text, root, &is_meant)))
}

/// Whether the text has `allowManagedHooksOnly`.
pub(crate) fn is_managed_only(text: &str) -> bool {
    let readable = jsonc::readable(text.trim_start_matches('\u{feff}'));
    let value = jsonc::parse(&readable);
    let root = value.as_ref().and_then(Value::as_object);
    root.is_some_and(|root| last(root, MANAGED_ONLY).is_some())
}

/// The text without `allowManagedHooksOnly`.
pub(crate) fn remove_managed_only(text: &str) -> Result<String, EditError> {
    change(text, |text, root| {
        let position = root
            .properties
            .iter()
            .rposition(|property| property.name.as_str() == MANAGED_ONLY);
        Ok(position.map(|position| Container::from(root).remove(text, position)))
    })
}

/// The setting that switches off the hooks of other levels.
const MANAGED_ONLY: &str = "allowManagedHooksOnly";

/// Applies one change after the other until there is none, reading the text anew each time: every place in it moves.
fn change(
    text: &str,
    next: impl Fn(&str, &Object<'_>) -> Result<Option<Vec<Edit>>, EditError>,
) -> Result<String, EditError> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let mut text = if text.trim().is_empty() {
        "{}\n".to_owned()
    } else {
        text.to_owned()
    };
    for _ in 0..MOST_CHANGES {
        let readable = jsonc::readable(&text);
        let value = jsonc::parse(&readable).ok_or(EditError::NoJson)?;
        let Value::Object(root) = &value else {
            return Err(shape("the file", "object"));
        };
        match next(&text, root)? {
            None => return Ok(format!("{mark}{text}")),
            Some(edits) => text = apply(&text, &edits),
        }
    }
    Err(EditError::Endless)
}

fn shape(at: &str, wanted: &'static str) -> EditError {
    let at = at.to_owned();
    EditError::Shape { at, wanted }
}

/// The next thing that is not yet as it should be.
fn missing(text: &str, root: &Object<'_>, hook: &Hook) -> Result<Option<Vec<Edit>>, EditError> {
    let layout = layout(text, root);
    let add = |object: &Object<'_>, key: &str, node: &Node| {
        let render = |layout: Layout<'_>, indent: &str| property(key, node, layout, indent);
        Ok(Some(Container::from(object).append(text, layout, render)))
    };
    let Some(hooks) = last(root, "hooks") else {
        return add(root, "hooks", &hook.all());
    };
    let Value::Object(hooks) = &hooks.value else {
        return Err(shape("hooks", "object"));
    };
    for event in Event::ALL {
        let group = hook.group(event);
        let Some(groups) = last(hooks, event.name()) else {
            return add(hooks, event.name(), &Node::List(vec![group]));
        };
        let Value::Array(groups) = &groups.value else {
            return Err(shape(&format!("hooks.{}", event.name()), "list"));
        };
        let wanted = hook.matcher(event);
        let mut is_covered = false;
        for place in handlers_where(groups, &Command::is_ours) {
            if let Some(edits) = outdated(text, layout, place.handler, &hook.handler(event)) {
                return Ok(Some(edits));
            }
            let found = last(place.group, "matcher").and_then(|found| found.value.as_string_lit());
            let matcher = found.map(|literal| literal.value.as_ref());
            let is_all = matches!(matcher, None | Some("" | "*"));
            is_covered |= matcher == wanted.as_deref()
                || is_all && (hook.matcher.is_none() || wanted.as_deref() == Some("*"));
            if let (Some(literal), Some(wanted), false) = (found, &wanted, is_covered)
                && hook.matcher.is_some()
                && place.handlers.elements.len() == 1
            {
                let value = Node::string(wanted).render(layout, "");
                return Ok(Some(vec![Edit::replace(
                    literal.range.start,
                    literal.range.end,
                    value,
                )]));
            }
        }
        if !is_covered {
            let render = |layout: Layout<'_>, indent: &str| group.render(layout, indent);
            return Ok(Some(Container::from(groups).append(text, layout, render)));
        }
    }
    if !hook.managed_only {
        return Ok(None);
    }
    match last(root, MANAGED_ONLY) {
        None => add(root, MANAGED_ONLY, &Node::Plain(true.into())),
        Some(found) if serde_value(text, &found.value) != Some(true.into()) => {
            let range = found.value.range();
            Ok(Some(vec![Edit::replace(range.start, range.end, "true")]))
        }
        Some(_) => Ok(None),
    }
}

/// What of one of our handlers is not as it should be. What we do not write ourselves stays, except what would keep the hook
/// from running or from being waited for.
fn outdated(
    text: &str,
    layout: Layout<'_>,
    handler: &Object<'_>,
    wanted: &[(&'static str, Node)],
) -> Option<Vec<Edit>> {
    for (key, node) in wanted {
        match last(handler, key) {
            None => {
                let render = |layout: Layout<'_>, indent: &str| property(key, node, layout, indent);
                return Some(Container::from(handler).append(text, layout, render));
            }
            Some(found) if serde_value(text, &found.value) != Some(node.to_value()) => {
                let range = found.value.range();
                let value = node.render(layout, indentation(text, range.start));
                return Some(vec![Edit::replace(range.start, range.end, value)]);
            }
            Some(_) => {}
        }
    }
    let harmful = |property: &ObjectProp<'_>| {
        let name = property.name.as_str();
        ["async", "asyncRewake", "if", "once", "shell"].contains(&name)
            || (name == "onFailure" && wanted.iter().all(|(key, _)| *key != "onFailure"))
    };
    let position = handler.properties.iter().position(harmful)?;
    Some(Container::from(handler).remove(text, position))
}

/// The change that takes out the first handler that is meant, with everything that would be empty then.
fn first_where(text: &str, root: &Object<'_>, is_meant: &dyn Fn(&Command) -> bool) -> Option<Vec<Edit>> {
    let hooks_at = root
        .properties
        .iter()
        .rposition(|property| property.name.as_str() == "hooks")?;
    let hooks = root.properties[hooks_at].value.as_object()?;
    for (event_at, event) in hooks.properties.iter().enumerate() {
        let Some(groups) = event.value.as_array() else {
            continue;
        };
        let Some(place) = handlers_where(groups, is_meant).next() else {
            continue;
        };
        if place.handlers.elements.len() > 1 {
            return Some(Container::from(place.handlers).remove(text, place.position));
        }
        if groups.elements.len() > 1 {
            return Some(Container::from(groups).remove(text, place.group_position));
        }
        if hooks.properties.len() > 1 {
            return Some(Container::from(hooks).remove(text, event_at));
        }
        return Some(Container::from(root).remove(text, hooks_at));
    }
    None
}

/// A handler under an event, and where it stands.
struct Place<'v, 't> {
    group: &'v Object<'t>,
    group_position: usize,
    handlers: &'v Array<'t>,
    handler: &'v Object<'t>,
    position: usize,
}

fn handlers_where<'v, 't>(
    groups: &'v Array<'t>,
    is_meant: &dyn Fn(&Command) -> bool,
) -> impl Iterator<Item = Place<'v, 't>> {
    let with_position = groups.elements.iter().enumerate();
    let lists = with_position.filter_map(|(group_position, group)| {
        let group = group.as_object()?;
        Some((group, group_position, last(group, "hooks")?.value.as_array()?))
    });
    lists.flat_map(move |(group, group_position, handlers)| {
        let each = handlers.elements.iter().enumerate();
        each.filter_map(move |(position, handler)| {
            let handler = handler.as_object()?;
            command_of(handler)
                .is_some_and(|command| is_meant(&command))
                .then_some(Place {
                    group,
                    group_position,
                    handlers,
                    handler,
                    position,
                })
        })
    })
}

/// What a handler starts, as far as it tells whose it is.
fn command_of(handler: &Object<'_>) -> Option<Command> {
    let command = last(handler, "command")?.value.as_string_lit()?;
    let args = last(handler, "args").and_then(|found| found.value.as_array());
    Some(Command {
        command: command.value.to_string(),
        args: args.and_then(strings),
        ..Command::default()
    })
}

/// What the first handler of ours before a call may have been put in as, as a settings file's text has it: none where
/// there is no such handler.
pub(crate) fn installed(text: &str) -> Vec<Hook> {
    let Some((hook, matcher)) = first_installed(text) else {
        return Vec::new();
    };
    // Neither tells from the text whether it was asked for or there before.
    let matchers = [None, matcher];
    let forms = matchers.into_iter().flat_map(|matcher| {
        [false, true].map(|managed_only| Hook {
            matcher: matcher.clone(),
            managed_only,
            ..hook.clone()
        })
    });
    forms.collect()
}

fn first_installed(text: &str) -> Option<(Hook, Option<String>)> {
    let readable = jsonc::readable(text.trim_start_matches('\u{feff}'));
    let value = jsonc::parse(&readable)?;
    let hooks = last(value.as_object()?, "hooks")?.value.as_object()?;
    let groups = last(hooks, Event::PreToolUse.name())?.value.as_array()?;
    let place = handlers_where(groups, &Command::is_ours).next()?;
    let handler = place.handler;
    let hook = Hook {
        program: last(handler, "command")?.value.as_string_lit()?.value.to_string(),
        args: strings(last(handler, "args")?.value.as_array()?)?,
        timeout_seconds: last(handler, "timeout")?
            .value
            .as_number_lit()?
            .value
            .parse()
            .ok()?,
        matcher: None,
        managed_only: false,
    };
    let matcher = last(place.group, "matcher").and_then(|found| found.value.as_string_lit());
    Some((hook, matcher.map(|literal| literal.value.to_string())))
}

fn strings(array: &Array<'_>) -> Option<Vec<String>> {
    let strings = array.elements.iter();
    strings
        .map(|element| element.as_string_lit().map(|literal| literal.value.to_string()))
        .collect()
}

/// The property of that name. Where it stands there twice, a parser takes the last one.
fn last<'v, 't>(object: &'v Object<'t>, name: &str) -> Option<&'v ObjectProp<'t>> {
    object
        .properties
        .iter()
        .rfind(|property| property.name.as_str() == name)
}

/// The value of a part of the text; none where it has comments in it.
fn serde_value(text: &str, value: &Value<'_>) -> Option<serde_json::Value> {
    let range = value.range();
    serde_json::from_str(&text[range.start..range.end]).ok()
}

/// How the file is laid out: its line ends, and the indentation of its first property. A file without a line break that
/// holds something gets everything in its one line.
fn layout<'t>(text: &'t str, root: &Object<'_>) -> Layout<'t> {
    let is_one_line = !text.trim_end().contains('\n') && !root.properties.is_empty();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let first = root.properties.first().map(|property| {
        let indent = indentation(text, property.range.start);
        let begins_line = text[..property.range.start].ends_with(indent);
        (indent, begins_line)
    });
    Layout {
        newline: (!is_one_line).then_some(newline),
        step: match first {
            Some((indent, true)) if !indent.is_empty() => indent,
            _ => "  ",
        },
    }
}
