"""What a value may be: the table of types, constraints, stand-ins for other record classes, building from JSON."""
