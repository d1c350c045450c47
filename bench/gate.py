"""What the gate costs a call: processor time and clock, beside the same call without the gate.

The call is an adapter that does nothing, so that all that is left is the gate: judging by a policy file of twenty rules, the
record on disk before the call, and its end. Calls follow each other; the end of one is written with the start of the next.
The folder of the state decides what a sync costs: `--folder /dev/shm` leaves the disk out. A record that is on disk before
its call costs one sync at least; a plain append of as many bytes with its sync, in the same folder and between the same
rounds, is what the clock is compared with.
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
    plain: list[float] = []
    for _ in range(ROUNDS):
        plain += _appends(folder)
        figures["without"].append(await _per_call(free))
        figures["gated"].append(await _per_call(gated))
    await gate.aclose()
    pairs = list(zip(figures["gated"], figures["without"], strict=True))
    processor, clock = (median(one[n] - other[n] for one, other in pairs) for n in (0, 1))
    print(f"processor time of the gate per call  {processor:6.2f} ms   <= {TARGET:g} ms")
    append = median(plain)
    print(f"clock of the gate per call           {clock:6.2f} ms")
    print(
        f"a plain append and its sync here     {append:6.2f} ms   the gate takes {clock / append:.2f} x of it"
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


def _appends(folder: str) -> list[float]:
    times = []
    with open(os.path.join(folder, "plain"), "ab", buffering=0) as file:
        for _ in range(20):
            began = time.perf_counter()
            file.write(b"x" * 1500)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1000)
    return times
