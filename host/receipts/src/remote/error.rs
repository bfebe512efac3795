//! Why the service's word could not be had, or does not count.

/// What stands between a call and a receipt of the service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Who signs is not known: the environment lacks these variables.
    #[error("{} must be set for receipts signed by asqav", .0.join(" and "))]
    Identity(Vec<&'static str>),
    /// A setting cannot be used. Holds its name and what is wrong.
    #[error("{0}: {1}")]
    Setting(&'static str, String),
    /// The event has no `tool_use_id`, so that no receipt could be told from another call's.
    #[error("the event carries no tool_use_id, so no receipt can be bound to this call")]
    Unbound,
    /// The arguments or the result have no canonical form (RFC 8785), so that no digest names them. Holds why.
    #[error("what was to be signed has no canonical form: {0}")]
    Canonical(String),
    /// No connection, or one that broke. Holds where and why.
    #[error("the signer cannot be reached: {0}")]
    Unreachable(String),
    /// The time for the whole exchange has passed.
    #[error("the signer did not answer within {0:?}")]
    Late(std::time::Duration),
    /// The service answered and declined. Holds the HTTP status and its words.
    #[error("the signer refused with HTTP {0}{1}")]
    Refused(u16, String),
    /// The answer makes no sense. Holds what was read and why.
    #[error("the signer's answer cannot be read: {0}")]
    Malformed(String),
    /// The receipt does not verify under a published key of this agent. Holds which check failed.
    #[error("the receipt does not verify: {0}")]
    Unverified(String),
    /// The receipt is genuine and not the answer to what was sent. Holds what differs.
    #[error("the receipt is not about this call: {0}")]
    Mismatch(String),
}
