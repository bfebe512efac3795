//! Being somebody to the ZVM: tokens and sessions, renewed before they end, and kept for the next process where that is
//! wanted.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::http::{Answer, Ask, Body, Http, Identity};
use crate::kept::{Kept, Shelf};
use crate::meter::Phase;
use crate::settings::{Login, Secret};
use crate::wire;

const TOKEN_PATH: [&str; 6] = ["auth", "realms", "zerto", "protocol", "openid-connect", "token"];
const SESSION_PATH: [&str; 3] = ["v1", "session", "add"];
const SESSION_HEADER: HeaderName = HeaderName::from_static("x-zerto-session");
/// A token is renewed when this much of its life is left, or a quarter of it, whichever is less.
const RENEWAL: Duration = Duration::from_secs(10);
/// How long a Windows session is kept. It ends after 30 minutes without use, by Zerto's help.
const SESSION_KEPT: Duration = Duration::from_secs(25 * 60);

/// What a request carries to be let in.
#[derive(Clone)]
pub(crate) struct Pass {
    name: HeaderName,
    value: HeaderValue,
    /// How long it counts; none where it ends only by disuse.
    life: Option<Duration>,
    /// When to renew it; as above.
    renew: Option<Instant>,
    /// Tells this pass from the ones before and after it.
    number: u64,
    /// Whether an earlier process got it.
    kept: bool,
}

impl Pass {
    pub(crate) fn identity(&self) -> Identity<'static> {
        Identity::Header(self.name.clone(), self.value.clone())
    }

    pub(crate) fn life(&self) -> Option<Duration> {
        self.life
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether an earlier process got it. What has changed since then is not in it.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// A pass that counts from a moment on, for so long.
    fn new(name: HeaderName, value: &str, counts: Option<(Instant, Duration)>) -> Result<Self, Error> {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| Error::malformed("log-in: a token of odd characters"))?;
        value.set_sensitive(true);
        Ok(Self {
            name,
            value,
            life: counts.map(|(_, life)| life),
            renew: counts.map(|(begun, life)| begun + life.saturating_sub(RENEWAL.min(life / 4))),
            number: 0,
            kept: false,
        })
    }

    fn from_kept(kept: &Kept, http: &Http) -> Option<Self> {
        let name = match kept.header.as_str() {
            "authorization" => AUTHORIZATION,
            "x-zerto-session" => SESSION_HEADER,
            _ => return None,
        };
        let token = kept.value.strip_prefix(BEARER).unwrap_or(&kept.value);
        http.hide(Secret::new(token));
        let pass = Self::new(name, &kept.value, None).ok()?;
        Some(Self {
            life: Some(kept.life),
            renew: Instant::now().checked_add(kept.life),
            kept: true,
            ..pass
        })
    }

    /// As it is kept from now on.
    fn to_keep(&self, site: Option<Option<String>>) -> Option<Kept> {
        let life = self.renew.map_or(SESSION_KEPT, |renew| renew - Instant::now());
        Some(Kept {
            header: self.name.as_str().to_owned(),
            value: Zeroizing::new(self.value.to_str().ok()?.to_owned()),
            life,
            site,
        })
    }
}

const BEARER: &str = "Bearer ";

/// The present pass, one for all requests.
pub(crate) struct Session {
    login: Login,
    shelf: Shelf,
    retries_refused: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pass: Option<Pass>,
    /// A log-in that was refused once is refused for good: trying again locks accounts.
    refused: Option<Error>,
    count: u64,
    /// Whether the shelf was looked at.
    looked: bool,
    /// What an earlier process was told of the site.
    site: Option<Option<String>>,
}

impl Session {
    pub(crate) fn new(login: Login, shelf: Shelf, retries_refused: bool) -> Self {
        Self {
            login,
            shelf,
            retries_refused,
            state: Mutex::default(),
        }
    }

    /// The present pass; a new one where there is none, where it is about to end, or where it is the one that the ZVM
    /// turned away (`stale`). Many may ask at once, one of them logs in.
    pub(crate) async fn pass(&self, http: &Http, stale: Option<u64>) -> Result<Pass, Error> {
        let mut state = self.state.lock().await;
        if let Some(error) = &state.refused {
            return Err(error.clone());
        }
        if !std::mem::replace(&mut state.looked, true) {
            self.take_kept(&mut state, http);
        }
        if let Some(pass) = &state.pass
            && stale != Some(pass.number)
            && pass.renew.is_none_or(|renew| Instant::now() < renew)
        {
            return Ok(pass.clone());
        }
        if state.pass.as_ref().is_some_and(Pass::is_kept) {
            self.shelf.discard();
        }
        let _turn = self.shelf.turn().await;
        // While this process waited for its turn, another may have logged in, or have been refused.
        if state.pass.is_none()
            && let Some(pass) = self.take_kept(&mut state, http)
        {
            return Ok(pass);
        }
        let secret = self.login.secret();
        if !self.retries_refused
            && let Some(why) = self.shelf.refusal(secret)
        {
            let error = Error::Unauthorized(why);
            state.refused = Some(error.clone());
            return Err(error);
        }
        let timing = http.meter.start(Phase::LogIn);
        let new = self.log_in(http).await;
        drop(timing);
        match new {
            Ok(pass) => {
                self.shelf.forgive();
                if let Some(kept) = pass.to_keep(state.site.clone()) {
                    self.shelf.store(&kept);
                }
                Ok(state.hold(pass))
            }
            Err(error) => {
                if let Error::Unauthorized(why) = &error {
                    self.shelf.refuse(secret, why);
                    state.refused = Some(error.clone());
                }
                Err(error)
            }
        }
    }

    /// Takes the log-in that an earlier process kept, where it still counts.
    fn take_kept(&self, state: &mut State, http: &Http) -> Option<Pass> {
        let kept = self.shelf.load()?;
        let pass = Pass::from_kept(&kept, http)?;
        state.site = kept.site;
        Some(state.hold(pass))
    }

    /// What an earlier process was told of the site, where the log-in is that process's too.
    pub(crate) async fn site(&self) -> Option<Option<String>> {
        self.state.lock().await.site.clone()
    }

    /// Keeps what the ZVM says of its site, with the log-in and as long.
    pub(crate) async fn keep_site(&self, site: Option<&str>) {
        let mut state = self.state.lock().await;
        state.site = Some(site.map(str::to_owned));
        let kept = state
            .pass
            .as_ref()
            .and_then(|pass| pass.to_keep(state.site.clone()));
        if let Some(kept) = kept {
            self.shelf.store(&kept);
        }
    }

    async fn log_in(&self, http: &Http) -> Result<Pass, Error> {
        match &self.login {
            Login::Password {
                client_id,
                username,
                password,
            } => {
                let form = [
                    ("grant_type", "password"),
                    ("client_id", client_id),
                    ("username", username),
                    ("password", password.expose()),
                    ("scope", "openid"),
                ];
                token(http, &form).await
            }
            Login::ClientCredentials {
                client_id,
                client_secret,
            } => {
                let form = [
                    ("grant_type", "client_credentials"),
                    ("client_id", client_id),
                    ("client_secret", client_secret.expose()),
                    ("scope", "openid"),
                ];
                token(http, &form).await
            }
            Login::WindowsSession { username, password } => session(http, username, password).await,
        }
    }
}

impl State {
    /// Makes a pass the present one.
    fn hold(&mut self, pass: Pass) -> Pass {
        self.count += 1;
        let pass = Pass {
            number: self.count,
            ..pass
        };
        self.pass = Some(pass.clone());
        pass
    }
}

/// Logs in at the Linux appliance.
async fn token(http: &Http, form: &[(&str, &str)]) -> Result<Pass, Error> {
    // The life is counted from before the request, so that it never ends later here than there.
    let begun = Instant::now();
    let url = http.url(&TOKEN_PATH, &[]);
    let ask = Ask {
        method: Method::POST,
        url,
        body: Body::Form(form),
        identity: Identity::None,
    };
    let answer = accepted(http, ask).await?;
    let token =
        wire::token(&answer.body).map_err(|why| Error::malformed(format!("{}: {why}", answer.name)))?;
    http.hide(Secret::new(token.text.clone()));
    let bearer = format!("{BEARER}{}", token.text);
    Pass::new(AUTHORIZATION, &bearer, Some((begun, token.life)))
}

/// Logs in at a Windows ZVM.
async fn session(http: &Http, username: &str, password: &Secret) -> Result<Pass, Error> {
    let body = json!({"AuthenticationMethod": 1});
    let url = http.url(&SESSION_PATH, &[]);
    let identity = Identity::Basic(username, password);
    let answer = accepted(
        http,
        Ask {
            method: Method::POST,
            url,
            body: Body::Json(&body),
            identity,
        },
    )
    .await?;
    let session = answer
        .headers
        .get(&SESSION_HEADER)
        .and_then(|value| value.to_str().ok())
        .ok_or_else(|| Error::malformed(format!("{}: no {SESSION_HEADER} header", answer.name)))?;
    http.hide(Secret::new(session));
    Pass::new(SESSION_HEADER, session, None)
}

/// Sends a log-in. Keycloak answers 400 as well as 401 where it declines.
async fn accepted(http: &Http, ask: Ask<'_>) -> Result<Answer, Error> {
    let answer = http.send(ask).await.map_err(|failure| failure.error)?;
    if answer.status.is_success() {
        return Ok(answer);
    }
    // Not in the ZVM's words: they can echo the request, and a secret in an encoding of its own.
    let code = wire::error_code(&answer.body).map_or_else(String::new, |code| format!(", {code}"));
    let declined = format!("log-in: HTTP {}{code}", answer.status.as_u16());
    Err(match http.refusal(&answer) {
        Error::Refused(_) if answer.status == 400 => Error::Unauthorized(declined),
        Error::Unauthorized(_) => Error::Unauthorized(declined),
        Error::Refused(_) => Error::Refused(declined),
        Error::Unreachable(_) => Error::unreachable(declined),
        Error::NotFound => Error::unreachable(format!(
            "{} is not there: no ZVM, or one of the other platform (Linux appliance, Windows)",
            answer.name
        )),
        other => other,
    })
}
