//! The simulated ZVM, asked over HTTPS as any other caller would.

mod caller;
mod capture;
mod lists;
