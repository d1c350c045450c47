"""Serving what this machine has: one catalog of everything operable, and the doors through which it is called."""
