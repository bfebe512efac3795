//! What every part of the host needs of the operating system.
//!
//! [`read`] is how this program reads a file whole: regular files only, without waiting for anybody, and no more than a
//! limit; [`append`] is how it opens a file that grows. [`text`] is what a file says, in the encodings that people's programs
//! write. [`proxy`] says whether the environment's proxies may be used. [`way`] says whether somebody else could put another
//! file in the place of one that a decision rests on, and [`access`] who could have written or read the file itself.
//! [`environment`] is the environment as the hook has it, [`credentials`] keeps passwords out of addresses, and [`safe_text`]
//! makes foreign text safe to show.

pub mod access;
pub mod append;
pub mod credentials;
pub mod environment;
mod kind;
pub mod proxy;
pub mod read;
pub mod safe_text;
pub mod text;
pub mod way;
