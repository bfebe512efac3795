//! What can go wrong with the service, on demand.

use std::time::Duration;

/// One kind of trouble, for every request from then on.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// Signatures take this long.
    Slow(Duration),
    /// Requests for signatures are answered with this status.
    Status(u16),
    /// So many of them are, and the next ones are signed.
    Busy(usize),
    /// The key set is answered with this status.
    KeysStatus(u16),
    /// The key set takes this long.
    KeysSlow(Duration),
    /// The service decides this.
    Decision(&'static str),
    /// A key that is not published signs, under the name of the one that is.
    OtherKey,
    /// The neighbour's key signs, in our agent's name.
    NeighboursKey,
    /// A member is changed after signing, to this.
    Tampered(&'static str, &'static str),
    /// The service's name for the receipt is this one.
    Named(String),
    /// Before it is signed, a member gets this value.
    Says(&'static str, &'static str),
    /// Before it is signed, a member is left out.
    Omits(&'static str),
    /// The receipt was issued this long ago.
    Stale(Duration),
    /// The answer is this text in place of a receipt.
    Text(&'static str),
    /// The answer is longer than anything that can be a receipt.
    Huge,
    /// The request is sent elsewhere.
    Redirect,
}
