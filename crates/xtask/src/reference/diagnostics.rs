//! The page of diagnostics, from the table of codes.

use actor::diagnostic::{Code, Entry};

use super::page::Page;

/// Every code with its entry, grouped by subject.
pub(super) fn diagnostics() -> String {
    let mut page = Page::new("Diagnostics");
    page.text("Messages in an actor's conditions and events, and findings of `asya lint`, end with a code such as `[ASYA230]`. A code keeps its meaning in later versions; the text of a message may change. `asya explain ASYA230` prints an entry of this page, `asya lint -o json` has code, document and field of each finding.");
    let mut subject = "";
    for code in Code::ALL {
        if code.subject() != subject {
            subject = code.subject();
            page.heading(subject);
        }
        let Entry {
            title,
            cause,
            example,
            fix,
        } = code.entry();
        page.subheading(&format!("{code}: {title}"));
        page.text(cause);
        page.code("yaml", example);
        page.text(fix);
    }
    page.end()
}
