//! Every answer keeps to the schema, so that the simulation does not drift into what one caller likes.
//!
//! The schema is the table in `schema.json`. Where the environment variable `ZVM_OPENAPI` names Zerto's own OpenAPI
//! document, which may not be kept here, the table is compared with that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use reqwest::Method;
use reqwest::blocking::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::{Caller, json, password_form};

type Fields = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Schema {
    answers: BTreeMap<String, String>,
    objects: BTreeMap<String, Fields>,
    beyond_openapi: BTreeSet<String>,
}

impl Schema {
    fn read() -> Self {
        serde_json::from_str(include_str!("schema.json")).unwrap()
    }

    /// Says where a value is not of a type, if it is not.
    fn check(&self, value: &Value, kind: &str) -> Result<(), String> {
        if let Some(kind) = kind.strip_suffix('?') {
            return if value.is_null() {
                Ok(())
            } else {
                self.check(value, kind)
            };
        }
        if let Some(kind) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
            let rows = value
                .as_array()
                .ok_or_else(|| format!(" is {value}, not a list"))?;
            return rows.iter().try_for_each(|row| self.check(row, kind));
        }
        if let Some(fields) = self.objects.get(kind) {
            return self
                .check_object(value, fields)
                .map_err(|error| format!(" {kind}{error}"));
        }
        let integer = |least: i64, most: i64| {
            value
                .as_i64()
                .is_some_and(|number| (least..=most).contains(&number))
        };
        let fits = match kind {
            "string" => value.is_string(),
            "date" => value
                .as_str()
                .is_some_and(|text| text.parse::<Timestamp>().is_ok()),
            "bool" => value.is_boolean(),
            "int32" => integer(i32::MIN.into(), i32::MAX.into()),
            "int64" => integer(i64::MIN, i64::MAX),
            "double" => value.is_number(),
            range => {
                let (least, most) = range
                    .split_once("..")
                    .ok_or_else(|| format!(": no type `{kind}`"))?;
                integer(least.parse().unwrap(), most.parse().unwrap())
            }
        };
        if fits {
            Ok(())
        } else {
            Err(format!(" is {value}, not {kind}"))
        }
    }

    fn check_object(&self, value: &Value, fields: &Fields) -> Result<(), String> {
        let object = value
            .as_object()
            .ok_or_else(|| format!(" is {value}, not an object"))?;
        let known: HashMap<&str, &str> = fields
            .iter()
            .map(|(name, kind)| (name.trim_end_matches('?'), kind.as_str()))
            .collect();
        for (name, value) in object {
            let kind = known
                .get(name.as_str())
                .ok_or_else(|| format!(": no field `{name}`"))?;
            self.check(value, kind)
                .map_err(|error| format!(".{name}{error}"))?;
        }
        match fields
            .keys()
            .find(|name| !name.ends_with('?') && !object.contains_key(*name))
        {
            Some(name) => Err(format!(" lacks `{name}`")),
            None => Ok(()),
        }
    }
}

/// Asks a simulation and checks each answer against the endpoint's type.
struct Tour {
    caller: Caller,
    schema: Schema,
    visited: BTreeSet<String>,
}

impl Tour {
    fn of(scenario: &str) -> Self {
        Self {
            caller: Caller::start(scenario),
            schema: Schema::read(),
            visited: BTreeSet::new(),
        }
    }

    fn check(&mut self, endpoint: &str, response: Response) -> Value {
        assert_eq!(response.status(), 200, "{endpoint}");
        let answer = json(response);
        let kind = &self.schema.answers[endpoint];
        self.schema
            .check(&answer, kind)
            .unwrap_or_else(|error| panic!("{endpoint}:{error}"));
        self.visited.insert(endpoint.to_owned());
        answer
    }

    /// Reads an endpoint whose path may hold a parameter, which is replaced by a value.
    fn read(&mut self, path: &str, value: &str) -> Value {
        let concrete = match path.split_once('{') {
            Some((before, rest)) => format!("{before}{value}{}", rest.split_once('}').unwrap().1),
            None => path.to_owned(),
        };
        let response = self.caller.get(&concrete);
        self.check(&format!("GET {path}"), response)
    }

    fn whole(mut self) -> BTreeSet<String> {
        for path in [
            "/v1/localsite",
            "/v1/peersites",
            "/v1/serverDateTime/serverDateTimeUtc",
            "/v1/vpgs/statuses",
            "/v1/vpgs/substatuses",
        ] {
            self.read(path, "");
        }
        for vpg in self.read("/v1/vpgs", "").as_array().unwrap() {
            let vpg = vpg["VpgIdentifier"].as_str().unwrap();
            let inserted = self.caller.insert_request(vpg, "a tag").send().unwrap();
            if inserted.status() == 200 {
                let task = self.check("POST /v1/vpgs/{vpgIdentifier}/checkpoints", inserted);
                self.read("/v1/tasks/{taskIdentifier}", task.as_str().unwrap());
            }
            self.read("/v1/vpgs/{vpgIdentifier}", vpg);
            self.read("/v1/vpgs/{vpgIdentifier}/checkpoints", vpg);
            self.read("/v1/vpgs/{vpgIdentifier}/checkpoints/stats", vpg);
        }
        self.read("/v1/tasks", "");
        for vm in self.read("/v1/vms", "").as_array().unwrap() {
            let vm = vm["VmIdentifier"].as_str().unwrap();
            self.read("/v1/vms/{vmIdentifier}", vm);
            self.read("/v1/vms/{vmIdentifier}/pointsInTime", vm);
        }
        self.visited
    }
}

const EVERYTHING: &str = "
[[vpgs]]
name = 'works'
instant = true
[[vpgs]]
name = 'is slow'
task_ms = 60000
status = 2
sub_status = 42
vms = [ { name = 'b', ip_addresses = ['192.0.2.1', '2001:db8::1'] }, { name = 'c', exists = false } ]
[[vpgs]]
name = 'fails'
outcome = 'task-fails'
vms = [ { name = 'd', direction = 'recovered-here' } ]
[[vpgs]]
name = 'is empty'
outcome = 'never-surfaces'
vms = []
[[vpgs]]
name = 'refuses'
outcome = 'refused'
vms = []
";

#[test]
fn every_answer_of_the_appliance_keeps_to_the_schema() {
    let mut tour = Tour::of(EVERYTHING);
    let service = [
        ("grant_type", "client_credentials"),
        ("client_id", "holdpoint"),
        ("client_secret", "service-secret"),
        ("scope", "openid"),
    ];
    for form in [password_form().as_slice(), service.as_slice()] {
        let response = tour.caller.token_request(form).send().unwrap();
        tour.check("POST /auth/realms/zerto/protocol/openid-connect/token", response);
    }
    let all: BTreeSet<_> = tour.schema.answers.keys().cloned().collect();
    assert_eq!(tour.whole(), all);
}

#[test]
fn every_answer_of_the_windows_zvm_keeps_to_the_schema() {
    let tour = Tour::of(&format!("[site]\nplatform = 'windows'\n{EVERYTHING}"));
    assert_eq!(tour.whole().len(), Schema::read().answers.len() - 1);
}

#[test]
fn every_error_keeps_to_the_schema() {
    let (caller, schema) = (Caller::start(EVERYTHING), Schema::read());
    let refused = caller.read("/v1/vpgs")[4]["VpgIdentifier"]
        .as_str()
        .unwrap()
        .to_owned();
    let stranger = caller.http.get(format!("{}/v1/vms", caller.sim.url()));
    let errors = [
        (caller.request(Method::GET, "/v1/nothing"), 404, "Error"),
        (caller.request(Method::GET, "/v1/vpgs/nothing"), 404, "Error"),
        (caller.request(Method::GET, "/v1/tasks/nothing"), 404, "Error"),
        (
            caller.request(Method::GET, "/v1/vms?vmIdentifier=app"),
            400,
            "Error",
        ),
        (caller.insert_request(&refused, "no"), 400, "Error"),
        (stranger, 401, "Error"),
        (
            caller.token_request(&[("grant_type", "password")]),
            401,
            "ErrorResult",
        ),
        (
            caller.token_request(&[("grant_type", "other")]),
            400,
            "ErrorResult",
        ),
    ];
    for (request, status, kind) in errors {
        let response = request.send().unwrap();
        assert_eq!(response.status(), status);
        schema.check(&json(response), kind).unwrap();
    }
}

#[test]
fn the_check_finds_what_is_wrong() {
    let schema = Schema::read();
    let good =
        json!({ "CheckpointIdentifier": "1", "TimeStamp": "2026-09-22T12:40:31Z", "Tag": null, "Type": 0 });
    assert_eq!(schema.check(&json!([good]), "[CheckpointApi]"), Ok(()));
    let wrong = [
        ("CheckpointIdentifier", json!(1)),
        ("TimeStamp", json!("yesterday")),
        ("Type", json!(3)),
        ("Type", Value::Null),
        ("tag", json!("lower case")),
    ];
    for (field, value) in wrong {
        let mut row = good.clone();
        row[field] = value;
        assert!(schema.check(&row, "CheckpointApi").is_err(), "{row}");
    }
    for (value, kind) in [
        (json!({}), "CheckpointApi"),
        (good, "[CheckpointApi]"),
        (json!(0), "no such type"),
    ] {
        assert!(schema.check(&value, kind).is_err(), "{kind}");
    }
}

#[test]
fn the_table_is_what_zerto_s_document_says() {
    let Some(file) = std::env::var_os("ZVM_OPENAPI") else {
        println!("skipped: ZVM_OPENAPI does not name Zerto's OpenAPI document");
        return;
    };
    let document = OpenApi::read(&std::fs::read_to_string(file).unwrap());
    let schema = Schema::read();
    for (name, fields) in schema.objects.iter().filter(|(name, _)| *name != "Error") {
        let beyond = |field: &str| schema.beyond_openapi.contains(&format!("{name}.{field}"));
        let ours = fields.iter().filter(|(field, _)| !beyond(field));
        // A reference says nothing of null, so there the table is free.
        let ours: Fields = ours
            .map(|(field, kind)| {
                let object = schema.objects.contains_key(kind.trim_end_matches('?'));
                let kind = if object { kind.trim_end_matches('?') } else { kind };
                (field.trim_end_matches('?').to_lowercase(), kind.to_owned())
            })
            .collect();
        assert_eq!(ours, document.fields(name), "{name}");
    }
    for (endpoint, kind) in &schema.answers {
        assert_eq!(Some(kind), document.answer(endpoint).as_ref(), "{endpoint}");
    }
    for field in &schema.beyond_openapi {
        let (name, field) = field.split_once('.').unwrap();
        assert!(
            schema.objects[name].contains_key(field),
            "{name}.{field} is not in the table"
        );
        assert!(
            !document.fields(name).contains_key(&field.to_lowercase()),
            "{name}.{field} is no exception"
        );
    }
}

/// An OpenAPI document, read in the words of the table.
struct OpenApi {
    paths: Value,
    /// By the last part of the name, as `VmApi` of `Zerto.Zvm.Api.Interfaces.Vms.VmApi`.
    objects: HashMap<String, Value>,
}

impl OpenApi {
    fn read(text: &str) -> Self {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let objects = document["components"]["schemas"].as_object().unwrap();
        let objects = objects
            .iter()
            .map(|(name, object)| (last(name, '.'), object.clone()))
            .collect();
        Self {
            paths: document["paths"].take(),
            objects,
        }
    }

    /// An object's fields, in lower case, with their types.
    fn fields(&self, name: &str) -> Fields {
        let fields = self
            .objects
            .get(name)
            .unwrap_or_else(|| panic!("the document has no {name}"));
        let fields = fields["properties"].as_object().unwrap();
        fields
            .iter()
            .map(|(field, kind)| (field.to_lowercase(), self.kind(kind)))
            .collect()
    }

    /// The type that an endpoint, as `GET /v1/vms`, answers with.
    fn answer(&self, endpoint: &str) -> Option<String> {
        let (method, path) = endpoint.split_once(' ')?;
        let answer =
            &self.paths[path][method.to_lowercase()]["responses"]["200"]["content"]["application/json"];
        answer.get("schema").map(|kind| self.kind(kind))
    }

    fn kind(&self, kind: &Value) -> String {
        let null = if kind["nullable"] == true { "?" } else { "" };
        if let Some(reference) = kind["$ref"].as_str() {
            let name = last(&last(reference, '/'), '.');
            return match self.objects[&name]["enum"].as_array() {
                Some(numbers) => format!("{}..{}", numbers[0], numbers[numbers.len() - 1]),
                None => name,
            };
        }
        let name = match (kind["type"].as_str().unwrap(), kind["format"].as_str()) {
            ("array", _) => format!("[{}]", self.kind(&kind["items"])),
            ("string", Some("date-time")) => "date".to_owned(),
            ("boolean", _) => "bool".to_owned(),
            (_, Some(format)) => format.to_owned(),
            (name, None) => name.to_owned(),
        };
        name + null
    }
}

fn last(text: &str, separator: char) -> String {
    text.rsplit(separator).next().unwrap_or(text).to_owned()
}
