//! How the decision on a call would change.

use orion_domain::Decision;

/// How a call's decision would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The call ran or needed approval, and would be denied.
    AllowedToDenied,
    /// The call was denied, and would run without approval.
    DeniedToAllowed,
    /// The call was denied, and would need approval.
    DeniedToAsk,
    /// The call ran without approval, and would need approval.
    AllowedToAsk,
    /// The call needed approval, and would run without.
    AskToAllowed,
}

impl Change {
    /// Returns the change between two decisions. None if they are equal.
    #[must_use]
    pub const fn between(before: Decision, after: Decision) -> Option<Self> {
        use Decision::{Allow, Ask, Deny, DryRunFirst};
        match (before, after) {
            (Allow, Allow) | (Ask | DryRunFirst, Ask | DryRunFirst) | (Deny, Deny) => None,
            (Allow | Ask | DryRunFirst, Deny) => Some(Self::AllowedToDenied),
            (Deny, Allow) => Some(Self::DeniedToAllowed),
            (Deny, Ask | DryRunFirst) => Some(Self::DeniedToAsk),
            (Allow, Ask | DryRunFirst) => Some(Self::AllowedToAsk),
            (Ask | DryRunFirst, Allow) => Some(Self::AskToAllowed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Allow, Ask, Deny, DryRunFirst};

    #[test]
    fn every_pair_of_decisions_is_one_kind_of_change_or_none() {
        let all = [Allow, DryRunFirst, Ask, Deny];
        let kinds = all.map(|before| all.map(|after| Change::between(before, after)));
        let denied = Some(Change::AllowedToDenied);
        let (asks, free) = (Some(Change::AllowedToAsk), Some(Change::AskToAllowed));
        assert_eq!(
            kinds,
            [
                [None, asks, asks, denied],
                [free, None, None, denied],
                [free, None, None, denied],
                [
                    Some(Change::DeniedToAllowed),
                    Some(Change::DeniedToAsk),
                    Some(Change::DeniedToAsk),
                    None
                ],
            ]
        );
    }
}
