"""What driving agents costs the host: events through a session to five readers, idle sessions, the import.

- relay: an agent that prints 20,000 text updates as fast as a pipe takes them; each is on disk before five readers get it,
  of which one is stalled and reads only at the end. The same relay on the official ACP Python SDK, in turns: one write
  per event, a queue per reader. Seconds from the prompt until the four live readers have everything; nobody may miss one.
- memory: resident size of a host with 200 idle sessions, each with a real process of its own, minus the same host before.
- import: the front door of `operable.host`, and everything that a session loads, as processes, beside `python -I -c pass`.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from bench._figures import Row, print_rows, ratio, take_turns, wall

EVENTS = 20_000
ROUNDS = 5
READERS = 5
SESSIONS = 200
IDLE_LIMIT = 60_000  # bytes of host memory for an idle session
IMPORT_LIMIT = 0.150  # seconds

AGENT = f"""
import os, sys
line = ('{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":'
        '"agent_message_chunk","content":{{"type":"text","text":"piece %d of an answer that streams"}}}}}}}}\\n')
data = "".join(line % n for n in range({EVENTS})).encode()
while True:
    message = sys.stdin.readline()
    if not message:
        break
    number = message.partition('"id":')[2].partition(",")[0].strip("}} \\n")
    if '"initialize"' in message:
        result = '{{"protocolVersion":1,"agentCapabilities":{{}},"authMethods":[]}}'
    elif '"session/new"' in message:
        result = '{{"sessionId":"s"}}'
    elif '"session/prompt"' in message:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view[:65536]):]
        result = '{{"stopReason":"end_turn"}}'
    else:
        continue
    os.write(1, ('{{"jsonrpc":"2.0","id":%s,"result":%s}}\\n' % (number, result)).encode())
"""
# An agent for people who count bytes: a shell that answers the handshake and then waits.
TINY = r"""
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read -r line
"""


def main() -> int:
    """Print the table; 1 when a target is missed."""
    if sys.argv[1:2] == ["--idle"]:
        print(asyncio.run(_idle(int(sys.argv[2]))))
        return 0
    figures = take_turns({"ours": _ours, "sdk": _sdk}, ROUNDS)
    rates = {name: EVENTS / median(seconds) for name, seconds in figures.items()}
    each = _idle_bytes()
    imports = take_turns(
        {
            "python": wall([sys.executable, "-I", "-c", "pass"]),
            "host": wall([sys.executable, "-I", "-c", "from operable.host import define_agent_cli"]),
            "all": wall(
                [sys.executable, "-I", "-c", "import operable.host.start.assembly, operable.host.arms.acp"]
            ),
        },
        7,
    )
    spent = median(imports["host"]) - median(imports["python"])
    note = f"{rates['ours']:,.0f} events a second here, {rates['sdk']:,.0f} there"
    return print_rows(
        [
            Row(
                "relay to five readers, one stalled / the same on the ACP SDK",
                ratio(figures, "ours", "sdk"),
                0.1,
                note,
            ),
            Row(
                f"host memory of an idle session / {IDLE_LIMIT} bytes",
                each / IDLE_LIMIT,
                1.0,
                f"{each:,.0f} bytes, mean of {SESSIONS}",
            ),
            Row(
                "from operable.host import define_agent_cli / 150 ms",
                spent / IMPORT_LIMIT,
                1.0,
                f"{spent * 1000:.0f} ms over the interpreter",
            ),
            Row(
                "from operable.host import define_agent_cli / python -I -c pass",
                ratio(imports, "host", "python"),
            ),
            Row("import all that a session needs / python -I -c pass", ratio(imports, "all", "python")),
        ]
    )


# --- relay


def _ours() -> float:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_relay(folder))


async def _relay(folder: str) -> float:
    from operable.host.arms.acp import ARM
    from operable.host.session.registry import Registry
    from operable.host.start.assembly import Start, start_session
    from operable.proc.spawn import prepare
    from operable.wire.events import TextDelta

    command = prepare([sys.executable, "-IS", "-c", AGENT])
    session = await start_session(
        Start(ARM, lambda _: command, folder, registry=Registry(os.path.join(folder, "state")))
    )

    async def consume(reader: Any) -> int:
        count = 0
        async for batch in reader.batches():
            count += sum(type(record.event) is TextDelta for record in batch)
            if count >= EVENTS:
                break
        return count

    stalled = session.log.reader()
    live = [asyncio.ensure_future(consume(session.log.reader())) for _ in range(READERS - 1)]
    await asyncio.sleep(0)
    before = time.perf_counter()
    session.send("go")
    counts = await asyncio.wait_for(asyncio.gather(*live), 120)
    spent = time.perf_counter() - before
    counts.append(await consume(stalled))
    await session.close()
    _complete(counts)
    return spent


def _sdk() -> float:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_relay_on_sdk(folder))


async def _relay_on_sdk(folder: str) -> float:
    import acp

    log = os.open(os.path.join(folder, "events.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    queues: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in range(READERS)]

    class Relay(acp.Client):
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:  # noqa: ARG002 - the SDK's
            os.write(log, update.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n")
            for queue in queues:
                queue.put_nowait(update)

    async def consume(queue: "asyncio.Queue[Any]") -> int:
        count = 0
        while count < EVENTS:
            await queue.get()
            count += 1
        return count

    async with acp.spawn_agent_process(Relay(), sys.executable, "-IS", "-c", AGENT) as (connection, _):  # type: ignore[abstract]
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=folder, mcp_servers=[])
        live = [asyncio.ensure_future(consume(queue)) for queue in queues[1:]]
        await asyncio.sleep(0)
        before = time.perf_counter()
        prompt = asyncio.ensure_future(
            connection.prompt(prompt=[acp.text_block("go")], session_id=session.session_id)
        )
        counts = await asyncio.wait_for(asyncio.gather(*live), 120)
        spent = time.perf_counter() - before
        await prompt
        counts.append(await consume(queues[0]))
    os.close(log)
    _complete(counts)
    return spent


def _complete(counts: list[int]) -> None:
    if counts != [EVENTS] * READERS:
        raise AssertionError(f"events were lost: {counts}")


# --- memory


def _idle_bytes() -> float:
    """In a process of its own: what ran before in this one would hide what is taken."""
    found = subprocess.run(
        [sys.executable, "-m", "bench.host", "--idle", str(SESSIONS)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return float(found.stdout)


async def _idle(count: int) -> float:
    from operable.host.arms.acp import ARM
    from operable.host.session.registry import Registry
    from operable.host.start.assembly import Start, start_session
    from operable.proc.spawn import prepare

    # As a session of a manifest starts it: with its whole tree supervised.
    command = prepare(["sh", "-c", TINY])._replace(tree=True)
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(os.path.join(folder, "state"))
        sessions: list[Any] = []

        async def more(number: int) -> None:
            for _ in range(number):
                sessions.append(await start_session(Start(ARM, lambda _: command, folder, registry=registry)))

        await more(20)  # what the first ones load and reserve is the host's own
        before = _resident()
        await more(count)
        each = (_resident() - before) / count
        await asyncio.gather(*(session.close() for session in sessions))
    return each


def _resident() -> int:
    import gc

    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
