"""Where secrets are kept: one backend per file, ending with `BACKEND`.

`host.secret_backend` fetches from them, `host.start.vault` decides who may have a secret.
"""
