//! `holdpoint init`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use holdpoint_config::{LoginKind, Mode, Signer};
use holdpoint_hook::exit::ExitCode;

use crate::init::{self, Report, SecretSource, Target, Trusted, Uninstall, Wanted, WantedReceipts, Zvm};
use crate::terminal::{Terminal, Tone};

/// What is set up, and what is not asked then.
#[derive(Debug, Args)]
#[command(
    after_help = "At a terminal, what is missing is asked. What a configuration says already stays, unless an option says \
                  something else.\n\nExamples:\n  holdpoint init\n  holdpoint init --level user --url https://zvm.example --username \
                  agent-guard --secret-file ~/.config/holdpoint/zvm-secret --ca-file /etc/ssl/zvm-ca.pem\n  holdpoint init \
                  --uninstall"
)]
pub(super) struct InitArguments {
    /// The configuration; default: as for the hook, and the machine's with --level managed.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The ZVM, https://…, with a port where it is not 443.
    #[arg(long)]
    url: Option<String>,
    /// The kind of log-in.
    #[arg(long, value_enum)]
    login: Option<Login>,
    /// The user at the ZVM.
    #[arg(long)]
    username: Option<String>,
    /// The Keycloak client.
    #[arg(long)]
    client_id: Option<String>,
    /// The file that holds the password or the client's secret.
    #[arg(long, value_name = "FILE", group = "secret")]
    secret_file: Option<PathBuf>,
    /// The environment variable that holds it.
    #[arg(long, value_name = "NAME", group = "secret")]
    secret_env: Option<String>,
    /// The program that prints it, by its absolute path, and its arguments, separated by blanks.
    #[arg(long, value_name = "COMMAND", group = "secret")]
    secret_command: Option<String>,
    /// The account under which the operating system's keyring has it.
    #[arg(long, value_name = "ACCOUNT", group = "secret")]
    secret_keyring: Option<String>,
    /// The certificate of the authority that signed the ZVM's, PEM.
    #[arg(long, value_name = "FILE", group = "trust")]
    ca_file: Option<PathBuf>,
    /// The SHA-256 of the ZVM's certificate: sha256:…
    #[arg(long, value_name = "SHA256", group = "trust")]
    pin: Option<String>,
    /// Pin the certificate that the ZVM shows now, without asking.
    #[arg(long, group = "trust")]
    trust_on_first_use: bool,
    /// Which settings the hook goes into.
    #[arg(long, value_enum, group = "target")]
    level: Option<Level>,
    /// The folder that becomes a plugin of Claude Code instead.
    #[arg(long, value_name = "DIRECTORY", group = "target")]
    plugin: Option<PathBuf>,
    /// Whether receipts are written, and whether a call needs one; default for a new configuration: audit.
    #[arg(long, value_enum, value_name = "MODE")]
    receipts: Option<Receipts>,
    /// Who signs receipts beside the key of this machine; asqav: the service, under the account that the environment names.
    #[arg(long, value_enum, value_name = "SIGNER")]
    signer: Option<SignedBy>,
    /// The matcher of calls in the hook's entries, in the place of mcp__.*; has to fit every tool of an MCP server.
    #[arg(long, value_name = "PATTERN")]
    matcher: Option<String>,
    /// For unattended agents: managed settings, no other hooks beside them, every ask a deny, and receipts.
    #[arg(long, conflicts_with = "target")]
    unattended: bool,
    /// Start from the configuration of the original hook, and print what changes; without a file from the one
    /// that its entry or the environment names.
    #[arg(long, value_name = "CONFIG.json", num_args = 0..=1)]
    from_zerto_rewind: Option<Option<PathBuf>>,
    /// Take the hook out of the settings again: of one level, or of all.
    #[arg(long, conflicts_with_all = ["secret", "trust", "plugin", "from_zerto_rewind", "url", "login", "username", "client_id", "receipts", "signer", "matcher", "unattended"])]
    uninstall: bool,
    /// With --uninstall: remove the configuration, log, receipts, records, keys and policies as well, after naming them.
    #[arg(long, requires = "uninstall")]
    purge: bool,
    /// With --purge: remove without asking.
    #[arg(long, requires = "purge")]
    yes: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Login {
    /// A user of the Linux appliance.
    Password,
    /// A Keycloak client of its own.
    ClientCredentials,
    /// A user of a Windows ZVM.
    WindowsSession,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Receipts {
    /// None are written.
    Off,
    /// One of every decision; where it cannot be written, only the receipt is lost.
    Audit,
    /// No receipt on the disk, no call.
    Gate,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SignedBy {
    /// The key of this machine alone.
    Local,
    /// The asqav service as well.
    Asqav,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    /// Yours, in every project.
    User,
    /// The project's in this directory, for everybody who works on it.
    Project,
    /// Yours, in the project in this directory.
    Local,
    /// The machine's.
    Managed,
}

impl InitArguments {
    /// Sets up, or takes out, and says what was done.
    pub(super) fn run(self) -> ExitCode {
        let mut report = Report::default();
        let done = if self.uninstall {
            let wanted = Uninstall {
                target: self.target(),
                config: self.config,
                purge: self.purge,
                yes: self.yes,
            };
            init::uninstall(wanted, &mut report)
        } else {
            init::run(self.wanted(), &mut report)
        };
        let shown = show(&report, &Terminal::stdout());
        match done {
            Ok(()) if shown.is_ok() => ExitCode::OK,
            Ok(()) => ExitCode::FAILED,
            Err(error) => {
                let text = Terminal::stderr().wrap(&format!("holdpoint: {error}"), 0);
                let _ = writeln!(io::stderr(), "{text}");
                ExitCode::FAILED
            }
        }
    }

    fn target(&self) -> Option<Target> {
        let level = self.level.map(|level| match level {
            Level::User => Target::User,
            Level::Project => Target::Project,
            Level::Local => Target::Local,
            Level::Managed => Target::Managed,
        });
        level.or_else(|| self.plugin.clone().map(Target::Plugin))
    }

    fn wanted(self) -> Wanted {
        let target = self.target();
        let words = |line: String| line.split_whitespace().map(str::to_owned).collect();
        let secret = self
            .secret_file
            .map(SecretSource::File)
            .or_else(|| self.secret_env.map(SecretSource::Environment))
            .or_else(|| self.secret_command.map(|line| SecretSource::Command(words(line))))
            .or_else(|| self.secret_keyring.map(SecretSource::Keyring));
        let trust = self
            .ca_file
            .map(Trusted::CaFile)
            .or_else(|| self.pin.map(Trusted::Pin))
            .or_else(|| self.trust_on_first_use.then_some(Trusted::FirstSeen));
        Wanted {
            config: self.config,
            zvm: Zvm {
                url: self.url,
                login: self.login.map(|login| match login {
                    Login::Password => LoginKind::Password,
                    Login::ClientCredentials => LoginKind::ClientCredentials,
                    Login::WindowsSession => LoginKind::WindowsSession,
                }),
                username: self.username,
                client_id: self.client_id,
                secret,
                trust,
            },
            target,
            receipts: WantedReceipts {
                mode: self.receipts.map(|mode| match mode {
                    Receipts::Off => Mode::Off,
                    Receipts::Audit => Mode::Audit,
                    Receipts::Gate => Mode::Gate,
                }),
                signer: self.signer.map(|signer| match signer {
                    SignedBy::Local => Signer::Local,
                    SignedBy::Asqav => Signer::Asqav,
                }),
            },
            matcher: self.matcher,
            unattended: self.unattended,
            from_zerto_rewind: self.from_zerto_rewind,
        }
    }
}

fn show(report: &Report, terminal: &Terminal) -> io::Result<()> {
    let mut text = String::new();
    for done in &report.done {
        text.push_str(&format!(
            "{} {}\n",
            terminal.paint(Tone::Good, "done"),
            terminal.wrap(done, 5)
        ));
    }
    for remark in &report.remarks {
        text.push_str(&format!(
            "{} {}\n",
            terminal.paint(Tone::Caution, "note"),
            terminal.wrap(remark, 5)
        ));
    }
    io::stdout().write_all(text.as_bytes())
}
