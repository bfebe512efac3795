//! Links between documents, and the book's table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::page::{anchors, prose, targets};
use crate::{files, read, repository};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Where a link from a page leads, relative to the repository; `None` where it leaves it.
fn resolved(page: &Path, target: &str) -> Option<PathBuf> {
    let mut path = page.parent().unwrap().to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// What is wrong with a link.
fn wrong(page: &Path, target: &str, pages: &BTreeMap<PathBuf, BTreeSet<String>>) -> Option<&'static str> {
    if ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
    {
        return None;
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let path = if file.is_empty() {
        page.to_owned()
    } else {
        let Some(path) = resolved(page, file) else {
            return Some("it leaves the repository");
        };
        path
    };
    if !repository().join(&path).exists() {
        return Some("nothing is there");
    }
    if path.starts_with("target") || path.starts_with("book") {
        return Some("that is there after a build only");
    }
    let markdown = path.extension().is_some_and(|extension| extension == "md");
    if page.starts_with("docs") && markdown && !path.starts_with("docs") {
        // mdBook takes it for a page of the book, and makes it end in .html.
        return Some("it leads out of the book to a Markdown file; name its folder instead");
    }
    match anchor {
        Some(anchor) if !pages.get(&path).is_some_and(|anchors| anchors.contains(anchor)) => {
            Some("the page has no such heading")
        }
        _ => None,
    }
}

#[test]
fn every_link_leads_to_something() {
    let pages: BTreeMap<_, _> = files("", "md")
        .into_iter()
        .map(|page| {
            let anchors = anchors(&read(&page));
            (page, anchors)
        })
        .collect();
    let (mut links, mut broken) = (0, Vec::new());
    for page in pages.keys() {
        for (number, line) in prose(&read(page)) {
            for target in targets(line) {
                links += 1;
                if let Some(why) = wrong(page, &target, &pages) {
                    broken.push(format!("{}:{number}: {target}: {why}", page.display()));
                }
            }
        }
    }
    assert!(links > 150, "only {links} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let contents = read(Path::new(SUMMARY));
    let listed: Vec<_> = contents.lines().flat_map(targets).collect();
    let mut sorted = listed.clone();
    sorted.sort();
    let there: Vec<_> = files("docs", "md")
        .into_iter()
        .filter(|page| page != Path::new(SUMMARY))
        .map(|page| page.strip_prefix("docs").unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(sorted, there);
}

#[test]
fn every_page_begins_with_its_only_title() {
    for page in files("docs", "md") {
        let text = read(&page);
        let titles = prose(&text)
            .into_iter()
            .filter(|(_, line)| line.starts_with("# "));
        let titles: Vec<_> = titles.map(|(number, _)| number).collect();
        // The table of contents has a title for each of its parts.
        if page != Path::new(SUMMARY) {
            assert_eq!(titles, [1], "{}", page.display());
        }
    }
}

#[test]
fn pages_that_the_program_names_are_there() {
    let mut named = BTreeSet::new();
    for file in files("host", "rs") {
        let source = read(&file);
        for (start, _) in source.match_indices("docs/") {
            let rest = &source[start..];
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"/.-_".contains(letter));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            if name.ends_with(".md") {
                named.insert((name.to_owned(), file.clone()));
            }
        }
    }
    assert!(named.len() > 10);
    for (name, file) in named {
        assert!(repository().join(&name).is_file(), "{}: {name}", file.display());
    }
}

#[test]
fn broken_links_are_found() {
    let page = Path::new("docs/glossary.md");
    let mut pages = BTreeMap::new();
    pages.insert(page.to_owned(), BTreeSet::from(["a-heading".to_owned()]));
    pages.insert("docs/formats.md".into(), BTreeSet::new());
    let wrong = |target| wrong(page, target, &pages);
    for fine in [
        "#a-heading",
        "formats.md",
        "../wit/policy.wit",
        "../catalogs",
        "https://example.com/x#y",
    ] {
        assert_eq!(wrong(fine), None, "{fine}");
    }
    for (target, why) in [
        ("#another", "the page has no such heading"),
        ("formats.md#exit", "the page has no such heading"),
        ("../wit/policy.wit#L1", "the page has no such heading"),
        ("nowhere.md", "nothing is there"),
        ("../../elsewhere", "it leaves the repository"),
        ("/etc/passwd", "it leaves the repository"),
        (
            "../README.md",
            "it leads out of the book to a Markdown file; name its folder instead",
        ),
    ] {
        assert_eq!(wrong(target), Some(why), "{target}");
    }
}
