//! Whether the ZVM would do what a call needs of it, asked without changing anything there.

use std::time::{Duration, Instant};

use holdpoint_config::{self as config, LoginKind};
use holdpoint_hook::secret;
use holdpoint_hook::zerto::{by_hand, settings, settings_with};
use holdpoint_runtime::sandbox::capabilities::{self, in_words};
use holdpoint_zerto::{Certificate, Direction, Error, Permission, SiteState, Trust, VmRow, VpgState, Zvm};

use super::finding::{Finding, Severity};
use super::machines::{self, Mapped};
use super::state::ago;

/// What of the deadline goes before a call waits for its checkpoint, and after.
const BEFORE_THE_WAIT: Duration = Duration::from_secs(5);
/// How long the ZVM has for all questions together.
const PATIENCE: Duration = Duration::from_secs(30);
/// From so many days before its end on, a certificate is said to end soon.
const SOON: i64 = 30;
/// An end that is further away than this, in days, is meant as none.
const FAR: i64 = 50 * 365;
/// Clocks that are further apart than this, in seconds, confuse whoever compares times.
const APART: f64 = 120.0;
/// A token that lives shorter than this is renewed all the time while a checkpoint is waited for.
const SHORT: Duration = Duration::from_secs(20);
/// The most VPGs that are told of one by one.
const MOST_VPGS: usize = 10;

/// What is known of the ZVM.
pub(super) struct Facts {
    pub(super) url: String,
    /// Whether a certificate is accepted whatever its dates.
    pub(super) trust: Option<Trust>,
    pub(super) certificate: Option<Certificate>,
    /// What came of the log-in: the life of the token, or why nothing else could be asked.
    pub(super) log_in: Result<Option<Duration>, Error>,
    pub(super) answers: Option<Answers>,
    pub(super) now: i64,
    /// How long a call may wait for its checkpoint.
    pub(super) wait: Duration,
}

/// What the ZVM answered after the log-in.
pub(super) struct Answers {
    pub(super) site: Result<SiteState, Error>,
    /// How far its clock is ahead, in seconds.
    pub(super) ahead: Result<f64, Error>,
    pub(super) permission: Result<Permission, Error>,
    pub(super) vpgs: Result<Vec<VpgState>, Error>,
    pub(super) vms: Result<Vec<VmRow>, Error>,
    /// How far apart the checkpoints of VPGs are whose machines run here, where that could be told.
    pub(super) cadences: Vec<(String, Duration)>,
    /// The machines that the configuration maps other names to.
    pub(super) machines: Result<Vec<Mapped>, Error>,
}

impl Facts {
    /// Asks the ZVM; none where none is configured.
    /// `names` are those that the configuration maps others to, each with its key.
    pub(super) fn gather(
        config: &config::Zerto,
        deadline: Duration,
        names: &[(String, String)],
    ) -> Option<Self> {
        let url = config.url.clone()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut facts = Self {
            url,
            trust: None,
            certificate: None,
            log_in: Ok(None),
            answers: None,
            now: now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX)),
            wait: config
                .longest_wait()
                .min(deadline.saturating_sub(BEFORE_THE_WAIT)),
        };
        if let Err(error) = facts.ask(config, names) {
            facts.log_in = Err(error);
        }
        Some(facts)
    }

    fn ask(&mut self, config: &config::Zerto, names: &[(String, String)]) -> Result<(), Error> {
        let settings = settings(config, Instant::now() + PATIENCE).map_err(to_zvm)?;
        self.trust = Some(settings.trust.clone());
        let zvm = Zvm::new(by_hand(config, settings))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unreachable(error.to_string()))?;
        let answered = runtime.block_on(async {
            let life = zvm.log_in().await?;
            let mut answers = Answers {
                site: zvm.site_state().await,
                ahead: zvm.clock_ahead().await,
                permission: zvm.may_insert().await,
                vpgs: zvm.vpgs().await,
                vms: zvm.vms().await,
                cadences: Vec::new(),
                machines: machines::look_up(&zvm, names).await,
            };
            answers.cadences = cadences(&zvm, &answers).await;
            Ok((life, answers))
        });
        self.certificate = zvm.certificate();
        // A look-up of a name that hangs in a thread is not waited for.
        runtime.shutdown_background();
        let (life, answers) = answered?;
        (self.log_in, self.answers) = (Ok(life), Some(answers));
        Ok(())
    }
}

/// The cadences of the VPGs whose machines run here, of so many of them as there is time for.
async fn cadences(zvm: &Zvm, answers: &Answers) -> Vec<(String, Duration)> {
    let rows = answers.vms.as_deref().unwrap_or_default();
    let runs_here = |vpg: &&VpgState| {
        let mut rows = rows.iter().filter(|row| row.vpg_identifier == vpg.vpg_identifier);
        rows.any(|row| row.direction != Direction::RecoveredHere)
    };
    let until = Instant::now() + PATIENCE / 3;
    let mut cadences = Vec::new();
    for vpg in answers.vpgs.iter().flatten().filter(runs_here) {
        if Instant::now() > until {
            break;
        }
        if let Ok(Some(cadence)) = zvm.long_cadence(&vpg.vpg_identifier).await {
            cadences.push((vpg.vpg_name.clone(), cadence));
        }
    }
    cadences
}

fn to_zvm(error: capabilities::Error) -> Error {
    match error {
        capabilities::Error::NotFound => Error::NotFound,
        capabilities::Error::Refused(words) => Error::Refused(words),
        capabilities::Error::Unauthorized(words) => Error::Unauthorized(words),
        capabilities::Error::Unreachable(words) => Error::Unreachable(words),
        capabilities::Error::TimedOut(words) => Error::TimedOut(words),
        capabilities::Error::Malformed(words) => Error::Malformed(words),
    }
}

/// The checks of the files that a log-in needs.
const SECRET: &str = "configuration.secret";
const AUTHORITY: &str = "configuration.authority";

/// Whether a finding says why there can be no log-in from this machine, whatever the ZVM is.
pub(super) fn keeps_from_a_log_in(finding: &Finding) -> bool {
    let is_about_it = [SECRET, AUTHORITY].contains(&finding.check) || finding.check.starts_with("zvm.");
    is_about_it && finding.severity == Severity::Broken
}

/// What keeps this machine from a log-in whatever the ZVM is: told without asking it, and without starting anything.
/// `said` are findings about the same files.
pub(super) fn of_configuration(config: &config::Zerto, said: &[Finding]) -> Vec<Finding> {
    let Some(url) = &config.url else { return Vec::new() };
    let denied = "every call that changes a machine is denied";
    let is_said = |check: &str| said.iter().any(|finding| finding.check == check);
    let mut findings = Vec::new();
    if !is_said(SECRET)
        && let Err((found, fix)) = secret::check(config)
    {
        findings.push(Finding::broken("zvm.login", found, denied).mended_by(fix));
    }
    let nobody = || Ok(holdpoint_zerto::Secret::new("none"));
    let deadline = Instant::now() + PATIENCE;
    let wrong = match settings_with(config, deadline, nobody) {
        Ok(settings) => Zvm::new(settings).err().map(|error| error.to_string()),
        Err(error) => Some(in_words(&error)),
    };
    let Some(found) = wrong.filter(|_| !is_said(AUTHORITY)) else {
        return findings;
    };
    let (check, fix) = if config.username.is_none() && config.login != LoginKind::ClientCredentials {
        ("zvm.login", format!("set {}", config.named("username")))
    } else if config.client_id.is_none() && config.login == LoginKind::ClientCredentials {
        (
            "zvm.login",
            "set zerto.client_id to the client that was made in Keycloak".into(),
        )
    } else if let Some(path) = config
        .ca_file
        .as_ref()
        .filter(|_| found.contains("CA file") || found.contains("ca_file"))
    {
        let fix = format!(
            "put the ZVM's authority into {} as PEM, or set zerto.ca_file to the file that holds it",
            path.display()
        );
        ("zvm.trust", fix)
    } else {
        ("zvm.reach", format!("correct {}", config.named("url")))
    };
    findings.push(Finding::broken(check, format!("{url}: {found}"), denied).mended_by(fix));
    findings
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &facts.log_in {
        Ok(life) => findings.push(of_log_in(&facts.url, *life)),
        Err(error) => findings.push(unanswered(facts, error)),
    }
    findings.extend(of_certificate(facts));
    if let Some(answers) = &facts.answers {
        findings.extend(of_answers(answers));
        findings.extend(of_direction(&answers.vms));
        findings.extend(of_cadences(&answers.cadences, facts.wait));
    }
    findings
}

fn of_log_in(url: &str, life: Option<Duration>) -> Finding {
    match life {
        Some(life) if life < SHORT => Finding::caution(
            "zvm.token",
            format!("{url} lets us in for {} seconds at a time", life.as_secs()),
            "a wait for a checkpoint then logs in again and again, which a ZVM may take for an attack",
        )
        .mended_by("raise the access token's life in Keycloak (60 seconds are usual)"),
        Some(life) => Finding::good("zvm", format!("{url}, logged in for {} seconds", life.as_secs())),
        None => Finding::good("zvm", format!("{url}, logged in")),
    }
}

fn unanswered(facts: &Facts, error: &Error) -> Finding {
    let url = &facts.url;
    let denied = "every call that changes a machine is denied";
    if let Error::Unreachable(words) = error
        && words.contains("is not trusted")
        && let Some(certificate) = &facts.certificate
    {
        // An agent is told neither the digest nor what to do with it.
        let words = words.split(';').next().unwrap_or_default();
        let found = format!("{words}; its digest is sha256:{}", certificate.sha256);
        return Finding::broken("zvm.trust", found, denied).mended_by(
            "compare that SHA-256 at the ZVM itself, since whoever stands in between can show one of their own; if it is \
             the ZVM's, set zerto.pin to it, or zerto.ca_file to its authority's file: holdpoint init --pin, or --ca-file",
        );
    }
    let (check, mend) = match error {
        Error::Unauthorized(_) => (
            "zvm.login",
            "check zerto.username, zerto.client_id and the secret; a locked account has to be unlocked in Keycloak",
        ),
        _ => (
            "zvm.reach",
            "check zerto.url, and what stands between here and the ZVM",
        ),
    };
    Finding::broken(check, format!("{url}: {error}"), denied).mended_by(mend)
}

/// Whatever is trusted, a certificate has an end.
fn of_certificate(facts: &Facts) -> Option<Finding> {
    let certificate = facts.certificate.as_ref()?;
    let (begins, ends) = certificate.validity?;
    let says = |what: String| {
        format!(
            "the ZVM's certificate (SHA-256 {:.16}…) {what}",
            certificate.sha256
        )
    };
    let seconds = |span: i64| ago(u64::try_from(span).unwrap_or(0));
    // A pin, or no trust at all, looks at no dates.
    let counts = !matches!(facts.trust, Some(Trust::Pin(_) | Trust::Nothing));
    let mend = "renew it on the ZVM; a pin then has to be set anew";
    let matters = if counts {
        "a certificate out of its time is refused, and every call that changes a machine is denied"
    } else {
        "it is accepted as it is configured here; other programs refuse it, and once it is renewed a pin fits no more"
    };
    let bad = |found| {
        let severity = if counts {
            Severity::Broken
        } else {
            Severity::Caution
        };
        Some(Finding::new(severity, "zvm.certificate", found, matters).mended_by(mend))
    };
    if ends < facts.now {
        bad(says(format!("ended {} ago", seconds(facts.now - ends))))
    } else if begins > facts.now {
        bad(says(format!("counts in {} only", seconds(begins - facts.now))))
    } else if ends - facts.now < SOON * 86_400 {
        let found = says(format!("ends in {}", seconds(ends - facts.now)));
        Some(Finding::caution("zvm.certificate", found, matters).mended_by(mend))
    } else {
        let found = if ends - facts.now > FAR * 86_400 {
            says("counts for more than a lifetime".into())
        } else {
            says(format!("counts for {} more", seconds(ends - facts.now)))
        };
        Some(Finding::good("zvm.certificate", found))
    }
}

fn of_answers(answers: &Answers) -> Vec<Finding> {
    let mut findings = vec![
        of_site(&answers.site),
        of_clock(&answers.ahead),
        of_permission(&answers.permission),
    ];
    match &answers.vpgs {
        Ok(vpgs) => findings.extend(of_vpgs(vpgs)),
        Err(error) => findings.push(unasked("zvm.vpgs", "its VPGs", error)),
    }
    match &answers.machines {
        Ok(mapped) => findings.extend(machines::judge(mapped)),
        Err(error) => findings.push(unasked("zvm.machines", "the VMs of policy.machines", error)),
    }
    findings
}

fn of_site(site: &Result<SiteState, Error>) -> Finding {
    match site {
        Ok(site) => {
            let version = site
                .version
                .as_deref()
                .unwrap_or("of a release that it does not tell");
            let name = site.name.as_deref().unwrap_or("(without a name)");
            Finding::good("zvm.version", format!("Zerto {version}, site {name}"))
        }
        Err(error) => unasked("zvm.version", "its site", error),
    }
}

fn of_clock(ahead: &Result<f64, Error>) -> Finding {
    match ahead {
        Ok(ahead) if ahead.abs() > APART => Finding::caution(
            "zvm.clock",
            format!(
                "the ZVM's clock is {} {} this machine's",
                ago(ahead.abs() as u64),
                if *ahead > 0.0 { "ahead of" } else { "behind" }
            ),
            "times in the log and on checkpoints do not fit, and one of the two clocks is wrong, which certificates and \
             the dates of policies rest on",
        )
        .mended_by("set both clocks by NTP"),
        Ok(ahead) => Finding::good("zvm.clock", format!("the two clocks are {:.1} s apart", ahead.abs())),
        Err(error) => unasked("zvm.clock", "its clock", error),
    }
}

fn of_permission(permission: &Result<Permission, Error>) -> Finding {
    match permission {
        Ok(Permission::Granted) => Finding::good("zvm.role", "the user may insert checkpoints"),
        Ok(Permission::Denied(words)) => Finding::broken(
            "zvm.role",
            format!("the user may not insert checkpoints: {words}"),
            "every call that changes a machine is denied",
        )
        .mended_by("give zerto.username, or the client, a role in Keycloak that may edit VPGs"),
        Ok(Permission::Unclear(words)) => Finding::notice(
            "zvm.role",
            format!("whether the user may insert checkpoints was not said: {words}"),
            "only an insert tells",
        )
        .mended_by("holdpoint doctor --capture VM"),
        Err(error) => unasked("zvm.role", "whether the user may insert checkpoints", error),
    }
}

/// Whether this is the ZVM of the site on which the machines run.
fn of_direction(vms: &Result<Vec<VmRow>, Error>) -> Option<Finding> {
    let rows = match vms {
        Ok(rows) => rows,
        Err(error) => return Some(unasked("zvm.site", "its VMs", error)),
    };
    let elsewhere: Vec<&VmRow> = rows
        .iter()
        .filter(|row| row.direction == Direction::RecoveredHere)
        .collect();
    let names = || {
        let mut names: Vec<&str> = elsewhere.iter().map(|row| row.vm_name.as_str()).collect();
        names.dedup();
        let more = names.len().saturating_sub(MOST_VPGS);
        names.truncate(MOST_VPGS);
        let shown = holdpoint_common::safe_text::clean_line(&names.join(", "), 400);
        if more == 0 {
            shown
        } else {
            format!("{shown} and {more} more")
        }
    };
    let mend = "set zerto.url to the ZVM of the site on which the machines run";
    if elsewhere.is_empty() {
        return None;
    }
    Some(if elsewhere.len() == rows.len() {
        Finding::caution(
            "zvm.site",
            format!(
                "this ZVM is that of the recovery site: all {} VMs that it knows run on another site",
                rows.len()
            ),
            "a checkpoint of a VM can be taken where it runs only, so every change asks a human",
        )
        .mended_by(mend)
    } else {
        Finding::notice(
            "zvm.site",
            format!(
                "{} of the {} VMs run on another site: {}",
                elsewhere.len(),
                rows.len(),
                names()
            ),
            "a checkpoint of a VM can be taken where it runs only, so changes of these ask a human",
        )
        .mended_by(mend)
    })
}

/// Whether a call waits as long as a checkpoint takes to come.
fn of_cadences(cadences: &[(String, Duration)], wait: Duration) -> Vec<Finding> {
    let seconds = Duration::as_secs_f64;
    let late: Vec<_> = cadences
        .iter()
        .filter(|(_, cadence)| *cadence >= wait.mul_f64(0.75))
        .collect();
    let mut findings: Vec<Finding> = late
        .iter()
        .take(MOST_VPGS)
        .map(|(name, cadence)| {
            let found = format!(
                "VPG {name} has a checkpoint every {:.0} s, and a call waits for one for {:.0} s at most",
                seconds(cadence),
                seconds(&wait)
            );
            let (severity, matters) = if *cadence >= wait {
                (Severity::Broken, "the checkpoint comes too late: most changes of its machines are denied")
            } else {
                (Severity::Caution, "a checkpoint that is a little late comes too late: some changes of its machines are denied")
            };
            Finding::new(severity, "zvm.cadence", found, matters).mended_by(format!(
                "set zerto.longest_wait_seconds to at least {:.0} (300 at most), deadline_seconds above it, and the hook's timeout above that",
                seconds(cadence) * 2.0
            ))
        })
        .collect();
    if late.len() > MOST_VPGS {
        let more = format!(
            "{} more VPGs have checkpoints that far apart",
            late.len() - MOST_VPGS
        );
        findings.push(Finding::caution("zvm.cadence", more, "as above").mended_by("as above"));
    }
    if findings.is_empty()
        && let Some((name, longest)) = cadences.iter().max_by_key(|(_, cadence)| *cadence)
    {
        let found = format!(
            "a call waits {:.0} s for a checkpoint, and VPGs have one every {:.1} s at the longest ({name})",
            seconds(&wait),
            seconds(longest)
        );
        findings.push(Finding::good("zvm.cadence", found));
    }
    findings
}

/// Zerto's 1 is "meeting its SLA".
fn of_vpgs(vpgs: &[VpgState]) -> Vec<Finding> {
    let (well, ill): (Vec<_>, Vec<_>) = vpgs
        .iter()
        .partition(|vpg| (vpg.status, vpg.sub_status) == (1, 0));
    let mut findings = vec![if vpgs.is_empty() {
        Finding::caution(
            "zvm.vpgs",
            "the ZVM shows no VPG",
            "Zerto then protects nothing that this user may see, and every change asks a human",
        )
        .mended_by("give the user a role that sees the VPGs, or make some")
    } else {
        Finding::good(
            "zvm.vpgs",
            format!("{} of {} VPGs meet their SLA", well.len(), vpgs.len()),
        )
    }];
    findings.extend(ill.iter().take(MOST_VPGS).map(|vpg| {
        let words = if vpg.description.is_empty() {
            format!("status {}, sub-status {}", vpg.status, vpg.sub_status)
        } else {
            format!(
                "{} (status {}, sub-status {})",
                vpg.description, vpg.status, vpg.sub_status
            )
        };
        Finding::caution(
            "zvm.vpg",
            format!("VPG {}: {words}", vpg.vpg_name),
            "a checkpoint of its VMs may not be had, and changes to them are then denied",
        )
        .mended_by("look at the VPG in Zerto")
    }));
    if ill.len() > MOST_VPGS {
        let more = format!("{} more VPGs do not meet their SLA", ill.len() - MOST_VPGS);
        findings.push(Finding::caution("zvm.vpg", more, "as above"));
    }
    findings
}

fn unasked(check: &'static str, what: &str, error: &Error) -> Finding {
    Finding::caution(
        check,
        format!("the ZVM could not be asked for {what}: {error}"),
        "it cannot be told whether that is as it should be",
    )
    .mended_by("run holdpoint doctor again; where it stays, look at the ZVM")
}
