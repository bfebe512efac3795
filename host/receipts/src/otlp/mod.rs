//! Sends receipts to an OpenTelemetry collector as log records: OTLP over HTTP, JSON encoding.
//!
//! Facts: the OTLP specification 1.x (encoding, the answers that may be tried again, partial success) and the semantic
//! conventions for logs and for tools of agents.

mod record;

use std::time::{Duration, Instant, SystemTime};

use holdpoint_net::{Proxies, Unread, cause};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};
use thiserror::Error;

use crate::envelope::Receipt;
use crate::error::LogError;
use crate::files::Source;
use crate::net;

/// The most records in one request, and the size at which one is sent although it has fewer, in bytes.
const BATCH: (usize, usize) = (512, 1 << 20);

/// The pauses after which a collector that is busy or not reached is tried again.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// The longest pause that a collector's `Retry-After` is granted.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long one request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// The largest answer that is read, in bytes.
const LARGEST_ANSWER: u64 = 64 * 1024;

/// Why receipts could not be sent.
#[derive(Debug, Error)]
pub enum OtlpError {
    /// The address or a header cannot be used. Holds which, and why.
    #[error("{0}: {1}")]
    Setting(String, String),
    /// The receipts cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The collector did not take a batch. Holds how many receipts it had taken before, and why.
    #[error("the collector {url} took {taken} receipts and then no more: {why}")]
    Collector {
        /// Its address.
        url: String,
        /// How many it had taken.
        taken: u64,
        /// Its words, or the network's.
        why: String,
    },
}

/// A collector.
#[derive(Debug)]
pub struct Collector {
    url: Url,
    headers: HeaderMap,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many receipts were sent and not rejected.
    pub taken: u64,
    /// How many the collector rejected, and its last words on that.
    pub rejected: u64,
    /// Its last words on that.
    pub why: Option<String>,
    /// How many lines of the log are no receipts; `verify` tells more of them.
    pub unreadable: u64,
}

impl Collector {
    /// A collector at this address, and the headers it wants: `name=value,name=value`, values percent-encoded, as
    /// `OTEL_EXPORTER_OTLP_HEADERS` has them. An address without a path is a collector's base, and gets `/v1/logs`.
    ///
    /// # Errors
    ///
    /// [`OtlpError::Setting`] where the address is not `https://` (`http://` only on this machine), or a header cannot be
    /// sent.
    pub fn new(url: &str, headers: Option<&str>) -> Result<Self, OtlpError> {
        let mut address = net::address(url).map_err(|why| {
            OtlpError::Setting(
                "the collector's address".into(),
                format!("{} {why}", net::quoted(url)),
            )
        })?;
        if address.path() == "/" {
            address.set_path("/v1/logs");
        }
        let mut map = HeaderMap::new();
        for pair in headers
            .unwrap_or_default()
            .split(',')
            .filter(|pair| !pair.trim().is_empty())
        {
            let bad = |why: &str| {
                // The value may be a secret.
                let name = pair.split('=').next().unwrap_or_default();
                OtlpError::Setting("the collector's headers".into(), format!("{name:?} {why}"))
            };
            let (name, value) = pair.split_once('=').ok_or_else(|| bad("has no value"))?;
            let name = HeaderName::try_from(name.trim()).map_err(|_| bad("is no name of a header"))?;
            let value =
                unescape(value.trim()).ok_or_else(|| bad("has a value that is not percent-encoded"))?;
            let mut value =
                HeaderValue::from_bytes(&value).map_err(|_| bad("has a value that no header has"))?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(Self {
            url: address,
            headers: map,
        })
    }

    fn broken(&self, taken: u64, why: String) -> OtlpError {
        // An address may hold a user's name, and a query may hold a key.
        let url = self.url.origin().ascii_serialization();
        OtlpError::Collector { url, taken, why }
    }

    /// Sends the receipts that are wanted, in their order. `host` is this machine's name, where it is known. Blocks, and
    /// gives up after about a minute with a collector that does not answer.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read or a batch is not taken. What was taken before stays taken: a receipt that is sent
    /// twice has the same `holdpoint.receipt.digest` both times.
    pub fn send(
        &self,
        source: &Source,
        host: Option<&str>,
        wanted: impl Fn(&Receipt) -> bool,
    ) -> Result<Sent, OtlpError> {
        let broken = |why: String| self.broken(0, why);
        let client = net::client(&self.url, Proxies::OfEnvironment).map_err(broken)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| broken(error.to_string()))?;
        let mut sent = Sent::default();
        let mut batch = Batch::default();
        let flush = |batch: &mut Batch, sent: &mut Sent| match batch.records.is_empty() {
            true => Ok(()),
            false => runtime
                .block_on(self.post(&client, &std::mem::take(batch).request(host), sent))
                .map_err(|why| self.broken(sent.taken, why)),
        };
        let read = (|| {
            for line in source.lines() {
                let line = line?;
                let receipt = line.text().and_then(|text| Ok((text, Receipt::read(text)?)));
                let Ok((text, receipt)) = receipt else {
                    sent.unreadable += 1;
                    continue;
                };
                if !wanted(&receipt) {
                    continue;
                }
                if batch.add(text, &receipt) {
                    flush(&mut batch, &mut sent)?;
                }
            }
            flush(&mut batch, &mut sent)
        })();
        // A look-up of a host name cannot be stopped, and is not waited for.
        runtime.shutdown_background();
        read.map(|()| sent)
    }

    async fn post(&self, client: &Client, request: &Batched, sent: &mut Sent) -> Result<(), String> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let (why, asked) = match self.exchange(client, request).await {
                Ok((status, _, body)) if status.is_success() => {
                    sent.count(request.records, &body);
                    return Ok(());
                }
                Ok((status, retry_after, body)) => {
                    let why = format!("HTTP {}{}", status.as_u16(), words(&body));
                    if !may_be_tried_again(status) {
                        return Err(why);
                    }
                    (why, retry_after)
                }
                Err(why) => (why, None),
            };
            let Some(pause) = pauses.next() else {
                return Err(why);
            };
            tokio::time::sleep(asked.map_or(pause, |asked| asked.min(LONGEST_PAUSE))).await;
        }
    }

    async fn exchange(
        &self,
        client: &Client,
        request: &Batched,
    ) -> Result<(StatusCode, Option<Duration>, Vec<u8>), String> {
        let exchange = async {
            let request = client
                .post(self.url.clone())
                .headers(self.headers.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(request.body.clone());
            let mut response = request.send().await?;
            let retry_after = response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            let retry_after = retry_after
                .and_then(|text| text.trim().parse().ok())
                .map(Duration::from_secs);
            let body = match holdpoint_net::body(&mut response, LARGEST_ANSWER).await {
                Ok(body) => body,
                // What it says is not needed.
                Err(Unread::TooLarge) => Vec::new(),
                Err(Unread::Broken(error)) => return Err(error),
            };
            Ok((response.status(), retry_after, body))
        };
        let until = Instant::now() + LONGEST_REQUEST;
        match tokio::time::timeout_at(until.into(), exchange).await {
            Ok(answer) => answer.map_err(|error| cause(&error)),
            Err(_) => Err("it did not answer in time".into()),
        }
    }
}

/// The answers that the specification names; any other one would be the same again.
fn may_be_tried_again(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

impl Sent {
    /// Counts a request that was answered with success: all of it, or all but what the answer says.
    fn count(&mut self, records: u64, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let partial = &answer["partialSuccess"];
        // 64-bit numbers are texts in this encoding, and some write them as numbers all the same.
        let number = &partial["rejectedLogRecords"];
        let rejected = number
            .as_u64()
            .or_else(|| number.as_str()?.parse().ok())
            .unwrap_or(0);
        self.rejected += rejected.min(records);
        self.taken += records - rejected.min(records);
        if let Some(why) = partial["errorMessage"].as_str().filter(|why| !why.is_empty()) {
            self.why = Some(shown(why));
        }
    }
}

fn words(answer: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let message = answer["message"].as_str().filter(|message| !message.is_empty());
    message.map_or_else(String::new, |message| format!(": {}", shown(message)))
}

/// The collector's words, fit to be shown.
fn shown(words: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    words.chars().take(200).map(clean).collect()
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

/// Records that wait to be sent together.
#[derive(Default)]
struct Batch {
    records: Vec<Value>,
    bytes: usize,
    issuer: String,
    host: String,
}

/// A request's body, and how many records it has.
struct Batched {
    body: String,
    records: u64,
}

impl Batch {
    /// Adds a receipt; says whether the batch is full.
    fn add(&mut self, line: &str, receipt: &Receipt) -> bool {
        self.records.push(record::of(line, receipt, SystemTime::now()));
        self.bytes += line.len();
        self.issuer.clone_from(&receipt.issuer);
        self.host.clone_from(&receipt.host);
        self.records.len() >= BATCH.0 || self.bytes >= BATCH.1
    }

    fn request(self, host: Option<&str>) -> Batched {
        let mut resource = vec![
            record::text("service.name", "holdpoint"),
            record::text("service.version", &self.host),
            record::text("service.instance.id", &self.issuer),
        ];
        resource.extend(host.map(|host| record::text("host.name", host)));
        let records = self.records.len() as u64;
        let body = json!({ "resourceLogs": [{
            "resource": { "attributes": resource },
            "scopeLogs": [{
                "scope": { "name": "holdpoint.receipts", "version": env!("CARGO_PKG_VERSION") },
                "logRecords": self.records,
            }],
        }]});
        Batched {
            body: body.to_string(),
            records,
        }
    }
}
