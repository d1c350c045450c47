"""The border around a command: `enclosure` says what it may see and do, `egress/` is its filtered way to the network."""
