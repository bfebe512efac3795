//! What a policy is lent: Zerto over a real ZVM, and with it the session's tally. Nothing is read, resolved or started before a policy asks.

mod keep;
mod share;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use holdpoint_common::{access, environment, read, way};
use holdpoint_config::{self as config, LoginKind};
use holdpoint_rendezvous::Directory;
use holdpoint_runtime::sandbox::capabilities::{
    Capabilities, CaptureResult, Checkpoint, Direction, Error, Tally, VmRow, VpgState, in_words,
};
use holdpoint_runtime::verdict::Fault;
use holdpoint_zerto as zvm;
use tokio::runtime::Runtime;

use crate::record::{Record, ZertoTimes};
use crate::secret;
use crate::session::Session;

/// Zerto for one decision.
pub struct Zerto {
    config: config::Zerto,
    deadline: Instant,
    record: Arc<Mutex<Record>>,
    session: Session,
    connection: Option<Connection>,
}

struct Connection {
    // Never dropped: a name look-up that hangs in a thread of the runtime would be waited for. The process ends first.
    runtime: std::mem::ManuallyDrop<Runtime>,
    zvm: zvm::Zvm,
    /// Where calls meet to share checkpoints; none where they do not.
    meeting: Option<Arc<Directory>>,
}

impl Zerto {
    /// Lends Zerto until the deadline, and the tally of the call's session. What is asked and seen goes into the record.
    pub fn new(
        config: config::Zerto,
        deadline: Instant,
        record: Arc<Mutex<Record>>,
        session: Session,
    ) -> Self {
        Self {
            config,
            deadline,
            record,
            session,
            connection: None,
        }
    }

    fn connection(&mut self) -> Result<&Connection, Error> {
        if self.connection.is_none() {
            let mut settings = settings(&self.config, self.deadline)?;
            let directory = self.directory();
            if let Some(directory) = &directory {
                let keeper = keep::LogIns::new(Arc::clone(directory), Arc::clone(&self.record));
                settings.keeper = Some(Arc::new(keeper));
                settings.keep_log_in = self.config.keep_token();
            }
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| Error::Unreachable(format!("the network cannot be used ({error})")))?;
            let zvm = zvm::Zvm::new(settings).map_err(from_zvm)?;
            self.connection = Some(Connection {
                runtime: std::mem::ManuallyDrop::new(runtime),
                zvm,
                meeting: directory.filter(|_| self.config.share_checkpoints()),
            });
        }
        Ok(self.connection.as_ref().expect("it was just made"))
    }

    /// What is kept and shared between calls lies here. Where it cannot be used, this call does without, and the log says
    /// why.
    fn directory(&self) -> Option<Arc<Directory>> {
        match directory(&self.config) {
            Ok(directory) => Some(directory),
            Err(cause) => {
                self.record()
                    .trouble(&format!("nothing is shared with other calls: {cause}"));
                None
            }
        }
    }

    /// Asks the ZVM, and records how that went.
    fn ask<T>(&mut self, question: impl AsyncFnOnce(&zvm::Zvm) -> Result<T, zvm::Error>) -> Result<T, Error> {
        let answer = self.connection().and_then(|connection| {
            connection
                .runtime
                .block_on(question(&connection.zvm))
                .map_err(from_zvm)
        });
        if let Err(error) = &answer {
            self.record().trouble(&in_words(error));
        }
        self.record_times();
        answer
    }

    /// Captures, together with other calls where that is wanted.
    fn captured(&mut self, vpgs: &[String], tag: &str) -> Result<Vec<CaptureOutcome>, Error> {
        let meeting = self.connection()?.meeting.clone();
        let Some(directory) = meeting else {
            return self.ask(async |zvm| Ok(zvm.capture(vpgs, tag).await));
        };
        let url = self.config.url.clone().unwrap_or_default();
        let (record, deadline) = (Arc::clone(&self.record), self.deadline);
        self.ask(async |zvm| {
            let sharing = share::Sharing {
                zvm,
                directory: &directory,
                url: &url,
                tag,
                deadline,
                record: &record,
            };
            Ok(sharing.capture(vpgs).await)
        })
    }

    fn found(&self, rows: Vec<zvm::VmRow>) -> Vec<VmRow> {
        let mut record = self.record();
        for vm in &rows {
            record.machine(&vm.vm_name, &vm.vm_identifier, &vm.vpg_identifier, &vm.vpg_name);
        }
        drop(record);
        rows.into_iter().map(row).collect()
    }

    fn record_times(&mut self) {
        if let Some(connection) = &self.connection {
            let spent = connection.zvm.timings();
            let url = self.config.url.as_deref().unwrap_or_default();
            self.record().zvm(url, connection.zvm.known_site().as_deref());
            self.record().zerto = Some(ZertoTimes {
                log_in_ms: spent.log_in,
                look_up_ms: spent.look_up,
                insert_ms: spent.insert,
                wait_ms: spent.journal,
                requests: spent.requests,
            });
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of one VPG's capture.
type CaptureOutcome = Result<zvm::Checkpoint, zvm::Error>;

impl Capabilities for Zerto {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, Error> {
        self.record().target(name);
        let rows = self.ask(async |zvm| zvm.find_vms_by_name(name).await)?;
        Ok(self.found(rows))
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, Error> {
        self.record().target(identifier);
        let rows = self.ask(async |zvm| zvm.find_vms_by_identifier(identifier).await)?;
        Ok(self.found(rows))
    }

    fn vpg(&mut self, identifier: &str) -> Result<VpgState, Error> {
        let state = self.ask(async |zvm| zvm.vpg(identifier).await)?;
        Ok(VpgState {
            vpg_identifier: state.vpg_identifier,
            vpg_name: state.vpg_name,
            status: state.status,
            sub_status: state.sub_status,
            description: state.description,
        })
    }

    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult> {
        self.record().tag(&tag);
        let outcomes = match self.captured(&vpgs, &tag) {
            Ok(outcomes) => outcomes
                .into_iter()
                .map(|outcome| outcome.map(checkpoint).map_err(from_zvm))
                .collect(),
            Err(error) => vec![Err(error); vpgs.len()],
        };
        let mut record = self.record();
        for outcome in &outcomes {
            match outcome {
                Ok(seen) => {
                    let shared_tag = (seen.tag != tag).then_some(seen.tag.as_str());
                    record.seen(&seen.vpg_identifier, &seen.identifier, &seen.time, shared_tag);
                }
                Err(error) => record.trouble(&in_words(error)),
            }
        }
        drop(record);
        vpgs.into_iter()
            .zip(outcomes)
            .map(|(vpg_identifier, outcome)| CaptureResult {
                vpg_identifier,
                outcome,
            })
            .collect()
    }

    fn cadence(&mut self, vpg: &str) -> Result<Option<u64>, Error> {
        let cadence = self.ask(async |zvm| zvm.cadence(vpg).await)?;
        Ok(cadence.map(|cadence| u64::try_from(cadence.as_millis()).unwrap_or(u64::MAX)))
    }

    fn tally(&mut self) -> Result<Option<Tally>, Fault> {
        self.session.tally()
    }

    fn note(&mut self, line: String) {
        self.record().note(&line);
    }

    fn time_left(&mut self) -> u64 {
        let left = self.deadline.saturating_duration_since(Instant::now());
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
    }
}

fn directory(config: &config::Zerto) -> Result<Arc<Directory>, String> {
    let path = config.directory().map_err(|cause| cause.to_string())?;
    let directory = Directory::open(&path).map_err(|error| error.to_string())?;
    Ok(Arc::new(directory))
}

/// Settings for a log-in that a human asks for: it is sent although it was refused a short while ago, and what comes of
/// it counts for the next calls.
pub fn by_hand(config: &config::Zerto, settings: zvm::Settings) -> zvm::Settings {
    // Where nothing can be remembered, the log-in is tried all the same. A folder is not made for that: who only asks must
    // leave nothing behind.
    let is_there = config.directory().is_ok_and(|path| path.is_dir());
    let keeper = is_there
        .then(|| directory(config).ok())
        .flatten()
        .map(|directory| {
            let keeper: Arc<dyn zvm::Keeper> = Arc::new(keep::LogIns::new(directory, Arc::default()));
            keeper
        });
    zvm::Settings {
        keeper,
        retry_refused: true,
        ..settings
    }
}

/// From configuration to what the ZVM's module wants. Reads the secret: nothing before this does.
pub fn settings(config: &config::Zerto, deadline: Instant) -> Result<zvm::Settings, Error> {
    settings_with(config, deadline, || secret::read(config, deadline))
}

/// The same, with a secret from elsewhere.
pub fn settings_with(
    config: &config::Zerto,
    deadline: Instant,
    secret: impl FnOnce() -> Result<zvm::Secret, Error>,
) -> Result<zvm::Settings, Error> {
    let missing = |key: &str| Error::Unreachable(format!("{} is not configured", config.named(key)));
    let url = config.url.clone().ok_or_else(|| missing("url"))?;
    let username = || config.username.clone().ok_or_else(|| missing("username"));
    let secret = secret()?;
    let login = match config.login {
        LoginKind::Password => zvm::Login::Password {
            client_id: config.client_id.clone().unwrap_or_else(|| "zerto-client".into()),
            username: username()?,
            password: secret,
        },
        LoginKind::ClientCredentials => zvm::Login::ClientCredentials {
            client_id: config.client_id.clone().ok_or_else(|| missing("client_id"))?,
            client_secret: secret,
        },
        LoginKind::WindowsSession => zvm::Login::WindowsSession {
            username: username()?,
            password: secret,
        },
    };
    Ok(zvm::Settings {
        url,
        login,
        trust: trust(config)?,
        deadline,
        longest_wait: config.longest_wait(),
        keeper: None,
        keep_log_in: false,
        retry_refused: false,
    })
}

/// What is trusted, as the configuration says it.
pub fn trust(config: &config::Zerto) -> Result<zvm::Trust, Error> {
    Ok(match (config.fingerprint(), &config.ca_file, config.verify()) {
        (_, _, false) => zvm::Trust::Nothing,
        (Some(pin), _, true) => zvm::Trust::Pin(pin),
        (None, Some(path), true) => {
            // One that cannot be opened is told of by whoever reads it.
            if read::open(path).is_ok_and(|(_, metadata)| access::writable_by_others(&metadata)) {
                let path = path.display();
                let text = format!("zerto.ca_file may be written by others; mend it with: chmod go-w {path}");
                return Err(Error::Unreachable(text));
            }
            way::check(path).map_err(|problem| {
                Error::Unreachable(format!("zerto.ca_file {} {problem}", path.display()))
            })?;
            zvm::Trust::CaFile(path.clone())
        }
        (None, None, true) => match SYSTEM_TRUST_VARIABLES
            .iter()
            .find(|name| environment::var_os(name).is_some())
        {
            None => zvm::Trust::System,
            Some(name) => {
                let text = format!(
                    "{name} is set in the environment, where a project can set it, and names other authorities than this \
                     machine's; name the ZVM's authority by zerto.ca_file or zerto.pin"
                );
                return Err(Error::Unreachable(text));
            }
        },
    })
}

/// What replaces the system's certificates, for the libraries that load them.
const SYSTEM_TRUST_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

fn row(row: zvm::VmRow) -> VmRow {
    VmRow {
        vm_identifier: row.vm_identifier,
        vm_name: row.vm_name,
        vpg_identifier: row.vpg_identifier,
        vpg_name: row.vpg_name,
        status: row.status,
        sub_status: row.sub_status,
        vm_exists: row.vm_exists,
        direction: match row.direction {
            zvm::Direction::ProtectedHere => Direction::ProtectedHere,
            zvm::Direction::RecoveredHere => Direction::RecoveredHere,
            zvm::Direction::Unknown => Direction::Unknown,
        },
        extras: row.extras.to_string(),
    }
}

fn checkpoint(seen: zvm::Checkpoint) -> Checkpoint {
    Checkpoint {
        identifier: seen.identifier,
        vpg_identifier: seen.vpg_identifier,
        tag: seen.tag,
        time: seen.time,
    }
}

fn from_zvm(error: zvm::Error) -> Error {
    match error {
        zvm::Error::NotFound => Error::NotFound,
        zvm::Error::Refused(text) => Error::Refused(text),
        zvm::Error::Unauthorized(text) => Error::Unauthorized(text),
        zvm::Error::Unreachable(text) => Error::Unreachable(text),
        zvm::Error::TimedOut(text) => Error::TimedOut(text),
        zvm::Error::Malformed(text) => Error::Malformed(text),
    }
}
