//! Limits how many wrong codes a person types, so that nobody finds a request by guessing.

use std::collections::HashMap;

use orion_domain::UserName;

use super::error::CodeError;

/// How many wrong codes a person may type within [`WINDOW_MS`].
pub(super) const MAX_WRONG: u32 = 5;
/// How long a wrong code counts, in milliseconds.
const WINDOW_MS: i64 = 60_000;
/// For how long a person who typed too many may type none, in milliseconds.
pub(super) const LOCKED_MS: i64 = 5 * 60_000;
/// How many people are remembered. Only admins type codes.
const MAX_PEOPLE: usize = 1_000;

/// The wrong codes of one person.
#[derive(Debug, Clone, Copy)]
struct Counted {
    since: i64,
    wrong: u32,
}

impl Counted {
    const fn is_locked(self) -> bool {
        self.wrong >= MAX_WRONG
    }

    const fn ends_at(self) -> i64 {
        self.since + if self.is_locked() { LOCKED_MS } else { WINDOW_MS }
    }
}

/// The wrong codes of everybody.
#[derive(Debug, Default)]
pub(super) struct WrongCodes(HashMap<UserName, Counted>);

impl WrongCodes {
    /// Checks whether a person may type a code.
    ///
    /// # Errors
    /// [`CodeError::Locked`].
    pub(super) fn check(&self, by: &UserName, now: i64) -> Result<(), CodeError> {
        let locked =
            |ends_at: i64| CodeError::Locked { minutes: (ends_at - now + 59_999) / 60_000 };
        match self.0.get(by) {
            Some(counted) if counted.is_locked() && now < counted.ends_at() => {
                Err(locked(counted.ends_at()))
            }
            // Nobody's count may be dropped for somebody else's.
            None if self.0.len() >= MAX_PEOPLE && self.is_full(now) => Err(locked(now + LOCKED_MS)),
            Some(_) | None => Ok(()),
        }
    }

    /// Counts a wrong code. The one that is too many locks the person out from that moment.
    pub(super) fn count(&mut self, by: &UserName, now: i64) {
        if self.0.len() >= MAX_PEOPLE {
            self.0.retain(|_, counted| now < counted.ends_at());
        }
        let counted = self.0.entry(by.clone()).or_insert(Counted { since: now, wrong: 0 });
        if counted.ends_at() <= now {
            *counted = Counted { since: now, wrong: 0 };
        }
        counted.wrong += 1;
        if counted.is_locked() {
            counted.since = now;
        }
    }

    fn is_full(&self, now: i64) -> bool {
        self.0.values().filter(|counted| now < counted.ends_at()).count() >= MAX_PEOPLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_types_so_many_wrong_codes_a_minute_and_is_locked_out_for_a_while() {
        let [ann, bob] = ["ann", "bob"].map(|name| name.parse::<UserName>().unwrap());
        let mut wrong = WrongCodes::default();
        for n in 0..4 {
            wrong.count(&ann, n);
        }
        assert!(wrong.check(&ann, 10).is_ok());
        // A minute after the first, the count begins again.
        wrong.count(&ann, WINDOW_MS);
        for n in 1..5 {
            assert!(wrong.check(&ann, WINDOW_MS + n).is_ok(), "{n}");
            wrong.count(&ann, WINDOW_MS + n);
        }
        let locked_at = WINDOW_MS + 4;
        assert!(matches!(wrong.check(&ann, locked_at), Err(CodeError::Locked { minutes: 5 })));
        assert!(wrong.check(&ann, locked_at + LOCKED_MS - 1).is_err());
        assert!(wrong.check(&ann, locked_at + LOCKED_MS).is_ok());
        assert!(wrong.check(&bob, locked_at).is_ok());
    }

    #[test]
    fn nobody_is_forgotten_for_somebody_else() {
        let mut wrong = WrongCodes::default();
        for n in 0..MAX_PEOPLE {
            wrong.count(&format!("admin{n}").parse().unwrap(), 0);
        }
        let one_more = "ann".parse().unwrap();
        assert!(wrong.check(&one_more, 1).is_err());
        assert!(wrong.check(&one_more, WINDOW_MS).is_ok());
        wrong.count(&one_more, WINDOW_MS);
        assert_eq!(wrong.0.len(), 1);
    }
}
