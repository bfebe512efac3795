//! What the ZVM's JSON means. Pure, and total: no input panics.
//!
//! Zerto writes PascalCase and documents camelCase, leaves fields out and adds others with every release, so keys are
//! read whatever their case, and only what cannot be done without is demanded.

use std::time::Duration;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::clock;
use crate::model::{Direction, SiteState, VmRow, VpgState};

/// What was read, or what is wrong with it.
pub(crate) type Read<T> = Result<T, String>;

/// The life of a token that does not say: what Zerto's guide calls usual.
const USUAL_TOKEN_LIFE: i64 = 60;

/// The words of an answer that declines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// Whether they stand in Zerto's own form, `{"Message": "..."}`.
    pub(crate) by_zerto: bool,
}

/// Finds the words in the body of an answer that is not a success. A page for a browser has none.
pub(crate) fn words(body: &[u8]) -> Option<Words> {
    const KEYS: [&str; 6] = [
        "Message",
        "error_description",
        "error",
        "errorMessage",
        "detail",
        "title",
    ];
    if let Ok(Value::Object(object)) = parse(body) {
        for key in KEYS {
            if let Some(text) = text(&object, key).filter(|text| !text.trim().is_empty()) {
                return Some(Words {
                    text,
                    by_zerto: key == "Message",
                });
            }
        }
    }
    let raw = String::from_utf8_lossy(body);
    let raw = raw.trim();
    (!raw.is_empty() && !raw.starts_with('<')).then(|| Words {
        text: raw.to_owned(),
        by_zerto: false,
    })
}

/// The code by which Keycloak declines a log-in, such as `invalid_grant`: a word of its own and nothing that was sent.
pub(crate) fn error_code(body: &[u8]) -> Option<String> {
    let Ok(Value::Object(object)) = parse(body) else {
        return None;
    };
    let is_code = |code: &String| {
        code.len() <= 40
            && !code.is_empty()
            && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    text(&object, "error").filter(is_code)
}

/// A token and how long it lives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) life: Duration,
}

/// Reads the answer to a log-in at the Linux appliance.
pub(crate) fn token(body: &[u8]) -> Read<Token> {
    let object = object(parse(body)?)?;
    let text = text(&object, "access_token")
        .filter(|text| !text.is_empty())
        .ok_or("no access_token")?;
    let seconds = integer(&object, "expires_in").unwrap_or(USUAL_TOKEN_LIFE);
    Ok(Token {
        text,
        life: Duration::from_secs(u64::try_from(seconds).unwrap_or(0).min(86_400)),
    })
}

/// Reads the identifier of the ZVM's own site, where the ZVM says it.
pub(crate) fn site_identifier(body: &[u8]) -> Read<Option<String>> {
    Ok(text(&object(parse(body)?)?, "SiteIdentifier"))
}

/// Reads what the ZVM says of itself.
pub(crate) fn site_state(body: &[u8]) -> Read<SiteState> {
    let site = object(parse(body)?)?;
    Ok(SiteState {
        name: text(&site, "SiteName"),
        version: text(&site, "Version"),
    })
}

/// Reads the ZVM's time.
pub(crate) fn server_time(body: &[u8]) -> Read<OffsetDateTime> {
    match parse(body)? {
        Value::String(text) => clock::parse(&text).ok_or_else(|| "not a time".into()),
        _ => Err("not a time".into()),
    }
}

/// Reads a list of VMs; `local` is the identifier of the ZVM's own site, where it is known.
pub(crate) fn vm_rows(body: &[u8], local: Option<&str>) -> Read<Vec<VmRow>> {
    array(parse(body)?)?
        .into_iter()
        .map(|row| vm_row(&object(row)?, local))
        .collect()
}

fn vm_row(row: &Map<String, Value>, local: Option<&str>) -> Read<VmRow> {
    let vm_identifier = text(row, "VmIdentifier")
        .or_else(|| {
            // `<vm>?VpgIdentifier=<vpg>` in releases whose rows name no VmIdentifier.
            let link = text(inner(row, "Link")?, "identifier")?;
            Some(link.split('?').next()?.to_owned())
        })
        .filter(|identifier| !identifier.is_empty())
        .ok_or("a row without VmIdentifier")?;
    let vpg_identifier = text(row, "VpgIdentifier").ok_or("a row without VpgIdentifier")?;
    Ok(VmRow {
        vm_identifier,
        vm_name: text(row, "VmName").ok_or("a row without VmName")?,
        vpg_name: text(row, "VpgName").unwrap_or_else(|| vpg_identifier.clone()),
        vpg_identifier,
        status: number(row, "Status"),
        sub_status: number(row, "SubStatus"),
        vm_exists: boolean(row, "IsVmExists").unwrap_or(true),
        direction: direction(row, local),
        extras: extras(row),
    })
}

fn direction(row: &Map<String, Value>, local: Option<&str>) -> Direction {
    let here = |side| {
        let site = inner(row, side).and_then(|site| text(site, "identifier"));
        matches!((site, local), (Some(site), Some(local)) if site.eq_ignore_ascii_case(local))
    };
    if here("ProtectedSite") {
        Direction::ProtectedHere
    } else if here("RecoverySite") {
        Direction::RecoveredHere
    } else {
        Direction::Unknown
    }
}

fn extras(row: &Map<String, Value>) -> Value {
    let mut extras = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            extras.insert(key.into(), value);
        }
    };
    let either = |new, old| text(row, new).or_else(|| text(row, old)).map(Value::from);
    put("protected_site", either("ProtectedSiteName", "SourceSite"));
    put("recovery_site", either("RecoverySiteName", "TargetSite"));
    put("actual_rpo", integer(row, "ActualRPO").map(Value::from));
    put(
        "file_restore",
        inner(row, "EnabledActions")
            .and_then(|a| boolean(a, "IsFlrEnabled"))
            .map(Value::from),
    );
    let addresses = ip_addresses(row);
    put("ip_addresses", (!addresses.is_empty()).then(|| json!(addresses)));
    Value::Object(extras)
}

fn ip_addresses(row: &Map<String, Value>) -> Vec<&str> {
    let adapters = inner(row, "VmNetworkInformation").and_then(|network| field(network, "networkAdapters"));
    adapters
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|adapter| field(adapter.as_object()?, "ipAddresses")?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Reads the state of the VPG with this identifier.
pub(crate) fn vpg_state(body: &[u8], identifier: &str) -> Read<VpgState> {
    let vpg = object(parse(body)?)?;
    if text(&vpg, "VpgIdentifier").is_some_and(|other| !other.eq_ignore_ascii_case(identifier)) {
        return Err("another VPG than the one asked for".into());
    }
    Ok(state(&vpg, identifier))
}

/// Reads a list of VPGs.
pub(crate) fn vpg_states(body: &[u8]) -> Read<Vec<VpgState>> {
    array(parse(body)?)?
        .into_iter()
        .map(|vpg| {
            let vpg = object(vpg)?;
            let identifier = text(&vpg, "VpgIdentifier").ok_or("a row without VpgIdentifier")?;
            Ok(state(&vpg, &identifier))
        })
        .collect()
}

fn state(vpg: &Map<String, Value>, identifier: &str) -> VpgState {
    let descriptions = ["StatusDescription", "SubStatusDescription"];
    let words: Vec<_> = descriptions
        .into_iter()
        .filter_map(|key| text(vpg, key))
        .filter(|t| !t.is_empty())
        .collect();
    VpgState {
        vpg_identifier: identifier.to_owned(),
        vpg_name: text(vpg, "VpgName").unwrap_or_else(|| identifier.to_owned()),
        status: number(vpg, "Status"),
        sub_status: number(vpg, "SubStatus"),
        description: words.join(", "),
    }
}

/// Reads the task's identifier from the answer to an insert: a JSON string, or an object that names it.
pub(crate) fn task_identifier(body: &[u8]) -> Read<String> {
    let identifier = match parse(body)? {
        Value::String(identifier) => Some(identifier),
        Value::Object(object) => text(&object, "TaskIdentifier"),
        _ => None,
    };
    identifier
        .filter(|identifier| !identifier.is_empty())
        .ok_or_else(|| "no task identifier".into())
}

/// How far a task has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Running,
    Completed,
    /// With Zerto's reason.
    Failed(String),
}

/// Reads a task. A state that is missing or new counts as running: the journal decides.
pub(crate) fn task(body: &[u8]) -> Read<Task> {
    let task = object(parse(body)?)?;
    let status = inner(&task, "Status");
    let state = status.and_then(|status| integer(status, "State"));
    let reason = text(&task, "CompleteReason").filter(|reason| !reason.trim().is_empty());
    let failed = |default: &str| Task::Failed(reason.clone().unwrap_or_else(|| default.into()));
    Ok(match state {
        Some(4) => failed("the task failed"),
        Some(5) => failed("the task was stopped"),
        Some(7) => failed("the task is being cancelled"),
        // Completed, but not all of it, for a reason.
        Some(6)
            if reason.is_some()
                && status
                    .and_then(|s| integer(s, "Progress"))
                    .is_some_and(|p| p < 100) =>
        {
            failed("")
        }
        Some(6) => Task::Completed,
        _ => Task::Running,
    })
}

/// One checkpoint in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) identifier: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) time: Option<OffsetDateTime>,
}

/// Reads a journal.
pub(crate) fn journal(body: &[u8]) -> Read<Vec<Entry>> {
    array(parse(body)?)?
        .into_iter()
        .map(|entry| {
            let entry = object(entry)?;
            Ok(Entry {
                identifier: text(&entry, "CheckpointIdentifier"),
                tag: text(&entry, "Tag"),
                time: text(&entry, "TimeStamp").and_then(|text| clock::parse(&text)),
            })
        })
        .collect()
}

fn parse(body: &[u8]) -> Read<Value> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    if body.is_empty() {
        return Err("an empty body".into());
    }
    if body.starts_with(b"<") {
        return Err("a page for a browser instead of JSON".into());
    }
    serde_json::from_slice(body)
        .map_err(|error| format!("not JSON, line {} column {}", error.line(), error.column()))
}

fn object(value: Value) -> Read<Map<String, Value>> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(format!("{} instead of an object", kind(&other))),
    }
}

fn array(value: Value) -> Read<Vec<Value>> {
    match value {
        Value::Array(array) => Ok(array),
        other => Err(format!("{} instead of a list", kind(&other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A field whatever the case of its key; the exact key wins. `null` is no value.
fn field<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object
        .get(key)
        .or_else(|| {
            object
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(key))
                .map(|(_, value)| value)
        })
        .filter(|value| !value.is_null())
}

fn inner<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    field(object, key)?.as_object()
}

/// A text; identifiers that are written as numbers, too.
fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    match field(object, key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// An integer; one that is written as a text, too.
fn integer(object: &Map<String, Value>, key: &str) -> Option<i64> {
    match field(object, key)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A status; -1 where there is none.
fn number(object: &Map<String, Value>, key: &str) -> i32 {
    integer(object, key)
        .and_then(|number| i32::try_from(number).ok())
        .unwrap_or(-1)
}

fn boolean(object: &Map<String, Value>, key: &str) -> Option<bool> {
    match field(object, key)? {
        Value::Bool(boolean) => Some(*boolean),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
