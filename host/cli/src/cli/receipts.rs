//! `holdpoint receipts …`: the evidence, for people and for programs.

mod elsewhere;
mod show;

use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use holdpoint_artifact::{Digest, PublicKey};
use holdpoint_common::read::{self, limit};
use holdpoint_common::safe_text::{clean, clean_line};
use holdpoint_config::{self as config, Mode, Receipts};
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::{receipts, self_test_calls};
use holdpoint_receipts::{
    Calls, Filter, Key, KeySet, KeyStatus, Log, Moment, Report, Source, Trust, Verdict, verify,
};

use super::configuration::configured as configured_by;
use crate::terminal::Terminal;

use super::when::{Wanted, when};

/// What a verb comes to: how the process ends, or an error that says what to do.
type Done = Result<ExitCode, Box<dyn Error>>;

/// How long a change of keys waits for hooks that are writing.
const WAIT: Duration = Duration::from_secs(10);

/// The longest error, in characters.
const LONGEST_ERROR: usize = 8_000;

/// The verbs that have to do with receipts.
#[derive(Debug, Args)]
pub(super) struct ReceiptsArguments {
    /// The configuration; default: the one that the hook entry names, else as for the hook.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List calls: when, which tool, which machine, the verdict, the checkpoint, and how it ended.
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
        #[command(flatten)]
        place: Place,
    },
    /// Show one call, or all of a machine, VPG, checkpoint or session, and the way back.
    #[command(after_help = "Examples:\n  holdpoint receipts show web01\n  holdpoint receipts show 69b7760c")]
    Show {
        /// A receipt's digest or its first digits, #NUMBER, a call's id, a checkpoint's id, tag or the eight digits in the
        /// tag, a VPG, a machine, or a session's id or the first eight characters of it.
        what: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Verify receipts: their signatures, by whom, whether any is missing, and whether what ran is what was decided.
    #[command(
        after_help = "Exit codes: 0, nothing failed; 3, something is wrong with the receipts; 6, nothing is, and a call did \
                      not run as it was decided. What was not checked has not passed.\n\n\
                      Example:\n  holdpoint receipts verify --keys noted-at-the-beginning.keys.json --head sha256:…"
    )]
    Verify {
        /// A log's folder, or a file that was exported; default: the configured log.
        path: Option<PathBuf>,
        /// An archive of the log, which comes before it; may be given several times.
        #[arg(long, value_name = "FILE")]
        archive: Vec<PathBuf>,
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
    /// Copy all receipts into FILE, one a line, and the key set into FILE's .keys.json; or send them to a collector.
    #[command(
        after_help = "A collector's headers are taken from OTEL_EXPORTER_OTLP_HEADERS.\n\n\
                      Examples:\n  holdpoint receipts export january.jsonl\n  \
                      holdpoint receipts export --otlp https://collector.example:4318 --since 2027-01-31T00:00:00Z"
    )]
    Export {
        /// The file; must not exist.
        #[arg(required_unless_present = "otlp", conflicts_with = "otlp")]
        file: Option<PathBuf>,
        /// An OpenTelemetry collector (OTLP over HTTP, JSON), which gets each receipt as a log record.
        #[arg(long, value_name = "URL")]
        otlp: Option<String>,
        /// To a collector: which.
        #[command(flatten)]
        wanted: Wanted,
        /// A log's folder; default: the configured log.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Write one self-contained HTML page of the calls.
    #[command(after_help = "Example:\n  holdpoint receipts report receipts.html --vm web01")]
    Report {
        /// The file; what is there is replaced.
        file: PathBuf,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        place: Place,
        /// Trusted keys, as for verify.
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
    },
    /// Serve the harness's http hooks after calls (PostToolUse, PostToolUseFailure), and write receipts of them.
    #[command(
        after_help = "Ends with SIGTERM or SIGINT. It cannot stop a call: where nothing answers an http hook, the call runs.\n\n\
                      Example:\n  holdpoint receipts serve --token-file ~/.config/holdpoint/token"
    )]
    Serve {
        /// The address to listen on.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8737")]
        listen: std::net::SocketAddr,
        /// The file with the bearer token that callers show; created if it does not exist.
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
    },
    /// Move old receipts out of the log into an archive.
    #[command(
        after_help = "The log goes on from a base: a signed receipt that names the last one in the archive. The archive is \
                      verified alone, or before the log with: holdpoint receipts verify --archive FILE. Where it was \
                      interrupted, the same command again ends it.\n\n\
                      Example:\n  holdpoint receipts archive /srv/evidence/holdpoint-2027-01.jsonl --before 30d"
    )]
    Archive {
        /// The archive; its key set comes beside it (FILE's .keys.json).
        file: PathBuf,
        /// Only the log's files whose receipts were all made before this time: 30d ago, or 2027-01-31T12:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = when)]
        before: Option<Moment>,
    },
    /// Create the key that signs receipts, and begin their log.
    #[command(after_help = "Example:\n  holdpoint receipts keygen")]
    Keygen,
    /// Replace the key by a new one; the old one signs the change.
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
    /// Not after this time.
    #[arg(long, value_name = "TIME", value_parser = when)]
    until: Option<Moment>,
    #[command(flatten)]
    wanted: Wanted,
}

/// Where receipts are read.
#[derive(Debug, Args)]
struct Place {
    /// A log's folder, or a file that was exported; default: the configured log.
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// An archive of the log, which comes before it; may be given several times.
    #[arg(long, value_name = "FILE")]
    archive: Vec<PathBuf>,
}

impl From<Wanted> for Filter {
    fn from(wanted: Wanted) -> Self {
        Self {
            since: wanted.since,
            tool: wanted.tool,
            changes: wanted.changes,
            limit: wanted.limit,
            ..Self::default()
        }
    }
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
            until: which.until,
            ..which.wanted.into()
        }
    }
}

/// Runs a verb and says how the process has to end.
pub(super) fn run(arguments: ReceiptsArguments) -> ExitCode {
    match arguments.run() {
        Ok(code) => code,
        Err(error) => {
            // Candidates are named line by line, and by what others wrote.
            let error = clean(&error.to_string(), LONGEST_ERROR);
            let text = Terminal::stderr().wrap(&format!("holdpoint: {error}"), 0);
            let _ = writeln!(io::stderr(), "{text}");
            ExitCode::FAILED
        }
    }
}

impl ReceiptsArguments {
    fn run(self) -> Done {
        let configured =
            || -> Result<Receipts, config::ConfigError> { Ok(configured_by(self.config.clone())?.receipts) };
        let log = || -> Result<Log, Box<dyn Error>> { Ok(receipts::log(&configured()?)?) };
        let with = |path: Option<PathBuf>, archives: &[PathBuf]| -> Result<Source, Box<dyn Error>> {
            let path = match path {
                Some(path) => path,
                None => configured()?.directory()?,
            };
            Ok(Source::with_archives(&path, archives)?)
        };
        let source = |path: Option<PathBuf>| with(path, &[]);
        match self.verb {
            Verb::List { which, json, place } => {
                let mut filter: Filter = which.into();
                // The self-test's calls are not counted, so they are taken out before the newest are.
                let limit = filter.limit.take();
                let wants_tests = filter.session.as_deref() == Some(self_test_calls::SESSION);
                let calls = Calls::read(&with(place.from, &place.archive)?, &filter)?;
                show::list(calls, wants_tests, limit, json)
            }
            Verb::Show { what, json, place } => {
                let calls = Calls::read(&with(place.from, &place.archive)?, &Filter::default())?;
                show::show(&calls, &calls.find(&what)?, json)
            }
            Verb::Verify {
                path,
                archive,
                keys,
                head,
                json,
            } => {
                let keys = keys.as_deref().map(trusted).transpose()?;
                let report = verify(&with(path, &archive)?, &Trust { keys, head })?;
                tell(&report, json)
            }
            Verb::Export {
                otlp: Some(url),
                wanted,
                from,
                ..
            } => elsewhere::send(&source(from)?, &url, &wanted.into()),
            Verb::Export { wanted, .. } if wanted.narrows() => Err(
                "--since, --tool, --changes and --limit go with --otlp: a file holds all receipts, since none of them can be \
                 verified without the ones before it"
                    .into(),
            ),
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
                place,
                keys,
            } => {
                let keys = keys.as_deref().map(trusted).transpose()?;
                let source = with(place.from, &place.archive)?;
                elsewhere::report(&source, &which.into(), &Trust { keys, head: None }, &file)
            }
            Verb::Serve { listen, token_file } => {
                let config = configured_by(self.config.clone())?;
                elsewhere::serve(config, listen, &token_file)
            }
            Verb::Archive { file, before } => {
                let archived = log()?.archive(&file, before, WAIT)?;
                let text = format!(
                    "{} has the receipts up to #{}, {}, from {} files of the log, and {} the keys that they are verified \
                     with: keep them together, and the digest elsewhere. The log goes on from a base.\n",
                    file.display(),
                    archived.through,
                    archived.digest,
                    archived.files,
                    archived.keys.display()
                );
                print(&clean(&text, LONGEST_ERROR))
            }
            Verb::Keygen => {
                let settings = configured()?;
                let log = receipts::log(&settings)?;
                let key = log.begin()?;
                told_of(&log, &key, settings.mode)
            }
            Verb::ChangeKey => {
                let settings = configured()?;
                let log = receipts::log(&settings)?;
                let key = log.change_key(WAIT)?;
                told_of(&log, &key, settings.mode)
            }
        }
    }
}

fn told_of(log: &Log, key: &Key, mode: Mode) -> Done {
    let signs = match mode {
        Mode::Off => {
            "will sign receipts, and signs none yet, since receipts.mode is \"off\": set it to \"audit\" or \"gate\""
        }
        Mode::Audit | Mode::Gate => "signs receipts from now on",
    };
    print(&format!(
        "{} {signs}. The private key is {}; keep {} elsewhere too, to verify receipts with\n",
        key.id(),
        log.key.display(),
        log.directory.join("keys.json").display()
    ))
}

/// Keys from a key set's file, or the one in a PEM file.
fn trusted(path: &Path) -> Result<KeySet, Box<dyn Error>> {
    let text =
        read::read_text(path, limit::KEY_SET).map_err(|error| format!("{}: {error}", path.display()))?;
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
    let code = match (report.failed(), report.deviated()) {
        (true, _) => ExitCode::FAILED,
        (false, true) => ExitCode::DEVIATED,
        (false, false) => ExitCode::OK,
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
        ("as decided", &report.as_decided),
    ] {
        text.push_str(&format!("{name:<13} {}\n", part.outcome.words()));
        for finding in &part.found {
            let finding = clean_line(finding, LONGEST_ERROR);
            text.push_str(&format!("  {}\n", terminal.wrap(&finding, 4)));
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
