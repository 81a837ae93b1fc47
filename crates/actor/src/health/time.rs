//! Points in time, as Kubernetes writes them: RFC 3339, in UTC, to the second.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

const SECONDS_PER_DAY: i64 = 86_400;

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

    /// How long it is until then; none where that is not in the future.
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

/// `YYYY-MM-DDThh:mm:ssZ`; a fraction of a second is left out.
fn read(text: &str) -> Option<Time> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let time = match time.split_once('.') {
        Some((whole, fraction)) => number(fraction).map(|_| whole)?,
        None => time,
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_valid = (1..=12).contains(&month)
        && (1..=length_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = days(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    is_valid.then_some(Time(seconds))
}

/// Three numbers of so many digits each.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (read, digits) in numbers.iter_mut().zip(digits) {
        *read = parts
            .next()
            .filter(|part| part.len() == digits)
            .and_then(number)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The value of one and more digits, of the first nine where there are more.
fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| {
        digits
            .bytes()
            .take(9)
            .fold(0, |value, byte| value * 10 + i64::from(byte - b'0'))
    })
}

fn length_of_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = (year + month / 12, month % 12 + 1);
    days(next_year, next_month, 1) - days(year, month, 1)
}

/// Days from 1970-01-01 to that date, by years that begin in March: the leap day is
/// then the last of a year, and months before it have lengths that repeat.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date so many days after 1970-01-01: the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_of_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_of_march + 2) / 5 + 1;
    let month = (month_of_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(SECONDS_PER_DAY));
        let second = self.0.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        let second = second % 60;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
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
    fn what_kubernetes_does_not_write_is_no_time() {
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
