//! A Markdown page, as far as these tests have to understand it.

use std::collections::BTreeSet;

/// A page without its blocks of code: line by line, each with its number from 1.
pub(crate) fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fence = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let start = line.trim_start();
        match fence {
            Some(end) => {
                if start.starts_with(end) {
                    fence = None;
                }
            }
            None if start.starts_with("```") => fence = Some("```"),
            None if start.starts_with("~~~") => fence = Some("~~~"),
            None => lines.push((number, line)),
        }
    }
    lines
}

/// A line without what stands between backticks, which are kept.
pub(crate) fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let Some(code) = parts.next() {
        text.push('`');
        match parts.next() {
            Some(after) => {
                text.push('`');
                text.push_str(after);
            }
            // A backtick without a partner begins no code.
            None => text.push_str(code),
        }
    }
    text
}

/// The targets of the links and pictures in a line, and of the definitions of links.
pub(crate) fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut found = Vec::new();
    let mut rest = line.as_str();
    while let Some((_, after)) = rest.split_once("](") {
        let (target, after) = after.split_once(')').unwrap_or((after, ""));
        let target = target.split_whitespace().next().unwrap_or_default();
        found.push(target.trim_matches(['<', '>']).to_owned());
        rest = after;
    }
    if let Some((label, target)) = line.split_once("]: ")
        && label.starts_with('[')
    {
        found.push(target.trim().to_owned());
    }
    found
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let Some(title) = title.strip_prefix(' ').filter(|_| line.starts_with('#')) else {
            continue;
        };
        let anchor = anchor(title);
        let mut unused = anchor.clone();
        let mut count = 0;
        while anchors.contains(&unused) {
            count += 1;
            unused = format!("{anchor}-{count}");
        }
        anchors.insert(unused);
    }
    anchors
}

fn anchor(title: &str) -> String {
    let mut shown = String::new();
    let mut rest = title.trim();
    // Of a link, its text is shown.
    while let Some((before, after)) = rest.split_once("](") {
        shown.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
        .to_lowercase()
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        })
        .collect()
}

#[test]
fn anchors_are_those_that_github_makes() {
    let text = "# What `--fix` does\n## 1. Get it!\n## 1. Get it!\n```\n# no heading\n```\n#no heading\n## [A](b.md#c) d_e\n";
    let wanted = ["what---fix-does", "1-get-it", "1-get-it-1", "a-d_e"];
    assert_eq!(anchors(text), wanted.map(str::to_owned).into());
}

#[test]
fn links_are_found_outside_of_code() {
    let line = "See [a](b.md#c), ![d](<e.png> \"f\") and `[g](h)`; [`i`](../j).";
    assert_eq!(targets(line), ["b.md#c", "e.png", "../j"]);
    assert_eq!(targets("[k]: l.md"), ["l.md"]);
    let text = "a\n```sh\n[b](c)\n```\nd";
    assert_eq!(prose(text), [(1, "a"), (5, "d")]);
}
