"""Processes: the only package that starts, feeds, reads, signals and reaps them.

`spawn.prepare` makes a `Command` (resolved program, allow-listed environment), `child.Child` supervises one running
command on a reactor (an asyncio loop, or `reactor.SelectorReactor`), `output` runs a command to its end and keeps a
bounded output. Nothing here knows what the bytes mean.
"""
