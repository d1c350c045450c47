"""For authors of wrappers: a first draft, the examples run for real, and the kept verdicts of the linter."""
