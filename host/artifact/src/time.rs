//! Points in time, to the second, in UTC.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The last second of the year 9999, beyond which RFC 3339 has no words.
const LAST: u64 = 253_402_300_799;

/// A point in time, to the second. Written and read as RFC 3339, for example `2027-01-31T12:00:00Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(u64);

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a time is written like 2027-01-31T12:00:00Z, and lies between 1970 and 9999")]
pub struct NotATime;

impl UtcTime {
    /// So many seconds after the beginning of 1970; at most the end of 9999.
    pub const fn from_unix(seconds: u64) -> Self {
        Self(if seconds < LAST { seconds } else { LAST })
    }

    /// Seconds since the beginning of 1970.
    pub const fn unix(self) -> u64 {
        self.0
    }

    /// So much later.
    pub const fn plus(self, duration: Duration) -> Self {
        Self::from_unix(self.0.saturating_add(duration.as_secs()))
    }
}

/// A clock that stands before 1970 counts as 1970.
impl From<SystemTime> for UtcTime {
    fn from(time: SystemTime) -> Self {
        Self::from_unix(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = OffsetDateTime::UNIX_EPOCH + Duration::from_secs(self.0);
        f.write_str(&time.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for UtcTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| NotATime)?;
        match u64::try_from(time.unix_timestamp()) {
            Ok(seconds) if seconds <= LAST => Ok(Self(seconds)),
            _ => Err(NotATime),
        }
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_is_written() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2027-01-31T12:34:56Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(text.parse::<UtcTime>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn offsets_and_fractions_become_seconds_in_utc() {
        let time = "2027-01-31T13:34:56.789+01:00".parse::<UtcTime>().unwrap();
        assert_eq!(time.to_string(), "2027-01-31T12:34:56Z");
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in [
            "",
            "tomorrow",
            "2027-01-31",
            "2027-02-30T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "9999-12-31T23:59:59-01:00",
        ] {
            assert_eq!(text.parse::<UtcTime>(), Err(NotATime), "{text}");
        }
    }

    #[test]
    fn stays_within_what_can_be_written() {
        let last = UtcTime::from_unix(u64::MAX).plus(Duration::MAX);
        assert_eq!(last.to_string(), "9999-12-31T23:59:59Z");
        assert_eq!(
            UtcTime::from(UNIX_EPOCH - Duration::from_secs(1)),
            UtcTime::from_unix(0)
        );
    }
}
