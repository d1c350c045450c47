"""The verbs of `operable config`: what is configured, and which project may say more."""
