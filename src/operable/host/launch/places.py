"""Where launching keeps its state, and where manifests are looked for.

    <state>/agents/ledger.sqlite              what is installed, set up and logged in
    <state>/agents/manifests.json             which manifests the user approved
    <state>/agents/installs/<id>@<major>/N/   one private installation each; what the ledger does not name is rubbish
    <state>/agents/locks/                     so that two hosts do not do the same thing at once

All of it is private to its owner (0700). The folder is `operable.state.paths.make_state("agents")` unless given.
"""

import os
from dataclasses import dataclass

from operable.state.paths import config_path, make_private, make_state

MANIFEST = "AGENT-CLI.md"


@dataclass(frozen=True, slots=True)
class Places:
    """The state folder of launching, and the places in it."""

    state: str

    @classmethod
    def default(cls) -> "Places":
        return cls(make_state("agents"))

    @property
    def ledger(self) -> str:
        return os.path.join(self.state, "ledger.sqlite")

    def installs(self, major: str) -> str:
        """The folder of all installations of `id@major`; made when it is not there."""
        return self._made("installs", plain(major))

    def lock(self, name: str) -> str:
        """The path of a lock file."""
        return os.path.join(self._made("locks"), plain(name))

    def _made(self, *names: str) -> str:
        return make_private(os.path.join(self.state, *names))


def plain(name: str) -> str:
    """A file name from an identity: what is not a letter, a digit or one of `@.-_` becomes `_`, and it is never hidden."""
    kept = "".join(character if character.isalnum() or character in "@.-_" else "_" for character in name)
    return f"_{kept}" if kept.startswith(".") else kept or "_"


def user_agents() -> str | None:
    """The folder of the user's own manifests."""
    return config_path("agents")


def bundled_agents() -> str:
    """The folder of the manifests that come with Operable."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "agents")
