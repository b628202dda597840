//! Against a small server that answers byte for byte what servers were seen to answer.
