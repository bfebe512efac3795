//! Puts our hooks into a harness's settings, takes them out again, and reads settings as the harness does.
