"""The handoff artifact of version 4."""
