"""The commands of `outline`, one a file: file name = command name, `COMMAND` last."""
