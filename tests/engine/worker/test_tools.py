"""Tools, wrapped tools, applications and MCP servers as tasks: their events are the output, their verdict is the end of the run."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.drive import operable
from tests.engine.manifests import manifest, task
from tests.engine.worker.engines import Engine
from tests.host.upstream.test_upstream import SERVER

SHELF = """#!{python}
import os
from collections.abc import Iterator
from operable.tool import Change, Event, Fail, Tool

tool = Tool("shelf", version="1.0.0", schema_name="org.example.shelf.events", summary="Books.")

class Book(Event):
    '''A book.'''
    id: str
    run: str
    recorded: bool

def recorded():
    '''Whether the start of this task is on disk already.'''
    with open({audit!r}) as file:
        return any('"status":"started"' in line and '"task_id":"good"' in line for line in file)

@tool.command(examples=["get b1"])
def get(id: str) -> Book:
    '''Show one book.

    id: the book
    '''
    if id != "b1":
        raise Fail("not_found", "BOOK_NOT_FOUND", f"There is no book {{id}}", target=id)
    run = os.environ["OPERABLE_RUN_ID"] + os.environ["OPERABLE_ATTEMPT"]
    return Book(id=id, run=run, recorded=recorded())

@tool.command(destructive=True, examples=["burn b1 --confirm"])
def burn(id: str) -> Iterator[Change[str]]:
    '''Burn a book.

    id: the book
    '''
    yield Change("burn", id).carry(id)

@burn.apply
def write(changes: list[Change[str]]) -> Iterator[Book]:
    for change in changes:
        open("burnt", "w").close()
        yield Book(id=change.payload, run="", recorded=True)

tool.main()
"""
APP = Path(__file__).parents[3] / "examples" / "todo-app"


def call(task_id: str, program: str, *words: str, **blocks: object) -> dict[str, object]:
    arguments = blocks.pop("arguments", {})
    made = task(task_id, program, *words, **blocks)
    made["shell"]["stdin"] = json.dumps(arguments)
    return made


@pytest.mark.needs("rg")
def test_the_verdict_of_a_tool_is_the_end_of_its_run(tmp_path: Path) -> None:
    shelf, home = tmp_path / "shelf", tmp_path / "operable"
    audit = str(tmp_path / "home" / "state" / "audit.ndjson")
    shelf.write_text(SHELF.format(python=sys.executable, audit=audit))
    shelf.chmod(0o755)
    (tmp_path / "notes.txt").write_text("one needle here\n")
    todo = tmp_path / "apps" / "todo-app"
    shutil.copytree(APP, todo)
    code = (todo / "app" / "cli.py").read_text()
    looks = (
        f"import pathlib\npathlib.Path({str(tmp_path / 'app.saw')!r}).write_text(open({audit!r}).read())\n"
    )
    (todo / "app" / "cli.py").write_text(looks + code)
    environment = {"OPERABLE_HOME": str(home)}
    app = call("app", "app:todo-app", "list")
    refused = operable("flow", "apply", _written(tmp_path, app), env=environment, cwd=tmp_path)
    assert "shell.program cannot be used" in refused.error["message"]
    enclosed = call("enclosed", f"tool:{shelf}", "get", arguments={"id": "b1"}, contract={"network": "none"})
    refused = operable("flow", "apply", _written(tmp_path, enclosed), env=environment, cwd=tmp_path)
    assert "contract asks for network denial" in refused.error["message"]
    approved = operable("app", "approve", "todo-app", "--confirm", env=environment, cwd=tmp_path)
    assert approved.exit_code == 0, approved

    server, called = str(SERVER), str(tmp_path / "called")
    environment |= {"CALLED": called, "LIES": json.dumps({"tools": [{"name": "look"}]})}
    given = [word for name in ("CALLED", "LIES") for word in ("--env", f"{name}=environment:{name}")]
    adding = ("shop", *given, "--", sys.executable, server)
    unknown = call("server", "mcp:shop", "look")
    refused = operable("flow", "apply", _written(tmp_path, unknown), env=environment, cwd=tmp_path)
    assert "there is no server 'shop'" in refused.error["message"]
    assert operable("upstream", "add", *adding, env=environment, cwd=tmp_path).exit_code == 0

    manual = {"policy": "manual"}
    engine = Engine(
        tmp_path,
        call("good", f"tool:{shelf}", "get", arguments={"id": "b1"}),
        call("bad", f"tool:{shelf}", "get", arguments={"id": "b2"}),
        call("unconfirmed", f"tool:{shelf}", "burn", arguments={"id": "b1"}),
        call("confirmed", f"tool:{shelf}", "burn", arguments={"id": "b1"}, approval=manual),
        call("unknown", f"tool:{shelf}", "sell"),
        call("wrapped", "wrap:rg", "search", arguments={"pattern": "needle", "paths": ["notes.txt"]}),
        app,
        call("server", "mcp:shop", "look", arguments={"what": "tea"}, approval=manual),
        environment=environment,
    )
    names = ("good", "bad", "unconfirmed", "confirmed", "unknown", "wrapped", "app", "server")
    runs = {name: engine.trigger(name) for name in names}
    with engine.worker():
        engine.call("approve", runs["confirmed"])
        engine.call("approve", runs["server"])
        ends = {name: engine.wait_for(run, "succeeded", "failed", "refused") for name, run in runs.items()}
    reasons = {name: engine.runs(run_id=run)[0].reason for name, run in runs.items()}
    good = {"good", "confirmed", "wrapped", "app", "server"}
    assert ends == {name: "succeeded" if name in good else "failed" for name in names}, reasons
    # The start of each is on record before its program runs.
    assert f'"run": "{runs["good"]}1", "recorded": true' in engine.outputs(runs["good"])[-1]
    seen = (tmp_path / "app.saw").read_text().splitlines()
    assert any('"status":"started"' in line and '"task_id":"app"' in line for line in seen)
    assert engine.facts(runs["good"])["verdict"]["ok"] is True
    assert reasons["bad"] == "BOOK_NOT_FOUND: There is no book b2"
    assert "BOOK_NOT_FOUND" in engine.outputs(runs["bad"])[-1]
    assert "approval.policy manual" in str(reasons["unconfirmed"])
    assert (tmp_path / "burnt").exists()
    assert "it has no command sell; it has burn, get" in str(reasons["unknown"])
    assert "one needle here" in engine.outputs(runs["wrapped"])[-1]
    assert "tea" in engine.outputs(runs["server"])[-1]


def _written(folder: Path, *tasks: dict[str, object]) -> str:
    path = folder / "written.json"
    path.write_text(json.dumps(manifest(*tasks)))
    return str(path)


@pytest.mark.parametrize("target", ["openclaw-scheduler", "standalone"])
def test_other_targets_refuse_a_tool_by_name(tmp_path: Path, target: str) -> None:
    path = _written(tmp_path, task("a", "tool:rg", "search"))
    done = operable("flow", "compile", path, "--target", target, cwd=tmp_path)
    assert done.exit_code != 0
    assert f"tool:rg is not a program: {target} cannot call tools" in done.stdout.decode()


def test_a_rule_about_a_command_line_sees_the_arguments_of_a_task(tmp_path: Path) -> None:
    shelf, home = tmp_path / "shelf", tmp_path / "operable"
    shelf.write_text(SHELF.format(python=sys.executable, audit=str(tmp_path / "none")))
    shelf.chmod(0o755)
    (home / "config").mkdir(parents=True)
    rules = home / "config" / "policy.toml"
    environment = {"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(tmp_path / "flow")}

    def executed(**arguments: object) -> str:
        path = _written(tmp_path, call("one", f"tool:{shelf}", "get", arguments=arguments))
        done = operable("flow", "exec", path, "one", env=environment, cwd=tmp_path)
        return f"{done.stdout.decode()}{done.stderr}"

    rules.write_text('deny = ["execute:shelf get * b2"]')
    assert "is denied for" in executed(id="b2")
    rules.write_text('ask = ["execute:shelf get *b2*"]\nask_timeout = 0.1')
    assert "needs a person's yes" in executed(id="b2")
    rules.write_text('deny = ["execute:shelf get * b3"]')
    assert "BOOK_NOT_FOUND" in executed(id="b2")
    assert "does not take these arguments: there is no 'confirm'" in executed(id="b2", confirm=True)
