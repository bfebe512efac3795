//! Local times, beside UTC, where a person looks.

use holdpoint_receipts::Moment;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The zone of whoever looks; none where it is UTC, or not known.
pub(crate) struct Local(Option<TimeZone>);

impl Local {
    /// As the system, or `TZ`, has it.
    pub(crate) fn system() -> Self {
        let zone = TimeZone::try_system().ok();
        let now = Timestamp::now();
        Self(zone.filter(|zone| !zone.to_offset(now).is_zero()))
    }

    /// Whether there is a local time other than UTC.
    pub(crate) const fn differs(&self) -> bool {
        self.0.is_some()
    }

    /// Hour and minute.
    pub(crate) fn minute(&self, at: Moment) -> Option<String> {
        self.format(at, "%H:%M")
    }

    /// Day, time and offset.
    pub(crate) fn whole(&self, at: Moment) -> Option<String> {
        self.format(at, "%Y-%m-%d %H:%M:%S %:z")
    }

    fn format(&self, at: Moment, format: &str) -> Option<String> {
        let zone = self.0.clone()?;
        let at = Timestamp::from_millisecond(i64::try_from(at.unix_millis()).ok()?).ok()?;
        Some(at.to_zoned(zone).strftime(format).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_stands_beside_utc_only_where_it_differs() {
        let at: Moment = "2027-01-31T22:30:05Z".parse().unwrap();
        let tokyo = Local(Some(TimeZone::fixed(jiff::tz::offset(9))));
        assert_eq!(tokyo.minute(at).as_deref(), Some("07:30"));
        assert_eq!(tokyo.whole(at).as_deref(), Some("2027-02-01 07:30:05 +09:00"));
        assert_eq!(Local(None).minute(at), None);
        assert!(tokyo.differs() && !Local(None).differs());
    }
}
