"""What a caller sends: the command line and structured input, checked and converted."""
