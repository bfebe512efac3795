//! A hold point for AI agents: no checkpoint, no change.
