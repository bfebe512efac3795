//! Reading, parsing and verifying signatures on all processors, in order and in bounded memory.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use holdpoint_artifact::PublicKey;

use crate::envelope::{self, Receipt};
use crate::error::{LogError, ReceiptError};
use crate::files::Source;
use crate::lines::Line;

/// How many lines are handed over at once.
const BATCH: usize = 256;
/// How many batches wait on either side of a worker.
const WAITING: usize = 2;
/// The most workers.
const MOST_WORKERS: usize = 8;

/// A line that was looked at by itself.
pub(super) struct Checked {
    pub(super) receipt: Result<Receipt, ReceiptError>,
    pub(super) signature: SignatureCheck,
    /// Whether the line had its end.
    pub(super) ended: bool,
}

/// What is known of a signature.
pub(super) enum SignatureCheck {
    Good,
    Bad,
    /// The key is not known yet; what it has to have signed.
    UnknownKey(String),
}

type Batch = Vec<Result<Line, LogError>>;
type Answer = Vec<Result<Checked, LogError>>;

/// Hands every line of the source over, looked at, in its order.
pub(super) fn check(
    source: &Source,
    keys: &HashMap<String, PublicKey>,
    mut take: impl FnMut(Checked),
) -> Result<(), LogError> {
    let workers = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MOST_WORKERS);
    thread::scope(|scope| {
        let (questions, answers): (Vec<_>, Vec<_>) = (0..workers)
            .map(|_| {
                let (question, questions) = sync_channel::<Batch>(WAITING);
                let (answer, answers) = sync_channel::<Answer>(WAITING);
                scope.spawn(move || work(&questions, &answer, keys));
                (question, answers)
            })
            .unzip();
        scope.spawn(move || hand_out(source, &questions));
        for worker in answers.iter().cycle() {
            // The workers take turns: when one has nothing more, nobody has.
            let Ok(answer) = worker.recv() else { break };
            for line in answer {
                take(line?);
            }
        }
        Ok(())
    })
}

fn hand_out(source: &Source, workers: &[SyncSender<Batch>]) {
    let mut lines = source.lines();
    for worker in workers.iter().cycle() {
        let batch: Batch = lines.by_ref().take(BATCH).collect();
        // A worker that is gone: whoever asked has enough.
        if batch.is_empty() || worker.send(batch).is_err() {
            break;
        }
    }
}

fn work(questions: &Receiver<Batch>, answer: &SyncSender<Answer>, keys: &HashMap<String, PublicKey>) {
    for batch in questions {
        let checked = batch.into_iter().map(|line| Ok(look(&line?, keys))).collect();
        if answer.send(checked).is_err() {
            break;
        }
    }
}

fn look(line: &Line, keys: &HashMap<String, PublicKey>) -> Checked {
    let ended = line.ended;
    let failed = |error| Checked {
        receipt: Err(error),
        signature: SignatureCheck::Bad,
        ended,
    };
    let parsed = match line.text().and_then(envelope::parse) {
        Ok(parsed) => parsed,
        Err(error) => return failed(error),
    };
    let signature = match keys.get(&parsed.receipt.signature.kid) {
        None => SignatureCheck::UnknownKey(parsed.payload.to_owned()),
        Some(key) if envelope::is_signed(parsed.payload, &parsed.receipt.signature, key) => {
            SignatureCheck::Good
        }
        Some(_) => SignatureCheck::Bad,
    };
    Checked {
        receipt: Ok(parsed.receipt),
        signature,
        ended,
    }
}
