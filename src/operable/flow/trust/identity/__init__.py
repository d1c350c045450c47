"""Credential sessions and what identity providers share."""
