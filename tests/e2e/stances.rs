//! The pages' table of failures has a row for each kind of fault, and each of its rows is held by tests that there are.
//!
//! The table is for users and names no tests; `stances.toml` beside this file says which hold which row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use holdpoint_runtime::verdict::FaultKind;
use test_support::{files, repository};

const PAGE: &str = include_str!("../../docs/stances.md");
const MODULES: &str = include_str!("main.rs");

/// The column by which rows are told apart.
const WHAT: &str = "what happened";
/// The section of `stances.toml` for what the page says outside of its tables.
const TEXT: &str = "text";
/// Tests of the packages below `host/`, by their name alone: they move with what they test.
const HOST: &str = "host";

/// One row of a table: its section, and its cells by the names of their columns.
struct Row {
    section: &'static str,
    cells: BTreeMap<&'static str, &'static str>,
}

impl Row {
    fn what(&self) -> Option<&'static str> {
        self.cells.get(WHAT).copied()
    }
}

/// Sections, the beginnings of their rows, and the tests that hold each.
fn held() -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
    toml::from_str(include_str!("stances.toml")).unwrap()
}

fn cells(line: &'static str) -> Vec<&'static str> {
    let line = line.strip_prefix('|').unwrap();
    let line = line.trim_end().strip_suffix('|').expect(line);
    assert!(!line.contains("\\|"), "a cell holds a bar: {line}");
    line.split('|').map(str::trim).collect()
}

fn rows() -> Vec<Row> {
    let (mut section, mut header) = ("", None);
    let mut rows = Vec::new();
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading;
        }
        if !line.starts_with('|') {
            header = None;
            continue;
        }
        let cells = cells(line);
        let Some(columns) = &header else {
            header = Some(cells);
            continue;
        };
        assert_eq!(columns.len(), cells.len(), "{line}");
        if !cells.iter().all(|cell| cell.chars().all(|letter| letter == '-')) {
            let cells = columns.iter().copied().zip(cells).collect();
            rows.push(Row { section, cells });
        }
    }
    rows
}

/// The names of the tests in a source.
fn tests(source: &str) -> BTreeSet<&str> {
    let lines = source.lines().map(str::trim_start).zip(source.lines().skip(1));
    lines
        .filter(|(line, _)| matches!(*line, "#[test]" | "#[tokio::test]"))
        .filter_map(|(_, next)| {
            let next = next.trim_start();
            let function = next.strip_prefix("async ").unwrap_or(next).strip_prefix("fn ")?;
            function.split_once('(').map(|(name, _)| name)
        })
        .collect()
}

#[test]
fn the_table_has_the_kinds_of_fault_that_the_code_has() {
    let rows = rows();
    let kinds = rows.iter().filter_map(|row| row.cells.get("kind"));
    let named: BTreeSet<&str> = kinds.flat_map(|cell| cell.split(", ")).collect();
    let kinds: Vec<String> = FaultKind::ALL
        .iter()
        .map(|kind| format!("`{}`", kind.word()))
        .collect();
    assert_eq!(named, kinds.iter().map(String::as_str).collect());
    for kind in kinds {
        let own = rows
            .iter()
            .any(|row| row.cells.get("kind") == Some(&kind.as_str()));
        assert!(own, "{kind} has no row of its own");
    }
}

#[test]
fn every_row_is_held_by_tests() {
    let (rows, held) = (rows(), held());
    assert!(rows.iter().filter(|row| row.what().is_some()).count() > 80);
    for row in &rows {
        let Some(what) = row.what() else { continue };
        let beginnings = held.get(row.section).into_iter().flatten();
        let tests: Vec<_> = beginnings
            .filter(|(begins, _)| what.starts_with(begins.as_str()))
            .collect();
        assert_eq!(tests.len(), 1, "{}: {what}: {tests:?}", row.section);
    }
    for (section, entries) in held.iter().filter(|(section, _)| *section != TEXT) {
        for begins in entries.keys() {
            let mut fitting = rows.iter().filter(|row| row.section == section);
            let fits = |row: &Row| row.what().is_some_and(|what| what.starts_with(begins.as_str()));
            assert!(fitting.any(fits), "no row of {section} begins so: {begins}");
        }
    }
}

#[test]
fn what_is_said_outside_of_the_tables_is_held_by_tests() {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in held()[TEXT].keys() {
        assert!(page.contains(said.as_str()), "{said}");
    }
}

#[test]
fn every_test_that_holds_a_row_is_there() {
    let read = |file: &Path| fs::read_to_string(repository().join(file));
    let elsewhere = files("host", "rs");
    let elsewhere: Vec<String> = elsewhere.iter().map(|file| read(file).unwrap()).collect();
    let elsewhere: BTreeSet<&str> = elsewhere.iter().flat_map(|source| tests(source)).collect();
    let held = held();
    let named = held.values().flat_map(BTreeMap::iter);
    for (what, tests_of) in named {
        assert!(!tests_of.is_empty(), "no test holds: {what}");
        for name in tests_of {
            let (module, test) = name.split_once("::").expect(name);
            if module == HOST {
                assert!(elsewhere.contains(test), "{name}");
                continue;
            }
            assert!(MODULES.contains(&format!("\nmod {module};\n")), "{name}");
            let source = read(format!("tests/e2e/{module}.rs").as_ref()).expect(name);
            assert!(tests(&source).contains(test), "{name}");
        }
    }
}

#[test]
fn the_page_for_users_names_no_tests() {
    let named = PAGE.split('`').find(|word| word.contains("::"));
    assert_eq!(named, None);
}
