"""What a run sends: bounds, encoding, sinks, and the private stdout."""
