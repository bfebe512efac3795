//! The part of the API that a guard touches: routes, and what each one answers.

use bytes::Bytes;
use hyper::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::answer::{Answer, Refusal};
use crate::auth;
use crate::filter::Query;
use crate::journal::{self, Checkpoint};
use crate::names;
use crate::request;
use crate::rows;
use crate::scenario::{Platform, Vm, Vpg};
use crate::words;
use crate::zvm::Zvm;

/// An endpoint that needs a log-in, with what its path names.
enum Endpoint {
    EndSession,
    LocalSite,
    PeerSites,
    UtcNow,
    Vms,
    Vm(String),
    PointsInTime(String),
    Vpgs,
    Vpg(String),
    Statuses,
    SubStatuses,
    Checkpoints(String),
    CheckpointStats(String),
    Insert(String),
    Tasks,
    Task(String),
}

/// Does what a request asks and answers it.
pub(crate) fn answer(zvm: &Zvm, request: &Request<Bytes>) -> Answer {
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let path: Vec<String> = request
        .uri()
        .path()
        .trim_matches('/')
        .split('/')
        .map(decode)
        .collect();
    let lower: Vec<String> = path.iter().map(|segment| segment.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let platform = zvm.scenario.site.platform;
    if let Some(log_in) = log_in(platform, request.method(), &lower) {
        return log_in(zvm, request);
    }
    let Some(endpoint) = route(platform, request.method(), &lower, &path) else {
        return Refusal::not_found("No such resource").into();
    };
    match auth::user(zvm, request) {
        Some(user) => serve(zvm, &endpoint, request, &user).unwrap_or_else(Into::into),
        None => Answer::unauthorized(),
    }
}

/// The way in, of which each platform has its own.
fn log_in(
    platform: Platform,
    method: &Method,
    lower: &[&str],
) -> Option<fn(&Zvm, &Request<Bytes>) -> Answer> {
    match (platform, method, lower) {
        (
            Platform::Linux,
            &Method::POST,
            ["auth", "realms", "zerto", "protocol", "openid-connect", "token"],
        ) => Some(auth::token),
        (Platform::Windows, &Method::POST, ["v1", "session", "add"]) => Some(auth::add_session),
        _ => None,
    }
}

/// Finds the endpoint. Zerto's paths are the same in any case; the identifiers in them are taken as they were sent.
fn route(platform: Platform, method: &Method, lower: &[&str], path: &[String]) -> Option<Endpoint> {
    let named = || path[2].clone();
    Some(match (method, lower) {
        (&Method::GET, ["v1", "localsite"]) => Endpoint::LocalSite,
        (&Method::GET, ["v1", "peersites"]) => Endpoint::PeerSites,
        (&Method::GET, ["v1", "serverdatetime", "serverdatetimeutc"]) => Endpoint::UtcNow,
        (&Method::GET, ["v1", "vms"]) => Endpoint::Vms,
        (&Method::GET, ["v1", "vms", _]) => Endpoint::Vm(named()),
        (&Method::GET, ["v1", "vms", _, "pointsintime"]) => Endpoint::PointsInTime(named()),
        (&Method::GET, ["v1", "vpgs"]) => Endpoint::Vpgs,
        (&Method::GET, ["v1", "vpgs", "statuses"]) => Endpoint::Statuses,
        (&Method::GET, ["v1", "vpgs", "substatuses"]) => Endpoint::SubStatuses,
        (&Method::GET, ["v1", "vpgs", _]) => Endpoint::Vpg(named()),
        (&Method::GET, ["v1", "vpgs", _, "checkpoints"]) => Endpoint::Checkpoints(named()),
        (&Method::GET, ["v1", "vpgs", _, "checkpoints", "stats"]) => Endpoint::CheckpointStats(named()),
        (&Method::POST, ["v1", "vpgs", _, "checkpoints"]) => Endpoint::Insert(named()),
        (&Method::GET, ["v1", "tasks"]) => Endpoint::Tasks,
        (&Method::GET, ["v1", "tasks", _]) => Endpoint::Task(named()),
        (&Method::DELETE, ["v1", "session"]) if platform == Platform::Windows => Endpoint::EndSession,
        _ => return None,
    })
}

fn serve(zvm: &Zvm, endpoint: &Endpoint, request: &Request<Bytes>, user: &str) -> Result<Answer, Refusal> {
    let query = Query::of(request.uri().query());
    let value = match endpoint {
        Endpoint::EndSession => return Ok(auth::end_session(zvm, request)),
        Endpoint::LocalSite => rows::local_site(zvm),
        Endpoint::PeerSites => json!([rows::peer_site(zvm)]),
        Endpoint::UtcNow => json!(zvm.clock.utc_now()),
        Endpoint::Vms => vms(zvm, &query)?,
        Endpoint::Vm(identifier) => {
            let (index, vm) = one_vm(zvm, identifier, &query)?;
            rows::vm(zvm, index, vm)
        }
        Endpoint::PointsInTime(identifier) => {
            let (index, _) = one_vm(zvm, identifier, &query)?;
            rows::points_in_time(zvm, &between(zvm, index, &query)?)
        }
        Endpoint::Vpgs => vpgs(zvm, &query),
        Endpoint::Vpg(identifier) => rows::vpg(zvm, vpg_index(zvm, identifier)?),
        Endpoint::Statuses => json!(words::statuses(zvm.scenario.site.platform)),
        Endpoint::SubStatuses => json!(words::SUB_STATUSES.as_slice()),
        Endpoint::Checkpoints(identifier) => {
            let checkpoints = between(zvm, vpg_index(zvm, identifier)?, &query)?;
            checkpoints
                .iter()
                .map(|checkpoint| rows::checkpoint(zvm, checkpoint))
                .collect()
        }
        Endpoint::CheckpointStats(identifier) => rows::stats(zvm, vpg_index(zvm, identifier)?),
        Endpoint::Insert(identifier) => insert(zvm, identifier, request, user)?,
        Endpoint::Tasks => tasks(zvm, &query)?,
        Endpoint::Task(identifier) => {
            let state = zvm.state();
            let task = state
                .tasks
                .iter()
                .find(|task| task.identifier.eq_ignore_ascii_case(identifier));
            rows::task(
                zvm,
                task.ok_or_else(|| Refusal::not_found("No task has this identifier"))?,
            )
        }
    };
    Ok(Answer::json(&value))
}

fn vms(zvm: &Zvm, query: &Query) -> Result<Value, Refusal> {
    if query
        .get("vmIdentifier")
        .is_some_and(|identifier| !names::is_vm_identifier(identifier))
    {
        return Err(no_vm_identifier());
    }
    let admitted = zvm.vms().filter(|(index, vm)| {
        let vpg = &zvm.scenario.vpgs[*index];
        admits(
            zvm,
            query,
            vpg,
            &[
                ("vmName", &vm.name),
                ("vmIdentifier", &vm.identifier()),
                ("vpgName", &vpg.name),
            ],
        )
    });
    Ok(admitted.map(|(index, vm)| rows::vm(zvm, index, vm)).collect())
}

fn vpgs(zvm: &Zvm, query: &Query) -> Value {
    let vpgs = zvm.scenario.vpgs.iter().enumerate();
    let admitted = vpgs.filter(|(_, vpg)| admits(zvm, query, vpg, &[("name", &vpg.name)]));
    admitted.map(|(index, _)| rows::vpg(zvm, index)).collect()
}

/// The filters that VMs and VPGs share, and the row's own.
fn admits(zvm: &Zvm, query: &Query, vpg: &Vpg, own: &[(&str, &str)]) -> bool {
    let status = usize::from(vpg.status);
    let sub_status = usize::from(vpg.sub_status);
    let statuses = words::statuses(zvm.scenario.site.platform);
    let (protected, recovery) = rows::sites(zvm, vpg);
    own.iter().all(|(name, value)| query.admits(&[(name, &[value])]))
        && query.admits(&[
            (
                "status",
                &[&status.to_string(), statuses.get(status).unwrap_or(&"")],
            ),
            (
                "subStatus",
                &[
                    &sub_status.to_string(),
                    words::SUB_STATUSES.get(sub_status).unwrap_or(&""),
                ],
            ),
            ("protectedSiteType", &[rows::SITE_TYPE]),
            ("recoverySiteType", &[rows::SITE_TYPE]),
            ("protectedSiteIdentifier", &[&protected.identifier]),
            ("recoverySiteIdentifier", &[&recovery.identifier]),
            ("priority", &["1", "Medium"]),
            ("organizationName", &[""]),
        ])
}

/// The VM of an identifier. A VM in several VPGs is not one answer unless the query names the VPG.
fn one_vm<'a>(zvm: &'a Zvm, identifier: &str, query: &Query) -> Result<(usize, &'a Vm), Refusal> {
    if !names::is_vm_identifier(identifier) {
        return Err(no_vm_identifier());
    }
    let vpg = query.get("vpgIdentifier");
    let mut found = zvm.vms().filter(|(index, vm)| {
        vm.identifier().eq_ignore_ascii_case(identifier)
            && vpg.is_none_or(|vpg| zvm.scenario.vpgs[*index].identifier().eq_ignore_ascii_case(vpg))
    });
    let first = found
        .next()
        .ok_or_else(|| Refusal::not_found("No protected VM has this identifier"))?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(Refusal::bad_request(
            "The VM is in several VPGs: name one with vpgIdentifier",
        )),
    }
}

fn no_vm_identifier() -> Refusal {
    Refusal::bad_request("The VM identifier is not of the form serverid.moref")
}

fn vpg_index(zvm: &Zvm, identifier: &str) -> Result<usize, Refusal> {
    let vpgs = &zvm.scenario.vpgs;
    vpgs.iter()
        .position(|vpg| vpg.identifier().eq_ignore_ascii_case(identifier))
        .ok_or_else(|| Refusal::not_found("No VPG has this identifier"))
}

/// The checkpoints of a VPG between the query's dates.
fn between(zvm: &Zvm, index: usize, query: &Query) -> Result<Vec<Checkpoint>, Refusal> {
    let now = zvm.clock.now();
    let from = date(zvm, query, "startDate")?.unwrap_or(now - journal::HISTORY);
    let to = date(zvm, query, "endDate")?.unwrap_or(now);
    let (from, to) = zvm.clock.dated_between(from, to);
    Ok(zvm.state().journals[index].between(from, to, now))
}

fn date(zvm: &Zvm, query: &Query, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    match zvm.clock.parse(text) {
        Some(date) => Ok(Some(date)),
        None => Err(Refusal::bad_request(&format!("{name} is not a date"))),
    }
}

fn insert(zvm: &Zvm, identifier: &str, request: &Request<Bytes>, user: &str) -> Result<Value, Refusal> {
    if !request::has_type(request, "application/json") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The body is not declared as JSON",
        ));
    }
    if !zvm.scenario.login.may_insert {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "The user's role does not permit this operation",
        ));
    }
    let index = vpg_index(zvm, identifier)?;
    let Ok(Value::Object(body)) = serde_json::from_slice(request.body()) else {
        return Err(Refusal::bad_request("The body is not a JSON object"));
    };
    let name = body
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case("checkpointName"));
    let name = name
        .and_then(|(_, value)| value.as_str())
        .filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Refusal::bad_request("The checkpoint has no name"))?;
    zvm.insert(index, name, user)
        .map(Value::String)
        .map_err(|reason| {
            // The appliance says 400 to what a user may not do; the older ZVM said 500 to most things.
            let status = match zvm.scenario.site.platform {
                Platform::Linux => StatusCode::BAD_REQUEST,
                Platform::Windows => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Refusal::new(status, &reason)
        })
}

fn tasks(zvm: &Zvm, query: &Query) -> Result<Value, Refusal> {
    let now = zvm.clock.now();
    let limit = |name, default| Ok::<_, Refusal>(date(zvm, query, name)?.unwrap_or(default));
    let started = limit("startedAfterDate", i64::MIN)?..=limit("startedBeforeDate", i64::MAX)?;
    let completed = limit("completedAfterDate", i64::MIN)?..=limit("completedBeforeDate", i64::MAX)?;
    let by_completion = ["completedAfterDate", "completedBeforeDate"]
        .into_iter()
        .any(|name| query.get(name).is_some());
    let state = zvm.state();
    let admitted = state.tasks.iter().filter(|task| {
        let number = task.state(now);
        started.contains(&task.started)
            && (!by_completion || (task.ends <= now && completed.contains(&task.ends)))
            && query.admits(&[
                ("type", &[rows::TASK_TYPE]),
                (
                    "status",
                    &[&number.to_string(), words::TASK_STATES[usize::from(number)]],
                ),
            ])
    });
    Ok(admitted.map(|task| rows::task(zvm, task)).collect())
}
