//! The simulated ZVM by hand: serves a scenario until Ctrl-C.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use zvm_sim::{Answered, Login, Platform, Scenario, Sim};

const EXAMPLE: &str = "\
Example:
  zvm-sim --scenario site.toml --listen 127.0.0.1:8443 --ca-out ca.pem
  curl --cacert ca.pem https://localhost:8443/auth/realms/zerto/protocol/openid-connect/token \\
       -d grant_type=password -d client_id=zerto-client -d username=admin -d password=secret -d scope=openid

What a scenario file holds is described in tests/zvm-sim/README.md.";

/// A simulated Zerto Virtual Manager.
///
/// Serves a scenario over HTTPS, with a certificate authority made for this run, until Ctrl-C. Each request is one line
/// on stderr: method, path, status and milliseconds.
#[derive(Parser)]
#[command(version, after_help = EXAMPLE)]
struct Arguments {
    /// What the ZVM holds and how it behaves, in TOML; a healthy small site when absent
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Where to write the CA's certificate, in PEM
    #[arg(long, value_name = "FILE")]
    ca_out: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let scenario = match &arguments.scenario {
        Some(file) => read(file)?,
        None => Scenario::default(),
    };
    let login = words(&scenario);
    let known = scenario.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Its first step is what catches the signal: done before anything is announced that a caller may rely on.
        let interrupt = tokio::spawn(tokio::signal::ctrl_c());
        tokio::task::yield_now().await;
        let sim = Sim::start_logged(scenario, arguments.listen, print)?;
        if let Some(file) = &arguments.ca_out {
            std::fs::write(file, sim.ca_pem()).with_context(|| format!("writing {}", file.display()))?;
        }
        let ca = arguments.ca_out.as_deref();
        announce(&sim, ca, &login, &set_up(&sim, ca, &known));
        Ok(interrupt.await??)
    })
}

fn read(file: &Path) -> anyhow::Result<Scenario> {
    let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Scenario::from_toml(&text).with_context(|| format!("in {}", file.display()))
}

fn announce(sim: &Sim, ca: Option<&Path>, login: &str, setup: &str) {
    let ca = ca.map_or_else(
        || "not written; see --ca-out".to_owned(),
        |file| file.display().to_string(),
    );
    let sha256 = sim.certificate_sha256();
    let shown = with_colons(&sha256).join("\n        ");
    let lines = format!(
        "URL     {}\nCA      {ca}\npin     sha256:{sha256}\nlog-in  {login}\nSHA-256 {shown}\nset up  {setup}\n",
        sim.url()
    );
    // In one piece, for whoever reads some lines and closes.
    print!("{lines}");
}

/// A SHA-256 as `holdpoint init` shows it, so that the two can be compared.
fn with_colons(sha256: &str) -> [String; 2] {
    let bytes: Vec<String> = sha256
        .as_bytes()
        .chunks(2)
        .map(|byte| String::from_utf8_lossy(byte).to_ascii_uppercase())
        .collect();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    [first.join(":") + ":", second.join(":")]
}

/// The command that makes this the ZVM of the hook. The certificate is another one at each start: an authority's file that
/// is written anew outlives that, a pin does not.
fn set_up(sim: &Sim, ca: Option<&Path>, scenario: &Scenario) -> String {
    let ca = std::path::absolute(ca.unwrap_or_else(|| Path::new("ca.pem")));
    let ca = ca.map_or_else(|_| "ca.pem".to_owned(), |path| path.display().to_string());
    let Login {
        username, password, ..
    } = &scenario.login;
    let kind = match scenario.site.platform {
        Platform::Linux => "password",
        Platform::Windows => "windows-session",
    };
    format!(
        "(umask 077; echo {password} > zvm-secret) && holdpoint init --level user \\\n        --url {} --login {kind} \
         --username {username} \\\n        --secret-file zvm-secret --ca-file {ca}",
        sim.url()
    )
}

/// The log-in that the scenario takes.
fn words(scenario: &Scenario) -> String {
    let Login {
        username,
        password,
        client_id,
        service_client_id,
        service_client_secret,
        ..
    } = &scenario.login;
    match scenario.site.platform {
        Platform::Linux => format!(
            "password grant: client {client_id}, user {username}, password {password}\n        \
             client-credentials grant: client {service_client_id}, secret {service_client_secret}"
        ),
        Platform::Windows => format!("session: user {username}, password {password}"),
    }
}

fn print(answered: &Answered) {
    let status = answered
        .status
        .map_or_else(|| "none".to_owned(), |status| status.to_string());
    eprintln!(
        "{} {} {status} {} ms",
        answered.method,
        answered.path,
        answered.took.as_millis()
    );
}
