//! Receipts for others: to a collector, on a page, and from hooks that speak HTTP.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use holdpoint_artifact::Digest;
use holdpoint_common::safe_text::clean_line;
use holdpoint_config::{Config, Mode};
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::{self as hook, origin, self_test_calls};
use holdpoint_receipts::otlp::Collector;
use holdpoint_receipts::report::Page;
use holdpoint_receipts::serve::{self, Token};
use holdpoint_receipts::{Calls, Filter, Moment, Source, Trust, verify};

use super::{Done, print};

/// The longest line that is told, in characters.
const LONGEST_LINE: usize = 2_000;

/// Sends receipts to a collector: all, or those of the calls that are wanted.
pub(super) fn send(source: &Source, url: &str, filter: &Filter) -> Done {
    let headers = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").ok();
    let collector = Collector::new(url, headers.as_deref())?;
    let host = origin::host_name();
    let narrowed = filter.tool.is_some() || filter.changes || filter.limit.is_some();
    let of_calls: Option<HashSet<Digest>> =
        narrowed
            .then(|| Calls::read(source, filter))
            .transpose()?
            .map(|calls| {
                let receipts = calls.calls.iter();
                receipts
                    .flat_map(|call| call.decision.iter().chain(&call.observations))
                    .map(|receipt| receipt.digest)
                    .collect()
            });
    let sent = collector.send(source, host.as_deref(), |receipt| match &of_calls {
        Some(wanted) => wanted.contains(&receipt.digest),
        None => filter.since.is_none_or(|since| receipt.issued_at >= since),
    })?;
    print(&format!("the collector took {} receipts\n", sent.taken))?;
    if sent.rejected == 0 && sent.unreadable == 0 {
        return Ok(ExitCode::OK);
    }
    let why = sent.why.map(|why| format!(" ({why})")).unwrap_or_default();
    let told = format!(
        "{} receipts were rejected{why}, and {} lines of the log are no receipts",
        sent.rejected, sent.unreadable
    );
    Err(clean_line(&told, LONGEST_LINE).into())
}

/// Makes a page.
pub(super) fn report(source: &Source, filter: &Filter, trust: &Trust, file: &Path) -> Done {
    let mut calls = Calls::read(source, filter)?;
    let all = calls.calls.len();
    // Unless just those are wanted.
    let wants_tests = filter.session.as_deref() == Some(self_test_calls::SESSION);
    calls
        .calls
        .retain(|call| wants_tests || !self_test_calls::on_record(call));
    let tests = all - calls.calls.len();
    let verified = verify(source, trust)?;
    let narrowed = in_words(filter, tests);
    let page = Page {
        calls: &calls,
        narrowed: Some(narrowed.as_str()).filter(|words| !words.is_empty()),
        verified: &verified,
        made: Moment::now(),
    };
    fs::write(file, page.to_html()).map_err(|error| format!("{}: {error}", file.display()))?;
    print(&format!("{} shows {} calls\n", file.display(), calls.calls.len()))
}

fn in_words(filter: &Filter, tests: usize) -> String {
    let words = [
        filter
            .session
            .as_ref()
            .map(|session| format!("session {session}")),
        filter.vm.as_ref().map(|vm| format!("machine {vm}")),
        filter
            .verdict
            .map(|verdict| format!("verdict {}", verdict.word())),
        filter.since.map(|since| format!("not before {since}")),
        filter.until.map(|until| format!("not after {until}")),
        filter.tool.as_ref().map(|tool| format!("tool {tool}")),
        filter.changes.then(|| "changes only".to_owned()),
        filter.limit.map(|limit| format!("the newest {limit}")),
        (tests > 0).then(|| format!("without {tests} calls of doctor's self-test")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Serves http hooks until the process is told to end.
pub(super) fn serve(config: Config, listen: SocketAddr, token_file: &Path) -> Done {
    if config.receipts.mode == Mode::Off {
        return Err(
            "receipts.mode is \"off\", so there is nothing to write; set it to \"audit\" or \"gate\"".into(),
        );
    }
    let (token, made) = Token::read_or_make(token_file)?;
    let listener = TcpListener::bind(listen).map_err(|error| format!("{listen}: {error}"))?;
    let config = Ok(config);
    let write = move |event: &[u8]| match hook::heard(&config, event) {
        None => Ok(()),
        Some(why) => {
            let why = clean_line(&why, LONGEST_LINE);
            let _ = writeln!(io::stderr(), "holdpoint: {why}");
            Err(why)
        }
    };
    let began = |address: SocketAddr| {
        let made = if made { ", which was made just now" } else { "" };
        let open = if address.ip().is_loopback() {
            ""
        } else {
            "; whoever can see the network can read the token and the events"
        };
        let told = format!(
            "holdpoint: takes PostToolUse and PostToolUseFailure at http://{address}/ with the token in {}{made}{open}",
            token_file.display()
        );
        let _ = writeln!(io::stderr(), "{}", clean_line(&told, LONGEST_LINE));
    };
    serve::serve(listener, token, Arc::new(write), began)?;
    Ok(ExitCode::OK)
}
