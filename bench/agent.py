"""What the built-in agent adds: to the start of an interpreter, to a model's first byte, and to memory over a long day.

- start: from the start of the process to its `ready` line, with the offline model, against `python -c pass`.
- first byte: from writing `message` to reading the first `text_delta`, minus what a bare HTTP client needs for the first
  text of the same answer from the same loopback server. The target is 5 ms; the figure is its share of them, in
  the median. An absolute time has no partner that a busy machine would disturb alike: measure it on a quiet one.
- soak: one process, 100 000 deltas and 2 000 tool calls; its resident size at the end against that after a tenth.

Contestants take turns. `--quick` does a tenth of the soak.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from bench._figures import Row, print_rows, ratio, take_turns, wall
from operable.testing.models import ModelServer

START_ROUNDS = 41
FIRST_BYTE_ROUNDS = 60
BUDGET = 0.005  # seconds that the agent may add to the model's own first byte
AGENT = str(Path(sys.executable).parent / "operable-agent")
MESSAGES, DELTAS, CALLS = 100, 1000, 20


def main() -> int:
    """Print the table; 1 when a target is missed."""
    scale = 10 if "--quick" in sys.argv[1:] else 1
    with tempfile.TemporaryDirectory() as directory:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"OPERABLE_HOME": os.path.join(directory, "home")}
        workspace = os.path.join(directory, "workspace")
        os.mkdir(workspace)
        return print_rows(
            [*_start(workspace, env), *_first_byte(workspace, env), *_soak(workspace, env, scale)]
        )


def _start(workspace: str, env: dict[str, str]) -> Iterator[Row]:
    def ready() -> float:
        before = time.perf_counter()
        process = subprocess.Popen(
            [AGENT, "--json-stream", "--offline"],
            cwd=workspace,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        elapsed = time.perf_counter() - before
        process.communicate()
        if b'"ready"' not in line:
            raise AssertionError(line)
        return elapsed

    ready()  # compiles
    figures = take_turns({"pass": wall([sys.executable, "-c", "pass"], env), "ready": ready}, START_ROUNDS)
    note = f"{median(figures['ready']) * 1000:.0f} ms beside {median(figures['pass']) * 1000:.0f} ms"
    yield Row("start to `ready`, offline, against python -c pass", ratio(figures, "ready", "pass"), 2.5, note)


class _Driven:
    """An agent process, from `ready` on."""

    def __init__(self, workspace: str, env: dict[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [AGENT, "--json-stream", *options],
            cwd=workspace,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.until("ready")

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        command = {"type": "message", "msg_id": "m", "content": text}
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        wanted = f'"type":"{kind}"'.encode()
        for line in self.process.stdout:
            if wanted in line:
                found: dict[str, Any] = json.loads(line)
                return found
            if b'"type":"error"' in line:
                raise AssertionError(line)
        raise AssertionError(f"the agent ended before {kind}")

    def first_byte(self, text: str) -> float:
        before = time.perf_counter()
        self.send(text)
        self.until("text_delta")
        elapsed = time.perf_counter() - before
        self.until("stream_end")
        return elapsed

    def resident(self) -> int:
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _driven(workspace: str, env: dict[str, str], *options: str) -> Iterator[_Driven]:
    agent = _Driven(workspace, env, *options)
    try:
        yield agent
    finally:
        agent.process.communicate()


def _first_byte(workspace: str, env: dict[str, str]) -> Iterator[Row]:
    with _driven(workspace, env, "--offline") as agent:
        agent.first_byte("warm")
        offline = median(agent.first_byte("hello") for _ in range(FIRST_BYTE_ROUNDS))
    yield Row("first byte, offline, of 5 ms", offline / BUDGET, 1.0, f"{offline * 1000:.2f} ms")
    with ModelServer() as server:
        for provider, variable, path, body in _DIALECTS:
            options = ("--provider", provider, "--base-url", server.url)
            with _driven(workspace, {**env, variable: "k"}, *options) as agent:
                agent.first_byte("warm")
                pairs = [
                    (agent.first_byte("hello"), _bare(server.url, path, body))
                    for _ in range(FIRST_BYTE_ROUNDS)
                ]
            model = median(bare for _, bare in pairs)
            added = median(through - bare for through, bare in pairs)
            typical = median(through / bare for through, bare in pairs)
            note = f"{added * 1000:.1f} ms added to {model * 1000:.1f} ms; {typical:.1f} x"
            yield Row(f"first byte, {provider} on loopback, of 5 ms", added / BUDGET, 1.0, note)


_MESSAGE = {"role": "user", "content": "hello"}
_DIALECTS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "anthropic",
        "ANTHROPIC_API_KEY",
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 10,
            "stream": True,
            "messages": [_MESSAGE],
            "tools": [{"name": "t", "input_schema": {}}],
        },
    ),
    (
        "openai",
        "OPENAI_API_KEY",
        "/v1/chat/completions",
        {
            "model": "m",
            "stream": True,
            "messages": [_MESSAGE],
            "tools": [{"type": "function", "function": {"name": "t"}}],
        },
    ),
]


def _bare(url: str, path: str, body: dict[str, Any]) -> float:
    """Seconds to the first text of an answer, for a client that does nothing else."""
    address = urlsplit(url)
    before = time.perf_counter()
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    headers = {"Content-Type": "application/json", "x-api-key": "k", "Authorization": "Bearer k"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    for line in answer:
        if b"Hello" in line:
            elapsed = time.perf_counter() - before
            answer.read()
            connection.close()
            return elapsed
    raise AssertionError(f"the server said nothing: {answer.status}")


def _soak(workspace: str, env: dict[str, str], scale: int) -> Iterator[Row]:
    for number in range(CALLS):
        Path(workspace, f"{number}.txt").write_text("line\n" * number)
    calls = [f'call Read {{"file_path": "{number}.txt"}}' for number in range(CALLS)]
    script = "\n".join(["script:", *calls, f"repeat {DELTAS}", "say word {n}"])
    messages = MESSAGES // scale
    with _driven(workspace, env, "--offline", "--auto-approve") as agent:
        before = time.perf_counter()
        early = 0
        for number in range(messages):
            agent.send(script)
            agent.until("stream_end")
            if number == messages // 10:
                early = agent.resident()
        late, elapsed = agent.resident(), time.perf_counter() - before
    note = (
        f"{messages * DELTAS} deltas, {messages * CALLS} calls, {elapsed:.0f} s; "
        f"{early >> 20} MiB, then {late >> 20} MiB"
    )
    yield Row("resident size at the end of the soak against a tenth", late / early, 1.25, note)


if __name__ == "__main__":
    raise SystemExit(main())
