//! Tests of which calls a stop covers, who lifts it, and of a stop at the same moment as a call.

use super::*;
