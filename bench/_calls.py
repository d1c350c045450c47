"""Whole enclosed calls, as a user makes them: one command line for each kind of enclosure, the same for every checkout.

`Scene` makes what the calls need (a wrapper, an agent, a flow, a repository) in one folder, and runs each call with the
programs of a given checkout. Every checkout has a home of its own there. A call must succeed, or the benchmark ends.

A call's time counts until its own process has ended. Its processor time is that of all processes that it started: the
benchmark adopts what outlives its parent, and waits for all of it.
"""

import ctypes
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

BASH_CALLS = 20
_PR_SET_CHILD_SUBREAPER = 36
_LIMIT = 120.0


class Cost(NamedTuple):
    """Of one call, in seconds."""

    wall: float
    cpu: float


class Scene:
    """The files of all calls, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder, folder / "work"
        for path, text in _FILES.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("SCENE", str(folder)))
        subprocess.run(["git", "init", "--quiet"], cwd=self.work, check=True, timeout=_LIMIT)

    def calls(self, checkout: Path) -> dict[str, Callable[[], Cost]]:
        """Kind -> the call, with the programs of this checkout."""
        home = self.folder / f"home-{len(list(self.folder.glob('home-*')))}"
        home.mkdir()
        programs = checkout / ".venv" / "bin"
        env = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "OPERABLE_HOME": str(home),
            "OPERABLE_WRAPPERS": str(self.folder / "wrappers"),
        }
        operable = str(programs / "operable")
        manifest = str(self.folder / "teller" / "AGENT-CLI.md")
        lines = {
            "wrapped tool, rights given up": ["wrap", "jq", ".", "text.json"],
            "wrapped tool that looks at a project": ["wrap", "git", "status"],
            "wrapped tool in a box": ["wrap", "boxed", "text.json"],
            "strict task of a flow": ["flow", "exec", "flow.json", "task", "--home", str(home)],
            "confined agent, start to end": ["agent", "prompt", manifest, "--prompt", "hello"],
            "room of the linter, 13 runs": ["lint", "outline", "--only", "1"],
        }
        self._run([operable, "agent", "approve", manifest], env)
        found = {
            kind: self._call([operable, *words, "--output", "jsonl"], env) for kind, words in lines.items()
        }
        bash = [str(programs / "operable-agent"), "--json-stream", "--offline", "--no-session"]
        bash += ["--auto-approve", "--sandbox", "bubblewrap"]
        found[f"agent's Bash, {BASH_CALLS} calls"] = lambda: measured(lambda: self._converse(bash, env))
        return found

    def _call(self, argv: Sequence[str], env: Mapping[str, str]) -> Callable[[], Cost]:
        return lambda: measured(lambda: self._run(argv, env))

    def _run(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        done = subprocess.run(
            argv,
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIMIT,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                f"{argv}: {done.returncode}\n{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}"
            )

    def _converse(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """One message to the agent, whose scripted model calls Bash; its input stays open until it has answered."""
        script = "\n".join(["script:", *['call Bash {"command": "true"}'] * BASH_CALLS, "say done"])
        message = json.dumps({"type": "message", "msg_id": "m", "content": script}).encode() + b"\n"
        with subprocess.Popen(
            argv, cwd=self.work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as agent:
            assert agent.stdin is not None
            assert agent.stdout is not None
            agent.stdin.write(message)
            agent.stdin.flush()
            results = 0
            for line in agent.stdout:
                results += b'"type":"tool_result"' in line and b'"status":"success"' in line
                if b'"type":"stream_end"' in line:
                    break
            agent.stdin.close()
            agent.stdout.read()
        if results != BASH_CALLS:
            raise AssertionError(f"{results} of {BASH_CALLS} calls of Bash succeeded")


def adopt() -> None:
    """Become the parent of whatever outlives its own: its processor time is then known."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def measured(call: Callable[[], object]) -> Cost:
    """What a call costs; it returns when its own process has ended. Nothing else may be started meanwhile."""
    ours = _children()
    before, began = _used(), time.perf_counter()
    call()
    wall = time.perf_counter() - began
    while left := _children() - ours:
        os.waitpid(left.pop(), 0)
    return Cost(wall, _used() - before)


def _children() -> set[int]:
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def _used() -> float:
    """Processor seconds of this process and of all that it has waited for."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


_CLI = """---
name: boxed
id: boxed
description: Filters JSON.
version: 1.0.0
bin: jq
install: [{method: apt, package: jq}]
version_check: {cmd: jq --version, parse: '(\\d+\\.\\d+)', range: '>=1.5'}
sandbox:
  network: {egress: []}
  fs: {read: ['**'], write: [], deny: ['SCENE/secret/**']}
  exec: {allow: false}
  env: {pass: [], set: {}}
commands: {filter: ./tools/filter/TOOL.md}
metadata:
  operable: {default: filter}
---

# boxed
"""
_TOOL = """---
name: filter
id: boxed.filter
description: Filter a document.
version: 1.0.0
inputs:
  type: object
  properties:
    file: {type: string, format: path, description: the file}
  required: [file]
outputs:
  type: object
  description: One value.
  properties: {type: {const: word}, text: {type: string}}
  required: [type, text]
runner:
  cli: ../../CLI.md
  argv: ["-c", '{kind: "word", text: .text}', "${input.file}"]
timeout_ms: 10000
metadata:
  operable:
    operands: [file]
    columns: [text]
    parse: {kind: jsonl, type: kind, events: {word: {event: word, fields: {text: text}}}}
---

# boxed filter
"""
_AGENT = """---
name: teller
id: teller
description: Answers.
version: 1.0.0
bin: sh
bin_args: [/work/teller.sh]
install: [{method: apt, package: dash}]
version_check: {cmd: "echo 1.0.0", parse: '(\\d+\\.\\d+\\.\\d+)', range: ">=1"}
sandbox: {provider: bubblewrap, config: {}, mounts: [{source: workspace, at: /work}]}
protocol: acp
acp: ./teller.ACP.md
capabilities: {streaming: true, tool_calls: false, resumable: false}
continuation: {default: none, supported: [none]}
---

# Teller
"""
_ACP = """---
name: teller-acp
id: teller-acp
description: The ACP server of teller.
version: 1.0.0
kind: server
transport: stdio
metadata: {aip44: {acp_rev: 4f2c9ab, tier: governance-aware, operator: ./OPERATOR.md}}
---
"""
_TELLER = """
while read -r line; do
  number=${line#*\\"id\\":}; number=${number%%,*}; number=${number%%\\}*}
  case $line in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}';;
    *'"session/new"'*) result='{"sessionId":"s"}';;
    *'"session/prompt"'*) result='{"stopReason":"end_turn"}';;
    *) continue;;
  esac
  echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$number,\\"result\\":$result}"
done
"""
_TASK = {
    "id": "task",
    "name": "Task",
    "target": {"session_target": "shell", "agent_id": "main"},
    "schedule": {"cron": "0 9 * * *", "tz": "UTC"},
    "shell": {"program": "/bin/true", "args": [], "cwd": "SCENE/work"},
    "contract": {"sandbox": "strict", "network": "none", "audit": "none"},
}
_FILES = {
    "wrappers/boxed/CLI.md": _CLI,
    "wrappers/boxed/tools/filter/TOOL.md": _TOOL,
    "secret/file": "nobody reads this\n",
    "teller/AGENT-CLI.md": _AGENT,
    "teller/teller.ACP.md": _ACP,
    "work/teller.sh": _TELLER,
    "work/text.json": '{"text":"word"}\n',
    "work/flow.json": json.dumps(
        {"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": [_TASK]}]}
    ),
}
