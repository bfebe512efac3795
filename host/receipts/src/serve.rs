//! Takes what a harness reports after calls over HTTP (`type: http` hooks) and hands it on.
//!
//! Such a hook goes on when nothing answers, so it can never be a gate: an event that waits for a verdict is refused with
//! that as the reason. What is answered otherwise is empty, as the harness shows the model whatever else there is.

use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ALLOW, AUTHORIZATION, CONTENT_LENGTH, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use holdpoint_common::{access, read};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The largest event that is taken, in bytes.
pub const LARGEST_EVENT: usize = 16 << 20;

/// How long a caller may take to send an event.
const LONGEST_READ: Duration = Duration::from_secs(10);

/// How long what is under way may take when the server is told to end.
const LONGEST_END: Duration = Duration::from_secs(5);

/// The fewest characters that a token has: nobody guesses 128 bits.
const SHORTEST_TOKEN: usize = 32;

/// The largest file that a token is read from, in bytes.
const LARGEST_TOKEN: u64 = 4096;

/// Says in an answer whether there is a receipt. The status does not: a harness would make a nuisance of a failure.
const RECEIPT: HeaderName = HeaderName::from_static("holdpoint-receipt");

/// Why the server cannot begin, or has ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The token's file cannot be used. Holds the file and why.
    #[error("the token {0}: {1}")]
    Token(PathBuf, String),
    /// The network cannot be used.
    #[error("cannot serve: {0}")]
    Network(#[from] io::Error),
}

/// What a caller has to show. Only its digest is kept, so that a comparison tells nothing of it.
pub struct Token([u8; 32]);

impl Token {
    /// Reads the token from a file that only its owner may read. Where there is no file, one is made, with a token of 256
    /// random bits; the flag says whether that was so.
    ///
    /// # Errors
    ///
    /// [`ServeError::Token`] where others may read the file, it holds no token, or it can neither be read nor made.
    pub fn read_or_make(path: &Path) -> Result<(Self, bool), ServeError> {
        let failed = |why: String| ServeError::Token(path.to_owned(), why);
        match read::open(path) {
            Ok((file, metadata)) => Self::read(&file, &metadata)
                .map(|token| (token, false))
                .map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(path)
                .map(|token| (token, true))
                .map_err(|error| failed(error.to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn read(file: &File, metadata: &Metadata) -> Result<Self, String> {
        if access::readable_by_others(metadata) {
            return Err("it may be read by others; mend it with chmod 600".into());
        }
        let bytes = read::read_opened(file, metadata, LARGEST_TOKEN);
        let text = bytes.and_then(read::text).map_err(|error| error.to_string())?;
        let token = text.trim();
        match token.len() >= SHORTEST_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self::of(token)),
            false => Err(format!(
                "it holds no token: {SHORTEST_TOKEN} or more characters on one line, no spaces"
            )),
        }
    }

    fn make(path: &Path) -> io::Result<Self> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)?.write_all(format!("{token}\n").as_bytes())?;
        Ok(Self::of(&token))
    }

    fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Takes as long whatever is shown.
    fn is(&self, shown: &str) -> bool {
        let shown: [u8; 32] = Sha256::digest(shown).into();
        let differences = self.0.iter().zip(shown).map(|(ours, theirs)| ours ^ theirs);
        differences.fold(0, |all, difference| all | difference) == 0
    }
}

/// Writes an event's receipt. An error is for whoever watches over the server; the harness is not told.
pub type Write = dyn Fn(&[u8]) -> Result<(), String> + Send + Sync;

/// Serves until the process is told to end (SIGTERM, SIGINT); then what is under way is brought to its end. `began` is
/// called with the address when events are taken.
///
/// # Errors
///
/// [`ServeError::Network`] where the address cannot be served.
pub fn serve(
    listener: TcpListener,
    token: Token,
    write: Arc<Write>,
    began: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let end = told_to_end()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let token = Arc::new(token);
        let router = Router::new().fallback(move |request| answer(request, token.clone(), write.clone()));
        began(address);
        let (ending, ended) = tokio::sync::oneshot::channel();
        let server = axum::serve(listener, router).with_graceful_shutdown(async {
            end.await;
            let _ = ending.send(());
        });
        let too_long = async {
            let _ = ended.await;
            tokio::time::sleep(LONGEST_END).await;
        };
        tokio::select! {
            served = server => served,
            () = too_long => Ok(()),
        }
    });
    runtime.shutdown_timeout(LONGEST_END);
    served.map_err(ServeError::Network)
}

#[cfg(unix)]
fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn told_to_end() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

async fn answer(request: Request<Body>, token: Arc<Token>, write: Arc<Write>) -> Response {
    let (head, body) = request.into_parts();
    if let Some(refusal) = refuse(&head, &token) {
        return refusal;
    }
    let event = match tokio::time::timeout(LONGEST_READ, to_bytes(body, LARGEST_EVENT)).await {
        Ok(Ok(event)) => event,
        Ok(Err(_)) => return too_large(),
        Err(_) => return told(StatusCode::REQUEST_TIMEOUT, "the event did not come in time"),
    };
    if let Some(refusal) = refuse_event(&event) {
        return refusal;
    }
    // Files are locked and synchronised there.
    let written = tokio::task::spawn_blocking(move || write(&event)).await;
    let receipt = match written {
        Ok(Ok(())) => "written",
        _ => "not written",
    };
    (StatusCode::OK, [(RECEIPT, receipt)]).into_response()
}

/// What can be told before the body is read.
fn refuse(head: &Parts, token: &Token) -> Option<Response> {
    if head.method != Method::POST {
        return Some((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")]).into_response());
    }
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let shown = header(AUTHORIZATION).and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if !shown.is_some_and(|(_, shown)| token.is(shown.trim())) {
        let asked = [(WWW_AUTHENTICATE, "Bearer")];
        return Some((StatusCode::UNAUTHORIZED, asked, "a bearer token is needed\n").into_response());
    }
    let length = header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    length
        .is_some_and(|length| length > LARGEST_EVENT)
        .then(too_large)
}

#[derive(Deserialize)]
struct Name {
    hook_event_name: String,
}

/// What cannot be observed: an event that is none, or one of something that has not happened yet.
fn refuse_event(event: &[u8]) -> Option<Response> {
    let Ok(Name { hook_event_name }) = serde_json::from_slice(event) else {
        return Some(told(
            StatusCode::BAD_REQUEST,
            "this is no event: a JSON object with hook_event_name is",
        ));
    };
    match hook_event_name.as_str() {
        "PostToolUse" | "PostToolUseFailure" => None,
        "PreToolUse" => Some(told(
            StatusCode::FORBIDDEN,
            "an http hook cannot hold a call: where nothing answers, the call runs. Make PreToolUse a hook of type \
             command that starts holdpoint",
        )),
        _ => Some(told(
            StatusCode::UNPROCESSABLE_ENTITY,
            "only PostToolUse and PostToolUseFailure are taken here",
        )),
    }
}

fn too_large() -> Response {
    told(StatusCode::PAYLOAD_TOO_LARGE, "the event is larger than 16 MiB")
}

fn told(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}
