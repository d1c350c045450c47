"""Approvals of tasks on this machine."""
