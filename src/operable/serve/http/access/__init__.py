"""Who may call the daemon: tokens, the login of a browser, and the names and origins of requests."""
