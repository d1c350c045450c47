"""An enclosed command without its filter: as an older kernel, or a hole in the filter, would have it."""

from operable.proc.command import PreparedCommand


def without_filter(command: PreparedCommand) -> PreparedCommand:
    """What holds beside the filter must hold without it."""
    assert command.entry is not None
    at = command.argv.index("--seccomp")
    behind = len(command.argv) - at - 1  # where its placeholder stands, counted from the end
    kept = tuple(each for each in command.entry.contents if each[0] != behind)
    assert len(kept) == len(command.entry.contents) - 1
    # What stands before the two words that go is two words nearer to the end then.
    moved = tuple((position - 2 if position > behind else position, content) for position, content in kept)
    return command._replace(
        argv=(*command.argv[:at], *command.argv[at + 2 :]), entry=command.entry._replace(contents=moved)
    )
