//! What each layer stops, alone and with the other. One layer is disabled at a time, and then both, to
//! see that the tests would notice.

mod confined;
mod escapes;
mod ground;
mod kinds;
mod races;
mod same;
mod taken_back;
