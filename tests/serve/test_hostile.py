"""Programs and applications that hang, flood, lie, litter and leak, called over MCP: the documented outcome, nothing left.

One server for all of them: what one does must not spoil the next.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from operable.app.shelf import find
from operable.app.trust import Approvals
from tests.app.making import made
from tests.app.test_invocation import ended, written
from tests.cli.drive import BIN, PROGRAM
from tests.serve.test_mcp import connected, run
from tests.tool.drive import in_time
from tests.wrap.drive import CLI, TOOL, Made

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
# `row` prints a result, `place` is where pids are written.
BEHAVIOUR = """
def pid(name, number):
    with open(os.path.join(place, name), 'w') as file: file.write(str(number))
def behave(how):
    if how != 'hang': pid(how, os.getpid())
    if how == 'hang':
        for kind in ('hang-child', 'hang-daemon'):
            number = os.fork()
            if number == 0:
                if kind == 'hang-daemon': os.setsid()
                while True: time.sleep(60)
            pid(kind, number)
        signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pid(how, os.getpid())
        while True: time.sleep(60)
    if how == 'flood':
        while True: sys.stdout.write('{"type":"row","text":"' + 'x' * 1000 + '"}\\n')
    if how == 'garbage':
        sys.stdout.buffer.write(b'\\xff\\xfe\\x00 garbage\\n\\x1b[31m\\n'); sys.exit(0)
    if how == 'huge':
        while True: sys.stdout.write('x' * 1000000)
    if how == 'fork':
        for kind in ('child', 'daemon', 'grandchild'):
            number = os.fork()
            if number == 0:
                if kind != 'child': os.setsid()
                if kind == 'grandchild' and os.fork() == 0: pid('deep', os.getpid())
                nothing = os.open(os.devnull, os.O_RDWR)
                for each in (0, 1, 2): os.dup2(nothing, each)
                while True: time.sleep(60)
            pid(kind, number)
        while not os.path.exists(os.path.join(place, 'deep')): time.sleep(0.01)
        row()
    if how == 'error0':
        print('{"ok": false, "error": {"code": "E404", "message": "no such thing"}}'); sys.exit(0)
    if how == 'success1':
        row(1)
    if how == 'secret':
        sys.stderr.write('password=%s\\nTraceback (most recent call last):\\n')
        sys.exit(3)
    row()
""".replace("%s", SECRET)
HOWS = "hang flood garbage huge fork error0 success1 secret good".split()


@pytest.fixture
def world(world):
    """With a hostile application and a wrapper of a hostile program in it."""
    app = made(
        world.project / "apps" / "evil",
        "place = 'app/state'; os.makedirs(place, exist_ok=True)\n"
        "def row(status=0): say({'items': [{'id': 1}]}, status)\n" + BEHAVIOUR + "behave(words[0])\n",
        commands=f"[{', '.join(HOWS)}]",
        more="",
    )
    Approvals(str(world.home / "state" / "apps" / "approvals.json")).approve(find(str(app)))
    program = (
        f"#!{sys.executable}\nimport os, signal, sys, time\n"
        "if sys.argv[1] == '--version': print('1.0'); sys.exit()\n"
        "place = os.path.dirname(sys.argv[0])\n"
        'def row(status=0): print(\'{"type":"row","id":1}\'); sys.stdout.flush(); sys.exit(status)\n'
        + BEHAVIOUR
        + "behave(sys.argv[2])\n"
    )
    inputs = {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]}
    rules = {"operands": ["how"], "parse": {"kind": "jsonl", "error": {"at": "error"}}}
    tool = TOOL | {
        "inputs": inputs,
        "runner": {"cli": "../../CLI.md", "argv": ["go", "--", "${input.how}"]},
        "metadata": {"operable": rules},
    }
    program = program.replace("sys.argv[2]", "sys.argv[3]")
    wrapper = Made(world.folder, program, cli=CLI, tool=tool)
    # The workspace is not trusted: nothing of it is taken for a part of ours.
    (world.project / "operable.py").write_text("raise SystemExit('taken over')")
    (world.project / "json.py").write_text("raise SystemExit('taken over')")
    world.places = {"evil": app / "app" / "state", "prog": wrapper.bin}
    # They write down who they are, which a command that changes nothing cannot.
    world.env |= wrapper.env | {"PATH": f"{wrapper.bin}:{BIN}:/usr/bin:/bin", "OPERABLE_UNCONFINED": "1"}
    world.here = ()
    world.command = lambda *words: [
        *(PROGRAM, "mcp", "--workspace", str(world.project), "--kind", "app", "--kind", "wrap"),
        *("--only", "evil", "--only", "prog", *words),
    ]
    return world


def gone(place: Path, name: str) -> bool:
    return bool(ended(int((place / name).read_text()), 40))


def all_gone(place: Path) -> bool:
    """What hangs, its child, and its daemon."""
    return all(gone(place, name) for name in ("hang", "hang-child", "hang-daemon"))


def calling(world, client):
    async def call(kind, how, **more):
        if kind == "evil":
            return await client.call_tool(f"evil_{how}", {})
        return await client.call_tool("prog_go", {"how": how, **more})

    return call


OUTCOMES = {
    # how: (of the application, of the wrapped program): the code of the result or of its first error
    "garbage": ("APP_OUTPUT_NOT_JSON", "UPSTREAM_NON_JSON"),
    "huge": ("APP_OUTPUT_TOO_LARGE", "UPSTREAM_RECORD_TOO_LONG"),
    "error0": ("E404", "UPSTREAM_ERROR"),
    "success1": ("APP_FAILED", "UPSTREAM_FAILED"),
    "secret": ("APP_FAILED", "UPSTREAM_FAILED"),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["evil", "prog"])
def test_each_ends_in_its_outcome_and_the_server_goes_on(world, kind):
    place, index = world.places[kind], ["evil", "prog"].index(kind)

    async def called():
        async with connected(world) as client:
            call = calling(world, client)
            results = {how: await call(kind, how) for how in OUTCOMES}
            results["flood"] = await call(kind, "flood")
            results["fork"] = await call(kind, "fork")
            return results, await call(kind, "good")

    results, after = run(called(), limit=250)
    for how, codes in OUTCOMES.items():
        content = results[how].structured_content
        notices = [each["code"] for each in (*content.get("errors", ()), *content.get("warnings", ()))]
        assert codes[index] in (content["code"], *notices), (how, content)
        assert results[how].is_error is not (how == "garbage" and kind == "prog"), (how, content)
        assert SECRET not in str(results[how])
        assert "Traceback" not in str(content.get("errors")) or kind == "prog"
        assert gone(place, how), how
    flood = results["flood"].structured_content
    assert (flood["code"], flood["truncated"]) == (("APP_OUTPUT_TOO_LARGE", False), ("OK", True))[index]
    assert gone(place, "flood")
    assert results["fork"].is_error is False
    for name in ("fork", "child", "daemon", "grandchild", "deep"):
        assert gone(place, name), name
    assert (after.is_error, len(after.structured_content["entries"])) == (False, 1)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("kind", ["evil", "prog"])
def test_one_that_hangs_ends_with_the_call_that_is_cancelled(world, kind):
    place = world.places[kind]

    async def cancelled():
        async with connected(world) as client:
            call = calling(world, client)
            await client.list_tools()
            task = asyncio.create_task(call(kind, "hang"))
            await asyncio.to_thread(written, place / "hang", 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left = await asyncio.to_thread(all_gone, place)
            return left, await call(kind, "good")

    left, after = run(cancelled(), limit=180)
    assert left
    assert after.is_error is False


@pytest.mark.timeout(300)
def test_one_that_hangs_ends_at_its_deadline(world):
    place = world.places["prog"]

    def called(deadline):
        async def asked():
            async with connected(world) as client:
                return await calling(world, client)("prog", "hang", timeout=deadline)

        return run(asked(), limit=150)

    result = in_time(called, lambda _: (place / "hang").exists() and (place / "hang").read_text())

    assert (result.is_error, result.structured_content["errors"][0]["code"]) == (True, "TIMEOUT")
    assert all_gone(place)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("kind", ["evil", "prog"])
def test_when_the_client_goes_everything_ends(world, kind):
    place = world.places[kind]

    async def left():
        async with connected(world) as client:
            task = asyncio.create_task(calling(world, client)(kind, "hang"))
            await asyncio.to_thread(written, place / "hang", 60)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run(left(), limit=150)
    assert all_gone(place)
