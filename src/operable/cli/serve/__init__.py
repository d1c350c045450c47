"""What the command `operable serve` is made of."""
