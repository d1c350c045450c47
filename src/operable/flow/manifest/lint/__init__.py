"""What rules of `flow lint` are made of; the rules are the entries of `flow/lints`."""
