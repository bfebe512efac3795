//! A record in the host's place: the answers that one policy got, for another that asks the same.

use super::Source;
use super::{Answer, Asked, Captured, Exchange, Outcome, Seen};

/// The host as a record remembers it.
#[derive(Debug, Clone)]
pub struct RecordedAnswers {
    exchanges: Vec<(Exchange, bool)>,
    /// The last time that was told to be left, in milliseconds.
    left: Option<u64>,
}

impl RecordedAnswers {
    /// What these exchanges know.
    pub fn new(exchanges: Vec<Exchange>) -> Self {
        Self {
            exchanges: exchanges.into_iter().map(|exchange| (exchange, false)).collect(),
            left: None,
        }
    }

    /// The answer to the same question: the first that was not given yet, else the last that was.
    fn same(&mut self, asked: &Asked) -> Option<(Answer, u64)> {
        let is_it = |(exchange, _): &&mut (Exchange, bool)| exchange.asked == *asked;
        let fresh = self
            .exchanges
            .iter_mut()
            .find(|(exchange, given)| !given && exchange.asked == *asked);
        let (exchange, given) = match fresh {
            Some(fresh) => fresh,
            None => self.exchanges.iter_mut().rfind(is_it)?,
        };
        *given = true;
        Some((exchange.answer.clone(), exchange.ms))
    }

    /// What became of each VPG, whichever of them were captured together. One that nobody captured is taken to have been
    /// captured: what a policy would then say is the mildest that it can say.
    fn capture(&self, vpgs: &[String], tag: &str) -> (Answer, u64) {
        let mut slowest = 0;
        let results = vpgs.iter().map(|vpg| match self.captured(vpg, tag) {
            Some((captured, ms)) => {
                slowest = slowest.max(ms);
                captured
            }
            None => supposed(vpg, tag),
        });
        (Answer::Captured(results.collect()), slowest)
    }

    fn captured(&self, vpg: &str, tag: &str) -> Option<(Captured, u64)> {
        self.exchanges.iter().find_map(|(exchange, _)| {
            let (Asked::Capture { tag: theirs, .. }, Answer::Captured(results)) =
                (&exchange.asked, &exchange.answer)
            else {
                return None;
            };
            let mut captured = results.iter().find(|result| result.vpg == vpg)?.clone();
            // The tag is the policy's own and may be another now.
            if let Outcome::Seen(seen) = &mut captured.outcome
                && seen.tag == *theirs
            {
                tag.clone_into(&mut seen.tag);
            }
            Some((captured, exchange.ms))
        })
    }

    /// Time that goes on, for a policy that waits by looking at it.
    fn time_left(&mut self) -> Option<(Answer, u64)> {
        let left = match self.same_time() {
            Some(left) => left,
            None => self.left?.saturating_sub(1),
        };
        self.left = Some(left);
        Some((Answer::TimeLeft(left), 0))
    }

    fn same_time(&mut self) -> Option<u64> {
        self.exchanges
            .iter_mut()
            .find_map(|(exchange, given)| match exchange.answer {
                Answer::TimeLeft(left) if !std::mem::replace(given, true) => Some(left),
                _ => None,
            })
    }
}

fn supposed(vpg: &str, tag: &str) -> Captured {
    Captured {
        vpg: vpg.to_owned(),
        outcome: Outcome::Seen(Seen {
            identifier: "supposed".into(),
            vpg_identifier: vpg.to_owned(),
            tag: tag.to_owned(),
            time: "2026-01-01T00:00:00Z".into(),
        }),
    }
}

impl Source for RecordedAnswers {
    fn answer(&mut self, asked: &Asked) -> Option<(Answer, u64)> {
        match asked {
            Asked::Capture { vpgs, tag } => Some(self.capture(vpgs, tag)),
            Asked::TimeLeft => self.time_left(),
            _ => self.same(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(asked: Asked, answer: Answer) -> Exchange {
        Exchange { asked, answer, ms: 3 }
    }

    fn capture(vpgs: &[&str], tag: &str) -> Asked {
        Asked::Capture {
            vpgs: vpgs.iter().map(|&vpg| vpg.into()).collect(),
            tag: tag.into(),
        }
    }

    #[test]
    fn the_same_question_gets_its_answers_in_order_and_another_none() {
        let answers = [Answer::Session(None), Answer::Fault("broken".into())];
        let exchanges = answers
            .iter()
            .map(|answer| exchange(Asked::Session, answer.clone()));
        let mut recorded = RecordedAnswers::new(exchanges.collect());
        for answer in [&answers[0], &answers[1], &answers[1]] {
            assert_eq!(recorded.answer(&Asked::Session), Some((answer.clone(), 3)));
        }
        assert_eq!(recorded.answer(&Asked::Vpg { vpg: "a".into() }), None);
    }

    #[test]
    fn a_capture_is_remembered_vpg_by_vpg_under_the_tag_of_today() {
        let mut recorded = RecordedAnswers::new(vec![exchange(
            capture(&["a", "b"], "then"),
            Answer::Captured(vec![
                supposed("a", "then"),
                Captured {
                    vpg: "b".into(),
                    outcome: Outcome::Error(crate::exchange::Trouble::NotFound),
                },
            ]),
        )]);
        let Some((Answer::Captured(results), 3)) = recorded.answer(&capture(&["b", "a", "c"], "now")) else {
            panic!("no results")
        };
        assert!(matches!(results[0].outcome, Outcome::Error(_)));
        assert_eq!(results[1], supposed("a", "now"));
        assert_eq!(results[2], supposed("c", "now"));
    }

    #[test]
    fn time_goes_on_after_the_record() {
        let told = |ms| exchange(Asked::TimeLeft, Answer::TimeLeft(ms));
        let mut recorded = RecordedAnswers::new(vec![told(20), told(10)]);
        let mut times = std::iter::repeat_with(|| recorded.answer(&Asked::TimeLeft));
        for wanted in [20, 10, 9, 8] {
            assert_eq!(times.next().unwrap(), Some((Answer::TimeLeft(wanted), 0)));
        }
    }
}
