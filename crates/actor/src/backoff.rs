//! Delays between the attempts of a retry policy. The provider makes retry queues for them, and the
//! sidecar waits by them, so both compute them here.

use std::time::Duration;

/// Attempts of the older form of a policy (`resiliency.retry`) where it gives none.
pub const DEFAULT_ATTEMPTS: u32 = 3;

/// Longest delay, whatever a policy gives: brokers keep messages for some days.
pub const MAX_DELAY: Duration = Duration::from_hours(24);

/// Growth of the delay from attempt to attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// Always the initial delay.
    Constant,
    /// The initial delay times the number of the attempt.
    Linear,
    /// The initial delay times the coefficient, once for each attempt after the first.
    #[default]
    Exponential,
}

/// The delays of a policy, without jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delays {
    /// Growth from attempt to attempt.
    pub growth: Growth,
    /// Delay before the second attempt.
    pub initial: Duration,
    /// The longest one, at most [`MAX_DELAY`].
    pub longest: Duration,
    /// Growth of an exponential delay, from 1 up.
    pub coefficient: f64,
}

impl Default for Delays {
    /// Defaults for what a policy leaves unset, in either of its forms.
    fn default() -> Self {
        Self {
            growth: Growth::Exponential,
            initial: Duration::from_secs(1),
            longest: Duration::from_mins(5),
            coefficient: 2.0,
        }
    }
}

impl Delays {
    /// Exponential delays between the two, of which one that is not given gives way to the other.
    #[must_use]
    pub fn within(initial: Option<Duration>, longest: Option<Duration>) -> Self {
        let defaults = Self::default();
        let (initial, longest) = match (initial, longest) {
            (Some(initial), Some(longest)) => (initial, longest),
            (Some(initial), None) => (initial, defaults.longest.max(initial)),
            (None, Some(longest)) => (defaults.initial.min(longest), longest),
            (None, None) => (defaults.initial, defaults.longest),
        };
        Self {
            initial,
            longest,
            ..defaults
        }
    }
}

impl Growth {
    /// All of them, with the names that policies have for them.
    pub const NAMES: [(&str, Self); 3] = [
        ("constant", Self::Constant),
        ("linear", Self::Linear),
        ("exponential", Self::Exponential),
    ];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, growth)| *growth)
    }
}

impl Delays {
    /// The delay after this attempt, counted from 1.
    pub fn after(&self, attempt: u32) -> Duration {
        let initial = self.initial.as_secs_f64();
        let steps = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = match self.growth {
            Growth::Constant => initial,
            Growth::Linear => initial * f64::from(attempt),
            Growth::Exponential => initial * self.coefficient.powi(steps),
        };
        let longest = self.longest.min(MAX_DELAY);
        // Also where no number is large enough: the smaller one of infinity and this.
        Duration::try_from_secs_f64(seconds.min(longest.as_secs_f64())).unwrap_or(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_as_the_policy_gives() {
        let cases = [
            (Growth::Constant, [2, 2, 2, 2]),
            (Growth::Linear, [2, 4, 6, 8]),
            (Growth::Exponential, [2, 4, 8, 15]),
        ];
        for (growth, expected) in cases {
            let delays = Delays {
                growth,
                initial: Duration::from_secs(2),
                longest: Duration::from_secs(15),
                ..Delays::default()
            };
            let found = [1, 2, 3, 4].map(|attempt| delays.after(attempt).as_secs());
            assert_eq!(found, expected, "{growth:?}");
            assert!(delays.after(5000).as_secs() <= 15, "no number is too large");
        }
    }

    #[test]
    fn no_delay_is_longer_than_a_day() {
        let delays = Delays {
            growth: Growth::Constant,
            initial: Duration::from_hours(100),
            longest: Duration::MAX,
            ..Delays::default()
        };
        assert_eq!(delays.after(1), MAX_DELAY);
    }
}
