"""What the verbs of `operable app` share: events, packages as events, and one call."""
