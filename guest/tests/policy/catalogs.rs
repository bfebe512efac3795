//! The catalog files that are shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use holdpoint_guest::catalog::check::{normalise, prepare};
use holdpoint_guest::catalog::format::{Catalog, Class};
use holdpoint_guest::catalog::pack;
use holdpoint_guest::catalog::shipped;
use holdpoint_guest::catalog::table::Table;

/// Every file of the folder, read but not yet prepared.
pub(crate) fn files() -> BTreeMap<String, Catalog> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalogs");
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let catalog = toml::from_str(&std::fs::read_to_string(&path).unwrap());
        (
            name.clone(),
            catalog.unwrap_or_else(|why| panic!("{name}: {why}")),
        )
    };
    paths.map(read).collect()
}

#[test]
fn all_servers_and_tools_are_there_and_pass_the_checks() {
    let files = files();
    assert_eq!(files.len(), 34);
    let tools: usize = files
        .values()
        .flat_map(|c| c.tools.iter())
        .map(|group| group.names.len())
        .sum();
    assert_eq!(tools, 1_212);
    for (name, catalog) in files {
        let source = catalog
            .source
            .as_ref()
            .unwrap_or_else(|| panic!("{name}: no source"));
        assert_eq!(
            name,
            format!("{}.toml", source.repository.replace('/', "-").to_lowercase())
        );
        assert!(!source.files.is_empty(), "{name}");
        prepare(catalog).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

#[test]
fn names_stand_in_order_and_as_a_harness_spells_them() {
    for (file, catalog) in files() {
        for group in catalog.tools.iter() {
            assert!(group.names.is_sorted(), "{file}: {:?}", group.names);
            assert!(
                group.names.iter().all(|name| normalise(name) == name.as_ref()),
                "{file}: {:?}",
                group.names
            );
        }
    }
}

#[test]
fn commands_of_a_dispatcher_stand_once() {
    for (file, catalog) in files() {
        for dispatch in catalog.tools.iter().filter_map(|group| group.dispatch.as_ref()) {
            let mut seen = BTreeSet::new();
            for command in dispatch.commands.iter() {
                assert!(
                    seen.insert(command.words.join(" ")),
                    "{file}: {:?}",
                    command.words
                );
            }
        }
    }
}

#[test]
fn the_tables_say_what_the_files_say() {
    for (file, catalog) in files() {
        for group in catalog.tools.iter() {
            for (alias, name) in catalog
                .server
                .aliases
                .iter()
                .flat_map(|a| group.names.iter().map(move |n| (a, n)))
            {
                let alias = normalise(alias);
                let mut found = shipped(&alias).filter_map(|table| table.entry(name));
                let same = found.any(|entry| {
                    (entry.class, &entry.machine, &entry.doubtful, &entry.segments)
                        == (group.class, &group.machine, &group.doubtful, &group.segments)
                        && (&entry.rules, &entry.dispatch) == (&group.rules, &group.dispatch)
                });
                assert!(same, "{file}: {alias}/{name}");
            }
        }
    }
}

#[test]
fn the_classes_are_those_that_were_counted() {
    let mut count = BTreeMap::new();
    for group in files().values().flat_map(|catalog| catalog.tools.iter()) {
        *count.entry(group.class).or_insert(0) += group.names.len();
    }
    let expected = [
        (Class::Read, 710),
        (Class::Other, 229),
        (Class::Guest, 176),
        (Class::Machine, 91),
        (Class::Dispatch, 6),
    ];
    assert_eq!(count, BTreeMap::from(expected));
}

#[test]
fn a_fault_in_a_file_is_named() {
    let good = "[source]\nrepository = 'a/b'\ncommit = '0123456789abcdef0123456789abcdef01234567'\n\
        date = '2026-02-28'\nfiles = 'x'\n[server]\naliases = ['a']\n[[tools]]\nclass = 'guest'\nnames = ['t', 'u']\n";
    let check = |text: &str| {
        toml::from_str::<Catalog>(text)
            .map_err(|why| why.to_string())
            .and_then(prepare)
    };
    assert!(check(good).is_ok(), "{:?}", check(good));
    let dispatch = |table: &str| {
        format!(
            "{}[tools.dispatch]\n{table}",
            good.replace("'guest'", "'dispatch'")
        )
    };
    let faults = [
        (good.replace("234567'", "23456'"), "40 hexadecimal"),
        (good.replace("2026-02-28", "2026-02-29"), "YYYY-MM-DD"),
        (good.replace("2026-02-28", "2026-2-28"), "YYYY-MM-DD"),
        (good.replace("['a']", "[]"), "no alias"),
        (good.replace("'t', 'u'", "'t.x', 't x'"), "twice"),
        (good.replace("'t', 'u'", ""), "no names"),
        (good.replace("'t', 'u'", "'mcp__a__t'"), "a tool's name alone"),
        (good.replace("'t', 'u'", "' t'"), "a tool's name alone"),
        (good.replace("['a']", "['mcp__a']"), "a server's key alone"),
        (good.replace("['a']", "['a-*']"), "a server's key alone"),
        (good.replace("['a']", "['a ']"), "a server's key alone"),
        (good.replace("'guest'", "'write'"), "write"),
        (
            dispatch(
                "command = 'a'\nrefused = ['-u=']\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'read'\n",
            ),
            "name alone",
        ),
        (
            dispatch(
                "command = 'a'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'guest'\n\
                 machine = { option = ['--id='], kind = 'vm-name' }\n",
            ),
            "name alone",
        ),
        (
            dispatch(
                "command = 'a'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'guest'\n\
                 machine = { option = ['--id'], scope = ['--zone='], kind = 'vm-name' }\n",
            ),
            "name alone",
        ),
        (good.replace("'guest'", "'dispatch'"), "no `dispatch` table"),
        (
            format!("{good}machine = {{ arguments = ['h'], kind = 'host' }}\n"),
            "host",
        ),
        (format!("{good}surprise = 1\n"), "surprise"),
        (dispatch("tool = 'a'\n"), "either"),
        (dispatch("command = 'a'\n"), "no commands"),
        (
            format!("{good}[[tools.rules]]\nargument = 'c'\nequals = true\nclass = 'read'\nbecause = 'b'\n"),
            "enforced",
        ),
        (
            format!(
                "{good}[[tools.rules]]\nargument = 'c'\nequals = true\nclass = 'read'\nbecause = 'b'\nenforced = ' '\n"
            ),
            "enforced",
        ),
        (
            format!(
                "{good}[[tools.rules]]\nargument = 'c'\nequals = true\nrepeated_in = 'l'\nclass = 'read'\n\
                 because = 'b'\nenforced = 's.py'\n"
            ),
            "repeated_in",
        ),
        (
            dispatch("command = 'a'\n[[tools.dispatch.commands]]\nwords = ['*']\nclass = 'read'\n"),
            "command word",
        ),
        (
            dispatch("command = 'a'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'dispatch'\n"),
            "itself",
        ),
        (
            dispatch(
                "command = 'a'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'read'\noptions = ['-a']\n",
            ),
            "changes no machine",
        ),
        (
            dispatch(
                "command = 'a'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'guest'\noptions = ['a']\n",
            ),
            "not an option",
        ),
        (
            dispatch(
                "command = 'a'\nexact = true\nprogram = 'p'\n[[tools.dispatch.commands]]\nwords = ['x']\nclass = 'read'\n",
            ),
            "exact",
        ),
    ];
    for (text, named) in faults {
        let why = check(&text).expect_err(named);
        assert!(why.contains(named), "{named}: {why}");
    }
}

#[test]
fn a_table_is_searched_by_alias_and_tool() {
    let catalog = |text: &str| prepare(toml::from_str(text).unwrap()).unwrap();
    let server = |aliases: &str, class: &str, names: &str| {
        catalog(&format!(
            "[server]\naliases = {aliases}\n[[tools]]\nclass = '{class}'\nnames = {names}\n"
        ))
    };
    let builtin = "[server]\naliases = ['cli']\nbuiltin = true\n[[tools]]\nclass = 'guest'\nnames = ['Run']\n\
                   machine = { kind = 'server-bound' }\n";
    let catalogs = [
        server("['b', 'a']", "read", "['x', 'w']"),
        server("['b']", "other", "['x']"),
        catalog(builtin),
    ];
    let table = Table::new(pack::table(&catalogs).leak());
    let classes = |alias: &str, tool: &str| -> Vec<Class> {
        table
            .servers(alias)
            .filter_map(|server| server.entry(tool))
            .map(|group| group.class)
            .collect()
    };
    assert_eq!(classes("a", "x"), [Class::Read]);
    assert_eq!(classes("b", "x"), [Class::Read, Class::Other]);
    assert_eq!(classes("b", "w"), [Class::Read]);
    for (alias, tool) in [
        ("", "x"),
        ("c", "x"),
        ("zz", "x"),
        ("a", ""),
        ("a", "v"),
        ("a", "xx"),
    ] {
        assert_eq!(classes(alias, tool), [], "{alias}/{tool}");
    }
    let builtins: Vec<_> = table.all().filter(|server| server.builtin()).collect();
    assert_eq!(builtins.len(), 1);
    assert_eq!(*builtins[0].aliases(), ["cli"]);
    let empty = Table::new(pack::table(&[]).leak());
    assert_eq!((empty.servers("a").count(), empty.all().count()), (0, 0));
}
