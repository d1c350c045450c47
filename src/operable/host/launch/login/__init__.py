"""How a program gets its credentials: API keys, OAuth, and the callback of a browser."""
