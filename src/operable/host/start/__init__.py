"""From a manifest and the caller's options to a running session: choices, secrets, confinement, the order of AIP-45."""
