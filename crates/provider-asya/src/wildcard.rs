//! Templates of names, in which `*` matches any text.

/// Returns whether `text` matches `template`, in which `*` matches any text.
pub(crate) fn is_match(template: &str, text: &str) -> bool {
    let Some((start, rest)) = template.split_once('*') else {
        return template == text;
    };
    let Some(mut text) = text.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    // The first match of each part leaves the longest rest to the next ones.
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(end)
}
