//! Limits wrong passwords: for each account from each source, and with a higher limit for each account from
//! all sources.
//!
//! The limit for all sources must not let an attacker lock a person out. It does not apply to the backend's
//! own machine, nor to a source from which the person signed in since the backend started. Names without an
//! account are counted like any other, so that a limit does not reveal which accounts exist.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use orion_domain::UserName;

use crate::listen::Source;

/// How long a wrong password counts, in milliseconds.
const WINDOW_MS: i64 = 15 * 60 * 1000;
/// How many wrong passwords one source may give for one account in that time.
const FROM_ONE_SOURCE: u32 = 10;
/// How many wrong passwords all unfamiliar sources together may give for one account.
const FROM_EVERYWHERE: u32 = 100;
/// How many entries each map keeps; the oldest are dropped first.
const MAX_ENTRIES: usize = 10_000;

/// Too many wrong passwords were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many wrong passwords for this account")]
pub struct Limited {
    /// Minutes until the next attempt is allowed.
    pub minutes: i64,
}

/// How many attempts were made since a time in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
struct Window {
    since: i64,
    tries: u32,
}

#[derive(Debug, Default)]
struct Counts {
    from_one: HashMap<(UserName, Source), Window>,
    from_all: HashMap<UserName, Window>,
    /// The sources from which people have signed in, and when.
    familiar: HashMap<(UserName, Source), Window>,
}

/// The attempts of every account and source.
#[derive(Debug, Default)]
pub struct LoginThrottle(Mutex<Counts>);

impl LoginThrottle {
    /// Counts an attempt before it is checked, so that concurrent attempts are all counted.
    ///
    /// # Errors
    /// [`Limited`]: the password must not be checked.
    pub fn attempt(&self, user: &UserName, source: &Source, now: i64) -> Result<(), Limited> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = (user.clone(), source.clone());
        let is_familiar = source.is_here() || counts.familiar.contains_key(&pair);
        allowed(counts.from_one.get(&pair), FROM_ONE_SOURCE, now)?;
        if !is_familiar {
            allowed(counts.from_all.get(user), FROM_EVERYWHERE, now)?;
            count(&mut counts.from_all, user.clone(), now);
        }
        count(&mut counts.from_one, pair, now);
        Ok(())
    }

    /// Records a successful attempt.
    pub fn succeeded(&self, user: &UserName, source: &Source, now: i64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = (user.clone(), source.clone());
        counts.from_one.remove(&pair);
        if let Some(window) = counts.from_all.get_mut(user) {
            window.tries = window.tries.saturating_sub(1);
        }
        counts.familiar.remove(&pair);
        make_room(&mut counts.familiar, None);
        counts.familiar.insert(pair, Window { since: now, tries: 0 });
    }
}

fn allowed(window: Option<&Window>, most: u32, now: i64) -> Result<(), Limited> {
    match window {
        Some(window) if window.tries >= most && now - window.since < WINDOW_MS => {
            let left = window.since + WINDOW_MS - now;
            Err(Limited { minutes: (left + 59_999) / 60_000 })
        }
        Some(_) | None => Ok(()),
    }
}

fn count<K: Hash + Eq + Clone>(windows: &mut HashMap<K, Window>, key: K, now: i64) {
    if !windows.contains_key(&key) {
        make_room(windows, Some(now));
    }
    let window = windows.entry(key).or_insert(Window { since: now, tries: 0 });
    if now - window.since >= WINDOW_MS {
        *window = Window { since: now, tries: 0 };
    }
    window.tries += 1;
}

/// Drops the windows that are over, where there is a `now`, and the oldest where that is not enough.
fn make_room<K: Hash + Eq + Clone>(windows: &mut HashMap<K, Window>, now: Option<i64>) {
    if windows.len() < MAX_ENTRIES {
        return;
    }
    if let Some(now) = now {
        windows.retain(|_, window| now - window.since < WINDOW_MS);
    }
    if windows.len() >= MAX_ENTRIES {
        let oldest = windows.iter().min_by_key(|(_, window)| window.since);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            windows.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserName {
        name.parse().unwrap()
    }

    fn from(address: [u8; 4]) -> Source {
        Source::Address(address.into())
    }

    #[test]
    fn ten_wrong_passwords_from_one_place_are_enough_for_a_quarter_of_an_hour() {
        let (tries, bob, there) = (LoginThrottle::default(), user("bob"), from([192, 0, 2, 1]));
        for at in 0..10 {
            assert_eq!(tries.attempt(&bob, &there, at), Ok(()));
        }
        assert_eq!(tries.attempt(&bob, &there, 10), Err(Limited { minutes: 15 }));
        assert_eq!(tries.attempt(&bob, &there, WINDOW_MS - 1), Err(Limited { minutes: 1 }));
        assert_eq!(tries.attempt(&bob, &from([192, 0, 2, 2]), 10), Ok(()));
        assert_eq!(tries.attempt(&user("ann"), &there, 10), Ok(()));
        assert_eq!(tries.attempt(&bob, &there, WINDOW_MS), Ok(()));
    }

    #[test]
    fn a_right_password_forgets_the_wrong_ones_before_it() {
        let (tries, bob, there) = (LoginThrottle::default(), user("bob"), from([192, 0, 2, 1]));
        for at in 0..100 {
            assert_eq!(tries.attempt(&bob, &there, at), Ok(()));
            if at % 10 == 9 {
                tries.succeeded(&bob, &there, at);
            }
        }
    }

    #[test]
    fn many_places_together_lock_out_strangers_and_nobody_else() {
        let (tries, admin) = (LoginThrottle::default(), user("admin"));
        let home = from([198, 51, 100, 7]);
        tries.attempt(&admin, &home, 0).unwrap();
        tries.succeeded(&admin, &home, 0);
        let mut refused = 0;
        for n in 0..=255 {
            for _ in 0..4 {
                refused += u32::from(tries.attempt(&admin, &from([203, 0, 113, n]), 1).is_err());
            }
        }
        assert_eq!(refused, 256 * 4 - FROM_EVERYWHERE);
        assert!(tries.attempt(&admin, &from([192, 0, 2, 9]), 2).is_err());
        assert_eq!(tries.attempt(&admin, &home, 2), Ok(()));
        assert_eq!(tries.attempt(&admin, &from([127, 0, 0, 1]), 2), Ok(()));
        assert_eq!(tries.attempt(&user("ann"), &from([192, 0, 2, 9]), 2), Ok(()));
        assert_eq!(tries.attempt(&admin, &from([192, 0, 2, 9]), WINDOW_MS + 1), Ok(()));
    }

    #[test]
    fn a_flood_of_names_takes_no_more_room_and_does_not_clear_what_is_newer() {
        let (tries, there) = (LoginThrottle::default(), from([192, 0, 2, 1]));
        for n in 0..MAX_ENTRIES + 10 {
            let at = i64::try_from(n).unwrap();
            tries.attempt(&user(&format!("n{n}")), &there, at).unwrap();
        }
        let counts = tries.0.lock().unwrap();
        assert_eq!((counts.from_one.len(), counts.from_all.len()), (MAX_ENTRIES, MAX_ENTRIES));
        assert!(!counts.from_all.contains_key(&user("n0")));
        assert!(counts.from_all.contains_key(&user(&format!("n{}", MAX_ENTRIES + 9))));
    }
}
