"""Programs beside the tool: a server of its own for each room, with nothing else to reach; void when it does not serve."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.lint.check import Finding
from operable.lint.engine import Options, lint
from operable.lint.lab import Laboratory
from operable.lint.probe import Probe
from operable.lint.profile import Profile
from operable.proc.confine import sandbox
from tests.lint.served import TITLES, call, profile_of, served

BIN = Path(sys.executable).parent
pytestmark = [pytest.mark.needs("bwrap", "nsenter"), pytest.mark.timeout(600)]


def findings(program: Path, *only: str, commands: tuple[str, ...] = (), **options) -> list[Finding]:
    return lint(str(program), Options(only=only, commands=commands, **options)).findings


def told(found: list[Finding], result: str) -> list[str]:
    return [
        f"{finding.label} {finding.command}: {finding.message}"
        for finding in found
        if finding.result == result
    ]


def test_a_tool_that_keeps_all_in_a_server_passes_whole(tmp_path: Path):
    found = findings(served(tmp_path), commands=("list", "create", "delete"))

    assert told(found, "fail") == []
    assert told(found, "untested") == []
    assert {finding.command for finding in found if finding.result == "pass"} > {"list", "create", "delete"}


def test_without_its_server_the_same_tool_cannot_even_be_set_up(tmp_path: Path):
    program = served(tmp_path, where="[nowhere]")

    with pytest.raises(Fail, match="a setup step of the profile failed"):
        findings(program, "6")


@contextmanager
def laboratory(program: Path, profile: Profile | None = None) -> Iterator[Laboratory]:
    profile = profile or profile_of(program)
    probe = Probe(
        str(program), "notes", sandbox("bubblewrap"), env=profile.tool.env, timeout=profile.tool.timeout
    )
    with Laboratory(probe, profile) as lab:
        yield lab


def test_what_a_server_holds_lasts_as_long_as_its_room_and_each_room_begins_anew(tmp_path: Path):
    with laboratory(served(tmp_path)) as lab:
        lab.prepare(("--output", "jsonl"), call("list"))
        with lab.room() as room:
            room.run(call("create", "new"))
            first = [event["title"] for event in room.run(call("list")).domain]
        second = [event["title"] for event in lab.observe(call("list")).domain]

    assert first == [*TITLES, "new"]
    assert second == [*TITLES]


def test_two_rooms_at_once_have_the_same_port_and_different_servers(tmp_path: Path):
    together = threading.Barrier(2, timeout=120)

    def titles(lab: Laboratory, title: str) -> list[str]:
        with lab.room() as room:
            room.run(call("create", title))
            together.wait()
            return [event["title"] for event in room.run(call("list")).domain][len(TITLES) :]

    with laboratory(served(tmp_path)) as lab, ThreadPoolExecutor(2) as pool:
        lab.prepare(("--output", "jsonl"), None)
        found = list(pool.map(titles, (lab, lab), ("a", "b")))

    assert found == [["a"], ["b"]]
