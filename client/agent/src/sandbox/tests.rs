//! What each layer holds, alone and with the other. Layers are left out one at a time, and both at
//! once, to see that the tests would notice.

mod confined;
mod escapes;
mod ground;
mod races;
mod same;
mod taken_back;
