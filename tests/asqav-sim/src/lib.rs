//! A stand-in for the asqav signing service, for tests.
