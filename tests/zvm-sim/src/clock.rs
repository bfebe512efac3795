//! The ZVM's clock, and dates as the API writes and reads them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::{Timestamp, civil::DateTime, tz::Offset};

use crate::scenario::Site;

/// The ZVM's clock. Times inside the simulation are milliseconds since its start; the wall clock is for the wire.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    /// The ZVM's wall clock at the start, in milliseconds since 1970.
    epoch_ms: i64,
    local: Offset,
}

impl Clock {
    pub(crate) fn new(site: &Site) -> Self {
        let machine = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let local = Offset::from_seconds(site.utc_offset_minutes.saturating_mul(60)).unwrap_or(Offset::UTC);
        Self {
            started: Instant::now(),
            epoch_ms: machine.as_millis() as i64 + site.clock_offset_seconds.saturating_mul(1000),
            local,
        }
    }

    /// Milliseconds since the start.
    pub(crate) fn now(&self) -> i64 {
        self.started.elapsed().as_millis() as i64
    }

    /// The times whose dates lie between two moments. Dates are whole seconds, as in Zerto's recorded answers, and a
    /// filter can only compare what is recorded: a checkpoint at 31.4 s is at 31 s for it.
    pub(crate) fn dated_between(&self, from: i64, to: i64) -> (i64, i64) {
        let second = |at: i64| self.second(at).saturating_mul(1000).saturating_sub(self.epoch_ms);
        (second(from.saturating_add(999)), second(to).saturating_add(999))
    }

    /// The whole second on the ZVM's clock of a time since the start.
    fn second(&self, at: i64) -> i64 {
        self.epoch_ms.saturating_add(at).div_euclid(1000)
    }

    /// A date as checkpoints and tasks carry it: UTC, to the second.
    pub(crate) fn date(&self, at: i64) -> String {
        format!("{}Z", text(self.second(at)))
    }

    /// The ZVM's clock as `/v1/serverDateTime/serverDateTimeUtc` gives it: UTC, with .NET's seven digits.
    pub(crate) fn utc_now(&self) -> String {
        let now = self.now();
        let fraction = (self.epoch_ms + now).rem_euclid(1000);
        format!("{}.{fraction:03}0000Z", text(self.second(now)))
    }

    /// Reads a date of a filter as milliseconds since the start; without `Z` it is the ZVM's local time.
    ///
    /// The forms are `yyyy-MM-ddTHH:mm:ss.fff`, `...ss`, `...mm`, `...HH`, `yyyy-MM-dd`, `yyyy-MM` and `yyyy`, each with
    /// `Z` or without.
    pub(crate) fn parse(&self, date: &str) -> Option<i64> {
        const REST: &str = "0001-01-01T00:00:00";
        let (civil, offset) = match date.strip_suffix(['Z', 'z']) {
            Some(civil) => (civil, Offset::UTC),
            None => (date, self.local),
        };
        let whole = match civil.len() {
            4 | 7 | 10 | 13 | 16 => format!("{civil}{}", REST.get(civil.len()..)?),
            _ => civil.to_owned(),
        };
        let moment = offset.to_timestamp(whole.parse::<DateTime>().ok()?).ok()?;
        Some(moment.as_millisecond() - self.epoch_ms)
    }
}

/// A second since 1970 in words, without the zone. Out of jiff's years only for an absurd clock offset.
fn text(second: i64) -> String {
    let moment = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock {
            started: Instant::now(),
            epoch_ms: 0,
            local: Offset::from_seconds(7200).unwrap(),
        }
    }

    #[test]
    fn every_documented_form_is_read() {
        let day = 24 * 3600 * 1000;
        let forms = [
            ("1970-01-02T03:04:05.678Z", day + 11_045_678),
            ("1970-01-02T03:04:05Z", day + 11_045_000),
            ("1970-01-02T03:04Z", day + 11_040_000),
            ("1970-01-02T03Z", day + 10_800_000),
            ("1970-01-02Z", day),
            ("1970-02Z", 31 * day),
            ("1971Z", 365 * day),
        ];
        for (form, expected) in forms {
            assert_eq!(clock().parse(form), Some(expected), "{form}");
            let local = form.trim_end_matches('Z');
            assert_eq!(clock().parse(local), Some(expected - 7_200_000), "{local}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "Z",
            "yesterday",
            "1970-13",
            "1970-01-02T25Z",
            "1970-01-02 03:04:05 +0000",
        ] {
            assert_eq!(clock().parse(text), None, "{text}");
        }
    }

    #[test]
    fn filters_compare_whole_seconds() {
        assert_eq!(clock().dated_between(31_000, 31_000), (31_000, 31_999));
        assert_eq!(clock().dated_between(31_001, 32_500), (32_000, 32_999));
    }

    #[test]
    fn dates_are_whole_seconds_in_utc() {
        assert_eq!(clock().date(61_999), "1970-01-01T00:01:01Z");
        assert_eq!(clock().date(-1), "1969-12-31T23:59:59Z");
    }
}
