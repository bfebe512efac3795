//! What a journal tells, and how often and how long it is worth asking. Pure.

use std::time::Duration;

use time::OffsetDateTime;

use crate::clock;
use crate::wire::Entry;

/// How far back a journal is read, from the moment of the insert: enough to tell the cadence of a VPG whose checkpoints
/// are minutes apart.
const LOOK_BACK: time::Duration = time::Duration::minutes(10);
/// A cadence is told from this many gaps at most, the latest, and from two at least.
const MOST_GAPS: usize = 20;
const FEWEST_GAPS: usize = 2;
const SHORTEST_INTERVAL: Duration = Duration::from_millis(200);
const LONGEST_INTERVAL: Duration = Duration::from_secs(6);
/// The longest pause where a checkpoint is due.
const LONGEST_CLOSE_INTERVAL: Duration = Duration::from_secs(1);

/// The `startDate` for a journal that is asked at this time of the ZVM's.
pub(crate) fn start_date(server_time: OffsetDateTime) -> String {
    clock::format(server_time.saturating_sub(LOOK_BACK))
}

/// The entry with exactly this tag.
pub(crate) fn find<'a>(entries: &'a [Entry], tag: &str) -> Option<&'a Entry> {
    entries.iter().find(|entry| entry.tag.as_deref() == Some(tag))
}

/// How far apart the checkpoints are: the median of the latest gaps.
pub(crate) fn cadence(entries: &[Entry]) -> Option<Duration> {
    let mut times: Vec<_> = entries.iter().filter_map(|entry| entry.time).collect();
    times.sort_unstable();
    times.dedup();
    let latest = &times[times.len().saturating_sub(MOST_GAPS + 1)..];
    let mut gaps: Vec<Duration> = latest
        .windows(2)
        .filter_map(|pair| Duration::try_from(pair[1] - pair[0]).ok())
        .collect();
    if gaps.len() < FEWEST_GAPS {
        return None;
    }
    gaps.sort_unstable();
    Some(gaps[gaps.len() / 2])
}

/// The time of the latest checkpoint.
pub(crate) fn latest(entries: &[Entry]) -> Option<OffsetDateTime> {
    entries.iter().filter_map(|entry| entry.time).max()
}

/// How far away the next checkpoint is that the cadence promises; one of the two is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    pub(crate) left: Duration,
    pub(crate) overdue: Duration,
}

/// The pause before the journal is asked again.
///
/// A checkpoint is noticed within a tenth of the cadence (9 % and a round trip) or 250 ms, whichever is longer; it need
/// not wait for the VPG's next one. Around the moment for which that one is promised it is looked for more often: times
/// are to the second, so the promise is kept within one, or a tenth of the cadence.
pub(crate) fn interval(elapsed: Duration, cadence: Option<Duration>, until: Option<Until>) -> Duration {
    let Some(cadence) = cadence else {
        return elapsed.mul_f64(0.07).clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
    };
    let usual = cadence
        .mul_f64(0.09)
        .min(elapsed / 2)
        .clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
    let close = cadence
        .mul_f64(0.02)
        .clamp(SHORTEST_INTERVAL, LONGEST_CLOSE_INTERVAL);
    match until {
        Some(until) if until.left.is_zero() && until.overdue <= Duration::from_secs(1).max(cadence / 10) => {
            close.min(usual)
        }
        Some(until) if !until.left.is_zero() => usual.min(until.left.max(close)),
        _ => usual,
    }
}

/// The pause after this many failures in a row, longer each time.
pub(crate) fn back_off(interval: Duration, failures: u32) -> Duration {
    interval.max(Duration::from_millis(125).saturating_mul(1 << failures.min(5)))
}

/// How long to wait for a checkpoint after its insert: what cannot have surfaced after three cadences will not.
pub(crate) fn longest_wait(cadence: Option<Duration>, cap: Duration) -> Duration {
    let known = cadence.map(|cadence| cadence.saturating_mul(3).saturating_add(Duration::from_secs(30)));
    known.map_or(cap, |wait| wait.min(cap))
}

/// How long to look for the checkpoint of an insert whose answer was lost, before it is sent again.
pub(crate) fn lost_wait(cadence: Option<Duration>, left: Duration) -> Duration {
    let longest = Duration::from_secs(30);
    cadence
        .unwrap_or(longest)
        .clamp(Duration::from_secs(3), longest)
        .min(left / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A journal with checkpoints at these milliseconds.
    fn at(times: &[i64]) -> Vec<Entry> {
        let entry = |&time: &i64| Entry {
            identifier: None,
            tag: Some(format!("tag {time}")),
            time: Some(OffsetDateTime::UNIX_EPOCH + time::Duration::milliseconds(time)),
        };
        times.iter().map(entry).collect()
    }

    #[test]
    fn the_cadence_is_the_median_gap() {
        assert_eq!(
            cadence(&at(&[0, 5000, 10_000, 60_000, 65_000, 70_000])),
            Some(ms(5000))
        );
        assert_eq!(
            cadence(&at(&[70_000, 0, 10_000, 5000, 10_000, 15_000])),
            Some(ms(5000))
        );
    }

    #[test]
    fn the_cadence_is_a_recent_one() {
        let mut times: Vec<i64> = (0..100).map(|n| n * 1000).collect();
        times.extend((1..=20).map(|n| 99_000 + n * 8000));
        assert_eq!(cadence(&at(&times)), Some(ms(8000)));
    }

    #[test]
    fn too_few_checkpoints_have_no_cadence() {
        assert_eq!(cadence(&[]), None);
        assert_eq!(cadence(&at(&[0, 5000, 5000])), None);
        let timeless = Entry {
            identifier: None,
            tag: None,
            time: None,
        };
        assert_eq!(cadence(&vec![timeless; 9]), None);
    }

    #[test]
    fn only_the_exact_tag_is_found() {
        let entries = at(&[1, 2]);
        assert_eq!(find(&entries, "tag 2"), Some(&entries[1]));
        for other in ["tag", "TAG 2", "tag 2 ", "", "tag 22"] {
            assert_eq!(find(&entries, other), None, "{other}");
        }
    }

    #[test]
    fn a_checkpoint_is_noticed_within_a_tenth_of_the_cadence() {
        let until = |left, overdue| {
            Some(Until {
                left: ms(left),
                overdue: ms(overdue),
            })
        };
        for cadence in [1, 200, 2500, 3000, 5000, 30_000, 80_000, 128_000, 600_000] {
            let allowed = ms(cadence / 10).max(ms(250));
            for elapsed in [0, 100, 5000, 100_000, 3_000_000] {
                for until in [
                    None,
                    until(cadence / 2, 0),
                    until(1, 0),
                    until(0, 500),
                    until(0, 900_000),
                ] {
                    let pause = interval(ms(elapsed), Some(ms(cadence)), until);
                    assert!(
                        pause < allowed && pause >= SHORTEST_INTERVAL && pause <= LONGEST_INTERVAL,
                        "{cadence} {elapsed} {until:?}: {pause:?}"
                    );
                }
            }
        }
        assert_eq!(interval(ms(10_000), None, None), ms(700));
        assert_eq!(interval(ms(300), Some(ms(128_000)), None), SHORTEST_INTERVAL);
        // A cadence of 5 s: long pauses, then up to the promised moment, then short ones, then as before.
        let five = |until| interval(ms(4000), Some(ms(5000)), until);
        assert_eq!(five(until(2000, 0)), ms(450));
        assert_eq!(five(until(300, 0)), ms(300));
        assert_eq!(five(until(20, 0)), SHORTEST_INTERVAL);
        assert_eq!(five(until(0, 900)), SHORTEST_INTERVAL);
        assert_eq!(five(until(0, 1100)), ms(450));
    }

    #[test]
    fn failures_are_spaced() {
        assert_eq!(back_off(ms(200), 1), ms(250));
        assert_eq!(back_off(ms(200), 4), ms(2000));
        assert_eq!(back_off(ms(6000), 1), ms(6000));
    }

    #[test]
    fn waits_are_capped() {
        let cap = Duration::from_secs(300);
        assert_eq!(longest_wait(None, cap), cap);
        assert_eq!(longest_wait(Some(ms(5000)), cap), ms(45_000));
        assert_eq!(longest_wait(Some(ms(128_000)), cap), cap);
        assert_eq!(longest_wait(Some(Duration::MAX), cap), cap);
        assert_eq!(lost_wait(Some(ms(200)), cap), ms(3000));
        assert_eq!(lost_wait(Some(ms(9000)), cap), ms(9000));
        assert_eq!(lost_wait(Some(ms(128_000)), cap), ms(30_000));
        assert_eq!(lost_wait(None, ms(30_000)), ms(10_000));
    }

    #[test]
    fn a_journal_is_read_from_ten_minutes_back() {
        assert_eq!(start_date(OffsetDateTime::UNIX_EPOCH), "1969-12-31T23:50:00.000Z");
    }
}
