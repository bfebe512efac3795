//! `holdpoint receipts …`: the evidence, for people and for programs.

mod elsewhere;
mod show;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use holdpoint_artifact::{Digest, PublicKey};
use holdpoint_receipts::{
    Calls, Filter, Key, KeySet, KeyStatus, Log, Moment, Report, Source, Trust, Verdict, verify,
};

use crate::config::{self, Places, Receipts};
use crate::doctor::own;
use crate::exit::ExitCode;
use crate::terminal::Terminal;

/// What a verb comes to: how the process ends, or an error that says what to do.
type Done = Result<ExitCode, Box<dyn Error>>;

/// How long a change of keys waits for hooks that are writing.
const WAIT: Duration = Duration::from_secs(10);

/// The verbs that have to do with receipts.
#[derive(Debug, Args)]
pub(super) struct ReceiptsArguments {
    /// The configuration; default: as for the hook.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists calls: when, which tool, which machine, the verdict, the checkpoint, and how it ended.
    #[command(
        after_help = "Into a pipe it writes lines with tabs between the columns, without a heading.\n\n\
                      Example:\n  holdpoint receipts list --vm web01 --since 2027-01-31T00:00:00Z"
    )]
    List {
        #[command(flatten)]
        which: Which,
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// A log's folder, or a file that was exported; default: the configured log.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Shows one call, or all that changed a machine, and the way back.
    #[command(after_help = "Example:\n  holdpoint receipts show web01")]
    Show {
        /// A receipt's digest or its first digits, #NUMBER, a call's id, or a machine.
        what: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// A log's folder, or a file that was exported; default: the configured log.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Says of receipts whether they are as they were signed, by whom, and whether any is missing.
    #[command(
        after_help = "Exit codes: 0, nothing failed; 3, something did. What was not checked is not passed.\n\n\
                      Example:\n  holdpoint receipts verify --keys noted-at-the-beginning.keys.json --head sha256:…"
    )]
    Verify {
        /// A log's folder, or a file that was exported; default: the configured log.
        path: Option<PathBuf>,
        /// Trusted keys, from elsewhere than the log: a key set, or a public key in PEM.
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
        /// The digest of a receipt that has to be there, noted when it was the last one.
        #[arg(long, value_name = "DIGEST")]
        head: Option<Digest>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copies all receipts into FILE, one a line, and the key set into FILE's .keys.json; or sends them to a collector.
    #[command(
        after_help = "A collector's headers are taken from OTEL_EXPORTER_OTLP_HEADERS.\n\n\
                      Examples:\n  holdpoint receipts export january.jsonl\n  \
                      holdpoint receipts export --otlp https://collector.example:4318 --since 2027-01-31T00:00:00Z"
    )]
    Export {
        /// The file; there must be none yet.
        #[arg(required_unless_present = "otlp", conflicts_with = "otlp")]
        file: Option<PathBuf>,
        /// An OpenTelemetry collector (OTLP over HTTP, JSON), which gets each receipt as a log record.
        #[arg(long, value_name = "URL")]
        otlp: Option<String>,
        /// To a collector: not before this time.
        #[arg(long, value_name = "TIME", requires = "otlp")]
        since: Option<Moment>,
        /// A log's folder; default: the configured log.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Makes one HTML page of the calls, which needs nothing but itself.
    #[command(after_help = "Example:\n  holdpoint receipts report receipts.html --vm web01")]
    Report {
        /// The file; what is there is replaced.
        file: PathBuf,
        #[command(flatten)]
        which: Which,
        /// A log's folder, or a file that was exported; default: the configured log.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Trusted keys, as for verify.
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
    },
    /// Takes the harness's http hooks after calls (PostToolUse, PostToolUseFailure), and writes receipts of them.
    #[command(
        after_help = "Ends with SIGTERM or SIGINT. It cannot be a gate: where nothing answers an http hook, the call runs.\n\n\
                      Example:\n  holdpoint receipts serve --token-file ~/.config/holdpoint/token"
    )]
    Serve {
        /// The address to listen on.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8737")]
        listen: std::net::SocketAddr,
        /// The file with the bearer token that callers show; made where there is none.
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
    },
    /// Makes the key that signs receipts, and begins their log.
    #[command(after_help = "Example:\n  holdpoint receipts keygen")]
    Keygen,
    /// Changes the key for a new one; the old one signs the change.
    #[command(after_help = "Example:\n  holdpoint receipts change-key")]
    ChangeKey,
}

/// Which calls.
#[derive(Debug, Args)]
struct Which {
    /// Of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// That name this machine.
    #[arg(long, value_name = "NAME")]
    vm: Option<String>,
    /// With this verdict.
    #[arg(long, value_enum)]
    verdict: Option<Word>,
    /// Not before this time, for example 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Not after this time.
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Word {
    Pass,
    Ask,
    Deny,
}

impl From<Which> for Filter {
    fn from(which: Which) -> Self {
        Self {
            session: which.session,
            vm: which.vm,
            verdict: which.verdict.map(|word| match word {
                Word::Pass => Verdict::Pass,
                Word::Ask => Verdict::Ask,
                Word::Deny => Verdict::Deny,
            }),
            since: which.since,
            until: which.until,
        }
    }
}

/// Runs a verb and says how the process has to end.
pub(super) fn run(arguments: ReceiptsArguments) -> ExitCode {
    match arguments.run() {
        Ok(code) => code,
        Err(error) => {
            let text = Terminal::stderr().wrap(&format!("holdpoint: {error}"), 0);
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::FAILED
        }
    }
}

impl ReceiptsArguments {
    fn run(self) -> Done {
        let configured = || -> Result<Receipts, config::ConfigError> {
            Ok(config::load(&Places::find(self.config.clone()))?.receipts)
        };
        let log = || -> Result<Log, Box<dyn Error>> { Ok(configured()?.log()?) };
        let source = |path: Option<PathBuf>| -> Result<Source, Box<dyn Error>> {
            let path = match path {
                Some(path) => path,
                None => configured()?.directory()?,
            };
            Ok(Source::open(&path)?)
        };
        match self.verb {
            Verb::List { which, json, from } => {
                let filter: Filter = which.into();
                let wants_tests = filter.session.as_deref() == Some(own::SESSION);
                show::list(&Calls::read(&source(from)?, &filter)?, wants_tests, json)
            }
            Verb::Show { what, json, from } => {
                let calls = Calls::read(&source(from)?, &Filter::default())?;
                show::show(&calls.find(&what)?, json)
            }
            Verb::Verify {
                path,
                keys,
                head,
                json,
            } => {
                let keys = keys.as_deref().map(trusted).transpose()?;
                let report = verify(&source(path)?, &Trust { keys, head })?;
                tell(&report, json)
            }
            Verb::Export {
                otlp: Some(url),
                since,
                from,
                ..
            } => elsewhere::send(&source(from)?, &url, since),
            Verb::Export { file, from, .. } => {
                let file = file.ok_or("FILE is missing")?;
                let keys = source(from)?.export(&file)?;
                print(&format!(
                    "{} has the receipts, {} the keys that they are verified with: give them on together, and note \
                     elsewhere what the last receipt's digest is (holdpoint receipts verify)\n",
                    file.display(),
                    keys.display()
                ))
            }
            Verb::Report {
                file,
                which,
                from,
                keys,
            } => {
                let keys = keys.as_deref().map(trusted).transpose()?;
                elsewhere::report(&source(from)?, &which.into(), &Trust { keys, head: None }, &file)
            }
            Verb::Serve { listen, token_file } => {
                let config = config::load(&Places::find(self.config.clone()))?;
                elsewhere::serve(config, listen, &token_file)
            }
            Verb::Keygen => {
                let log = log()?;
                let key = log.begin()?;
                told_of(&log, &key)
            }
            Verb::ChangeKey => {
                let log = log()?;
                let key = log.change_key(WAIT)?;
                told_of(&log, &key)
            }
        }
    }
}

fn told_of(log: &Log, key: &Key) -> Done {
    print(&format!(
        "{} signs receipts from now on, from {}; keep {} elsewhere too, to verify them with\n",
        key.id(),
        log.key.display(),
        log.directory.join("keys.json").display()
    ))
}

/// Keys from a key set's file, or the one in a PEM file.
fn trusted(path: &Path) -> Result<KeySet, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !text.trim_start().starts_with("-----BEGIN") {
        return Ok(KeySet::read(path)?);
    }
    let public = PublicKey::from_pem(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let key = Key {
        // Of a key alone it is not known whose it is; receipts of a log that began with it say this.
        issuer: format!("holdpoint:{}", public.id()),
        public,
        not_before: None,
        not_after: None,
        status: KeyStatus::Active,
    };
    Ok(KeySet { keys: vec![key] })
}

fn tell(report: &Report, json: bool) -> Done {
    let code = if report.failed() {
        ExitCode::FAILED
    } else {
        ExitCode::OK
    };
    if json {
        print_json(&serde_json::to_value(report)?)?;
        return Ok(code);
    }
    let terminal = Terminal::stdout();
    let mut text = String::new();
    for (name, part) in [
        ("integrity", &report.integrity),
        ("signer trust", &report.signer_trust),
        ("completeness", &report.completeness),
    ] {
        text.push_str(&format!("{name:<13} {}\n", part.outcome.words()));
        for finding in &part.found {
            text.push_str(&format!("  {}\n", terminal.wrap(finding, 4)));
        }
        if part.more > 0 {
            text.push_str(&format!("  and {} more\n", part.more));
        }
    }
    for note in &report.notes {
        text.push_str(&format!("{}\n", terminal.wrap(&format!("note: {note}"), 6)));
    }
    if let (Some(last), Some(head)) = (report.last, report.head) {
        let last = format!("the last one is #{last}, {head}");
        text.push_str(&format!("{}\n", terminal.wrap(&last, 2)));
    }
    print(&text)?;
    Ok(code)
}

fn print(text: &str) -> Done {
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::OK)
}

fn print_json(value: &serde_json::Value) -> Done {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
