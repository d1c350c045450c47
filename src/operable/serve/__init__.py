"""Serving what this machine has: one catalog of everything operable, and the adapters through which it is called."""
