//! What is reported: Markdown for people, JSON for a later run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that one run measured.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Whole processes; the first are those that the others are compared with.
    pub(crate) rows: Vec<Row>,
    /// Some of them again, without the others in between.
    #[serde(default)]
    pub(crate) alone: Vec<Row>,
    /// What the gate takes of them.
    pub(crate) gates: Vec<Gate>,
    /// Captures, by cadence.
    pub(crate) captures: Vec<Capture>,
    /// Calls at the same time, where they were measured.
    pub(crate) together: Option<Together>,
}

/// One row of whole processes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// What was run.
    pub(crate) name: String,
    /// How often.
    pub(crate) runs: usize,
    /// From start to end, in microseconds.
    pub(crate) wall_us: Spread,
    /// How many times as long as each of the first rows in the same round; the medians.
    pub(crate) ratios: Vec<f64>,
    /// The ratio to the first that is aimed at, where one is.
    pub(crate) aim: Option<f64>,
    /// Processor time in microseconds; the median.
    pub(crate) cpu_us: f64,
    /// Minor page faults; the median.
    pub(crate) faults: f64,
    /// Peak of the resident set in KiB; the median.
    pub(crate) peak_kib: f64,
}

/// What the gate takes of a decision: signature, digests, and whose the compiled code is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// The row that it is of.
    pub(crate) name: String,
    /// How long it took, in microseconds.
    pub(crate) us: Spread,
    /// Its share of the whole process, from start to end.
    pub(crate) share: Spread,
}

/// Captures at one cadence.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Capture {
    /// Milliseconds from checkpoint to checkpoint.
    pub(crate) cadence_ms: f64,
    /// The longest delay that is aimed at, in milliseconds.
    pub(crate) allowed_ms: f64,
    /// From the moment that the checkpoint can be seen to the end of the process, in milliseconds.
    pub(crate) delay_ms: Spread,
    /// How often the journal was read; the median.
    pub(crate) polls: f64,
}

/// Calls at the same time, for machines of one VPG.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Together {
    /// How many.
    pub(crate) calls: usize,
    /// Seconds from checkpoint to checkpoint.
    pub(crate) cadence_s: f64,
    /// How many checkpoints were inserted for all of them.
    pub(crate) inserted: usize,
    /// How many passed with a checkpoint that is older than their wait.
    pub(crate) older: usize,
    /// Seconds until half of them were answered.
    pub(crate) median_s: f64,
    /// Seconds until all of them were.
    pub(crate) last_s: f64,
}

/// How numbers are spread.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// A tenth of them is smaller.
    pub(crate) p10: f64,
    /// Half of them are smaller.
    pub(crate) median: f64,
    /// A tenth of them is larger.
    pub(crate) p90: f64,
    /// The largest.
    pub(crate) most: f64,
}

impl Spread {
    /// The spread of some numbers; there has to be one.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let last = numbers.len() - 1;
        let at = |part: f64| numbers[(last as f64 * part).round() as usize];
        Self {
            p10: at(0.1),
            median: at(0.5),
            p90: at(0.9),
            most: numbers[last],
        }
    }
}

impl Report {
    /// Reads what an earlier run saved.
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Saves it for a later run.
    pub(crate) fn save(&self, path: &Path) {
        let text = serde_json::to_string_pretty(self).expect("numbers and names");
        fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Prints both tables, beside those of an earlier run where there is one.
    pub(crate) fn print(&self, earlier: Option<&Self>) {
        println!("## Whole processes, from start to end\n");
        print_rows(&self.rows, earlier.map(|report| report.rows.as_slice()));
        println!("\n## Back to back: these rows alone, so that caches are warm\n");
        print_rows(&self.alone, earlier.map(|report| report.alone.as_slice()));

        println!(
            "\n## The gate's share (signature, digests, and whose the compiled code is; aimed at: less than 25 %)\n"
        );
        let heads = [
            "process",
            "gate",
            "share of the whole",
            "p10–p90",
            "aim",
            "earlier share",
        ]
        .map(String::from);
        let old = |gate: &Gate| earlier?.gates.iter().find(|other| other.name == gate.name);
        let rows = self.gates.iter().map(|gate| gate.cells(old(gate)));
        print_table(&heads, rows, earlier.is_some());

        println!("\n## From the moment a checkpoint can be seen to the end of the process\n");
        let heads = [
            "cadence",
            "median",
            "longest",
            "allowed",
            "journal reads",
            "aim",
            "earlier longest",
        ]
        .map(String::from);
        let old = |capture: &Capture| {
            let same = |other: &&Capture| other.cadence_ms == capture.cadence_ms;
            earlier?.captures.iter().find(same)
        };
        let rows = self.captures.iter().map(|capture| capture.cells(old(capture)));
        print_table(&heads, rows, earlier.is_some());
        if let Some(together) = &self.together {
            together.print();
        }
    }
}

/// Prints rows, the first of which are those that all are compared with.
fn print_rows(rows: &[Row], earlier: Option<&[Row]>) {
    let bases = &rows[..rows.first().map_or(0, |row| row.ratios.len())];
    let mut heads: Vec<String> = ["process", "runs", "median", "p10–p90"].map(String::from).into();
    heads.extend(bases.iter().map(|base| format!("× {}", base.name)));
    heads.extend(["CPU", "minor faults", "peak memory", "aim", "earlier × empty"].map(String::from));
    let old = |row: &Row| earlier?.iter().find(|other| other.name == row.name);
    print_table(
        &heads,
        rows.iter().map(|row| row.cells(old(row))),
        earlier.is_some(),
    );
}

/// Prints a table, without its last column where nothing earlier is known.
fn print_table(heads: &[String], rows: impl Iterator<Item = Vec<String>>, earlier: bool) {
    let shown = if earlier { heads.len() } else { heads.len() - 1 };
    println!("| {} |", heads[..shown].join(" | "));
    println!("|{}", "---|".repeat(shown));
    for cells in rows {
        println!("| {} |", cells[..shown].join(" | "));
    }
}

impl Row {
    fn cells(&self, earlier: Option<&Self>) -> Vec<String> {
        let ms = |us: f64| format!("{:.2}", us / 1000.0);
        let mut cells = vec![
            self.name.clone(),
            self.runs.to_string(),
            format!("{} ms", ms(self.wall_us.median)),
            format!("{}–{}", ms(self.wall_us.p10), ms(self.wall_us.p90)),
        ];
        cells.extend(self.ratios.iter().map(|ratio| format!("{ratio:.2}")));
        cells.extend([
            format!("{} ms", ms(self.cpu_us)),
            self.faults.to_string(),
            format!("{:.1} MiB", self.peak_kib / 1024.0),
            self.aim.map_or_else(String::new, |aim| {
                let reached = self.ratios[0] <= aim;
                format!("{aim} {}", if reached { "PASS" } else { "FAIL" })
            }),
            earlier.map_or_else(String::new, |row| format!("{:.2}", row.ratios[0])),
        ]);
        cells
    }
}

impl Gate {
    fn cells(&self, earlier: Option<&Self>) -> Vec<String> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        vec![
            self.name.clone(),
            format!("{:.2} ms", self.us.median / 1000.0),
            percent(self.share.median),
            format!("{}–{}", percent(self.share.p10), percent(self.share.p90)),
            if self.share.median < 0.25 { "PASS" } else { "FAIL" }.into(),
            earlier.map_or_else(String::new, |gate| percent(gate.share.median)),
        ]
    }
}

impl Capture {
    fn cells(&self, earlier: Option<&Self>) -> Vec<String> {
        let ms = |ms: f64| format!("{ms:.0} ms");
        let in_time = self.delay_ms.most <= self.allowed_ms;
        vec![
            format!("{:.1} s", self.cadence_ms / 1000.0),
            ms(self.delay_ms.median),
            ms(self.delay_ms.most),
            ms(self.allowed_ms),
            self.polls.to_string(),
            if in_time { "PASS" } else { "FAIL" }.into(),
            earlier.map_or_else(String::new, |capture| ms(capture.delay_ms.most)),
        ]
    }
}

impl Together {
    fn print(&self) {
        let Self {
            calls,
            cadence_s,
            inserted,
            older,
            median_s,
            last_s,
        } = self;
        let reached = *inserted <= 3 && *last_s <= 2.0 * cadence_s && *older == 0;
        println!("\n## {calls} calls at once, for machines of one VPG with a cadence of {cadence_s} s\n");
        println!(
            "{inserted} checkpoints inserted (aim: 3), half answered after {median_s:.1} s, all after {last_s:.1} s (aim: \
             two cadences), {older} with a checkpoint older than their wait: {}",
            if reached { "PASS" } else { "FAIL" }
        );
    }
}

/// Prints what a capture asks, round trip by round trip.
pub(crate) fn print_round_trips(trips: &[Vec<String>]) {
    let requests: usize = trips.iter().map(Vec::len).sum();
    println!(
        "\n## Round trips of a capture: {requests} requests in {} (and the connection's own)\n",
        trips.len()
    );
    for (number, trip) in trips.iter().enumerate() {
        println!("{}. {}", number + 1, trip.join(" · "));
    }
}

/// Prints when the journal would be read at a cadence too long to be run.
pub(crate) fn print_schedule(cadence: Duration, polls: &[Duration]) {
    let seconds = |poll: &Duration| format!("{:.1}", poll.as_secs_f64());
    let widest = polls
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or_default();
    println!(
        "\n## Journal reads at a cadence of {} s (computed): {}, at most {:.1} s apart\n",
        cadence.as_secs(),
        polls.len(),
        widest.as_secs_f64(),
    );
    println!(
        "Seconds after the insert: {}",
        polls.iter().map(seconds).collect::<Vec<_>>().join(", ")
    );
}
