"""From the words of `operable agent …` to the host: which manifest is meant, may it be acted on, and who can be asked.

Names are looked up as `operable.host.launch.discover` says, with the workspace as the project. Acting on a manifest
(installing, logging in, starting) needs a trusted one; looking at it does not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from operable.host.launch.discover import DiscoveredManifest, Discovery
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import Places
from operable.host.launch.step import Question
from operable.kernel.errors import Fail
from operable.proc.terminal import Terminal
from operable.tool.human.cells import visible

if TYPE_CHECKING:
    from operable.host.agent_cli import AgentCliHandle
    from operable.host.launch.readiness import Launch
    from operable.host.start.options import StartOptions
    from operable.manifest.loader import Loaded
    from operable.tool import Context


def discovery(workspace: str) -> Discovery:
    """Where agents are looked for; Raises Fail if the workspace is not a folder."""
    if not os.path.isdir(workspace):
        # As it was given: made absolute, an address with a password in it would no longer look like one.
        raise Fail(
            "not_found", "WORKSPACE_NOT_FOUND", f"the workspace {workspace} is not a folder", target=workspace
        )
    return Discovery.default(Ledger(Places.default().ledger), project=os.path.realpath(workspace))


def find(name: str, workspace: str) -> DiscoveredManifest:
    """The manifest that a name, an id or a path means, trusted or not."""
    where = discovery(workspace)
    if "/" in name and not os.path.exists(name):  # reported as it was given, as above
        raise Fail("not_found", "MANIFEST_NOT_FOUND", f"there is no manifest {name}", target=name)
    return where.find(name)


def handle(name: str, workspace: str) -> AgentCliHandle:
    """The agent of this name, which may be acted on; all problems of its manifest at once when it cannot be used."""
    from operable.host.agent_cli import agent

    return agent(find(name, workspace).path, workspace=workspace)


def look(found: DiscoveredManifest) -> Loaded:
    """What a manifest says, trusted or not: nothing of it is acted on."""
    from operable.manifest.loader import load

    return load(found.path, kind="agent-cli", workspace=found.folder)


def launch(name: str, options: StartOptions) -> tuple[Loaded, Launch]:
    """A trusted manifest, and what installing, setting up and logging in work on."""
    from operable.host.start.sequence import launch_for

    loaded = handle(name, options.workspace).loaded
    return loaded, launch_for(loaded, options)


class Somebody:
    """The person at the terminal, as setup and login ask for one (`operable.host.launch.step.Person`)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def terminal(self) -> Terminal | None:
        return Terminal(0, 1)

    def ask(self, question: Question) -> str:
        if question.description:
            _say(question.description)
        for value, label in question.options:
            _say(f"  {value}" + (f"  {label}" if label != value else ""))
        default = f" [{question.default}]" if question.default else ""
        kind = " (yes or no)" if question.type == "boolean" else ""
        return self._context.ask(
            f"{visible(question.prompt)}{kind}{default}",
            hint=f"answer {question.id} in the file of --answers",
            secret=question.type == "secret",
        )

    def open_url(self, url: str, why: str) -> None:
        _say(f"{why}\nOpen {url}")


def somebody(context: Context) -> Somebody | None:
    """The person who can be asked now, if there is one."""
    return Somebody(context) if context.person else None


def options_of(loaded: Loaded, words: list[str] | None) -> dict[str, Any]:
    """`ID=VALUE` words in the types that the manifest gives its options; what does not fit is refused with the rest."""
    from operable.manifest.patches import option_from_text

    declared = {option.id: option for option in loaded.value.options}
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise Fail("usage", "INVALID_VALUE", "--option takes ID=VALUE", target="--option")
        found[name] = option_from_text(declared[name], text) if name in declared else text
    return found


def json_file(path: str, what: str) -> Mapping[str, Any]:
    """One JSON object from a file, or from standard input."""
    import json

    try:
        text = read_text(path)
        found = json.loads(text)
    except ValueError as problem:
        raise Fail("validation", "INVALID_JSON", f"{what} is not JSON: {problem}", target=path) from None
    if not isinstance(found, dict):
        raise Fail("validation", "INVALID_JSON", f"{what} must be one JSON object", target=path)
    return found


def read_text(path: str) -> str:
    """A text file, or standard input for `-`; UTF-8."""
    from operable.tool.process import STDIN_NAMES

    try:
        if path in STDIN_NAMES:
            with open(0, "rb", closefd=False) as file:
                data = file.read(_LIMIT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(_LIMIT + 1)
    except OSError as problem:
        raise Fail(
            "not_found", "FILE_NOT_FOUND", f"cannot read it: {problem.strerror}", target=path
        ) from None
    if len(data) > _LIMIT:
        raise Fail("validation", "INPUT_TOO_LARGE", f"it is longer than {_LIMIT} bytes", target=path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Fail("validation", "INVALID_ENCODING", "it is not UTF-8", target=path) from None


# A message, a policy, a settings file: anything longer is something else.
_LIMIT = 16 * 1024 * 1024


def _say(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()
