"""From a manifest to a program that may be started: discover, install, check the version, set up, log in.

`readiness.readiness` runs the whole way and answers with what to start, or with the one `Fail` that says what is missing.
Everything blocks and is bounded in time; `readiness.areadiness` is the same for asyncio. Processes are started through
`operable.proc` only, secrets are kept by the given `store`, and what is confined is decided by the caller.
"""
