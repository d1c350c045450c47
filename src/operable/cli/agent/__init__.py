"""What the verbs of `operable agent` share: events, questions, screens, and the way to the host."""
