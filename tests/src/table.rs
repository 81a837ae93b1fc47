//! Rows that `kubectl get` prints for one object.

use std::collections::BTreeMap;

/// The cells of a table with one line, by the names of their columns: each starts below its name.
/// Empty where nothing was found.
///
/// # Panics
/// Never: every name comes from the table itself.
pub fn columns(table: &str) -> BTreeMap<String, String> {
    let mut lines = table.lines();
    let (Some(head), Some(line)) = (lines.next(), lines.next()) else {
        return BTreeMap::new();
    };
    let names: Vec<&str> = head.split_whitespace().collect();
    let mut from = 0;
    let starts: Vec<usize> = names
        .iter()
        .map(|name| {
            let start = from + head[from..].find(name).expect("a name is in its head");
            from = start + name.len();
            start
        })
        .collect();
    let cell = |index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(line.len());
        line.get(starts[index]..end.min(line.len()))
            .unwrap_or_default()
    };
    let cells = names.iter().enumerate();
    cells
        .map(|(index, name)| ((*name).to_owned(), cell(index).trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cell_is_not_mistaken_for_its_neighbour() {
        let table = "NAME   STATUS     RUNNING   MIN\necho   Creating             0\n";
        let cells = columns(table);
        let expected = [
            ("MIN", "0"),
            ("NAME", "echo"),
            ("RUNNING", ""),
            ("STATUS", "Creating"),
        ];
        let expected = expected.map(|(name, cell)| (name.to_owned(), cell.to_owned()));
        assert_eq!(cells, BTreeMap::from(expected));
    }

    #[test]
    fn no_object_has_no_cells() {
        assert!(columns("").is_empty());
    }
}
