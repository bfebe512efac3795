//! Moments in UTC, to the millisecond.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The last millisecond of the year 9999, beyond which RFC 3339 has no words.
const LAST: u64 = 253_402_300_799_999;

/// A moment, to the millisecond. Written as RFC 3339 with three digits after the second, always: so the order of the
/// texts is the order of the moments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// A text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a time is written like 2027-01-31T12:00:00Z, and lies between 1970 and 9999")]
pub struct NotAMoment;

impl Moment {
    /// This moment, by the machine's clock. A clock that stands before 1970 counts as 1970.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(LAST))
    }

    /// So many milliseconds after the beginning of 1970; at most the end of 9999.
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(if millis < LAST { millis } else { LAST })
    }

    /// Milliseconds since the beginning of 1970.
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// So much later.
    pub(crate) const fn plus(self, duration: Duration) -> Self {
        Self::from_unix_millis(self.0.saturating_add(duration.as_millis() as u64))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = OffsetDateTime::UNIX_EPOCH + Duration::from_millis(self.0);
        let (date, time) = (at.date(), at.time());
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Moment {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| NotAMoment)?;
        match u64::try_from(at.unix_timestamp_nanos() / 1_000_000) {
            Ok(millis) if millis <= LAST => Ok(Self(millis)),
            _ => Err(NotAMoment),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
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
            "1970-01-01T00:00:00.000Z",
            "2027-01-31T12:34:56.007Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), text);
        }
        let read = "2027-01-31T13:34:56.0079+01:00".parse::<Moment>().unwrap();
        assert_eq!(read.to_string(), "2027-01-31T12:34:56.007Z");
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in ["", "tomorrow", "2027-01-31", "1969-12-31T23:59:59Z"] {
            assert_eq!(text.parse::<Moment>(), Err(NotAMoment), "{text}");
        }
    }
}
