"""Where secrets are kept: one backend per file, ending with `BACKEND`. `host.secret_backend` fetches, `host.start.vault` decides who may read."""
