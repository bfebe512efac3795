//! What every part of the host needs of the operating system.
//!
//! [`read`] is how this program reads a file whole: regular files only, without waiting for anybody, and no more than a
//! limit; [`append`] is how it opens a file that grows. [`text`] is what a file says, in the encodings that people's programs
//! write. [`proxy`] says whether the environment's proxies may be used. [`way`] says whether somebody else could put another
//! file in the place of one that a decision rests on.

pub mod append;
mod kind;
pub mod proxy;
pub mod read;
pub mod text;
pub mod way;
