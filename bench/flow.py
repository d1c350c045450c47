"""What a question over JSON-RPC costs: `operable rpc` beside a minimal line server in Node.

Round trips of one request after the other over pipes, wall time, the two servers in turns. The Node server parses
each line and answers a pong: the least that any JSON-RPC server does. `validate` has no counterpart there; it is set
beside our own ping, and the manifest with 85 tasks beside its target of 10 ms.

Where the kernel puts a server decides more than what the server does: on the caller's processor a round trip takes about
15 µs, on another one, which has to be woken up in a virtual machine, about 80 µs, and it changes its mind from round to
round. So both servers are put in the same place: beside the caller on one processor, then on one of their own. The third
line leaves it to the kernel; it is told for whoever wants to see it, and has no target because it compares places.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench._figures import Row, print_rows, ratio, take_turns

NEEDS = ("node",)
OPERABLE = str(Path(sys.executable).with_name("operable"))
REQUESTS, ROUNDS = 2000, 9
VALIDATED = 200
NODE = """
require('node:readline').createInterface({input: process.stdin}).on('line', line => {
  const request = JSON.parse(line);
  process.stdout.write(JSON.stringify({jsonrpc: '2.0', id: request.id, result: {ok: true, pong: true}}) + '\\n');
});
process.stdout.write('{}\\n');
"""


class Server:
    """A line server, asked one thing after the other."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._reader = open(self._out.fileno(), "rb", closefd=False)  # noqa: SIM115 - closed in close()
        self._reader.readline()  # it is ready

    def ask(self, line: bytes, times: int) -> Callable[[], float]:
        """Seconds for one round trip."""

        def measure() -> float:
            started = time.perf_counter()
            for _ in range(times):
                self._in.write(line)
                self._reader.readline()
            return (time.perf_counter() - started) / times

        return measure

    def close(self) -> None:
        self._in.close()
        self._process.wait(timeout=10)
        self._reader.close()
        self._out.close()


def main() -> int:
    """Print the table; 1 when a target is missed."""
    everywhere = sorted(os.sched_getaffinity(0))
    rows = []
    places = {
        "caller and server on one processor": (everywhere[:1], everywhere[:1]),
        "a processor each": (everywhere[:1], everywhere[-1:]),
        "wherever the kernel puts them": (everywhere, everywhere),
    }
    for place, (callers, servers) in places.items():
        figures = pings(callers, servers)
        best = {name: min(found) * 1e6 for name, found in figures.items()}
        rows.append(
            Row(
                f"agentcli.ping / a minimal Node server, {place}",
                ratio(figures, "ping", "node"),
                None if servers == everywhere else 1.5,
                f"{best['ping']:.0f} µs at best, Node {best['node']:.0f} µs",
            )
        )
    return print_rows([*rows, *validations()])


def pings(callers: list[int], servers: list[int]) -> dict[str, list[float]]:
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, servers)  # inherited by what is started now
    try:
        ours, node = Server([OPERABLE, "rpc"]), Server(["node", "-e", NODE])
        try:
            os.sched_setaffinity(0, callers)
            ping = request("agentcli.ping", {})
            return take_turns({"ping": ours.ask(ping, REQUESTS), "node": node.ask(ping, REQUESTS)}, ROUNDS)
        finally:
            ours.close()
            node.close()
    finally:
        os.sched_setaffinity(0, everywhere)


def validations() -> list[Row]:
    ours = Server([OPERABLE, "rpc"])
    try:
        figures = take_turns(
            {
                "ping": ours.ask(request("agentcli.ping", {}), REQUESTS),
                "validate": ours.ask(request("agentcli.validate", {"manifest": manifest(5)}), VALIDATED),
                "large": ours.ask(request("agentcli.validate", {"manifest": manifest(85)}), VALIDATED // 10),
            },
            ROUNDS,
        )
    finally:
        ours.close()
    figures["limit"] = [0.010] * ROUNDS
    best = {name: min(found) * 1e6 for name, found in figures.items()}
    return [
        Row(
            "agentcli.validate of 5 tasks / ping",
            ratio(figures, "validate", "ping"),
            None,
            f"{best['validate']:.0f} µs at best",
        ),
        Row(
            "agentcli.validate of 85 tasks / 10 ms",
            ratio(figures, "large", "limit"),
            1.0,
            f"{best['large'] / 1000:.1f} ms at best",
        ),
    ]


def request(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def manifest(tasks: int) -> dict[str, Any]:
    """A manifest with this many tasks, each with the blocks that real ones have."""
    made = [
        {
            "id": f"task-{number}",
            "name": f"Task {number}",
            "target": {"session_target": "shell", "agent_id": "main"},
            "shell": {"program": "/usr/bin/printf", "args": ["%s", "hello"], "cwd": "/tmp"},
            "contract": {"sandbox": "permissive", "network": "none", "audit": "always"},
            "output": {"format": "text", "preview_bytes": 2000},
            "runtime": {"timeout_ms": 30000},
            "reliability": {"max_retries": 1, "overlap_policy": "skip"},
            **(
                {"trigger": {"parent": "task-0", "on": "success", "condition": "contains:ok"}}
                if number
                else {"schedule": {"cron": "0 9 * * *", "tz": "UTC"}}
            ),
        }
        for number in range(tasks)
    ]
    return {"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": made}]}


if __name__ == "__main__":
    sys.exit(main())
