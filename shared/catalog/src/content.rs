//! Where the content of a call moves: in its arguments and result, or in parts beside it.

/// The most bytes of content in one part, and so the most that one transfer holds in memory on its way.
pub const MAX_PART_BYTES: usize = 512 * 1024;

/// Where the content of a tool's calls moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// In the arguments and the result of the call.
    InCall,
    /// From the person's client to the device, in parts beside the call.
    FromPerson,
    /// From the device to the person's client, in parts beside the call.
    ToPerson,
    /// From another device, in parts beside the call.
    FromDevice,
}

impl Content {
    /// Returns whether the content moves beside the call. Such a call may take hours.
    #[must_use]
    pub const fn is_beside(self) -> bool {
        match self {
            Self::InCall => false,
            Self::FromPerson | Self::ToPerson | Self::FromDevice => true,
        }
    }

    /// Returns whether only a person's client can move the content.
    #[must_use]
    pub const fn needs_client(self) -> bool {
        match self {
            Self::FromPerson | Self::ToPerson => true,
            Self::InCall | Self::FromDevice => false,
        }
    }
}
