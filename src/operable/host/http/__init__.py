"""Agents that are reached over HTTP."""
