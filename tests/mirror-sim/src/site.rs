//! A web server that does as it is told, well-behaved or not.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What comes back for a path.
#[derive(Clone)]
pub enum Answer {
    /// This body.
    Body(Vec<u8>),
    /// Bytes without end.
    Endless,
    /// Another address.
    Redirect(String),
    /// This body for whoever has a bearer token, and this challenge for everybody else.
    Guarded(Vec<u8>, String),
    /// Nothing at all, until the other side gives up.
    Silence,
}

/// Serves what was put under a path, and remembers what it was asked.
#[derive(Clone, Default)]
pub struct Site {
    answers: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Answers so under this path from now on.
    ///
    /// # Panics
    ///
    /// Where another of its threads did.
    pub fn put(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.into(), answer);
    }

    /// Asks for a token before it gives the body that is there.
    ///
    /// # Panics
    ///
    /// Where another of its threads did.
    pub fn guard(&self, path: &str, challenge: &str) {
        let mut answers = self.answers.lock().unwrap();
        if let Some(Answer::Body(body)) = answers.get(path).cloned() {
            answers.insert(path.into(), Answer::Guarded(body, challenge.into()));
        }
    }

    /// The head of every request, in lower case.
    ///
    /// # Panics
    ///
    /// Where another of its threads did.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Serves on a port of this machine, as long as the tests run.
    ///
    /// # Panics
    ///
    /// Where this machine has no port left.
    pub fn serve(&self) -> SocketAddr {
        self.serve_with(Some)
    }

    /// The same with TLS. Gives the certificate, in PEM form.
    ///
    /// # Panics
    ///
    /// Where this machine has no port left.
    pub fn serve_tls(&self) -> (SocketAddr, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        let config = Arc::new(config);
        let address = self.serve_with(move |stream| {
            Some(StreamOwned::new(
                ServerConnection::new(config.clone()).ok()?,
                stream,
            ))
        });
        (address, made.cert.pem())
    }

    fn serve_with<S: Read + Write + Send + 'static>(
        &self,
        wrap: impl Fn(TcpStream) -> Option<S> + Send + 'static,
    ) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let site = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten().filter_map(&wrap) {
                let site = site.clone();
                // A client that hangs up is what many of these tests are about.
                thread::spawn(move || site.answer(stream));
            }
        });
        address
    }

    fn answer(&self, stream: impl Read + Write) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push(head.to_lowercase());
        let answer = self.answers.lock().unwrap().get(&path).cloned();
        let answer = match answer {
            Some(Answer::Guarded(body, _)) if head.to_lowercase().contains("\r\nauthorization: bearer ") => {
                Some(Answer::Body(body))
            }
            other => other,
        };
        let stream = stream.get_mut();
        match answer {
            Some(Answer::Body(body)) => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                )?;
                stream.write_all(&body)?;
            }
            Some(Answer::Endless) => {
                write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
                loop {
                    stream.write_all(&[b'x'; 4096])?;
                }
            }
            Some(Answer::Redirect(to)) => {
                write!(
                    stream,
                    "HTTP/1.1 307 T\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                )?;
            }
            Some(Answer::Guarded(_, challenge)) => {
                write!(
                    stream,
                    "HTTP/1.1 401 U\r\nwww-authenticate: {challenge}\r\nconnection: close\r\n\r\n"
                )?;
            }
            Some(Answer::Silence) => {
                stream.read_exact(&mut [0])?;
            }
            None => write!(
                stream,
                "HTTP/1.1 404 N\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            )?,
        }
        stream.flush()
    }
}
