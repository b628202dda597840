//! Orion.
