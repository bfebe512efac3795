//! A real OCI registry: Debian's `docker-registry`, as a process of its own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use holdpoint_artifact::Digest;
use tempfile::TempDir;

/// The user `battery` with the password `horse`, as bcrypt has it.
const HTPASSWD: &str = "battery:$2y$05$abcdefghijklmnopqrstuuQc5bFU8vqejtelfg5gO9zOv6VrNOdIO\n";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of a Wasm artifact's configuration.
pub const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// A registry's process, with a storage of its own.
pub struct Registry {
    /// Where it listens.
    pub address: SocketAddr,
    process: Child,
    _folder: TempDir,
}

impl Registry {
    /// Starts one, open to everybody or to the user `battery` with the password `horse` alone.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    pub fn start(with_password: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Found free now and taken in a moment; where somebody else is faster, the process ends and it is tried again.
        for _ in 0..10 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let config = folder.path().join("config.yml");
            fs::write(&config, configuration(folder.path(), address, with_password)).unwrap();
            let mut process = Command::new("docker-registry")
                .arg("serve")
                .arg(&config)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("the registry starts");
            let patience = Instant::now() + Duration::from_secs(30);
            while Instant::now() < patience && process.try_wait().unwrap().is_none() {
                if TcpStream::connect(address).is_ok() {
                    return Self {
                        address,
                        process,
                        _folder: folder,
                    };
                }
                thread::sleep(Duration::from_millis(20));
            }
            let _ = process.kill();
            process.wait().unwrap();
        }
        panic!("docker-registry did not start")
    }

    /// Pushes a policy as the layout for Wasm has it, and gives the manifest's digest.
    ///
    /// # Panics
    ///
    /// Where the registry does not take it.
    pub fn push(&self, tag: &str, policy: &[u8], config_type: &str) -> Digest {
        let blob = |bytes: &[u8]| {
            let digest = Digest::of(bytes);
            let started = self.send("POST", "/v2/acme/guard/blobs/uploads/", "", b"");
            let location = started
                .lines()
                .find_map(|line| line.strip_prefix("location: "))
                .unwrap();
            let path = location
                .trim()
                .strip_prefix(&format!("http://{}", self.address))
                .unwrap_or_else(|| location.trim());
            let answer = self.send(
                "PUT",
                &format!("{path}&digest={digest}"),
                "application/octet-stream",
                bytes,
            );
            assert!(answer.starts_with("http/1.1 201"), "{answer}");
            digest
        };
        let config = br#"{"architecture":"wasm","os":"wasip2"}"#;
        let (config_digest, layer_digest) = (blob(config), blob(policy));
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}",
                "config":{{"mediaType":"{config_type}","digest":"{config_digest}","size":{}}},
                "layers":[{{"mediaType":"application/wasm","digest":"{layer_digest}","size":{}}}]}}"#,
            config.len(),
            policy.len(),
        );
        let answer = self.send(
            "PUT",
            &format!("/v2/acme/guard/manifests/{tag}"),
            MANIFEST,
            manifest.as_bytes(),
        );
        assert!(answer.starts_with("http/1.1 201"), "{answer}");
        Digest::of(manifest.as_bytes())
    }

    /// One request, as the user `battery`; gives the answer's head, names in lower case.
    fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Basic YmF0dGVyeTpob3JzZQ==\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len(),
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let lines = answer.lines().map(|line| match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}\n", name.to_lowercase()),
            None => format!("{}\n", line.to_lowercase()),
        });
        lines.collect()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration(folder: &Path, address: SocketAddr, with_password: bool) -> String {
    let folder = folder.display();
    let mut config = format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {folder}/storage\n\
         http:\n  addr: {address}\n  secret: none\n"
    );
    if with_password {
        fs::write(format!("{folder}/htpasswd"), HTPASSWD).unwrap();
        config += &format!("auth:\n  htpasswd:\n    realm: tests\n    path: {folder}/htpasswd\n");
    }
    config
}
