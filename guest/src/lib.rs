//! The policy that Holdpoint ships: pure decision code and a thin component shell.
