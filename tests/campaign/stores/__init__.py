"""One module per store: `STORE` is its class."""
