"""The audit chain of agents: its records and its file."""
