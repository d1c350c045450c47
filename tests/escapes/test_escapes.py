"""Every enclosure against every escape: nothing gets through but what the ledger of that run names as open.

The probes run inside (`inside.py`), what they want to reach is planted outside (`outside.py`). A class of probes that an
enclosure leaves open by declaration must stand in its ledger as `unconfined`; then its probes may get through, and only
then. A control run without any enclosure shows that the probes can get through at all.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import pytest

from operable.agent.tool.command import choose_enclosure, run_program
from operable.flow.run.enclosure import enclosed
from operable.flow.run.process import run_command
from operable.host.start.confinement import ConfinementRequest, confine
from operable.lint.evidence import Invocation
from operable.lint.lab.probe import LabProbe, ProbeFolders
from operable.manifest.blocks import SandboxBlock, ToolExec, ToolFiles, ToolNetwork, ToolSandbox
from operable.proc.run import output
from operable.proc.sandbox.confinement import sandbox
from operable.proc.spawn import prepare
from operable.wrap.enclosure import ConfinedCommand
from operable.wrap.needs import read_only_sandbox
from tests.agent.scene import scene
from tests.escapes.outside import LIMIT, Outside, planted

pytestmark = [
    pytest.mark.needs("bwrap", "/usr/bin/python3"),
    pytest.mark.skipif(
        os.uname().machine != "x86_64", reason="the numbers of the system calls are those of x86-64"
    ),
]
Ledger = Iterable[Mapping[str, str]]
# What a control run must get through with: else a probe could never fail.
CONTROL = (
    "keys",
    "network",
    "unix sockets",
    "abstract sockets",
    "processes",
    "files outside",
    "writes outside",
    "process information",
)


def agent(outside: Outside, **block: Any) -> tuple[str, Ledger]:
    described = {
        "provider": "bubblewrap",
        "config": {},
        "mounts": [{"source": "workspace", "at": str(outside.work)}],
    }
    wanted = ConfinementRequest(msgspec.convert(described | block, SandboxBlock), str(outside.work))
    with confine(wanted) as place:
        command = place.wrap(prepare(outside.probe(), cwd=str(outside.work)))
        return output(command, timeout=LIMIT).stdout.decode(), [item.as_dict() for item in place.enforcement]


def agent_with_hosts(outside: Outside) -> tuple[str, Ledger]:
    return agent(outside, network={"egress": ["model.example"]})


def task(contract: Mapping[str, Any]) -> Callable[[Outside], tuple[str, Ledger]]:
    def run(outside: Outside) -> tuple[str, Ledger]:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(outside.root / "home")}
        work = str(outside.work)
        with enclosed(contract, cwd=work, base=work, environment=env) as place:
            ran = run_command(place.wrap(prepare(outside.probe(), env=env, cwd=work)), timeout=LIMIT)
            return ran.stdout, place.report

    return run


def wrapped(*, boxed: bool) -> Callable[[Outside], tuple[str, Ledger]]:
    """A command that says that it changes nothing; in a box, because it needs a folder to write to and programs."""

    def run(outside: Outside) -> tuple[str, Ledger]:
        block = ToolSandbox(
            fs=ToolFiles(read=("**",), write=(str(outside.work),)),
            exec=ToolExec(allow=True),
            network=ToolNetwork(),
        )
        needs = {"write": "a folder", "programs": "others"} if boxed else {}
        declared = read_only_sandbox("TOOL.md", block, needs)
        confined = ConfinedCommand(prepare(outside.probe(), cwd=str(outside.work)), declared)
        with confined as command:
            text = output(command, timeout=LIMIT).stdout.decode()
            return text, [item.as_dict() for item in confined.ledger]

    return run


def room_of_the_linter(outside: Outside) -> tuple[str, Ledger]:
    words = outside.probe()
    work, home = str(outside.work), str(outside.root / "room")
    os.mkdir(home)
    place = ProbeFolders(work, home, work, "/tmp/home")  # /tmp is empty there
    probe = LabProbe(words[0], words[0], sandbox("bubblewrap"))
    invocation = Invocation(tuple(words[1:]))
    text = output(probe.command(invocation, place), timeout=LIMIT).stdout.decode()
    return text, [item.as_dict() for item in probe.enclosure(invocation, place).report]


def bash_of_the_agent(**fields: Any) -> Callable[[Outside], tuple[str, Ledger]]:
    def run(outside: Outside) -> tuple[str, Ledger]:
        given = scene(outside.work, **fields)
        place = choose_enclosure(given, tree=True)
        assert place is not None
        with place:
            ledger = [item.as_dict() for item in place.report]
        return run_program(outside.probe(), given, timeout=LIMIT, tree=True).text, ledger

    return run


# enclosure -> how it is run, and the classes that its declaration leaves open
STRICT = {"sandbox": "strict", "network": "none"}
PATHS = {"allowed_paths": ["."], "network": "none"}
RESTRICTED = PATHS | {"network": "restricted"}
ALWAYS = frozenset({"facts of the machine", "kernel objects"})
READS = frozenset({"files outside"})
ENCLOSURES: dict[str, tuple[Callable[[Outside], tuple[str, Ledger]], frozenset[str]]] = {
    "agent": (agent, frozenset()),
    "agent with hosts": (agent_with_hosts, frozenset()),
    "strict task": (task(STRICT), frozenset()),
    "strict task with the network": (task({"sandbox": "strict"}), frozenset({"network"})),
    "task with allowed paths": (task(PATHS), READS),
    "task with public hosts": (task(RESTRICTED), READS),
    "strict task with public hosts": (task(STRICT | {"network": "restricted"}), frozenset()),
    "wrapped tool": (wrapped(boxed=False), READS | {"process information"}),
    "wrapped tool in a box": (wrapped(boxed=True), READS),
    "room of the linter": (room_of_the_linter, READS),
    "bash in the agent's sandbox": (bash_of_the_agent(sandbox="bubblewrap"), frozenset()),
    "bash that nobody was asked about": (bash_of_the_agent(), READS | {"network"}),
}


def outcomes(text: str) -> dict[str, tuple[str, str]]:
    line = next((line for line in text.splitlines() if line.startswith("OUTCOMES ")), None)
    assert line is not None, text
    return {
        name: (kind, outcome) for name, (kind, outcome) in json.loads(line.removeprefix("OUTCOMES ")).items()
    }


def named_open(ledger: Ledger) -> set[str]:
    return {item["item"] for item in ledger if item["outcome"] == "unconfined"}


@pytest.mark.timeout(LIMIT + 60)
@pytest.mark.parametrize("name", ENCLOSURES)
def test_nothing_gets_out_of_an_enclosure_but_by_what_its_ledger_names(name: str) -> None:
    run, declared_open = ENCLOSURES[name]
    left_open = declared_open | ALWAYS
    with planted() as outside:
        text, ledger = run(outside)
        tried = outcomes(text)
        changes = outside.changes()
    assert len(tried) >= 200
    through = {
        probe: outcome
        for probe, (kind, outcome) in tried.items()
        if outcome.startswith("through") and kind not in left_open
    }
    assert through == {}
    assert left_open <= named_open(ledger)
    assert "network" in left_open or changes == []


def test_without_an_enclosure_the_probes_get_through() -> None:
    """Only classes whose probes touch nothing but what was planted."""
    with planted() as outside:
        tried = outcomes(
            output(prepare(outside.probe(CONTROL), cwd=str(outside.work)), timeout=LIMIT).stdout.decode()
        )
        changes = outside.changes()
    through = [probe for probe, (_, outcome) in tried.items() if outcome.startswith("through")]
    assert {kind for kind, outcome in tried.values() if outcome.startswith("through")} == set(CONTROL)
    assert len(through) >= 0.8 * len(tried), sorted(set(tried) - set(through))
    assert "unix was contacted" in changes
