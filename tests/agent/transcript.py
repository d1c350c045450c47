"""Golden transcripts: what a host says, and what a real agent process answers, in files that read like the protocol.

One JSON object per line of `transcripts/*.jsonl`:

    {"about": "…"}                   what is shown, and optionally "options", "env" and "files" (name -> content)
    {"host": {…}}                    a command; {"host_raw": "…"} a line as it is
    {"agent": {…}}                   the next event; {"agent_any_order": [{…}, …]} the next ones, in any order
    {"exit": 0}                      the host closes stdin, the agent says nothing more and ends with this status
    {"again": ["--resume", "x"]}     another process in the same place, with these options

In an expectation, "*" is any value, "~TEXT" a string that contains TEXT, "$name" any value that is then known by this
name, in expectations and in commands alike; and `"...": true` in an object allows further fields. Everything else is
equal or the test fails.
"""

import json
from pathlib import Path
from typing import Any

from tests.agent.agent_process import AgentProcess

FOLDER = Path(__file__).parent / "transcripts"


def play(path: Path, workspace: Path) -> None:
    """Play a transcript against a real process; AssertionError names its line."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    head = lines[0]
    for name, content in head.get("files", {}).items():
        (workspace / name).write_text(content)
    known: dict[str, Any] = {"workspace": str(workspace)}
    options, env = [str(_filled(option, known)) for option in head.get("options", [])], head.get("env", {})
    offline = head.get("offline", True)
    agent = AgentProcess(workspace, *options, env=env, offline=offline)
    try:
        for number, line in enumerate(lines[1:], 2):
            if "again" in line:
                agent.__exit__()
                agent = AgentProcess(workspace, *line["again"], env=env, offline=offline)
            else:
                _step(agent, line, known, f"{path.name}:{number}")
    finally:
        agent.__exit__()


def _step(agent: AgentProcess, line: dict[str, Any], known: dict[str, Any], where: str) -> None:
    match line:
        case {"host": command}:
            agent.send(_filled(command, known))
        case {"host_raw": text}:
            agent.raw(text.encode() + b"\n")
        case {"agent": expected}:
            event = agent.next()
            assert _matches(expected, event, known), f"{where}: expected {expected}, got {event}"
        case {"agent_any_order": several}:
            events = [agent.next() for _ in several]
            for expected in several:
                found = next((event for event in events if _matches(expected, event, known)), None)
                assert found is not None, f"{where}: expected {expected} among {events}"
                events.remove(found)
        case {"exit": status}:
            before = len(agent.events)
            ended = agent.end()
            assert agent.events[before:] == [], where
            assert ended == status, f"{where}: {ended}, {agent.stderr.decode()[-1000:]}"
        case _:
            raise AssertionError(f"{where}: a transcript has no such line")


def _filled(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith("$"):
            return known[value[1:]]
        return value.replace("{workspace}", known["workspace"])
    if isinstance(value, dict):
        return {name: _filled(item, known) for name, item in value.items()}
    return [_filled(item, known) for item in value] if isinstance(value, list) else value


def _matches(expected: Any, got: Any, known: dict[str, Any]) -> bool:
    match expected:
        case "*":
            return True
        case str() if expected.startswith("~"):
            return isinstance(got, str) and _filled(expected[1:], known) in got
        case str() if expected.startswith("$"):
            return bool(known.setdefault(expected[1:], got) == got)
        case str():
            return bool(_filled(expected, known) == got)
        case dict():
            if not isinstance(got, dict):
                return False
            names = set(expected) - {"..."}
            return (
                names <= set(got)
                and ("..." in expected or names == set(got))
                and all(_matches(expected[name], got[name], known) for name in names)
            )
        case list():
            return (
                isinstance(got, list)
                and len(expected) == len(got)
                and all(_matches(one, other, known) for one, other in zip(expected, got, strict=True))
            )
    return bool(expected == got)
