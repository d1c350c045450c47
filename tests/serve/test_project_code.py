"""A live MCP server and code of a hostile project: no dry run runs it unless the person at the client has agreed."""

from pathlib import Path

import pytest
from mcp_types import ElicitResult

from tests.serve.test_mcp import connected, run

PIP = ("--kind", "wrap", "--only", "pip", "--allow-destructive")
PLAN = {"requirements": ["."], "dry-run": True, "no-index": True}
YES = ElicitResult(action="accept", content={"confirm": True})
NO = ElicitResult(action="decline")


@pytest.fixture
def sprung(world):
    """What the setup.py of the project leaves when it runs; setuptools is not needed for that."""
    trace = world.folder / "sprung"
    (world.project / "setup.py").write_text(f"open({str(trace)!r}, 'w').close()\nraise SystemExit(1)\n")
    # A build backend of the project's own: it is imported without anything being installed before.
    (world.project / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'setup'\nbackend-path = ['.']\n"
    )
    world.asked = ""
    return trace


def called(world, arguments, **options):
    async def call():
        async with connected(world, *PIP, **options) as client:
            return await client.call_tool("pip_install", arguments)

    return run(call())


@pytest.mark.parametrize("answer", [None, YES], ids=["nobody-to-ask", "somebody-who-would-agree"])
def test_a_dry_run_of_a_hostile_project_is_refused_unasked(world, sprung: Path, answer):
    done = called(world, PLAN, answer=answer)

    assert (done.is_error, done.structured_content["code"]) == (True, "PROJECT_CODE")
    assert world.asked == ""
    assert not sprung.exists()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_yes_of_the_model_is_not_one_where_a_person_can_be_asked(world, sprung: Path, mode):
    done = called(world, {**PLAN, "confirm": True}, mode=mode, answer=NO)

    assert (done.is_error, done.structured_content["code"]) == (True, "CALL_DENIED")
    assert "runs code of the project" in world.asked
    assert not sprung.exists()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_person_s_yes_lets_the_dry_run_run_it(world, sprung: Path, mode):
    called(world, {**PLAN, "confirm": True}, mode=mode, answer=YES)

    assert "runs code of the project" in world.asked
    assert sprung.exists()


def test_without_destructive_commands_there_is_no_dry_run_either(world, sprung: Path):
    async def call():
        async with connected(world, *PIP[:-1], answer=YES) as client:
            return await client.call_tool("pip_install", {**PLAN, "confirm": True})

    assert run(call()).structured_content["code"] == "DESTRUCTIVE_DISABLED"
    assert not sprung.exists()
