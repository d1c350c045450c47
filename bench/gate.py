"""What the gate costs a call: processor time and clock, beside the same call without the gate.

The call is an adapter that does nothing, so that all that is left is the gate: judging by a policy file of twenty rules, the
record on disk before the call, and its end. Calls follow each other; the end of one is written with the start of the next.
The folder of the state decides what a sync costs: `--folder /dev/shm` leaves the disk out, and the time of three plain
syncs of a file in the same folder is printed beside the clock, because a durable record takes three.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import median

from operable.gate.call import CallerId, GatedCall
from operable.gate.call_gate import CallGate
from operable.gate.policy.call_policy import CallPolicy

CALLS, ROUNDS = 100, 7
TARGET = 2.0  # milliseconds
RULES = 'default = "allow"\ndeny = [{}]\n'.format(", ".join(f'"execute:program{n} *"' for n in range(20)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench gate", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--folder", default=None, help="where the state is; by default the folder for temporary files"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        with open(os.path.join(folder, "policy.toml"), "w", encoding="utf-8") as file:
            file.write(RULES)
        return asyncio.run(_measured(folder))


async def _measured(folder: str) -> int:
    gate = CallGate(
        policy=CallPolicy(os.path.join(folder, "policy.toml")), root=os.path.join(folder, "agents")
    )

    async def free() -> None:
        _call(folder)
        await asyncio.sleep(0)

    async def gated() -> None:
        async with await gate.admit(_call(folder)):
            await asyncio.sleep(0)

    await gated()  # the reader of command lines is loaded with the first call
    figures: dict[str, list[tuple[float, float]]] = {"without": [], "gated": []}
    for _ in range(ROUNDS):
        figures["without"].append(await _per_call(free))
        figures["gated"].append(await _per_call(gated))
    await gate.aclose()
    pairs = list(zip(figures["gated"], figures["without"], strict=True))
    processor, clock = (median(one[n] - other[n] for one, other in pairs) for n in (0, 1))
    print(f"processor time of the gate per call  {processor:6.2f} ms   <= {TARGET:g} ms")
    print(
        f"clock of the gate per call           {clock:6.2f} ms   three plain syncs here: {_syncs(folder):.2f} ms"
    )
    return int(processor > TARGET)


def _call(folder: str) -> GatedCall:
    words = ("git", "push", "origin", "main")
    return GatedCall(
        CallerId("mcp", "bench"), "wrap", "git", "push", {"branch": "main"}, "change", folder, words
    )


async def _per_call(call: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Milliseconds of processor time and clock."""
    processor, clock = time.process_time(), time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - processor) * 1000 / CALLS, (time.perf_counter() - clock) * 1000 / CALLS


def _syncs(folder: str) -> float:
    times = []
    with open(os.path.join(folder, "plain"), "wb", buffering=0) as file:
        for _ in range(30):
            began = time.perf_counter()
            for _ in range(3):
                file.write(b"x" * 500)
                os.fsync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return median(times)
