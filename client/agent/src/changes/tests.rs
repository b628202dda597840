//! Changes on real files: exchanged whole, reverted after a race, rolled back after a failure, and recovered
//! after a kill.

mod recovery;
mod swapping;
