//! Compiles policies to native code: the only place where Cranelift is linked.
