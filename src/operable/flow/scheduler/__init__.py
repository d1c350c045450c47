"""Applying manifests to a backend, and reading what it contains."""
