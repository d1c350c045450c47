"""For authors of wrappers: a first draft, and the examples run for real."""
