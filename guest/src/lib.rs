//! The policy that Holdpoint ships: pure decision code and a thin component shell.
//!
//! A call goes through [`name`] (which server and tool), [`catalog`] and [`classify`] and [`reading`] (what it would do, and to
//! which machines: [`target`]), [`lookup`] and [`judge`] (what Zerto knows of them), and [`capture`]; [`decide`] is the
//! sequence. None of these modules does any input or output: what they need of the host comes through
//! [`model::World`], which only the component shell implements with the host's functions.

pub mod arguments;
pub mod capture;
pub mod catalog;
pub mod classify;
pub mod command;
pub mod decide;
pub mod doubled;
pub mod doubts;
pub mod foreign;
pub mod judge;
pub mod lookup;
pub mod model;
pub mod name;
pub mod observe;
pub mod options;
pub mod reading;
pub mod say;
pub mod scope;
pub mod segment;
pub mod settings;
pub mod sort;
pub mod state;
pub mod surroundings;
pub mod tag;
pub mod target;
pub mod text;

#[cfg(target_arch = "wasm32")]
mod component;
