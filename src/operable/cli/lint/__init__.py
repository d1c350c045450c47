"""What `aoi-lint` and `operable lint` share: events, the run over several tools, and the screen."""
