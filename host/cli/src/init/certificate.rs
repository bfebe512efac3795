//! What the ZVM shows before anything secret is sent to it.

use std::time::{Duration, Instant};

use holdpoint_zerto::{Certificate, Login, Secret, Settings, Trust, Zvm};

use crate::terminal::Progress;

/// How long the ZVM has to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// What came of a handshake.
pub(super) enum Handshake {
    /// Under that rule, whoever answers is trusted.
    Trusted,
    /// Somebody answered, with a certificate that is not.
    Distrusted(Certificate),
    /// Nobody answered, for this reason.
    Nobody(String),
}

/// Shakes hands, and no more: nobody logs in.
pub(super) fn shake_hands(url: &str, trust: Trust) -> Handshake {
    let _progress = Progress::begin(&format!("asking {url} for its certificate"));
    let asked = with_zvm(url, trust, async |zvm| {
        let reached = zvm.reach().await;
        (reached, zvm.certificate())
    });
    match asked {
        Ok((Ok(()), _)) => Handshake::Trusted,
        Ok((Err(_), Some(certificate))) => Handshake::Distrusted(certificate),
        Ok((Err(error), None)) => Handshake::Nobody(error.to_string()),
        Err(why) => Handshake::Nobody(why),
    }
}

/// What speaks against it that whoever answers there is a ZVM. Nothing secret is sent.
pub(super) fn stranger(url: &str, trust: Trust) -> Option<String> {
    // Whether it can be reached was told by the handshake.
    with_zvm(url, trust, async |zvm| zvm.stranger().await)
        .ok()?
        .ok()?
}

fn with_zvm<T>(url: &str, trust: Trust, question: impl AsyncFnOnce(&Zvm) -> T) -> Result<T, String> {
    let settings = Settings {
        url: url.to_owned(),
        // Never sent.
        login: Login::Password {
            client_id: String::new(),
            username: String::new(),
            password: Secret::new(""),
        },
        trust,
        deadline: Instant::now() + PATIENCE,
        longest_wait: PATIENCE,
        keeper: None,
        keep_log_in: false,
        retry_refused: false,
    };
    let zvm = Zvm::new(settings).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let answer = runtime.block_on(question(&zvm));
    // A look-up of a name that hangs in a thread is not waited for.
    runtime.shutdown_background();
    Ok(answer)
}

/// A SHA-256 as tools print it, bytes with colons between them, in two halves: a whole one is wider than a terminal.
pub(super) fn with_colons(sha256: &str) -> [String; 2] {
    let bytes: Vec<String> = sha256
        .as_bytes()
        .chunks(2)
        .map(|byte| String::from_utf8_lossy(byte).to_ascii_uppercase())
        .collect();
    let (first, second) = bytes.split_at(bytes.len() / 2);
    [first.join(":") + ":", second.join(":")]
}

/// The same in running text.
pub(super) fn in_two_words(sha256: &str) -> String {
    with_colons(sha256).join(" ")
}
