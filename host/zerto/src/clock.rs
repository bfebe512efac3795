//! The ZVM's own clock, and how it writes times.

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};
use tokio::time::Instant;

/// The ZVM's clock, read once and advanced by ours: nothing here depends on this machine's time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerClock {
    /// What the ZVM answered.
    pub(crate) time: OffsetDateTime,
    /// When it was asked. It looked at its clock later than that, by up to the time that the answer took.
    pub(crate) asked: Instant,
}

impl ServerClock {
    /// The ZVM's time at a moment of ours, before or after the reading. Where it is wrong it is too late, by less than the
    /// answer took: the ZVM is taken to have looked at its clock as it was asked.
    pub(crate) fn at(&self, moment: Instant) -> OffsetDateTime {
        let passed =
            |from, to: Instant| time::Duration::try_from(to.duration_since(from)).unwrap_or_default();
        self.time
            .saturating_add(passed(self.asked, moment))
            .saturating_sub(passed(moment, self.asked))
    }

    /// A time of the ZVM's that is certainly not before this moment of ours: whatever the journal dates to it, or later,
    /// was taken after the moment. The journal cuts times to the second, which makes a checkpoint look older and never
    /// younger. The clock's answer may be cut too, as far as it has zeros at its end, so that is added.
    pub(crate) fn not_before(&self, moment: Instant) -> OffsetDateTime {
        self.at(moment).saturating_add(self.granularity())
    }

    /// By how much less than the time the answer may show.
    fn granularity(&self) -> time::Duration {
        match self.time.nanosecond() {
            0 => time::Duration::SECOND,
            nanosecond if nanosecond % 1_000_000 == 0 => time::Duration::MILLISECOND,
            _ => time::Duration::MICROSECOND,
        }
    }

    /// The moment of ours at a time of the ZVM's; none where that is too long ago for us to have one.
    pub(crate) fn moment(&self, time: OffsetDateTime) -> Option<Instant> {
        let since = time - self.time;
        let distance = since.unsigned_abs();
        if since.is_negative() {
            self.asked.checked_sub(distance)
        } else {
            self.asked.checked_add(distance)
        }
    }
}

/// Reads a time as Zerto writes it: RFC 3339 in 10.x, sometimes without a zone (UTC then), `/Date(1520423877045)/` in
/// old releases.
pub(crate) fn parse(text: &str) -> Option<OffsetDateTime> {
    let text = text.trim();
    let time = if let Some(rest) = text.strip_prefix("/Date(") {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        OffsetDateTime::from_unix_timestamp_nanos(digits.parse::<i128>().ok()?.checked_mul(1_000_000)?)
            .ok()?
    } else {
        OffsetDateTime::parse(text, &Rfc3339)
            .or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339))
            .ok()?
    };
    time.checked_to_offset(UtcOffset::UTC)
}

/// `2026-09-22T12:40:31.000Z`: RFC 3339, and one of the forms that Zerto's filters take.
pub(crate) fn format(time: OffsetDateTime) -> String {
    let time = time.checked_to_offset(UtcOffset::UTC).unwrap_or(time);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_zvms_is_a_moment_of_ours() {
        let clock = ServerClock {
            time: OffsetDateTime::UNIX_EPOCH,
            asked: Instant::now(),
        };
        for seconds in [-3, 0, 5] {
            let time = clock.time + time::Duration::seconds(seconds);
            assert_eq!(clock.at(clock.moment(time).unwrap()), time);
        }
    }

    #[test]
    fn no_checkpoint_from_before_a_moment_is_dated_after_it() {
        use std::time::Duration;
        let asked = Instant::now();
        let second = |time: OffsetDateTime| time.replace_nanosecond(0).unwrap();
        // The ZVM's true time as it is asked, how much later it looks at its clock, and what of that it shows.
        for start_ms in [0, 1, 400, 999] {
            for late_ms in [0, 3, 700, 2500] {
                for cut in [1_000_000_000, 1_000_000, 100] {
                    let truth = |ms: i64| OffsetDateTime::UNIX_EPOCH + time::Duration::milliseconds(ms);
                    let looked = truth(start_ms + late_ms);
                    let shown = looked.nanosecond() / cut * cut;
                    let time = looked.replace_nanosecond(shown).unwrap();
                    let clock = ServerClock { time, asked };
                    for began_ms in [0, 10, 1500] {
                        let began = asked + Duration::from_millis(began_ms);
                        let began_at = truth(start_ms + began_ms as i64);
                        for older_ms in [1, 5, 500, 1999, 10_000] {
                            let older = second(began_at - time::Duration::milliseconds(older_ms));
                            assert!(
                                older < clock.not_before(began),
                                "{start_ms} {late_ms} {cut} {older_ms}"
                            );
                        }
                        // And one that is later by two seconds and what the answer took always counts.
                        let later = second(began_at + time::Duration::milliseconds(2000 + late_ms));
                        assert!(
                            later >= clock.not_before(began),
                            "{start_ms} {late_ms} {cut} {began_ms}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_form_of_a_time_is_the_same_time() {
        for text in [
            "2018-03-07T12:31:17.045Z",
            "2018-03-07T12:31:17.0450000Z",
            "2018-03-07T14:31:17.045+02:00",
            "2018-03-07T12:31:17.045",
            "/Date(1520425877045)/",
            "/Date(1520425877045+0000)/",
        ] {
            let time = parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(format(time), "2018-03-07T12:31:17.045Z", "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in [
            "",
            "Z",
            "yesterday",
            "/Date()/",
            "/Date(99999999999999999999999999)/",
            "2018-13-07T12:31:17Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_ends_of_time_do_not_panic() {
        for text in ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"] {
            let _ = parse(text).map(format);
        }
    }
}
