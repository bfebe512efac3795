//! The checks that every catalog passes, shipped or the operator's own, and the order in which lookups expect it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::format::{Catalog, Class, Command, Dispatch, Group, Kind, Machine, Rule, Scalar, Text};

/// Spells a name as a harness does in `mcp__server__tool`: whatever is not a letter, digit, `_` or `-` becomes `_`. The
/// harness counts in UTF-16, so a character beyond its first plane (an emoji) becomes two.
pub fn normalise(name: &str) -> String {
    let mut spelt = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '0'..='9' | 'a'..='z' | 'A'..='Z' => spelt.push(letter),
            _ => (0..letter.len_utf16()).for_each(|_| spelt.push('_')),
        }
    }
    spelt
}

/// Checks a catalog and brings it into the form that lookups expect: names spelt as a harness spells them, and sorted.
///
/// # Errors
/// A sentence that names the entry at fault.
pub fn prepare(mut catalog: Catalog) -> Result<Catalog, String> {
    if let Some(source) = &catalog.source {
        let hex = source.commit.len() == 40 && source.commit.bytes().all(|b| b.is_ascii_hexdigit());
        require(hex, || {
            format!("the commit `{}` is not 40 hexadecimal digits", source.commit)
        })?;
        require(is_date(&source.date), || {
            format!("the date `{}` is not YYYY-MM-DD", source.date)
        })?;
    }
    let aliases = &catalog.server.aliases;
    require(!aliases.is_empty(), || "the server has no alias".into())?;
    for alias in aliases.iter() {
        require(!alias.trim().is_empty(), || "an alias is empty".into())?;
        require(is_a_name(alias) && !alias.starts_with("mcp__"), || {
            format!(
                "the alias `{alias}` is not a server's key alone: without `mcp__`, `*` and blanks at its ends"
            )
        })?;
    }
    let mut seen = BTreeSet::new();
    for group in catalog.tools.iter() {
        require(!group.names.is_empty(), || "a group has no names".into())?;
        for name in group.names.iter() {
            require(!name.is_empty(), || "a tool's name is empty".into())?;
            // It would match nothing, and whoever wrote it meant it to match much.
            require(!name.contains('*'), || {
                format!("the tool `{name}` holds a `*`, which stands for nothing in a name: list each tool")
            })?;
            require(is_a_name(name) && !name.starts_with("mcp__"), || {
                format!(
                    "the tool `{name}` is not a tool's name alone: without `mcp__SERVER__` and blanks at its ends"
                )
            })?;
            require(seen.insert(normalise(name)), || {
                format!("the tool `{name}` stands twice")
            })?;
        }
        check_group(group)
            .and_then(|()| check_enforced(group, catalog.source.is_some()))
            .map_err(|why| format!("at the tool `{}`: {why}", group.names[0]))?;
    }
    catalog.server.aliases = normalised(&catalog.server.aliases);
    for group in catalog.tools.to_mut() {
        group.names = normalised(&group.names);
        group.command_line = catalog.server.command_line;
    }
    Ok(catalog)
}

fn check_group(group: &Group) -> Result<(), String> {
    if let Some(machine) = &group.machine {
        check_machine(machine, false)?;
    }
    let lists = [
        &group.doubtful,
        &group.switches,
        &group.values,
        &group.words,
        &group.segments,
    ];
    for argument in lists.into_iter().flat_map(|list| list.iter()) {
        check_argument(argument)?;
    }
    let mut forms = BTreeSet::new();
    for argument in [&group.switches, &group.values, &group.words]
        .into_iter()
        .flat_map(|list| list.iter())
    {
        require(forms.insert(argument), || {
            format!("`{argument}` stands twice among `switches`, `values` and `words`")
        })?;
    }
    for rule in group.rules.iter() {
        check_rule(rule, group.class)?;
    }
    match (&group.dispatch, group.class) {
        (Some(dispatch), Class::Dispatch) => {
            require(group.machine.is_none(), || {
                "a dispatcher's commands name the machine, not its group".into()
            })?;
            require(group.rules.is_empty(), || {
                "a dispatcher has commands in the place of rules".into()
            })?;
            check_dispatch(dispatch)
        }
        (None, Class::Dispatch) => Err("the class is `dispatch`, but there is no `dispatch` table".into()),
        (Some(_), _) => Err("there is a `dispatch` table, but the class is another".into()),
        (None, _) => Ok(()),
    }
}

fn check_rule(rule: &Rule, class: Class) -> Result<(), String> {
    check_argument(&rule.argument)?;
    if let Some(line) = &rule.repeated_in {
        check_argument(line)?;
        let texts = rule.equals.iter().chain(rule.one_of.iter());
        require(
            texts.clone().all(|value| matches!(value, Scalar::Text(_))),
            || {
                format!(
                    "the rule on `{}` has `repeated_in`, which goes with texts only",
                    rule.argument
                )
            },
        )?;
    }
    require(rule.equals.is_some() == rule.one_of.is_empty(), || {
        format!(
            "the rule on `{}` needs either `equals` or `one_of`",
            rule.argument
        )
    })?;
    // The group's class is what a call is when no rule fits, so it has to be the worst of all.
    require(rule.class < class, || {
        format!("the rule on `{}` is not milder than its group", rule.argument)
    })?;
    require(!rule.because.is_empty(), || {
        format!("the rule on `{}` says no `because`", rule.argument)
    })
}

/// A rule makes a call milder on the server's word alone, so whoever read the server's source has to name the place.
fn check_enforced(group: &Group, has_source: bool) -> Result<(), String> {
    group.rules.iter().try_for_each(|rule| {
        let named = rule.enforced.as_ref().is_some_and(|place| !place.trim().is_empty());
        require(named || (!has_source && rule.enforced.is_none()), || {
            format!(
                "the rule on `{}` does not say in `enforced` which place in the server's source makes sure of it",
                rule.argument
            )
        })
    })
}

/// Whether a text can be a server's key or a tool's name: what is no part of one would make it match nothing.
fn is_a_name(text: &str) -> bool {
    text.trim() == text && !text.contains('*')
}

fn check_machine(machine: &Machine, in_command: bool) -> Result<(), String> {
    for argument in machine.arguments.iter() {
        check_argument(argument)?;
    }
    check_bare_options(&machine.option)?;
    for place in machine.scope.iter() {
        check_argument(place)?;
        require(in_command || !place.starts_with('-'), || {
            format!("the scope `{place}` is an option, which belongs to a dispatched command")
        })?;
        require(!(place.starts_with('-') && place.contains('=')), || {
            format!("the scope `{place}` holds a `=`: write the option's name alone")
        })?;
    }
    let in_words = !machine.option.is_empty() || machine.position.is_some();
    let anywhere = in_words || !machine.arguments.is_empty();
    require(in_command || !in_words, || {
        "`option` and `position` belong to dispatched commands".into()
    })?;
    if machine.kind == Kind::ServerBound {
        return require(!anywhere && machine.scope.is_empty(), || {
            "`server-bound` reads no argument".into()
        });
    }
    require(anywhere, || {
        "`machine` says nowhere where the machine is named".into()
    })
}

fn check_options(options: &[Text]) -> Result<(), String> {
    options.iter().try_for_each(|option| {
        require(option.len() > 1 && option.starts_with('-'), || {
            format!("`{option}` is not an option")
        })
    })
}

/// Options that are compared with a name alone: with a value's `=`, one would never fit.
fn check_bare_options(options: &[Text]) -> Result<(), String> {
    check_options(options)?;
    options.iter().try_for_each(|option| {
        require(!option.contains('='), || {
            format!("`{option}` holds a `=`: write the option's name alone")
        })
    })
}

fn check_argument(argument: &str) -> Result<(), String> {
    require(!argument.is_empty() && argument != "/", || {
        "an argument has no name".into()
    })
}

fn check_dispatch(dispatch: &Dispatch) -> Result<(), String> {
    check_bare_options(&dispatch.refused)?;
    let names: [&Option<Text>; 5] = [
        &dispatch.flags,
        &dispatch.tool,
        &dispatch.arguments,
        &dispatch.command,
        &dispatch.program,
    ];
    for name in names.into_iter().flatten().chain(dispatch.extra_words.iter()) {
        check_argument(name)?;
    }
    match (&dispatch.tool, &dispatch.arguments, &dispatch.command) {
        (Some(_), Some(_), None) => {
            let words = dispatch.program.is_some() || !dispatch.extra_words.is_empty() || dispatch.exact;
            let options = dispatch.flags.is_some() || !dispatch.refused.is_empty();
            require(!words && !options && dispatch.commands.is_empty(), || {
                "`program`, `exact`, `extra_words`, `flags`, `refused` and `commands` go with `command`, not with `tool`"
                    .into()
            })
        }
        (None, None, Some(_)) => {
            require(!dispatch.commands.is_empty(), || {
                "a dispatcher knows no commands".into()
            })?;
            let more = dispatch.program.is_some() || !dispatch.extra_words.is_empty();
            require(!(dispatch.exact && more), || {
                "an `exact` command has neither `program` nor `extra_words`".into()
            })?;
            dispatch.commands.iter().try_for_each(check_command)
        }
        _ => Err("`dispatch` needs either `tool` and `arguments`, or `command` and `commands`".into()),
    }
}

fn check_command(command: &Command) -> Result<(), String> {
    let line = command.words.join(" ");
    require(!command.words.is_empty(), || "a command has no words".into())?;
    require(command.words.iter().all(|word| is_command_word(word)), || {
        format!("`{line}` holds something that is no command word")
    })?;
    require(command.class != Class::Dispatch, || {
        format!("`{line}` cannot be a dispatcher itself")
    })?;
    require(command.class > Class::Other || command.options.is_empty(), || {
        format!("`{line}` changes no machine, so its options are not counted up")
    })?;
    check_options(&command.options)?;
    command.machine.as_ref().map_or(Ok(()), |machine| {
        check_machine(machine, true).map_err(|why| format!("at the command `{line}`: {why}"))
    })
}

/// A word of a command, perhaps cut short with one `*` at its end. A lone `*` would make everything known.
fn is_command_word(word: &str) -> bool {
    let stem = word.strip_suffix('*').unwrap_or(word);
    !stem.is_empty() && !stem.starts_with('-') && !stem.contains(['*', ' '])
}

fn is_date(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else {
        return false;
    };
    let number = |text: &str, digits: usize| {
        (text.len() == digits && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u16>().ok())
            .flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u16::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=last).contains(&day)
}

fn normalised(names: &[Text]) -> Cow<'static, [Text]> {
    let names: BTreeSet<String> = names.iter().map(|name| normalise(name)).collect();
    names.into_iter().map(Cow::Owned).collect()
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
