"""SSH signatures, and who is allowed to sign: the mechanism that flows and packages share."""
