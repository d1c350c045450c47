"""What a running command may know of its surroundings; given to one that has a parameter `context: Context`."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail


class Context:
    """The circumstances of one run."""

    __slots__ = ("command", "debug", "dry_run", "idempotency_key", "machine", "schema_version", "tool", "trace_id")

    def __init__(self, *, tool: str, command: str, machine: bool, trace_id: str, options: dict[str, object]) -> None:
        self.tool = tool
        self.command = command
        self.machine = machine
        self.trace_id = trace_id
        self.schema_version = ""  # the one that was negotiated, known once the run has begun
        self.debug = bool(options.get("debug"))
        self.dry_run = bool(options.get("dry-run"))
        key = options.get("idempotency-key")
        self.idempotency_key: str | None = str(key) if key else None

    @property
    def person(self) -> bool:
        """Is there somebody at a terminal who can be asked?"""
        return not self.machine and os.isatty(0) and os.isatty(2)

    def ask(self, question: str, *, hint: str, secret: bool = False) -> str:
        """Ask the person at the terminal. In machine mode, or with nobody there, this is INTERACTIVE_REQUIRED instead."""
        if not self.person:
            raise interactive_required(question, hint)
        if secret:
            from getpass import getpass

            return getpass(f"{question} ")
        import sys

        print(question, end=" ", file=sys.stderr, flush=True)
        return input()


def interactive_required(what: str, hint: str | None = None) -> Fail:
    """The error of AOI section 1.3. The hint is for a person; it is not to be run by a program."""
    return Fail("authn", "INTERACTIVE_REQUIRED", f"A person is needed here: {what}", hint=hint)
