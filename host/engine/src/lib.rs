//! The engine settings that the host and the compiler must share.
