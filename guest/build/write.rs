//! Writes the types of a catalog as Rust expressions that borrow everything from the program.

use crate::catalog::format::{Catalog, Command, Dispatch, Group, List, Machine, Rule, Scalar, Source, Text};

/// A whole catalog. Remarks are for people and stay in the files, and of the source all but the name that it is told by.
pub(crate) fn catalog(catalog: &Catalog) -> String {
    format!(
        "Catalog {{ source: {}, server: Server {{ aliases: {}, builtin: {} }}, tools: {} }}",
        optional(catalog.source.as_ref(), source),
        texts(&catalog.server.aliases),
        catalog.server.builtin,
        list(&catalog.tools, group),
    )
}

fn source(source: &Source) -> String {
    let none = text(&Text::default());
    format!(
        "Source {{ repository: {}, commit: {none}, date: {none}, files: {none}, note: None }}",
        text(&source.repository)
    )
}

fn group(group: &Group) -> String {
    format!(
        "Group {{ class: Class::{:?}, names: {}, machine: {}, note: None, doubtful: {}, rules: {}, dispatch: {} }}",
        group.class,
        texts(&group.names),
        optional(group.machine.as_ref(), machine),
        texts(&group.doubtful),
        list(&group.rules, rule),
        optional(group.dispatch.as_ref(), dispatch),
    )
}

fn machine(machine: &Machine) -> String {
    format!(
        "Machine {{ arguments: {}, option: {}, position: {:?}, kind: Kind::{:?}, separator: {} }}",
        texts(&machine.arguments),
        texts(&machine.option),
        machine.position,
        machine.kind,
        optional(machine.separator.as_ref(), |separator| format!(
            "Separator::{separator:?}"
        )),
    )
}

fn rule(rule: &Rule) -> String {
    format!(
        "Rule {{ argument: {}, equals: {}, one_of: {}, or_absent: {}, class: Class::{:?}, because: {} }}",
        text(&rule.argument),
        optional(rule.equals.as_ref(), scalar),
        list(&rule.one_of, scalar),
        rule.or_absent,
        rule.class,
        text(&rule.because),
    )
}

fn scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Bool(value) => format!("Scalar::Bool({value})"),
        Scalar::Integer(value) => format!("Scalar::Integer({value})"),
        Scalar::Text(value) => format!("Scalar::Text({})", text(value)),
    }
}

fn dispatch(dispatch: &Dispatch) -> String {
    format!(
        "Dispatch {{ tool: {}, arguments: {}, command: {}, exact: {}, flags: {}, refused: {}, program: {}, extra_words: {}, commands: {} }}",
        optional(dispatch.tool.as_ref(), text),
        optional(dispatch.arguments.as_ref(), text),
        optional(dispatch.command.as_ref(), text),
        dispatch.exact,
        optional(dispatch.flags.as_ref(), text),
        texts(&dispatch.refused),
        optional(dispatch.program.as_ref(), text),
        texts(&dispatch.extra_words),
        list(&dispatch.commands, command),
    )
}

fn command(command: &Command) -> String {
    format!(
        "Command {{ words: {}, class: Class::{:?}, options: {}, machine: {} }}",
        texts(&command.words),
        command.class,
        texts(&command.options),
        optional(command.machine.as_ref(), machine),
    )
}

fn text(text: &Text) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn texts(texts: &List<Text>) -> String {
    list(texts, text)
}

fn list<T: Clone>(list: &List<T>, write: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = list.iter().map(write).collect();
    format!("Cow::Borrowed(&[{}])", items.join(", "))
}

fn optional<T>(value: Option<&T>, write: impl Fn(&T) -> String) -> String {
    value.map_or_else(|| "None".to_owned(), |value| format!("Some({})", write(value)))
}
