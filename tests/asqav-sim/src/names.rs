//! Who is who at the service.

/// The API key that the service takes.
pub const API_KEY: &str = "sk_test_holdpoint";

/// The agent that the service has.
pub const AGENT_ID: &str = "agt_holdpoint";

/// The agent's neighbour in the same organisation, whose keys are published as well.
pub const NEIGHBOUR: &str = "agt_neighbour";

/// The organisation.
pub(crate) const ISSUER: &str = "f94f66c0-c580-432d-a041-29374f7aee07";
