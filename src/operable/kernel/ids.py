"""Identifiers that are made, not given."""

import os


def trace_id() -> str:
    """32 hex digits that correlate the events of one run; the form that W3C Trace Context uses for a trace."""
    return os.urandom(16).hex()
