//! How many calls may wait for the person at the device, and how often the person is asked.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use orion_domain::{CallId, UserName};
use orion_wire::Dispatched;
use tokio::time::Instant;

use super::super::slots::MAX_ARGUMENT_BYTES;
use super::Asked;

/// Calls that wait for the person at the same time.
const MAX_ASKED: usize = 8;
/// Calls of one person among them, so that nobody keeps out the others.
const MAX_ASKED_OF_CALLER: usize = 4;
/// Questions in each [`ASKED_INTERVAL`], so that a backend that asks again after every no wears nobody out.
const MAX_ASKED_IN_INTERVAL: usize = 40;
/// Questions for one person among them.
const MAX_ASKED_IN_INTERVAL_OF_CALLER: usize = 20;
/// The interval of these limits.
const ASKED_INTERVAL: Duration = Duration::from_mins(10);

/// When the newest questions were asked, and for whom.
#[derive(Debug, Default)]
pub(in crate::agent) struct AskedTimes(VecDeque<(Instant, UserName)>);

impl AskedTimes {
    /// Notes a question for this person at this moment. Returns why there were too many; None if it was noted.
    pub(super) fn take(&mut self, user: &UserName, now: Instant) -> Option<String> {
        let is_over = |at: Instant| now.duration_since(at) >= ASKED_INTERVAL;
        while self.0.front().is_some_and(|(at, _)| is_over(*at)) {
            self.0.pop_front();
        }
        if self.0.len() >= MAX_ASKED_IN_INTERVAL {
            return Some(format!(
                "Nothing was run: the person at the device was asked {MAX_ASKED_IN_INTERVAL} times in ten minutes, which is the most."
            ));
        }
        if self.0.iter().filter(|(_, of)| of == user).count() >= MAX_ASKED_IN_INTERVAL_OF_CALLER {
            return Some(format!(
                "Nothing was run: the person at the device was asked for {user} {MAX_ASKED_IN_INTERVAL_OF_CALLER} times in ten minutes, which is the most."
            ));
        }
        self.0.push_back((now, user.clone()));
        None
    }
}

/// Returns why a further call cannot wait. None if it can.
pub(super) fn no_room(asked: &HashMap<CallId, Asked>, call: &Dispatched) -> Option<String> {
    let user: &UserName = &call.caller.user;
    if asked.len() >= MAX_ASKED {
        return Some(format!(
            "Nothing was run: {MAX_ASKED} calls wait for the person at the device already."
        ));
    }
    if asked.values().filter(|it| it.call.caller.user == *user).count() >= MAX_ASKED_OF_CALLER {
        return Some(format!(
            "Nothing was run: {MAX_ASKED_OF_CALLER} calls of {user} wait for the person at the device already."
        ));
    }
    let held: usize = asked.values().map(|it| it.call.arguments.as_bytes().len()).sum();
    (held > 0 && held.saturating_add(call.arguments.as_bytes().len()) > MAX_ARGUMENT_BYTES).then(
        || {
            "Nothing was run: the arguments of the calls that wait for the person at the device are too large together."
                .to_owned()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_without_end_nor_for_one_person_alone() {
        let (mut times, now) = (AskedTimes::default(), Instant::now());
        let user = |name: &str| name.parse::<UserName>().unwrap();
        let mut asked =
            |name: &str, now| (0..100).filter(|_| times.take(&user(name), now).is_none()).count();
        assert_eq!(asked("ann", now), MAX_ASKED_IN_INTERVAL_OF_CALLER);
        assert_eq!(asked("bob", now), MAX_ASKED_IN_INTERVAL - MAX_ASKED_IN_INTERVAL_OF_CALLER);
        assert_eq!(asked("admin", now), 0);
        assert_eq!(asked("ann", now + ASKED_INTERVAL - Duration::from_millis(1)), 0);
        assert_eq!(asked("ann", now + ASKED_INTERVAL), MAX_ASKED_IN_INTERVAL_OF_CALLER);
    }
}
