"""Where secrets are kept: one backend per file, ending with `BACKEND`. `host.vaulting` decides who may read."""
