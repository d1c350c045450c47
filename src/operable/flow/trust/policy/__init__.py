"""Policies, and the processes that evaluate them."""
