//! What would change under another policy.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Said;
use crate::exchange::{Asked, Exchange};

/// How one decision changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It does not: the same verdict and the same captures, whatever the words.
    Same,
    /// What passed asks or is denied, what asked is denied.
    Stricter,
    /// The other way round; or a call passes with fewer VPGs captured.
    Looser,
    /// The same verdict, with other VPGs captured.
    OtherCaptures,
    /// The candidate ends in a fault, which denies; the other did not.
    Fault,
    /// The candidate asks what the record has no answer to.
    Unforeseen,
}

impl Change {
    /// Every change, in the order of a summary.
    pub const ALL: [Self; 6] = [
        Self::Same,
        Self::Stricter,
        Self::Looser,
        Self::OtherCaptures,
        Self::Fault,
        Self::Unforeseen,
    ];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Stricter => "stricter",
            Self::Looser => "looser",
            Self::OtherCaptures => "other captures",
            Self::Fault => "fault",
            Self::Unforeseen => "unforeseen",
        }
    }
}

/// What one policy did with a call.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRun<'a> {
    /// Its verdict.
    pub said: &'a Said,
    /// What it asked.
    pub exchanges: &'a [Exchange],
}

impl PolicyRun<'_> {
    /// The VPGs that it captured, or tried to.
    pub fn captures(&self) -> BTreeSet<&str> {
        let vpgs = self
            .exchanges
            .iter()
            .filter_map(|exchange| match &exchange.asked {
                Asked::Capture { vpgs, .. } => Some(vpgs),
                _ => None,
            });
        vpgs.flatten().map(String::as_str).collect()
    }

    fn is_fault(&self) -> bool {
        self.said.word == "fault"
    }

    /// How strict the verdict is; a fault denies.
    fn rank(&self) -> u8 {
        match self.said.word.as_str() {
            "pass" => 0,
            "ask" => 1,
            _ => 2,
        }
    }
}

/// How a decision changes from one policy to the other, of which it is known whether it asked something unforeseen.
pub fn change(from: &PolicyRun<'_>, to: &PolicyRun<'_>, unforeseen: bool) -> Change {
    if to.is_fault() && !from.is_fault() {
        return Change::Fault;
    }
    if unforeseen {
        return Change::Unforeseen;
    }
    let (before, after) = (from.captures(), to.captures());
    match to.rank().cmp(&from.rank()) {
        std::cmp::Ordering::Greater => Change::Stricter,
        std::cmp::Ordering::Less => Change::Looser,
        std::cmp::Ordering::Equal if before == after => Change::Same,
        std::cmp::Ordering::Equal if to.rank() == 0 && !after.is_superset(&before) => Change::Looser,
        std::cmp::Ordering::Equal => Change::OtherCaptures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Answer;

    fn deed(word: &str, vpgs: &[&str]) -> (Said, Vec<Exchange>) {
        let said = Said {
            word: word.into(),
            text: String::new(),
            fault: None,
        };
        let exchange = Exchange {
            asked: Asked::Capture {
                vpgs: vpgs.iter().map(|&vpg| vpg.into()).collect(),
                tag: String::new(),
            },
            answer: Answer::Captured(Vec::new()),
            ms: 0,
        };
        (
            said,
            if vpgs.is_empty() {
                Vec::new()
            } else {
                vec![exchange]
            },
        )
    }

    #[test]
    fn what_changes_is_told_by_its_effect() {
        for (from, to, wanted) in [
            (("pass", &["a"][..]), ("pass", &["a"][..]), Change::Same),
            (("pass", &["a"]), ("pass", &["a", "b"]), Change::OtherCaptures),
            (("pass", &["a", "b"]), ("pass", &["b"]), Change::Looser),
            (("pass", &["a"]), ("pass", &[]), Change::Looser),
            (("deny", &["a"]), ("deny", &["b"]), Change::OtherCaptures),
            (("pass", &[]), ("ask", &[]), Change::Stricter),
            (("ask", &[]), ("deny", &[]), Change::Stricter),
            (("ask", &[]), ("pass", &["a"]), Change::Looser),
            (("deny", &["a"]), ("pass", &["a"]), Change::Looser),
            (("fault", &[]), ("deny", &[]), Change::Same),
            (("fault", &[]), ("ask", &[]), Change::Looser),
            (("fault", &[]), ("fault", &[]), Change::Same),
            (("deny", &[]), ("fault", &[]), Change::Fault),
        ] {
            let ((from_said, from_exchanges), (to_said, to_exchanges)) =
                (deed(from.0, from.1), deed(to.0, to.1));
            let from_deed = PolicyRun {
                said: &from_said,
                exchanges: &from_exchanges,
            };
            let to_deed = PolicyRun {
                said: &to_said,
                exchanges: &to_exchanges,
            };
            assert_eq!(change(&from_deed, &to_deed, false), wanted, "{from:?} {to:?}");
            // A fault stays one, whatever was asked before it.
            let unforeseen = match wanted {
                Change::Fault => Change::Fault,
                _ => Change::Unforeseen,
            };
            assert_eq!(change(&from_deed, &to_deed, true), unforeseen);
        }
    }
}
