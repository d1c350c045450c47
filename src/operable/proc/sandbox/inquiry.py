"""A program that is only asked what it is, for its version or its help: it changes nothing and reaches no network.

It gives up writing, the network, sockets and signals to others before it is executed, and keeps what it can read. It may
start other programs, because many are found through a shim. Who runs it and judges the answer is the caller's business.
"""

from operable.proc.command import PreparedCommand
from operable.proc.sandbox.restriction import ATTRIBUTES, NETWORK, SIGNALS, SOCKETS, WRITES, missing

_GIVEN_UP = frozenset((NETWORK, SIGNALS, SOCKETS, WRITES))
_CHANGES = frozenset((SIGNALS, WRITES))


def without_effects(command: PreparedCommand, scratch: str | None = None) -> PreparedCommand:
    """The command without its effects. With `scratch`, that folder is its home, and it may change what is in there.

    Where the kernel cannot take the rights away (`keeps_effects` says why), the program keeps them.
    """
    if keeps_effects() is not None:
        return command
    if scratch is None:
        return command._replace(gives_up=_GIVEN_UP)
    env = {name: value for name, value in command.env.items() if not name.startswith("XDG_")}
    home = {**env, "HOME": scratch, "TMPDIR": scratch}
    return command._replace(gives_up=_GIVEN_UP | {ATTRIBUTES}, scratch=scratch, env=home)


def keeps_effects() -> str | None:
    """Why `without_effects` takes nothing away here; None: it does."""
    return missing(_GIVEN_UP)


def without_changes(command: PreparedCommand) -> PreparedCommand:
    """The command of a program that is asked its state, also elsewhere: it keeps the network and sockets.

    Changing modes and times succeeds in name only, because programs do it on the way. Where the kernel cannot take the
    rights away (`keeps_changes` says why), the program keeps them.
    """
    return command if keeps_changes() is not None else command._replace(gives_up=_CHANGES | {ATTRIBUTES})


def keeps_changes() -> str | None:
    """Why `without_changes` takes nothing away here; None: it does."""
    return missing(_CHANGES)
