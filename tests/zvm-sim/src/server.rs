//! Connections, and what a trouble does to an answer on its way out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio_rustls::TlsAcceptor;

use crate::answer::{Answer, JSON};
use crate::api;
use crate::trouble::{Effect, Trouble};
use crate::zvm::{Answered, Zvm};

/// The largest request body that is read, in bytes.
const REQUEST_LIMIT: usize = 1 << 20;

/// The size of one piece of a huge body, in bytes.
const PIECE: usize = 1 << 16;

/// How long the first half of a cut body has to leave before the connection ends.
const BEFORE_CUT: Duration = Duration::from_millis(20);

type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// Takes note of an answer.
pub(crate) type Log = Box<dyn Fn(&Answered) + Send + Sync>;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) zvm: Zvm,
    pub(crate) log: Log,
}

/// Serves until told to stop, or until nobody is left to tell it.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    tls: TlsAcceptor,
    stop: oneshot::Receiver<()>,
) {
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(connection(shared.clone(), stream, tls.clone()));
                }
                // No more file descriptors, or the caller has gone: neither concerns the next connection.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stop => {}
    }
}

/// Serves one connection until it ends or a trouble ends it. A caller that breaks off is no error here.
async fn connection(shared: Arc<Shared>, stream: TcpStream, tls: TlsAcceptor) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let end = Arc::new(Notify::new());
    let service = service_fn({
        let end = end.clone();
        move |request| exchange(shared.clone(), request, end.clone())
    });
    let stream = TokioIo::new(stream);
    let work = async {
        match h2 {
            true => {
                http2::Builder::new(TokioExecutor::new())
                    .serve_connection(stream, service)
                    .await
            }
            false => http1::Builder::new().serve_connection(stream, service).await,
        }
    };
    tokio::select! {
        _ = work => {}
        () = end.notified() => {}
    }
}

/// One request and its answer.
async fn exchange(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    end: Arc<Notify>,
) -> Result<Response<Body>, Infallible> {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let (method, path) = (head.method.to_string(), head.uri.path().to_owned());
    let log = |status: Option<StatusCode>| {
        let status = status.map(|status| status.as_u16());
        (shared.log)(&Answered {
            method: method.clone(),
            path: path.clone(),
            status,
            took: began.elapsed(),
        });
    };
    let Ok(body) = Limited::new(body, REQUEST_LIMIT).collect().await else {
        let answer = Answer::message(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large");
        log(Some(answer.status));
        return Ok(whole(answer));
    };
    let request = Request::from_parts(head, body.to_bytes());
    let trouble = shared.zvm.arrive(&request);
    let response = play(&shared.zvm, trouble, &request, &end).await;
    log(response.as_ref().map(Response::status));
    match response {
        Some(response) => Ok(response),
        None => std::future::pending().await,
    }
}

/// Answers as the trouble has it; `None` when there is to be no answer.
async fn play(
    zvm: &Zvm,
    trouble: Option<&Trouble>,
    request: &Request<Bytes>,
    end: &Arc<Notify>,
) -> Option<Response<Body>> {
    let Some(trouble) = trouble else {
        return Some(whole(api::answer(zvm, request)));
    };
    if !matches!(trouble.effect, Effect::Slow) {
        tokio::time::sleep(trouble.delay).await;
    }
    match &trouble.effect {
        Effect::Instead(answer) => Some(whole(answer.clone())),
        Effect::Delay => Some(whole(api::answer(zvm, request))),
        Effect::Unnamed => {
            api::answer(zvm, request);
            Some(whole(Answer::empty().with_status(StatusCode::ACCEPTED)))
        }
        Effect::Huge(size) => Some(huge(*size)),
        Effect::Cut => Some(cut(api::answer(zvm, request), end.clone())),
        Effect::Slow => Some(slow(api::answer(zvm, request), trouble.delay)),
        Effect::Hang => None,
        Effect::Close => {
            end.notify_one();
            None
        }
        Effect::Lost => {
            api::answer(zvm, request);
            end.notify_one();
            None
        }
    }
}

fn whole(answer: Answer) -> Response<Body> {
    let body = Full::new(answer.body.clone());
    answer.response(Either::Left(body))
}

/// An answer whose body is fed by a task.
fn streamed<F>(answer: Answer, length: Option<u64>, feed: impl FnOnce(Sender<Bytes>) -> F) -> Response<Body>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, body) = Channel::new(1);
    tokio::spawn(feed(sender));
    let mut response = answer.response(Either::Right(body));
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    response
}

/// Half of the body, and then the connection's end.
fn cut(answer: Answer, end: Arc<Notify>) -> Response<Body> {
    let body = answer.body.clone();
    // An empty body has no middle, so one byte is promised.
    let length = body.len().max(1) as u64;
    streamed(answer, Some(length), async move |mut sender: Sender<Bytes>| {
        let _ = sender.send_data(body.slice(..body.len() / 2)).await;
        tokio::time::sleep(BEFORE_CUT).await;
        end.notify_one();
        // The body must not end before the connection does.
        std::future::pending::<()>().await;
    })
}

fn slow(answer: Answer, each: Duration) -> Response<Body> {
    let body = answer.body.clone();
    let length = body.len() as u64;
    streamed(answer, Some(length), async move |mut sender: Sender<Bytes>| {
        for at in 0..body.len() {
            tokio::time::sleep(each).await;
            if sender.send_data(body.slice(at..=at)).await.is_err() {
                return;
            }
        }
    })
}

/// The start of a JSON string that goes on and on.
fn huge(size: Option<u64>) -> Response<Body> {
    let answer = Answer::text(JSON, Bytes::new());
    streamed(answer, size, async move |mut sender: Sender<Bytes>| {
        let (start, filler) = (Bytes::from_static(b"[\""), Bytes::from(vec![b'x'; PIECE]));
        let mut left = size.unwrap_or(u64::MAX);
        let mut next = start;
        while left > 0 {
            let piece = next.slice(..next.len().min(left as usize));
            left -= piece.len() as u64;
            if sender.send_data(piece).await.is_err() {
                return;
            }
            next = filler.clone();
        }
    })
}
