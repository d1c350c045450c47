"""Agents for editors: the Agent Client Protocol, served, with the gate in between."""
