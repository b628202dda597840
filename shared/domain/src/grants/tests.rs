//! Grants against lists of names that an attacker would try first.

mod probes;
