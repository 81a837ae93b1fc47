//! Minimum, median and maximum of some rounds.

use std::fmt;
use std::time::Duration;

/// Results of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// That of `values`; zeros where there are none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        Self {
            least: at(0),
            median: at(values.len() / 2),
            most: at(values.len().saturating_sub(1)),
        }
    }
}

/// `median (least–most)`, with as many decimals as the formatter asks for.
impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = formatter.precision().unwrap_or(2);
        let Self {
            least,
            median,
            most,
        } = self;
        write!(
            formatter,
            "{median:.decimals$} ({least:.decimals$}–{most:.decimals$})"
        )
    }
}

/// The median of some times, in microseconds.
pub(crate) fn median_of(times: &[Duration]) -> f64 {
    Spread::of(times.iter().map(|time| microseconds(*time))).median
}

/// A time in microseconds.
pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let cases: [(&[f64], &str); 4] = [
            (&[], "0.0 (0.0–0.0)"),
            (&[2.0], "2.0 (2.0–2.0)"),
            (&[3.0, 1.0, 2.0], "2.0 (1.0–3.0)"),
            (&[4.0, 1.0, 2.0, 3.0], "3.0 (1.0–4.0)"),
        ];
        for (values, expected) in cases {
            let spread = Spread::of(values.iter().copied());
            assert_eq!(format!("{spread:.1}"), expected, "{values:?}");
        }
    }
}
