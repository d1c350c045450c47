"""Clouds on loopback: servers that speak the wire format of a provider, for the provider's own SDK as the client.

Each runs in the environment of that SDK (`python -m tests.proc.clouds.NAME FOLDER`), so that the messages are built by the
provider's own generated code where there is some. Its machines are processes here; what it was asked is in FOLDER/journal.
"""
