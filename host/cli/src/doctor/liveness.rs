//! Whether each call that the harness made was judged: its transcripts and the decision log name calls by the same ids.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use holdpoint_artifact::UtcTime;
use holdpoint_config::Config;
use holdpoint_hook::history::{Backwards, Decision, coverage};
use holdpoint_hook::log::Log;
use holdpoint_hook::self_test_calls;
use holdpoint_setup::Event;
use holdpoint_setup::reading::{Fires, Level};

use super::finding::{Finding, Severity};
use super::hooks;
use super::state::ago;
use super::transcripts::{self, Call, Transcripts};
use crate::init;

/// How far back calls are looked at, in seconds: as long as the harness keeps transcripts, unless it is told otherwise.
const FAR_BACK: u64 = 30 * 24 * 60 * 60;
/// How much of the log is looked at, in bytes: more than it has unless it is configured to be longer.
const MOST_LOG: u64 = 128 * 1024 * 1024;
/// A call is logged before it ends; the log is read so much further than the oldest call, in seconds.
const SLACK: u64 = 2 * 60 * 60;

/// What is known of calls and decisions.
pub(super) struct Facts {
    /// Why nothing can be said of single calls.
    unknown: Option<String>,
    transcripts: Transcripts,
    judged: Judged,
    /// When the settings with our entries were last written.
    settled: Option<UtcTime>,
    now: UtcTime,
}

/// The decisions in the log.
#[derive(Default)]
struct Judged {
    ids: HashSet<String>,
    /// When the hook last decided something that was no test of ours.
    last: Option<UtcTime>,
    /// The oldest decision that was read.
    first: Option<UtcTime>,
    /// Whether older ones are not in the log any more, or were not read.
    is_cut: bool,
}

impl Facts {
    /// `unlogged` is why the log cannot be written, where it cannot: then it does not tell what was judged.
    pub(super) fn gather(
        config: &Config,
        hooks: &hooks::Facts,
        project: &Path,
        unlogged: Option<&str>,
    ) -> Self {
        let now: UtcTime = SystemTime::now().into();
        let earliest = earlier(now, FAR_BACK);
        let mut facts = Self {
            unknown: unlogged.map(|why| format!("the decision log cannot be written ({why})")),
            transcripts: Transcripts::default(),
            judged: Judged::default(),
            settled: hooks.gates().filter_map(|ours| modified(&ours.file)).max(),
            now,
        };
        let log = match Log::of(&config.log) {
            Ok(log) if facts.unknown.is_none() => log,
            Ok(_) => return facts,
            Err(error) => {
                facts.unknown = Some(error.to_string());
                return facts;
            }
        };
        let installed = hooks.gates().filter_map(|ours| installed(&ours.file)).min();
        // The log is read after the transcripts: each call in those is in it by then.
        let is_wanted = |tool: &str| {
            let mut ours = hooks.installation.firing(Event::PreToolUse, tool);
            tool.starts_with("mcp__")
                || ours.any(|(_, entry, fires)| fires == Fires::Yes && entry.ours().is_some())
        };
        let since = installed.map_or(earliest, |installed| installed.max(earliest));
        let is_of_project = |ours: &hooks::Ours| matches!(ours.level, Level::Project | Level::Local);
        let only = hooks.gates().next().is_some() && hooks.gates().all(is_of_project);
        facts.transcripts = transcripts::since(since, only.then_some(project), is_wanted);
        let oldest = facts.transcripts.calls.iter().map(|call| call.at).min();
        match Judged::read(&log, earlier(oldest.unwrap_or(now), SLACK)) {
            Ok(judged) => facts.judged = judged,
            Err(error) => facts.unknown = Some(format!("{} cannot be read ({error})", log.path.display())),
        }
        // Without an entry in force it is not known when there was one, if not by what it decided.
        if installed.is_none() && facts.judged.first.is_none() {
            facts.transcripts.calls.clear();
        }
        let begins = match facts.judged.is_cut || installed.is_none() {
            true => facts.judged.first.unwrap_or(UtcTime::from_unix(u64::MAX)),
            false => since,
        };
        facts.transcripts.calls.retain(|call| call.at >= begins);
        facts
    }
}

impl Judged {
    fn read(log: &Log, back_to: UtcTime) -> std::io::Result<Self> {
        let mut judged = Self {
            is_cut: coverage::may_be_shortened(log),
            ..Self::default()
        };
        let mut decisions = Backwards::of(log, MOST_LOG)?;
        for decision in decisions.by_ref() {
            let Ok(at) = decision.at.parse::<UtcTime>() else {
                continue;
            };
            if at < back_to {
                judged.is_cut = false;
                return Ok(judged);
            }
            judged.first = Some(at);
            if !counts(&decision) {
                continue;
            }
            judged.last.get_or_insert(at);
            judged.ids.insert(decision.call);
        }
        judged.is_cut |= decisions.is_cut();
        Ok(judged)
    }
}

/// Whether a line is of a call of a harness, and not of a test, of somebody who tried something, or of another event.
fn counts(decision: &Decision) -> bool {
    let is_try = |name: &str| name.starts_with("try-");
    !decision.session.is_empty()
        && matches!(decision.verdict.as_str(), "pass" | "ask" | "deny")
        && !is_try(&decision.session)
        && !is_try(&decision.call)
        && !self_test_calls::decided(decision)
}

fn earlier(time: UtcTime, seconds: u64) -> UtcTime {
    UtcTime::from_unix(time.unix().saturating_sub(seconds))
}

fn modified(path: &Path) -> Option<UtcTime> {
    Some(fs::metadata(path).ok()?.modified().ok()?.into())
}

/// Since when an entry of ours has been in a settings file: what the file was before was kept with the first one, by
/// earlier versions beside it. A later change of anything in the file makes the file newer, and the entry not.
fn installed(settings: &Path) -> Option<UtcTime> {
    let changed = modified(settings)?;
    let target = fs::canonicalize(settings).ok()?;
    let kept = init::copies_of(settings).since(&target).map(UtcTime::from);
    let beside = modified(&settings.with_file_name("settings.json.before-holdpoint"));
    [Some(changed), kept, beside].into_iter().flatten().min()
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts) -> Finding {
    let past = |time: UtcTime| ago(facts.now.unix().saturating_sub(time.unix()));
    if let Some(why) = &facts.unknown {
        let found = format!("whether each call was judged cannot be told: {why}");
        return Finding::notice("liveness", found, "the decision log is what tells");
    }
    let calls = &facts.transcripts.calls;
    let missed: Vec<&Call> = calls
        .iter()
        .filter(|call| !facts.judged.ids.contains(&call.id))
        .collect();
    if let Some(newest) = missed.iter().max_by_key(|call| call.at) {
        // Where the settings were written since, the cause may be gone.
        let is_over = facts.settled.is_some_and(|settled| newest.at < settled);
        let severity = if is_over {
            Severity::Caution
        } else {
            Severity::Broken
        };
        let (verb, of) = (if missed.len() == 1 { "was" } else { "were" }, calls.len());
        let found = format!(
            "{} of {of} calls {verb} never judged; the newest is {} ({}), {} ago, in {}",
            missed.len(),
            newest.tool,
            newest.id,
            past(newest.at),
            newest.transcript.display()
        );
        let matters = if is_over {
            "the hook did not see them, and they ran unguarded; the settings were changed since"
        } else {
            "the hook did not see them, and they ran unguarded: it is not installed where that session ran, is switched \
             off, or the session is older than the entry"
        };
        return Finding::new(severity, "liveness", found, matters).mended_by(
            "the findings on hook entries say what is wrong; start a new session after fixing it, since a running one keeps \
             the hooks that it began with",
        );
    }
    let Some(last) = facts.judged.last else {
        return Finding::notice(
            "liveness",
            "the hook has decided nothing yet",
            "nothing shows yet that the harness starts it",
        )
        .mended_by("let the agent call any tool of an MCP server once, then look again");
    };
    let mut found = format!("the hook last decided {} ago, at {last}", past(last));
    match calls.len() {
        0 => {}
        many => found.push_str(&format!(
            "; each of the {many} calls in the transcripts was judged"
        )),
    }
    match &facts.transcripts.unreadable {
        Some((path, cause)) => Finding::notice(
            "liveness",
            format!("{found}; {} cannot be read ({cause})", path.display()),
            "calls in it cannot be compared with the decision log",
        ),
        None => Finding::good("liveness", found),
    }
}
