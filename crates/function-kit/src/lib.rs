//! WIP.
