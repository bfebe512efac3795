//! Whether what ran is what was decided: each call's end, compared with its decision.

use std::collections::{HashMap, VecDeque};

use holdpoint_artifact::Digest;

use super::{Findings, Part};
use crate::body::{Body, Call, Decision, DeviationKind, Observation, Verdict};
use crate::calls::differences;
use crate::envelope::Receipt;

/// The most decisions that are kept in mind. A call that ended after so many others were decided is judged by what its
/// own receipt says alone.
const MOST_OPEN: usize = 10_000;

/// A call, by its session and id.
type Key = (Option<String>, String);

/// A decision, as far as an end is compared with it.
struct Open {
    seq: u64,
    tool: String,
    arguments: Digest,
    verdict: Verdict,
    targets: Vec<String>,
}

/// The decisions so far, and what did not run as they say.
#[derive(Default)]
pub(super) struct AsDecided {
    open: HashMap<Key, Open>,
    /// In the order of their decisions.
    oldest: VecDeque<(Key, u64)>,
    ended: u64,
    found: Findings,
}

impl AsDecided {
    pub(super) fn take(&mut self, receipt: &Receipt) {
        match &receipt.body {
            Body::Decision(call, decision) => self.decided(receipt.seq, call, decision),
            Body::Observation(call, observation) => self.observed(receipt.seq, call, observation),
            Body::Event(_) => {}
        }
    }

    fn decided(&mut self, seq: u64, call: &Call, decision: &Decision) {
        let Some(key) = key(call) else { return };
        self.oldest.push_back((key.clone(), seq));
        let open = Open {
            seq,
            tool: call.tool.clone(),
            arguments: call.arguments.digest,
            verdict: decision.verdict,
            targets: decision.targets.clone(),
        };
        self.open.insert(key, open);
        if self.oldest.len() > MOST_OPEN
            && let Some((key, seq)) = self.oldest.pop_front()
            && self.open.get(&key).is_some_and(|newest| newest.seq == seq)
        {
            self.open.remove(&key);
        }
    }

    fn observed(&mut self, seq: u64, call: &Call, observation: &Observation) {
        self.ended += 1;
        let decided = key(call).and_then(|key| self.open.get(&key));
        let deviation = observation.deviation.as_ref();
        let mut kinds: Vec<DeviationKind> = deviation
            .iter()
            .flat_map(|found| found.kinds.iter().copied())
            .collect();
        if let Some(open) = decided {
            kinds.extend(differences((&open.tool, open.arguments), open.verdict, call));
        }
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() {
            return;
        }
        let words: Vec<_> = kinds.iter().map(|kind| kind.words()).collect();
        let machines = deviation.map(|deviation| format!(" ({})", deviation.machines()));
        let machines = machines.or_else(|| {
            let targets = &decided?.targets;
            (!targets.is_empty()).then(|| format!(" (checked {})", targets.join(", ")))
        });
        let decided = decided.map(|open| format!(", decided on in receipt {},", open.seq));
        self.found.fail(format!(
            "receipt {seq}: the call {} of {}{} {}{}",
            call.id.as_deref().unwrap_or("without an id"),
            call.tool,
            decided.unwrap_or_default(),
            words.join(", "),
            machines.unwrap_or_default()
        ));
    }

    pub(super) fn part(mut self) -> Part {
        let ended = self.ended;
        if ended == 0 {
            self.found.unchecked("no call was seen to end".into());
        }
        self.found
            .part(move || format!("{ended} ends of calls, each as it was decided"))
    }
}

fn key(call: &Call) -> Option<Key> {
    Some((call.session.clone(), call.id.clone()?))
}
