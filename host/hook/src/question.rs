//! A call as a policy is asked about it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use holdpoint_runtime::sandbox;

use crate::arguments;
use crate::event::Call;
use crate::harness::claude_code;

/// The question that a policy is asked before this call, with these settings.
pub fn question(call: &Call<'_>, settings: String, nonce: String) -> sandbox::Call {
    let (text, cut) = arguments::bounded(call.arguments);
    sandbox::Call {
        harness: call.foreign.map_or_else(
            || claude_code::NAME.to_owned(),
            |harness| harness.to_lowercase().replace(' ', "-"),
        ),
        session_id: call.session_id.clone(),
        call_id: call.call_id.clone(),
        tool: call.tool.clone(),
        server: call.server.as_ref().map(|server| sandbox::Server {
            name: server.name.clone(),
            source: server.source.clone(),
        }),
        permission_mode: call.permission_mode.clone(),
        arguments: text.into_owned(),
        arguments_cut: cut,
        nonce,
        settings,
        extras: call.extras.to_string(),
    }
}

/// Eight fresh hexadecimal digits. The standard library seeds its hashers from the operating system.
pub fn nonce() -> String {
    format!("{:08x}", RandomState::new().build_hasher().finish() >> 32)
}
