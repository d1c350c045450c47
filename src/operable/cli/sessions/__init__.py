"""What `operable sessions` shows."""
