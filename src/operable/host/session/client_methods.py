"""What the host does for an agent that asks it to: read and write files of the workspace, run commands.

Served only when the opening granted it, and only inside the workspace: a path is resolved first and then walked folder by
folder without following links, so that a link that appears in between is not followed. Writes and commands pass the gate:
what the rules allow, or what was allowed when the agent asked in this turn, or what the queue now allows. Commands run
confined as the agent is (`confine`); their output is bounded; they are killed when the turn ends, in whichever way, or the
session does, because agents were seen to leave them running.

What is read or printed goes back to the agent as it is: the agent has the same files and variables itself. Values that
the agent has as placeholders only (`withheld`) are masked.
"""

import asyncio
import functools
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from operable.gate.approvals import ApprovalQueue, Ask
from operable.gate.audit.chain import UNRECORDED, OpenRecord
from operable.gate.policy.agent_path import ANYWHERE
from operable.gate.policy.shell.command_context import with_variables
from operable.host.arm import ClientCall
from operable.host.policy.gate import UNJUDGED, Gate
from operable.host.session.terminals import ClientTerminal
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.proc.command import PreparedCommand
from operable.state.real_file import replace_file

# A file that a model is to read is text; what is larger than this does not fit its context anyway.
READ_LIMIT = 16 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of a variable, for a shell
TERMINAL_LIMIT = 16  # at a time
OUTPUT_LIMIT = 1024 * 1024

# JSON-RPC codes: -32602 and -32603 are the protocol's own, -32002 is ACP's for a missing resource, -32001 is ours.
INVALID, INTERNAL, NOT_FOUND, DENIED, UNKNOWN = -32602, -32603, -32002, -32001, -32601

Confine = Callable[[tuple[str, ...], Mapping[str, str], str], PreparedCommand]
Reply = tuple[Any, dict[str, Any] | None]


class _RefusedError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class ClientMethods:
    """The host's side of fs/* and terminal/* for one session."""

    def __init__(
        self,
        gate: Gate,
        *,
        fs_read: bool = False,
        fs_write: bool = False,
        confine: Confine | None = None,
        withheld: Known | None = None,
        missing_is_empty: bool = False,
    ) -> None:
        self._gate = gate
        self._root = os.path.realpath(gate.workspace)
        self._granted = {
            "fs/read_text_file": fs_read,
            "fs/write_text_file": fs_write,
            **{f"terminal/{verb}": confine is not None for verb in _VERBS},
        }
        self._confine = confine
        self._withheld = Known() if withheld is None else withheld
        self._missing_is_empty = (
            missing_is_empty  # a quirk: some agents cannot create a file that reads as an error
        )
        self._terminals: dict[str, ClientTerminal] = {}
        self._made = 0
        self._waiting: dict[str, asyncio.Event] = {}

    @property
    def busy(self) -> bool:
        """Whether the agent waits for a command of ours."""
        return bool(self._waiting)

    async def serve(self, call: ClientCall, approvals: ApprovalQueue) -> Reply:
        """Do it; (result, None) or (None, JSON-RPC error)."""
        if not self._granted.get(call.method, False):
            return None, {"code": UNKNOWN, "message": f"{call.method} is not granted"}
        try:
            match call.method:
                case "fs/read_text_file":
                    return await self._read(call.params, approvals), None
                case "fs/write_text_file":
                    return await self._write(call.params, approvals), None
                case "terminal/create":
                    return await self._create(call.params, approvals), None
                case "terminal/wait_for_exit":
                    return await self._wait(call), None
                case method:
                    return self._terminal(call.params, method.partition("/")[2]), None
        except _RefusedError as refused:
            return None, refused.error
        except ValueError:
            # A NUL, or another character that no name of a file has.
            return None, {"code": INVALID, "message": f"{call.method} has a character that cannot be used"}
        except (OSError, Fail) as error:
            if isinstance(error, Fail) and error.code in {*UNRECORDED, UNJUDGED}:
                raise
            text = error.message if isinstance(error, Fail) else error.strerror or "failed"
            return None, {"code": INTERNAL, "message": text}

    def withdraw(self, call_id: str) -> None:
        """The agent no longer waits; real ones leave the command running then, so it is ended."""
        waiting = self._waiting.get(call_id)
        if waiting is not None:
            waiting.set()

    def abandon(self) -> None:
        """Kill all commands, without waiting."""
        for terminal in self._terminals.values():
            terminal.kill()

    async def close(self) -> None:
        self.abandon()
        for terminal in list(self._terminals.values()):
            await terminal.wait()
        self._terminals.clear()
        with suppress(Fail):  # the session is over; an end that cannot be recorded counts as lost
            self._gate.record.flush()

    # --- files

    async def _read(self, params: Mapping[str, Any], approvals: ApprovalQueue) -> dict[str, Any]:
        path = self._inside(params.get("path"), "fs/read_text_file")
        ruled = self._gate.rule_reading("fs/read_text_file", self._names(path, params["path"]))
        if isinstance(ruled, Ask):
            ruled = await approvals.ask(ruled)
        if not ruled.allowed:
            raise self._denied("fs/read_text_file", path, ruled.reason)
        try:
            fd = _open_beneath(self._root, path, os.O_RDONLY)
        except FileNotFoundError:
            if self._missing_is_empty:
                return {"content": ""}
            raise _RefusedError(NOT_FOUND, f"there is no file {path}") from None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise _RefusedError(INVALID, f"{path} is not a regular file")
            data = file.read(READ_LIMIT + 1)
        if len(data) > READ_LIMIT:
            raise _RefusedError(INVALID, f"{path} is larger than {READ_LIMIT} bytes")
        text = self._withheld.text(data.decode("utf-8", "replace"))
        return {"content": _window(text, params)}

    async def _write(self, params: Mapping[str, Any], approvals: ApprovalQueue) -> dict[str, Any]:
        path, content = self._inside(params.get("path"), "fs/write_text_file"), params.get("content")
        if not isinstance(content, str):
            raise _RefusedError(INVALID, "content is a string")
        names = self._names(path, params["path"])
        begun = await self._permit(
            "fs/write_text_file", "edit", names, approvals, content, functools.partial(self._content_of, path)
        )
        with self._recorded(begun, "fs/write_text_file"):
            _require_writable(self._root, path)
            replace_file(os.path.join(self._root, path), content.encode("utf-8", "surrogatepass"))
        self._gate.record.end_own(begun, "fs/write_text_file", characters=len(content))
        return {}

    def _content_of(self, path: str) -> str:
        """What a file has now; empty: it is not there, or not a text that could be compared."""
        try:
            with os.fdopen(_open_beneath(self._root, path, os.O_RDONLY), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return ""
                return file.read(READ_LIMIT).decode("utf-8", "replace")
        except OSError:
            return ""

    def _inside(self, path: Any, method: str) -> str:
        """The path relative to the workspace, links resolved."""
        if not isinstance(path, str) or not path or "\0" in path:
            raise _RefusedError(INVALID, "path is a string")
        paths = self._gate.agent_paths()
        path = paths.on_host(path)
        real = paths.real(self._literal(path))
        if real == ANYWHERE:
            raise self._denied(method, path, f"{path} leads elsewhere in each process, or cannot be resolved")
        if real == "." or real.startswith("/"):
            raise self._denied(method, path, f"{path} is outside the workspace")
        return real

    def _names(self, path: str, given: str) -> dict[str, str]:
        """The file by both of its names: what is touched, and what the agent called it where that leads through a link.

        A rule about either applies. The real name was resolved once: a link that changes meanwhile changes nothing.
        """
        called = os.path.normpath(os.path.join(self._root, self._gate.agent_paths().on_host(given)))
        called = called.removeprefix(self._root.rstrip("/") + "/")
        names = {"path": self._literal(path)}
        return names if called == path else names | {"filepath": self._literal(called)}

    def _literal(self, path: str) -> str:
        """As rules and people see it. A path that would be read as something else (`~x`) is said in full."""
        return f"./{path}" if path.startswith("~") or path[:5].lower() == "file:" else path

    def _denied(self, method: str, path: str, reason: str) -> "_RefusedError":
        """What was tried and may not be done is in the audit chain, like every other decision."""
        self._gate.record.note("agent.decision", reason, tool=method, arguments={"path": path}, allowed=False)
        return _RefusedError(DENIED, reason)

    # --- commands

    async def _create(self, params: Mapping[str, Any], approvals: ApprovalQueue) -> dict[str, Any]:
        argv, shown = _argv(params)
        env = _variables(params.get("env"))
        shown = with_variables(shown, env)
        cwd = self._root if not params.get("cwd") else os.path.join(self._root, self._folder(params["cwd"]))
        where = {} if cwd == self._root else {"cwd": cwd}
        begun = await self._permit("terminal/create", "execute", {"command": shown, **where}, approvals)
        limit = params.get("outputByteLimit")
        size = min(limit, OUTPUT_LIMIT) if isinstance(limit, int) and limit > 0 else OUTPUT_LIMIT
        if self._confine is None:  # cannot be: the method would not have been granted
            raise _RefusedError(UNKNOWN, "commands are not granted")
        self._made += 1
        name = f"term-{self._made}"
        with self._recorded(begun, "terminal/create"):
            if sum(not each.ended for each in self._terminals.values()) >= TERMINAL_LIMIT:
                raise _RefusedError(INTERNAL, f"there are {TERMINAL_LIMIT} commands running already")
            self._terminals[name] = ClientTerminal(
                self._confine(argv, env, cwd),
                size,
                withheld=self._withheld,
                on_end=functools.partial(self._terminal_ended, begun),
            )
        return {"terminalId": name}

    def _terminal_ended(self, begun: OpenRecord, terminal: ClientTerminal) -> None:
        self._gate.record.end_own(begun, "terminal/create", later=True, **(terminal.exit_status() or {}))

    def _folder(self, cwd: Any) -> str:
        if not isinstance(cwd, str) or "\0" in cwd:
            raise _RefusedError(INVALID, "cwd is a string")
        paths = self._gate.agent_paths()
        real = paths.real(self._literal(paths.on_host(cwd)))
        return "" if real == "." else self._inside(cwd, "terminal/create")

    async def _wait(self, call: ClientCall) -> dict[str, Any]:
        terminal = self._known(call.params)
        withdrawn = self._waiting[call.call_id] = asyncio.Event()
        ended = asyncio.ensure_future(terminal.wait())
        given_up = asyncio.ensure_future(withdrawn.wait())
        try:
            await asyncio.wait((ended, given_up), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.pop(call.call_id, None)
            for waiting in (ended, given_up):
                waiting.cancel()
        if withdrawn.is_set() and not terminal.ended:
            terminal.kill()
            await terminal.wait()
        return terminal.exit_status() or {}

    def _terminal(self, params: Mapping[str, Any], verb: str) -> dict[str, Any]:
        terminal = self._known(params)
        if verb == "output":
            return terminal.output()
        terminal.kill()
        if verb == "release":
            del self._terminals[str(params["terminalId"])]
        return {}

    def _known(self, params: Mapping[str, Any]) -> ClientTerminal:
        terminal = self._terminals.get(str(params.get("terminalId")))
        if terminal is None:
            raise _RefusedError(NOT_FOUND, "there is no such terminal")
        return terminal

    async def _permit(
        self,
        tool: str,
        kind: str,
        arguments: Mapping[str, Any],
        approvals: ApprovalQueue,
        content: str | None = None,
        before: Callable[[], str] = str,
    ) -> OpenRecord:
        """The record of what may now be done; it is on disk."""
        found = self._gate.rule_own(tool, kind, arguments, content, before)
        if isinstance(found, Ask):
            found = await approvals.ask(found)
        if not found.allowed:
            self._gate.record.note(
                "agent.decision", found.reason, tool=tool, arguments=dict(arguments), allowed=False
            )
            raise _RefusedError(DENIED, f"denied: {found.reason}")
        return self._gate.record.begin_own(tool, arguments, found)

    @contextmanager
    def _recorded(self, begun: OpenRecord, tool: str) -> Iterator[None]:
        """What could not be done is the end of it."""
        try:
            yield
        except (OSError, Fail, _RefusedError) as error:
            self._gate.record.end_own(begun, tool, error=str(error))
            raise


_VERBS = ("create", "output", "wait_for_exit", "kill", "release")


def _open_beneath(root: str, path: str, flags: int) -> int:
    """Open a file below a folder without following any link on the way."""
    *folders, name = path.split("/")
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        # Non-blocking: opening a FIFO must not hang the host.
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)


def _require_writable(root: str, path: str) -> None:
    """What is there must be a file that may be written: replacing it would need the rights of its folder only."""
    try:
        fd = _open_beneath(root, path, os.O_WRONLY)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _RefusedError(INVALID, f"{path} is not a regular file")
    finally:
        os.close(fd)


def _window(text: str, params: Mapping[str, Any]) -> str:
    """The lines that were asked for: `line` is the first (from 1), `limit` how many."""
    line, limit = params.get("line"), params.get("limit")
    if not isinstance(line, int) and not isinstance(limit, int):
        return text
    lines = text.splitlines(keepends=True)
    first = max(0, line - 1) if isinstance(line, int) else 0
    return "".join(lines[first : first + limit] if isinstance(limit, int) and limit >= 0 else lines[first:])


def _variables(given: Any) -> dict[str, str]:
    """The variables of a command; a name that a shell would read as something else is refused, since a line is judged."""
    entries = [] if given is None else given
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _RefusedError(INVALID, "env is a list of objects with a name and a value")
    env = {}
    for entry in entries:
        name, value = entry.get("name"), str(entry.get("value", ""))
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _RefusedError(INVALID, "the name of a variable has letters, digits and _ only")
        if "\0" in value:
            raise _RefusedError(INVALID, f"the value of {name} has a NUL character")
        env[name] = value
    return env


def _argv(params: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """The words to run, and the line to show and to judge. A line instead of a program is given to the shell."""
    from shlex import join

    command, words = params.get("command"), params.get("args") or []
    if not isinstance(command, str) or not command or not all(isinstance(word, str) for word in words):
        raise _RefusedError(INVALID, "command is a string, args are strings")
    if any("\0" in word for word in (command, *words)):
        raise _RefusedError(INVALID, "command or args have a NUL character")
    if not words and shutil.which(command) is None:
        return ("/bin/sh", "-c", command), command
    from operable.gate.policy.shell.command_line import is_system_shell

    # A bare name is looked up on the host, here and once: what is judged is what runs, whatever is in the workspace.
    program = (shutil.which(command) or command) if is_system_shell(command) else command
    argv = (program, *words)
    is_script = is_system_shell(program) and len(argv) == 3 and argv[1] in ("-c", "-lc")
    return argv, argv[2] if is_script else join(argv)
