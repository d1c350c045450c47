"""Ask a program what it is, and draft a manifest from its answers: version, then the protocols that agents speak.

Theory of operation. Each question is one start of the program, with arguments that agents are known to take (or the given
ones), bounded in time and ended with everything that it started. ACP and MCP servers answer an `initialize`; a JSON-stream
agent says `ready` by itself. The first answer that is one decides. What runs is unknown, so it runs confined: no network,
an empty home and workspace, its own folders read-only. If that is not available, nothing is run, unless the caller says so.

A draft is a beginning: what a program does not say (how it is installed, what it needs, whether it asks) is in its notes.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from operable.host.importer import AgentCommand, AgentDraft, draft
from operable.host.launch.process import run
from operable.host.start.confinement import ConfinedAgent, ConfinementRequest, confine
from operable.host.start.confinement_paths import program_folders
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.manifest.blocks import Mount, SandboxBlock
from operable.proc.child import OPEN, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.run import supervise
from operable.proc.spawn import prepare
from operable.wire.jsonrpc import request as rpc_request
from operable.wire.lines import LineSplitter

# Seconds for one question: opencode and gemini were seen to need seven.
TIMEOUT = 15.0
_LINE_LIMIT = 1024 * 1024
_INSIDE = "/workspace"
_SHOWN = 200
# How agents are known to be asked for a protocol, most common first; () is the bare program.
GUESSES = (("acp",), ("--acp",), ("--experimental-acp",), ("--json-stream",), (), ("mcp",), ("mcp", "serve"))
_VERSION = re.compile(r"(\d+\.\d+\.\d+)")
_CLIENT = {"name": "operable", "version": "0"}
_ACP = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": _CLIENT}
_MCP = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}

Answer = tuple[str, dict[str, Any]]
"""A protocol, and what the program said in it."""


@dataclass(frozen=True, slots=True)
class AgentFinding:
    """What one question brought to light."""

    question: str
    command: tuple[str, ...]
    answered: bool
    detail: str


@dataclass(slots=True)
class AgentProbe:
    """One program that is being asked. `ask` yields findings; then `draft` is the manifest."""

    program: str
    arguments: tuple[tuple[str, ...], ...] = GUESSES
    timeout: float = TIMEOUT
    confined: bool = True
    show: tuple[str, ...] = ()  # more folders that it may read
    draft: AgentDraft | None = None

    def ask(self) -> Iterator[AgentFinding]:
        """Ask until one answer decides. Fail when there is no such program, or no way to confine it."""
        binary = shutil.which(self.program)
        if binary is None:
            raise Fail(
                "not_found", "PROGRAM_NOT_FOUND", f"there is no program {self.program!r}", target=self.program
            )
        workspace = os.path.realpath(tempfile.mkdtemp(prefix="operable-probe-"))
        try:
            with self._place(binary, workspace) as place:
                yield from self._all(os.path.abspath(binary), place, workspace)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)

    def _place(self, binary: str, workspace: str) -> ConfinedAgent:
        provider = "bubblewrap" if self.confined else "local"
        folders = (*program_folders(binary), *map(os.path.abspath, self.show))
        mounts = (Mount(source="workspace", at=_INSIDE),) if self.confined else ()
        block = SandboxBlock(provider=provider, config={}, mounts=mounts)
        try:
            return confine(ConfinementRequest(block, workspace, trusted=True, programs=folders))
        except Fail as problem:
            if problem.code == "SANDBOX_UNAVAILABLE":
                problem.hint = "install bubblewrap, or run it with all your rights: --unconfined"
            raise

    def _all(self, binary: str, place: ConfinedAgent, workspace: str) -> Iterator[AgentFinding]:
        version, finding = self._version(binary, place, workspace)
        yield finding
        found: tuple[Answer, tuple[str, ...]] | None = None
        for arguments in self.arguments:
            for question, request in (("acp", _ACP), ("mcp", _MCP)):
                answer, finding = self._protocol(binary, arguments, question, request, place, workspace)
                yield finding
                if answer is not None and answer[0] != "error":
                    found = (answer, arguments)
                    break
                if answer is None:
                    break  # it does not answer JSON-RPC at all: the other question would not fare better
            if found is not None:
                break
        self.draft = _drafted(binary if "/" in self.program else self.program, version, found)

    def _version(self, binary: str, place: ConfinedAgent, workspace: str) -> tuple[str | None, AgentFinding]:
        words = (binary, "--version")
        try:
            done = run(place.wrap(prepare(words, cwd=workspace)), timeout=self.timeout)
        except Fail as problem:
            return None, AgentFinding("version", words, answered=False, detail=problem.message)
        said = done.text.strip() or done.stderr.strip()
        match = _VERSION.search(said)
        detail = match[1] if match else _brief(said) or f"it ended with {done.status} and said nothing"
        return match[1] if match else None, AgentFinding("version", words, bool(match), detail)

    def _protocol(
        self,
        binary: str,
        arguments: Sequence[str],
        question: str,
        request: dict[str, Any],
        place: ConfinedAgent,
        workspace: str,
    ) -> tuple[Answer | None, AgentFinding]:
        words = (binary, *arguments)
        line = msgspec.json.encode(rpc_request(1, "initialize", request))
        answer, end = converse(
            place.wrap(prepare(words, cwd=workspace)), line + b"\n", recognised, self.timeout
        )
        decided = answer is not None and answer[0] != "error"
        return answer, AgentFinding(question, words, decided, _describe(answer, end, self.timeout))


def converse(
    command: PreparedCommand, line: bytes, judge: Callable[[Any], Answer | None], timeout: float
) -> tuple[Answer | None, ChildEnd]:
    """Start it, say one line, and wait for an answer that the judge takes; then everything is ended."""
    answers: list[Answer] = []
    splitter = LineSplitter(_LINE_LIMIT)

    def read(chunk: bytes) -> None:
        for each in splitter.feed(chunk):
            found = judge(_decoded(each))
            if found is not None:
                answers.append(found)
                supervised.child.kill("answered")
                return

    with supervise(command, on_stdout=read, stdin=OPEN) as supervised:
        if supervised.child.stdin is not None:
            supervised.child.stdin.write(line)
        supervised.reactor.call_later(timeout, lambda: supervised.child.kill("deadline"))
        end = supervised.wait()
    return (answers[0] if answers else None), end


def recognised(message: Any) -> Answer | None:
    """Which protocol a line belongs to; `error` for a JSON-RPC error. None if it belongs to none."""
    if not isinstance(message, dict):
        return None
    if message.get("type") == "ready":
        return "json-stream", message
    if message.get("jsonrpc") != "2.0" or message.get("id") != 1:
        return None
    result = message.get("result")
    if not isinstance(result, dict):
        return "error", message
    if isinstance(result.get("protocolVersion"), int):
        return "acp", result
    if isinstance(result.get("protocolVersion"), str):
        return "mcp", result
    return "error", message


def _drafted(
    program: str, version: str | None, found: tuple[Answer, tuple[str, ...]] | None
) -> AgentDraft | None:
    if found is None:
        return None
    (protocol, said), arguments = found
    name = os.path.basename(program)
    notes = ("Made by asking the program; whether it asks before it acts, and what it needs, was not tried.",)
    about = f"{name}, which speaks {protocol}."
    made = draft(AgentCommand(name, program, arguments, description=about, notes=notes))
    manifest = dict(made.manifest)
    if version is not None:
        manifest["version_check"] = {**manifest["version_check"], "range": f">={version}"}
    manifest["tags"] = [protocol, "probed"]
    if protocol == "acp":
        return _acp(made, manifest, said)
    del manifest["acp"]
    if protocol == "mcp":
        manifest |= {
            "protocol": "mcp",
            "mcp": {"transport": "stdio", "command": program, "args": list(arguments)},
        }
        manifest["capabilities"] = {"tool_calls": True}
    else:
        manifest |= {"protocol": "proprietary", "adapter": "operable/json-stream"}
    return replace(made, manifest=manifest, profile=None)


def _acp(made: AgentDraft, manifest: dict[str, Any], said: dict[str, Any]) -> AgentDraft:
    offered = said.get("agentCapabilities")
    agent = offered if isinstance(offered, dict) else {}
    prompts = agent.get("promptCapabilities")
    images = isinstance(prompts, dict) and prompts.get("image") is True
    capabilities: dict[str, Any] = {
        "loadSession": agent.get("loadSession") is True,
        "promptCapabilities": {"image": images},
    }
    manifest["capabilities"] = {
        **manifest["capabilities"],
        "resumable": capabilities["loadSession"],
        "multimodal": images,
    }
    profile = dict(made.profile or {})
    aip44 = profile["metadata"]["aip44"]
    profile["metadata"] = {"aip44": {**aip44, "capabilities": {"agent": capabilities}}}
    return replace(made, manifest=manifest, profile=profile)


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _describe(answer: Answer | None, end: ChildEnd, timeout: float) -> str:
    if answer is not None:
        protocol, said = answer
        if protocol == "error":
            error = said.get("error")
            return _brief(
                str(error.get("message", "it said no")) if isinstance(error, dict) else "it said no"
            )
        about = said.get("agentInfo") or said.get("serverInfo") or said
        named = [about.get(key) for key in ("name", "version")] if isinstance(about, dict) else []
        return " ".join([protocol, *(str(word) for word in named if isinstance(word, str))])
    if end.cause == "deadline":
        return f"no answer within {timeout:g} s"
    return _brief(end.stderr.text().strip()) or f"it ended with {end.status}"


def _brief(text: str) -> str:
    return redact_text(" ".join(text.split()))[:_SHOWN]
