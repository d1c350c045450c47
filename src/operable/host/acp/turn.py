"""One turn: what must be remembered between a message of the user and the end of the agent's work on it."""


class AcpTurn:
    """`begun`: the agent works on it (version 2 says so by its state); `cancelled`: the host has asked to stop it."""

    __slots__ = ("begun", "cancelled")

    def __init__(self) -> None:
        self.begun = False
        self.cancelled = False
