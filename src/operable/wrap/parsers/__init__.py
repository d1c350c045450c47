"""How the output of programs is read, one kind a file: `metadata.operable.parse.kind` of a TOOL.md names it."""
