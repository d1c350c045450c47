"""Processes: the only package that starts, feeds, reads, signals, confines and reaps them.

`spawn.prepare` makes a `PreparedCommand` (resolved program, allow-listed environment), `child.Child` supervises one running
command on a reactor (an asyncio loop, or `reactor.SelectorReactor`), `output` runs a command to its end and keeps a
bounded output. A tool is a process group with a warden; an agent is a whole tree below a keeper (`PreparedCommand.tree`).
`confine` says what a command may see and do, `sandboxes/` enforce it, `sandbox.egress` is the way out. Nothing here
knows what the bytes mean.
"""
