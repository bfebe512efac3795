//! One screen: whether the guard is armed, by what it decides, and what it did lately.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use holdpoint_artifact::UtcTime;
use holdpoint_common::safe_text::clean_line;
use holdpoint_config::Config;
use holdpoint_hook::history::{Backwards, Decision};
use holdpoint_hook::log::Log;
use holdpoint_hook::self_test_calls;
use holdpoint_receipts::{Moment, is_tool};
use holdpoint_runtime::policy::load;
use serde::Serialize;

use crate::doctor::{self, Examination, Finding, Options, Severity, Starts};
use crate::local::Local;
use crate::terminal::{Cell, Table, Terminal, Tone};

/// How many decisions are shown.
const DECISIONS: usize = 10;
/// How far back checkpoints are counted.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of the log is read for that, in bytes: some seconds' work.
const FAR_ENOUGH: u64 = 256 * 1024 * 1024;

/// What is shown.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Whether calls are judged here: nothing that was found lets them past.
    pub armed: bool,
    /// The version of this program.
    pub version: &'static str,
    /// The configuration's file: the one that the hook entry names, where it names one.
    pub configuration: Option<String>,
    /// The policy in force; none where none can be loaded.
    pub policy: Option<String>,
    /// The ZVM's address.
    pub zvm: Option<String>,
    /// Where decisions are written.
    pub log: Option<String>,
    /// The last decisions, the last one first.
    pub decisions: Vec<Shown>,
    /// How many of the last day's decisions came to what.
    pub verdicts: BTreeMap<String, u64>,
    /// The checkpoints of the last day, by machine.
    pub checkpoints: Vec<Machine>,
    /// Since when decisions are counted; none where that is a day ago.
    pub since: Option<String>,
    /// Whether the log was too long to be read back for a whole day.
    pub cut: bool,
    /// What is not as it should be, as far as the hook itself tells: `doctor` looks further.
    pub findings: Vec<Finding>,
}

/// One decision.
#[derive(Debug, Serialize)]
pub struct Shown {
    at: String,
    tool: String,
    verdict: String,
    fault: Option<String>,
    machines: Vec<String>,
    why: Option<String>,
    /// How what ran differs from what was decided, in words.
    deviation: Option<String>,
}

/// The checkpoints of one machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Its name, as calls named it.
    pub name: String,
    /// How many calls waited for one and got it.
    pub count: u64,
    /// When the last one was decided on.
    pub last: String,
    /// The last one's tag.
    pub tag: Option<String>,
}

/// Which decisions are looked at.
#[derive(Debug, Default, Clone)]
pub struct Narrow {
    /// Not before; default: a day ago, for what is counted.
    pub since: Option<Moment>,
    /// Of this tool, as [`is_tool`] has it.
    pub tool: Option<String>,
    /// Only what was taken for a change.
    pub changes: bool,
    /// How many are shown.
    pub limit: Option<usize>,
}

impl Narrow {
    fn wants(&self, decision: &Decision) -> bool {
        let reads =
            decision.verdict == "pass" && decision.targets.is_empty() && decision.checkpoints.is_empty();
        self.tool
            .as_ref()
            .is_none_or(|tool| is_tool(&decision.tool, tool))
            && !(self.changes && reads)
    }
}

impl Status {
    /// Looks at what there is, and plays two known calls through the hook. Nobody else is started or asked.
    pub fn gather(options: &Options, narrow: &Narrow) -> Self {
        let examination = doctor::examine(&Options {
            offline: true,
            starts: Starts::Hook,
            ..options.clone()
        });
        let configuration = examination.configuration().map(|path| path.display().to_string());
        let Examination { findings, config, .. } = examination;
        let usable = config.as_ref().ok();
        let defaults = Config::default();
        let log = Log::of(&usable.unwrap_or(&defaults).log).ok();
        let mut status = Self {
            armed: !findings.iter().any(|finding| finding.lets_past),
            version: env!("CARGO_PKG_VERSION"),
            configuration,
            policy: usable
                .and_then(|config| load(&config.policy).ok())
                .map(|loaded| loaded.identity.to_string()),
            zvm: usable.and_then(|config| config.zerto.url.clone()),
            log: log.as_ref().map(|log| log.path.display().to_string()),
            decisions: Vec::new(),
            verdicts: BTreeMap::new(),
            checkpoints: Vec::new(),
            since: None,
            cut: false,
            findings: findings
                .into_iter()
                .filter(|finding| finding.severity > Severity::Good)
                .collect(),
        };
        if let Some(mut decisions) = log.and_then(|log| Backwards::of(&log, FAR_ENOUGH).ok()) {
            let now: UtcTime = SystemTime::now().into();
            let day = now.unix().saturating_sub(DAY.as_secs());
            let since = narrow
                .since
                .map_or(day, |since| since.unix_millis().div_ceil(1_000));
            status.read(&mut decisions, since, narrow);
            status.since = narrow.since.map(|since| since.to_string());
            status.cut = decisions.is_cut();
        }
        status
    }

    /// Reads decisions back to a time, and as many as are shown.
    fn read(&mut self, decisions: &mut impl Iterator<Item = Decision>, since: u64, narrow: &Narrow) {
        let most = narrow.limit.unwrap_or(DECISIONS);
        let real = decisions.filter(|decision| !self_test_calls::decided(decision));
        for decision in real {
            let at: Option<UtcTime> = decision.at.parse().ok();
            let is_of_the_day = at.is_some_and(|at| at.unix() >= since);
            if !is_of_the_day && (self.decisions.len() >= most || narrow.since.is_some()) {
                break;
            }
            if !narrow.wants(&decision) {
                continue;
            }
            if is_of_the_day {
                *self.verdicts.entry(decision.verdict.clone()).or_default() += 1;
                self.count(&decision);
            }
            if self.decisions.len() < most {
                self.decisions.push(Shown::of(decision));
            }
        }
    }

    fn count(&mut self, decision: &Decision) {
        if decision.checkpoints.is_empty() {
            return;
        }
        for name in decision.machines() {
            let known = self
                .checkpoints
                .iter_mut()
                .find(|machine| machine.name.eq_ignore_ascii_case(name));
            match known {
                Some(machine) => machine.count += 1,
                None => self.checkpoints.push(Machine {
                    name: clean_line(name, 200),
                    count: 1,
                    last: decision.at.clone(),
                    tag: decision.tag.clone(),
                }),
            }
        }
    }

    /// The screen.
    pub fn render(&self, terminal: &Terminal) -> String {
        let (tone, word) = if self.armed {
            (Tone::Good, "armed")
        } else {
            (Tone::Bad, "NOT ARMED")
        };
        let mut text = format!("Holdpoint {}: {}\n", self.version, terminal.paint(tone, word));
        for (name, value) in [
            ("config", &self.configuration),
            ("policy", &self.policy),
            ("ZVM", &self.zvm),
            ("log", &self.log),
        ] {
            let name = terminal.paint(Tone::Quiet, &format!("{name:<8}"));
            text.push_str(&format!("{name}{}\n", value.as_deref().unwrap_or("none")));
        }
        let section = |text: &mut String, heading: &str, body: String| {
            text.push_str(&format!("\n{}\n{body}", terminal.paint(Tone::Strong, heading)));
        };
        if !self.findings.is_empty() {
            let lines = self.findings.iter().map(|finding| {
                let word = format!("{:<8}", finding.severity.word());
                format!(
                    "{}{}\n",
                    terminal.paint(finding.tone(), &word),
                    terminal.wrap(&finding.found, 8)
                )
            });
            let heading = "Findings (holdpoint doctor says what mends them, and asks the ZVM)";
            section(&mut text, heading, lines.collect());
        }
        if self.decisions.is_empty() {
            section(&mut text, "Nothing was decided yet", String::new());
        } else {
            section(
                &mut text,
                "Last decisions",
                self.decision_table(terminal).render(terminal),
            );
        }
        if !self.verdicts.is_empty() {
            let counts: Vec<String> = self
                .verdicts
                .iter()
                .map(|(verdict, count)| format!("{count} {verdict}"))
                .collect();
            let more = if self.cut { ", and more than was read" } else { "" };
            let since = self.since.as_ref().map(|since| format!("Since {since}"));
            section(
                &mut text,
                since.as_deref().unwrap_or("Last 24 hours"),
                format!("{}{more}\n", counts.join(", ")),
            );
        }
        if !self.checkpoints.is_empty() {
            let since = self
                .since
                .as_ref()
                .map(|since| format!("Checkpoints since {since}"));
            section(
                &mut text,
                since.as_deref().unwrap_or("Checkpoints of the last 24 hours"),
                self.machine_table(terminal).render(terminal),
            );
        }
        text
    }

    fn decision_table(&self, terminal: &Terminal) -> Table<4> {
        let local = Local::system();
        let mut table = Table::new(["AT", "VERDICT", "TOOL", "MACHINES OR REASON"]).keep_whole(0);
        for decision in &self.decisions {
            let tone = match decision.verdict.as_str() {
                "pass" => Tone::Good,
                "ask" => Tone::Caution,
                _ => Tone::Bad,
            };
            let about = match (&decision.fault, decision.machines.is_empty()) {
                _ if decision.deviation.is_some() => decision.why.clone().unwrap_or_default(),
                (Some(fault), _) => format!("fault: {fault}"),
                (None, false) => decision.machines.join(", "),
                (None, true) => decision.why.clone().unwrap_or_default(),
            };
            table.row([
                when(&decision.at, &local, terminal).into(),
                Cell::toned(tone, decision.verdict.clone()),
                decision.tool.clone().into(),
                about.into(),
            ]);
        }
        table
    }

    fn machine_table(&self, terminal: &Terminal) -> Table<4> {
        let local = Local::system();
        // A checkpoint is found by its whole tag.
        let mut table = Table::new(["MACHINE", "CALLS", "LAST", "TAG"]).keep_whole(3);
        for machine in &self.checkpoints {
            table.row([
                machine.name.clone().into(),
                machine.count.to_string().into(),
                when(&machine.last, &local, terminal).into(),
                machine.tag.clone().unwrap_or_default().into(),
            ]);
        }
        table
    }
}

/// A time as the log has it; on a terminal to the second, or to the minute where a local time stands beside it.
fn when(at: &str, local: &Local, terminal: &Terminal) -> String {
    if !terminal.is_terminal() {
        return at.to_owned();
    }
    let to = |length| at.get(..length).filter(|_| at.ends_with('Z'));
    let beside = || Some(format!("{}Z ({})", to(16)?, local.minute(at.parse().ok()?)?));
    beside()
        .or_else(|| Some(format!("{}Z", to(19)?)))
        .unwrap_or_else(|| at.to_owned())
}

impl Shown {
    fn of(decision: Decision) -> Self {
        let machines = decision
            .machines()
            .into_iter()
            .map(|name| clean_line(name, 200))
            .collect();
        Self {
            machines,
            at: clean_line(&decision.at, 40),
            tool: clean_line(&decision.tool, 200),
            verdict: clean_line(&decision.verdict, 20),
            fault: decision.fault.map(|fault| clean_line(&fault, 40)),
            why: decision.why.map(|why| clean_line(&why, 400)),
            deviation: decision
                .deviation
                .map(|deviation| clean_line(&deviation.words(), 400)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(at: &str, (session, call): (&str, &str), machine: &str) -> Decision {
        serde_json::from_value(serde_json::json!({
            "at": at, "session": session, "call": call, "tool": "mcp__esxi__powerOff", "verdict": "pass",
            "targets": [machine], "tag": format!("claude-code a-b 0badcafe esxi/powerOff on {machine}"),
            "checkpoints": [{"vpg": "v", "checkpoint": "1", "time": "t"}]
        }))
        .unwrap()
    }

    #[test]
    fn only_a_day_is_counted_and_only_so_many_are_shown() {
        let mut status = Status {
            armed: true,
            version: "",
            configuration: None,
            policy: None,
            zvm: None,
            log: None,
            decisions: Vec::new(),
            verdicts: BTreeMap::new(),
            checkpoints: Vec::new(),
            since: None,
            cut: false,
            findings: Vec::new(),
        };
        let since: UtcTime = "2026-11-30T00:00:00Z".parse().unwrap();
        let late = (0..20).map(|number| {
            let machine = if number % 2 == 0 { "web01" } else { "WEB01" };
            decision("2026-11-30T01:00:00.123Z", ("s", "c"), machine)
        });
        let test = decision(
            "2026-11-30T01:00:00Z",
            (self_test_calls::SESSION, self_test_calls::CALL),
            "web01",
        );
        let early = decision("2026-11-29T23:59:59Z", ("s", "c"), "db01");
        let beyond = std::iter::repeat_with(|| panic!("it is not read to the beginning"));
        let mut all = late.chain([test, early]).chain(beyond);
        status.read(&mut all, since.unix(), &Narrow::default());
        assert_eq!(status.decisions.len(), DECISIONS);
        assert_eq!(status.verdicts["pass"], 20);
        assert_eq!(
            status.checkpoints,
            [Machine {
                name: "web01".into(),
                count: 20,
                last: "2026-11-30T01:00:00.123Z".into(),
                tag: Some("claude-code a-b 0badcafe esxi/powerOff on web01".into()),
            }]
        );
    }
}
