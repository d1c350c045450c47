"""Words of this machine that a shell completes, one kind a file (`operable.tool.discovery.candidates`).

A person waits for each answer, so a kind reads names of files, a bounded part of small ones or one table, and imports what a
start has already. Nothing of a project is obeyed: what is read there is shown as a name and judged when it is used.
"""
