"""Public fakes for tests of tools, agents and hosts.

- `operable.testing.models`: a model server on loopback that speaks the vendors' streaming formats, from a script.
- `operable.testing.scripted_agent`: an agent process that speaks a host protocol, from a script; `operable.testing.agents`
  has its command line.
- `operable.testing.cassettes`: recorded wire conversations: load, replay at any chunking, mutate by seed.
"""
