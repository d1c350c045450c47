"""A tool that runs: its declaration, the discovery commands that every tool has, and `main`."""

import sys

from operable.tool.declaration import ALIAS, BUILT_IN, Declaration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from operable.tool.signature import Command

# The calls that every consumer makes first; a document for each is kept ready.
_DISCOVERY = (["schema", "--output", "json"], ["capabilities", "--output", "json"])


class Tool(Declaration):
    """A command-line tool that people and agents can operate."""

    def find(self, name: str) -> "Command | None":
        """One command by name: the author's own first, then the built-in discovery commands."""
        own = super().find(name)
        standard = name.removeprefix(ALIAS)
        if own is not None or standard not in BUILT_IN:
            return own
        from operable.tool.discovery.commands import built_in

        command = built_in(self, standard, name)
        command.shared = self.options
        return command

    def verify(self) -> "list[str]":
        """Every mistake in the declaration of this tool at once, for a test: `assert tool.verify() == []`.

        What it finds would otherwise show when a command is called in a certain way. Each example must be a call that the
        parser takes; every type must have a schema; two things must not share a name.
        """
        from operable.tool.discovery.capabilities import mistakes
        from operable.tool.discovery.commands import schema_document
        from operable.tool.front import understand

        found = mistakes(self)
        for name in self.names() if not found else ():
            command = self.find(name)
            for example in command.examples if command is not None else ():
                from shlex import split

                _, refusal = understand(self, split(example.partition(" | ")[0].partition(" < ")[0]))
                if refusal is not None and refusal.category == "usage":
                    found.append(
                        f"command {name!r} of {self.name}: its example {example!r} is refused: {refusal}"
                    )
        try:
            schema_document(self, self.schema_version)
        except TypeError as mistake:
            if str(mistake) not in "; ".join(found):
                found.append(str(mistake))
        return found

    def main(self, argv: "list[str] | None" = None) -> "NoReturn":
        """Run the command line and end the process."""
        words = sys.argv[1:] if argv is None else argv
        if words in (["--version"], ["-V"]):
            self._say_version()
        if words in _DISCOVERY and "output" in self.machine_flags and self.called(words[0]) == words[0]:
            from operable.tool.document import answer_discovery

            answer_discovery(self, words[0])
        if words[:1] == ["--complete"] and self.completions:
            from operable.tool.discovery.candidates import answer

            answer(self.completions, words[1:])
        from operable.tool.process import postpone_collection

        postpone_collection()
        from operable.tool.front import run_command_line

        run_command_line(self, words)

    def _say_version(self) -> None:
        """Write the version for a person and end the process; returns where only the long way can say it."""
        line = f"{self.name} {self.version}"
        if sys.stdout is None or not (line.isascii() and line.isprintable()):
            return
        from operable.tool.process import leave, write_all

        try:
            sys.stdout.flush()  # what the author's modules printed comes before it
        except OSError:
            return
        leave(write_all(1, f"{line}\n".encode()))
