//! Which items of two lists are the same.

/// Largest table that is filled to find the longest common subsequence. Beyond it,
/// everything between a common beginning and a common end counts as replaced.
const CELLS_MAX: usize = 16_000_000;

/// What becomes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// It is in both, at these indices.
    Both(usize, usize),
    /// It is in the old list alone.
    Old(usize),
    /// It is in the new list alone.
    New(usize),
}

/// Every item of both lists, in an order that is that of both. Of what stands between
/// the same neighbours the old comes first.
pub(super) fn align<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Pair> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let old_rest = &old_rest[..old_rest.len() - end];
    let new_rest = &new_rest[..new_rest.len() - end];
    let mut pairs: Vec<Pair> = (0..start).map(|index| Pair::Both(index, index)).collect();
    between(old_rest, new_rest, start, &mut pairs);
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    pairs.extend((0..end).map(|index| Pair::Both(old_end + index, new_end + index)));
    pairs
}

/// The longest common subsequence, and what is beside it.
fn between<T: PartialEq>(old: &[T], new: &[T], start: usize, pairs: &mut Vec<Pair>) {
    let width = new.len() + 1;
    let fits = (old.len() + 1)
        .checked_mul(width)
        .is_some_and(|cells| cells <= CELLS_MAX);
    // `longest[i * width + j]`: how many items `old[i..]` and `new[j..]` share.
    let mut longest = vec![0_u32; if fits { (old.len() + 1) * width } else { 0 }];
    if fits {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                longest[i * width + j] = if old[i] == new[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let is_old = match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if fits && a == b => {
                pairs.push(Pair::Both(start + i, start + j));
                (i, j) = (i + 1, j + 1);
                continue;
            }
            (Some(_), Some(_)) if fits => {
                longest[(i + 1) * width + j] >= longest[i * width + j + 1]
            }
            (first, _) => first.is_some(),
        };
        if is_old {
            pairs.push(Pair::Old(start + i));
            i += 1;
        } else {
            pairs.push(Pair::New(start + j));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `=a` for an item of both, `-a` and `+a` for one of the old and the new alone.
    fn shown(old: &str, new: &str) -> String {
        let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
        let pairs = align(&old, &new).into_iter().map(|pair| match pair {
            Pair::Both(i, j) => {
                assert_eq!(old[i], new[j]);
                format!("={}", old[i])
            }
            Pair::Old(i) => format!("-{}", old[i]),
            Pair::New(j) => format!("+{}", new[j]),
        });
        pairs.collect()
    }

    #[test]
    fn what_is_in_both_lists_is_found() {
        let cases = [
            ("", "", "", "nothing"),
            ("ab", "ab", "=a=b", "the same"),
            ("", "ab", "+a+b", "all new"),
            ("ab", "", "-a-b", "all gone"),
            (
                "abc",
                "axc",
                "=a-b+x=c",
                "one is replaced, the old comes first",
            ),
            ("abc", "xabc", "+x=a=b=c", "one more at the beginning"),
            ("abcd", "acbd", "=a-b=c+b=d", "one has moved"),
            (
                "xaybz",
                "paqbr",
                "-x+p=a-y+q=b-z+r",
                "neighbours of common items",
            ),
        ];
        for (old, new, expected, reason) in cases {
            assert_eq!(shown(old, new), expected, "{reason}");
        }
    }

    #[test]
    fn very_long_lists_are_replaced_as_a_whole() {
        let old: Vec<usize> = (0..5_000).collect();
        let new: Vec<usize> = (0..5_000).map(|number| (number + 2_500) % 5_000).collect();
        let pairs = align(&old, &new);
        assert_eq!(pairs.len(), 10_000);
        assert_eq!((pairs[0], pairs[9_999]), (Pair::Old(0), Pair::New(4_999)));
    }
}
