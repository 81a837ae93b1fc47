//! Points in time, as Kubernetes writes them: RFC 3339, in UTC, to the second.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde::{Deserialize, Deserializer};

/// The beginning of 1970.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// A second, counted from 1970-01-01T00:00:00Z.
///
/// ```
/// use actor::health::Time;
///
/// let time: Time = "2026-01-01T00:01:40Z".parse()?;
/// assert_eq!(time, Time::from_seconds(1_767_225_700));
/// assert_eq!(time.to_string(), "2026-01-01T00:01:40Z");
/// # Ok::<(), actor::health::NotATime>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// Text that is not a time in UTC.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time such as \"2026-01-31T12:00:00Z\"")]
pub struct NotATime(String);

impl Time {
    /// The second that is so many after the beginning of 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds)
    }

    /// The time that is `wait` later, to the second.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(wait.as_secs()))
    }

    /// Returns the time until `then`; none if that is not in the future.
    pub fn until(self, then: Self) -> Option<Duration> {
        let seconds = u64::try_from(then.0.saturating_sub(self.0)).ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

impl FromStr for Time {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).ok_or_else(|| NotATime(text.to_owned()))
    }
}

/// Reads `YYYY-MM-DDThh:mm:ssZ`; a fraction of a second is dropped. Other notations of the same time,
/// which jiff reads too, are refused: Kubernetes does not write them.
fn read(text: &str) -> Option<Time> {
    let text = text.strip_suffix('Z')?;
    let whole = match text.split_once('.') {
        Some((whole, fraction)) => {
            let is_number = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
            is_number.then_some(whole)?
        }
        None => text,
    };
    let time: DateTime = whole.parse().ok()?;
    let time = Time(EPOCH.duration_until(time).as_secs());
    (time.to_string().strip_suffix('Z') == Some(whole)).then_some(time)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Times outside of the calendar's four-digit years are cut to its last day.
        let time = EPOCH.saturating_add(SignedDuration::from_secs(self.0));
        write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00Z", "the first"),
            (951_782_400, "2000-02-29T00:00:00Z", "a leap day"),
            (951_868_800, "2000-03-01T00:00:00Z", "the day after it"),
            (1_772_323_199, "2026-02-28T23:59:59Z", "no leap day"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "no leap year"),
        ];
        for (seconds, text, reason) in cases {
            assert_eq!(Time(seconds).to_string(), text, "{reason}");
            assert_eq!(text.parse(), Ok(Time(seconds)), "{reason}");
        }
    }

    #[test]
    fn times_in_other_formats_are_refused() {
        for text in [
            "",
            "now",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+01:00",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-1-1T00:00:00Z",
            "2026-01-01T+1:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<Time>(), Err(NotATime(text.to_owned())));
        }
        let whole: Time = "2026-01-01T00:00:00.123456Z".parse().unwrap();
        assert_eq!(whole.to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn only_the_future_is_waited_for() {
        let (early, late) = (Time(10), Time(70));
        assert_eq!(early.until(late), Some(Duration::from_mins(1)));
        assert_eq!(early.until(early), None);
        assert_eq!(late.until(early), None);
        assert_eq!(early.after(Duration::from_mins(1)), late);
    }

    proptest! {
        #[test]
        fn every_time_is_read_as_it_is_written(seconds in 0..253_402_300_800_i64) {
            let time = Time(seconds);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
