//! The shipped catalogs, which the build script wrote as static tables.

use std::borrow::Cow;

use super::format::{
    Catalog, Class, Command, Dispatch, Group, Kind, Machine, Rule, Scalar, Separator, Server, Source,
};

include!(concat!(env!("OUT_DIR"), "/catalogs.rs"));
