"""What the built-in agent adds to a model's first byte: from the host's `message` to the first `text_delta`.

The model is a scripted one in a process of its own, so that nobody shares an interpreter with anybody. The reference is a
bare socket that sends the same kind of question and waits for the first word in the answer. Both take turns, one question
each; what the agent adds is the median of the differences. The very first message of a process is measured too, after
`ready` and a pause, as a person makes it: the SDK must have been loaded by then.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

ROUNDS = 60
LIMIT = 0.015  # seconds that the agent may add
_AGENT = "from operable.agent.front import main; main()"
_PAUSE = 8.0  # between `ready` and the first message; loading an SDK takes up to 2 s of a free processor
_PROVIDERS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
}
_PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "openai-responses": "/v1/responses"}
_WORD = b"Hello"


def main() -> int:
    server = subprocess.Popen(
        [sys.executable, "-m", "operable.testing.models"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    missed = False
    try:
        print(f"{'':18}  model alone  with the agent  added (median)  first message    target")
        for provider in _PROVIDERS:
            alone, whole, first = _measure(provider, url)
            added = median(b - a for a, b in zip(alone, whole, strict=True))
            missed |= added > LIMIT
            print(
                f"{provider:18}  {median(alone) * 1000:8.1f} ms  {median(whole) * 1000:11.1f} ms"
                f"  {added * 1000:11.1f} ms  {first * 1000:10.1f} ms  <= {LIMIT * 1000:g} ms"
                f"   ratio {median(whole) / median(alone):.1f} x"
            )
    finally:
        server.communicate("", timeout=30)
    return int(missed)


def _measure(provider: str, url: str) -> tuple[list[float], list[float], float]:
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            _PROVIDERS[provider]: "sk-bench",
            "HOME": folder,
            "XDG_STATE_HOME": folder,
            "NO_PROXY": "127.0.0.1",
        }
        options = ["--provider", provider, "--base-url", url, "--workspace", folder]
        agent = subprocess.Popen(
            [sys.executable, "-c", _AGENT, "--json-stream", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables},
        )
        try:
            _until(agent, "ready")
            time.sleep(_PAUSE)
            first = _through_agent(agent, 0)
            alone, whole = [], []
            for number in range(1, ROUNDS + 1):
                alone.append(_alone(provider, url))
                whole.append(_through_agent(agent, number))
        finally:
            agent.communicate(b"", timeout=30)
    return alone, whole, first


def _through_agent(agent: "subprocess.Popen[bytes]", number: int) -> float:
    assert agent.stdin is not None
    line = json.dumps({"type": "message", "msg_id": f"m{number}", "content": "Hi"}).encode() + b"\n"
    before = time.perf_counter()
    agent.stdin.write(line)
    agent.stdin.flush()
    _until(agent, "text_delta")
    took = time.perf_counter() - before
    _until(agent, "stream_end")
    return took


def _until(agent: "subprocess.Popen[bytes]", kind: str) -> Any:
    assert agent.stdout is not None
    for line in agent.stdout:
        event = json.loads(line)
        if event["type"] == kind:
            return event
        if event["type"] == "error":
            raise SystemExit(f"the agent fails: {event}")
    raise SystemExit("the agent has ended")


def _alone(provider: str, url: str) -> float:
    """The same question over a connection of our own; the server closes it after each answer."""
    said = [{"role": "user", "content": "Hi"}]
    body = json.dumps(
        {"model": "m", "max_tokens": 9, "stream": True, "messages": said, "input": said}
    ).encode()
    before = time.perf_counter()
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("POST", _PATHS[provider], body, {"content-type": "application/json"})
    response = connection.getresponse()
    heard = b""
    while _WORD not in heard:
        heard += response.read1(65536)
    took = time.perf_counter() - before
    response.read()
    connection.close()
    return took


if __name__ == "__main__":
    sys.exit(main())
