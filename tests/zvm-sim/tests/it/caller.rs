//! A simulated ZVM and a plain HTTPS caller that is logged in to it.

use std::time::Duration;

use reqwest::blocking::{Client, ClientBuilder, RequestBuilder, Response};
use reqwest::{Certificate, Method};
use serde_json::Value;
use zvm_sim::{Scenario, Sim};

/// More than any answer here takes, so that a test fails instead of waiting.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Caller {
    pub(crate) sim: Sim,
    pub(crate) http: Client,
    /// The header that the log-in gave.
    credential: Option<(&'static str, String)>,
}

impl Caller {
    /// Starts a scenario without logging in.
    pub(crate) fn stranger(scenario: &str) -> Self {
        let sim = Sim::start(Scenario::from_toml(scenario).unwrap()).unwrap();
        let http = builder(&sim).build().unwrap();
        Self {
            sim,
            http,
            credential: None,
        }
    }

    /// Starts a scenario and logs in by password, as its platform has it.
    pub(crate) fn start(scenario: &str) -> Self {
        let mut caller = Self::stranger(scenario);
        caller.log_in();
        caller
    }

    pub(crate) fn log_in(&mut self) {
        let response = self.token_request(&password_form()).send().unwrap();
        if response.status() == 404 {
            let session = self.session_request("secret").send().unwrap();
            let session = session.headers()["x-zerto-session"].to_str().unwrap();
            self.credential = Some(("x-zerto-session", session.to_owned()));
        } else {
            self.bear(json(response)["access_token"].as_str().unwrap());
        }
    }

    /// Sends a token with every request from now on.
    pub(crate) fn bear(&mut self, token: &str) {
        self.credential = Some(("authorization", format!("Bearer {token}")));
    }

    /// The log-in to a Windows ZVM.
    pub(crate) fn session_request(&self, password: &str) -> RequestBuilder {
        let request = self
            .request(Method::POST, "/v1/session/add")
            .basic_auth("admin", Some(password));
        request.json(&serde_json::json!({ "AuthenticationMethod": 1 }))
    }

    pub(crate) fn token_request(&self, form: &[(&str, &str)]) -> RequestBuilder {
        let url = format!(
            "{}/auth/realms/zerto/protocol/openid-connect/token",
            self.sim.url()
        );
        self.http.post(url).form(form)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.sim.url()));
        match &self.credential {
            Some((header, value)) => request.header(*header, value),
            None => request,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().unwrap()
    }

    /// A GET that must succeed, as JSON.
    pub(crate) fn read(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status(), 200, "{path}");
        json(response)
    }

    pub(crate) fn insert_request(&self, vpg: &str, tag: &str) -> RequestBuilder {
        let body = serde_json::json!({ "checkpointName": tag });
        self.request(Method::POST, &format!("/v1/vpgs/{vpg}/checkpoints"))
            .json(&body)
    }

    /// Inserts a tag and gives the task's identifier.
    pub(crate) fn insert(&self, vpg: &str, tag: &str) -> String {
        let response = self.insert_request(vpg, tag).send().unwrap();
        assert_eq!(response.status(), 200);
        json(response).as_str().unwrap().to_owned()
    }

    /// The identifier of the first VPG.
    pub(crate) fn vpg(&self) -> String {
        self.read("/v1/vpgs")[0]["VpgIdentifier"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The journal's row of a tag, if it can be seen.
    pub(crate) fn find_tag(&self, vpg: &str, tag: &str) -> Option<Value> {
        let rows = self.read(&format!("/v1/vpgs/{vpg}/checkpoints"));
        rows.as_array()
            .unwrap()
            .iter()
            .find(|row| row["Tag"] == tag)
            .cloned()
    }
}

/// For a caller that trusts a simulation's CA and nobody else.
pub(crate) fn builder(sim: &Sim) -> ClientBuilder {
    // Fails when another test was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .tls_certs_only([Certificate::from_pem(sim.ca_pem().as_bytes()).unwrap()])
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(PATIENCE)
}

pub(crate) fn password_form() -> Vec<(&'static str, &'static str)> {
    vec![
        ("grant_type", "password"),
        ("client_id", "zerto-client"),
        ("username", "admin"),
        ("password", "secret"),
        ("scope", "openid"),
    ]
}

pub(crate) fn json(response: Response) -> Value {
    response.json().unwrap()
}

/// The `Message` of an error answer.
pub(crate) fn message(response: Response) -> String {
    json(response)["Message"].as_str().unwrap().to_owned()
}
