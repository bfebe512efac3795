//! Times on the command line, and which calls are wanted.

use std::time::Duration;

use clap::Args;
use holdpoint_receipts::Moment;

/// A moment, or how long ago: `2h`, `3d`, `2027-01-31T12:00:00Z`.
pub(super) fn when(text: &str) -> Result<Moment, String> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    ago(text)
        .map(|ago| {
            let now = Moment::now().unix_millis();
            Moment::from_unix_millis(now.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
        })
        .ok_or_else(|| {
            "a time is a moment, like 2027-01-31T12:00:00Z, or how long ago it was: 30m, 2h, 3d, 1w"
                .to_owned()
        })
}

fn ago(text: &str) -> Option<Duration> {
    let at = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Which calls are wanted, for everything that lists them.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Wanted {
    /// Not before this time: 30m, 2h, 3d ago, or for example 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(super) since: Option<Moment>,
    /// Of this tool: mcp__esxi__powerOff, esxi/powerOff or powerOff; * stands for any letters.
    #[arg(long, value_name = "NAME")]
    pub(super) tool: Option<String>,
    /// Only calls that were judged to change something: not those that passed without any machine or checkpoint.
    #[arg(long)]
    pub(super) changes: bool,
    /// At most this many, the newest.
    #[arg(long, value_name = "NUMBER")]
    pub(super) limit: Option<usize>,
}

impl Wanted {
    /// Whether anything is left out.
    pub(super) const fn narrows(&self) -> bool {
        self.since.is_some() || self.tool.is_some() || self.changes || self.limit.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_how_long_ago() {
        let now = Moment::now().unix_millis();
        let hours = |text: &str| (now + 500 - when(text).unwrap().unix_millis()) / 3_600_000;
        assert_eq!(
            (hours("0s"), hours("120m"), hours("2h"), hours("3d"), hours("1w")),
            (0, 2, 2, 72, 168)
        );
        let moment = "2027-01-31T12:00:00Z";
        assert_eq!(when(moment).unwrap(), moment.parse().unwrap());
        // Longer ago than there is time is the beginning of it.
        assert_eq!(when("99999999999d").unwrap().unix_millis(), 0);
        for wrong in [
            "",
            "h",
            "2",
            "2 h",
            "-2h",
            "2H",
            "2hours",
            "99999999999999999999d",
            "yesterday",
        ] {
            assert!(when(wrong).unwrap_err().contains("2h, 3d"), "{wrong}");
        }
    }
}
