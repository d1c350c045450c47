"""The conversations of agents that run one process per turn, for the recorder."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.agents.record import Studio

THOUGHTFUL = [{"think": "Let me think.", "chunks": 2}, {"say": "Hello there, world.", "chunks": 4}]


def _take(studio: "Studio", scenario: str, argv: list[str]) -> list[Any]:
    """Run to the end; what was said, parsed."""
    with studio.take(scenario, argv, stdin=False) as wire:
        return list(iter(lambda: wire.until(lambda _: True), None))


def codex_exec(studio: "Studio") -> None:
    from tests.agents.record import script

    argv = ["codex", "exec", "--json", "--skip-git-repo-check"]
    seen = _take(studio, "text", [*argv, script(THOUGHTFUL)])
    thread_id = next(message["thread_id"] for message in seen if message["type"] == "thread.started")
    call = {"call": "shell", "args": {"command": "echo hello"}}
    _take(studio, "shell-refused", [*argv, script([call], [{"say": "It was refused."}])])
    open_ = [*argv, "--dangerously-bypass-approvals-and-sandbox"]
    _take(studio, "shell", [*open_, script([call], [{"say": "Ran."}])])
    _take(studio, "write", [*open_, studio.write("made.txt", "Written.")])
    _take(studio, "resumed", [*argv, "resume", thread_id, script([{"say": "I remember."}])])
    _take(studio, "model-error", [*argv, script([{"status": 400, "message": "scripted bad request"}])])


def gemini(studio: "Studio") -> None:
    from tests.agents.record import script

    argv = ["gemini", "--output-format", "stream-json", "-p"]
    _take(studio, "text", [*argv, script(THOUGHTFUL)])
    _take(studio, "resumed", ["gemini", "--resume", "latest", *argv[1:], script([{"say": "I remember."}])])
    _take(
        studio,
        "write",
        ["gemini", "--approval-mode", "yolo", *argv[1:], studio.write("made.txt", "Written.")],
    )
    _take(studio, "model-error", [*argv, script([{"status": 400, "message": "scripted bad request"}])])


def opencode(studio: "Studio") -> None:
    from tests.agents.record import script

    argv = ["opencode", "run", "--format", "json", "--thinking"]
    seen = _take(studio, "text", [*argv, script(THOUGHTFUL)])
    _take(studio, "resumed", [*argv, "--session", seen[0]["sessionID"], script([{"say": "I remember."}])])
    _take(studio, "write-refused", [*argv, studio.write("made.txt", "Written.")])
    call = {"call": "read", "args": {"path": str(studio.home / ".config" / "opencode" / "opencode.json")}}
    _take(studio, "read", [*argv, script([call], [{"say": "Read."}])])
    _take(studio, "model-error", [*argv, script([{"status": 400, "message": "scripted bad request"}])])
