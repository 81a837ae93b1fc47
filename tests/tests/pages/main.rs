//! The pages are correct: commands run and print what is shown, manifests are valid, links lead
//! somewhere, and tables have all that the code has.
//!
//! Conventions of the pages, which these tests hold:
//! - a block of `sh` is run, in the order of the page, in a folder that has the repository's in it;
//!   a line that must fail ends with `# exits N`;
//! - a block of `text` behind it is what it prints; a line `...` stands for any number of lines;
//! - a block of `yaml` that begins with `# file: NAME` is written there;
//! - one that is no object names with `# part of: …` what it is;
//! - a block of `mermaid` parses.
//!
//! Other tests apply the manifests to a real API server.

mod commands;
mod diagrams;
mod links;
mod manifests;
mod mermaid;
mod tables;
