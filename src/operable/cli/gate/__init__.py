"""What the commands of the gate share: `operable policy`, `inbox` and calls at the command line."""
