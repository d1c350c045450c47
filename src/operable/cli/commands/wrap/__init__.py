"""The commands `operable wrap …`, one file each. Any other word is the name of a wrapped tool (`operable.cli.wrapping`)."""
