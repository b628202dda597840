//! Changes on real files: swapped in whole, put back where others were quicker, taken back where the
//! call fails, and cleaned up after where the agent is killed.

mod recovery;
mod swapping;
