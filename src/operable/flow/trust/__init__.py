"""The identity that a task acts as, what proves it, and whether a policy allows it."""
