//! Which devices may use an enrolment token.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::store::devices::RedeemError;

/// Which devices may use a token. An empty list is no restriction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InviteScope {
    /// The platforms of the devices, as `linux-x86_64`. A device states its platform itself.
    pub platforms: Vec<String>,
    /// The networks that the connection may come from, as the backend sees it.
    pub networks: Vec<IpNet>,
    /// The fingerprint of the one public key that may use it. None for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
}

impl InviteScope {
    /// Checks a device against the scope.
    ///
    /// # Errors
    /// [`RedeemError::OtherKey`], [`RedeemError::Network`] or [`RedeemError::Platform`].
    pub(in crate::store) fn check(
        &self,
        public_key: &str,
        platform: &str,
        address: IpAddr,
    ) -> Result<(), RedeemError> {
        let Self { platforms, networks, public_key: only } = self;
        if only.as_ref().is_some_and(|only| only != public_key) {
            return Err(RedeemError::OtherKey);
        }
        let address = address.to_canonical();
        if !networks.is_empty() && !networks.iter().any(|network| network.contains(&address)) {
            return Err(RedeemError::Network(address));
        }
        if !platforms.is_empty() && !platforms.iter().any(|it| it == platform) {
            let (allowed, stated) = (platforms.join(", "), platform.to_owned());
            return Err(RedeemError::Platform { allowed, stated });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(scope: &InviteScope, platform: &str, address: &str) -> Result<(), RedeemError> {
        scope.check("key", platform, address.parse().unwrap())
    }

    #[test]
    fn a_token_for_one_key_is_for_no_other() {
        let of_key =
            |key: &str| InviteScope { public_key: Some(key.to_owned()), ..InviteScope::default() };
        assert_eq!(checked(&of_key("key"), "", "::1"), Ok(()));
        for other in ["", "ke", "key2"] {
            assert_eq!(checked(&of_key(other), "", "::1"), Err(RedeemError::OtherKey), "{other}");
        }
        // What an earlier version stored has no key, and is for any.
        let stored = r#"{"platforms":[],"networks":[]}"#;
        assert_eq!(serde_json::from_str::<InviteScope>(stored).unwrap(), InviteScope::default());
        assert_eq!(serde_json::to_string(&InviteScope::default()).unwrap(), stored);
    }

    #[test]
    fn an_address_is_in_a_network_however_it_is_written() {
        let networks = ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"];
        let networks = networks.map(|network| network.parse().unwrap()).to_vec();
        let scope = InviteScope { networks, ..InviteScope::default() };
        for inside in ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "192.0.2.7", "2001:db8::1"]
        {
            assert_eq!(checked(&scope, "", inside), Ok(()), "{inside}");
        }
        for outside in ["9.255.255.255", "11.0.0.0", "192.0.2.8", "2001:db9::", "::10.1.2.3", "::1"]
        {
            let address = outside.parse().unwrap();
            assert_eq!(checked(&scope, "", outside), Err(RedeemError::Network(address)));
        }
    }

    #[test]
    fn a_platform_is_one_of_the_list_whole() {
        let platforms = vec!["linux-x86_64".to_owned(), "linux-aarch64".to_owned()];
        let scope = InviteScope { platforms, ..InviteScope::default() };
        assert_eq!(checked(&scope, "linux-aarch64", "::1"), Ok(()));
        for other in ["", "linux", "linux-", "linux-x86", "Linux-x86_64", "windows-x86_64"] {
            assert!(
                matches!(checked(&scope, other, "::1"), Err(RedeemError::Platform { .. })),
                "{other}"
            );
        }
        assert_eq!(checked(&InviteScope::default(), "", "::1"), Ok(()));
    }
}
