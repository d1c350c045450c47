"""Protocols that agents speak, one per file; each ends with its `ARM`."""
