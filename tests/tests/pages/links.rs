//! Links between pages lead somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use tests::program::repository;

use tests::page::{Page, pages};

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut faults = Vec::new();
    let mut followed = 0;
    for page in pages() {
        for link in links(&page) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = target(&page.path, file);
            let path = repository().join(&target);
            if !path.exists() {
                faults.push(format!("{}: {link} is not there", page.path));
            } else if !heading.is_empty() {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let page_there = Page {
                    path: target.display().to_string(),
                    text,
                };
                if !headings(&page_there).contains(heading) {
                    faults.push(format!("{}: {link} has no such heading", page.path));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(followed >= 100, "only {followed} links were found");
}

#[test]
fn every_page_is_reached_from_the_first() {
    let all: BTreeMap<PathBuf, Page> = pages()
        .into_iter()
        .map(|page| (PathBuf::from(&page.path), page))
        .collect();
    let mut reached = BTreeSet::new();
    let mut next = vec![PathBuf::from("README.md")];
    while let Some(path) = next.pop() {
        let Some(page) = all.get(&path) else { continue };
        if reached.insert(path) {
            let links = links(page);
            let files = links.iter().filter_map(|link| link.split('#').next());
            next.extend(
                files
                    .filter(|file| !file.is_empty())
                    .map(|file| target(&page.path, file)),
            );
        }
    }
    let of_docs = all.keys().filter(|path| path.starts_with("docs"));
    let missing: Vec<&PathBuf> = of_docs.filter(|path| !reached.contains(*path)).collect();
    assert!(missing.is_empty(), "nothing leads to {missing:?}");
}

/// Returns the targets of a page's links.
fn links(page: &Page) -> Vec<String> {
    let mut links = Vec::new();
    for line in page.prose() {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((link, more)) = after.split_once(')') else {
                break;
            };
            links.push(link.to_owned());
            rest = more;
        }
    }
    links
}

/// The file behind a link of a page, in the repository.
fn target(page: &str, link: &str) -> PathBuf {
    if link.is_empty() {
        return PathBuf::from(page);
    }
    let folder = Path::new(page).parent().unwrap_or_else(|| Path::new(""));
    let mut target = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => {
                target.pop();
            }
            Component::Normal(name) => target.push(name),
            _ => {}
        }
    }
    target
}

/// The headings of a page, as links name them.
fn headings(page: &Page) -> BTreeSet<String> {
    let headings = page.prose().filter_map(|line| {
        let title = line.trim_start_matches('#');
        line.starts_with('#').then(|| title.trim())
    });
    headings
        .map(|title| {
            let letters = title.to_lowercase();
            let kept = letters
                .chars()
                .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter })
                .collect()
        })
        .collect()
}
