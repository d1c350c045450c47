"""The agent's end of JSON-stream: commands in on stdin, events out on stdout, one conversation per process.

The main thread reads commands and answers those that need no model; a message starts a run in a thread of its own.
Nothing that a host sends ends the conversation: a line that is no command is a `protocol_error`, and the next line is
read. It ends when stdin does, on SIGTERM, or when nobody reads stdout any more; a run that is under way is then
stopped and the session saved.
"""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from operable.agent import attachments
from operable.agent.approvals import MODES
from operable.agent.conversation import Conversation
from operable.agent.history import Text, Turn
from operable.agent.mcp_tools import McpServers
from operable.agent.run import Run
from operable.kernel.errors import EX_SIGPIPE
from operable.wire import json_stream as protocol
from operable.wire.frames import LineSplitter, LineTooLong

LINE_LIMIT = 32 * 1024 * 1024  # a message with an image in it is long; more than this belongs in a file
_CHUNK = 1 << 16


class _TerminatedError(Exception):
    """SIGTERM or SIGINT arrived while a command was awaited."""


class StreamServer:
    """Serves one conversation until its host is gone."""

    def __init__(
        self, conversation: Conversation, *, stdin: int, stdout: int, close: Callable[[], None]
    ) -> None:
        self._conversation = conversation
        self._stdin, self._stdout = stdin, stdout
        self._close = close
        self._writing = threading.Lock()
        self._reader_gone = threading.Event()
        self._run: Run | None = None
        self._run_thread: threading.Thread | None = None
        self._started = False  # the first message was seen
        self._queued: list[protocol.SetConfig] = []
        self._mcp = McpServers(conversation, self._emit)

    def serve(self) -> int:
        """The exit status of the process."""
        signal.signal(signal.SIGTERM, _terminate)
        signal.signal(signal.SIGINT, _terminate)
        try:
            self._read()
        except _TerminatedError:
            pass  # what follows is the same for every way of leaving
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if self._run is not None:
                self._run.stop()
            self._mcp.close()
            self._conversation.save()
            self._close()
        return EX_SIGPIPE if self._reader_gone.is_set() else 0

    def _read(self) -> None:
        lines = LineSplitter(LINE_LIMIT)
        while not self._reader_gone.is_set():
            chunk = os.read(self._stdin, _CHUNK)
            for line in lines.feed(chunk):
                if line.strip():
                    self._obey(line)
            if lines.error is not None:
                # What follows an over-long line cannot be told from its middle: the splitter starts again after it.
                self._protocol_error(str(lines.error))
                lines = self._skip_line(lines.error)
            if not chunk:
                rest = lines.eof()
                if rest and rest.strip():
                    self._obey(rest)
                return

    def _skip_line(self, _error: LineTooLong) -> LineSplitter:
        while chunk := os.read(self._stdin, _CHUNK):
            _, found, rest = chunk.partition(b"\n")
            if found:
                lines = LineSplitter(LINE_LIMIT)
                for line in lines.feed(rest):
                    if line.strip():
                        self._obey(line)
                return lines
        return LineSplitter(LINE_LIMIT)

    def _obey(self, line: bytes) -> None:
        try:
            command = protocol.decode_command(line)
        except protocol.BadFrame as problem:
            self._protocol_error(_explained(problem))
            return
        match command:
            case protocol.Message():
                self._message(command)
            case protocol.Stop():
                self._stop()
            case protocol.ToolApprove(call_id=call_id, scope=scope):
                self._approve(call_id, scope)
            case protocol.ToolDeny(call_id=call_id, reason=reason):
                self._deny(call_id, reason)
            case protocol.InitHistory(text=text):
                self._init_history(text)
            case protocol.SetMode(mode=mode):
                self._set_mode(mode)
            case protocol.SetConfig():
                self._set_config(command)
            case protocol.AddMcpServer():
                self._add_mcp_server(command)
            case protocol.Ping():
                self._emit(protocol.Pong())
            case protocol.Unknown(type=name):
                self._protocol_error(f"Unknown command type: {name}")

    def _busy(self) -> bool:
        return self._run is not None and not self._run.over

    def _message(self, message: protocol.Message) -> None:
        if self._busy():
            self._protocol_error("A message is being answered; send `stop` first, or wait.", message.msg_id)
            return
        if self._run_thread is not None:
            self._run_thread.join(timeout=5)  # it has emitted its end and is only saving
        self._started = True
        self._apply_queued()
        run = Run(self._conversation, message.msg_id, self._emit)
        self._run = run
        self._run_thread = threading.Thread(target=self._work, args=(run, message), daemon=True, name="run")
        self._run_thread.start()

    def _work(self, run: Run, message: protocol.Message) -> None:
        self._mcp.settle(run.cancellation)
        images = self._conversation.tuning.image_input == "supported"
        run.work(attachments.blocks(message.text, message.files, images=images))
        self._apply_queued()

    def _stop(self) -> None:
        if self._run is not None and not self._run.over:
            self._run.stop()
        else:
            self._emit(protocol.Info(message="Nothing is running."))

    def _deny(self, call_id: str, reason: str) -> None:
        if not self._conversation.desk.deny(call_id, reason):
            self._protocol_error(f"No tool request waits under call_id {call_id!r}.")

    def _approve(self, call_id: str, scope: str) -> None:
        if scope not in protocol.SCOPES:
            self._protocol_error(f"scope is one of {', '.join(protocol.SCOPES)}, not {scope!r}.")
        elif not self._conversation.desk.approve(call_id, scope):
            self._protocol_error(f"No tool request waits under call_id {call_id!r}.")

    def _init_history(self, text: str) -> None:
        if self._started:
            self._protocol_error("init_history is only allowed before the first message.")
            return
        self._conversation.add(Turn("user", (Text(f"[history]\n{text}"),)))

    def _set_mode(self, mode: str) -> None:
        if mode not in MODES:
            self._protocol_error(f"mode is one of {', '.join(MODES)}, not {mode!r}.")
            return
        self._conversation.desk.permissions.mode = mode
        self._emit(protocol.Info(message=f"mode updated: {mode}"))
        self._emit(protocol.ConfigChanged(capabilities=self.capabilities()))

    def _set_config(self, config: protocol.SetConfig) -> None:
        problem = self._conversation.config_problem(config)
        if problem is not None:
            self._protocol_error(problem)
        elif self._busy():
            self._queued.append(config)
            self._emit(protocol.Info(message="set_config: queued, will apply after current response"))
        else:
            self._apply(config, "config updated")

    def _apply_queued(self) -> None:
        while self._queued:
            self._apply(self._queued.pop(0), "config applied")

    def _apply(self, config: protocol.SetConfig, word: str) -> None:
        changed = self._conversation.configure(config)
        note = f"{word}: {', '.join(changed)}" if changed else "set_config: no changes"
        self._emit(protocol.Info(message=note))
        self._emit(protocol.ConfigChanged(capabilities=self.capabilities()))

    def _add_mcp_server(self, server: protocol.AddMcpServer) -> None:
        if self._started:
            self._protocol_error(
                f"AddMcpServer '{server.name}': rejected — only allowed before first Message"
            )
        else:
            self._mcp.add(server)

    def capabilities(self) -> protocol.Capabilities:
        conversation = self._conversation
        levels = conversation.provider.effort_levels
        return protocol.Capabilities(
            tool_approval=True,
            thinking=conversation.provider.thinking,
            mcp=True,
            image_input=conversation.tuning.image_input,
            effort=bool(levels),
            effort_levels=levels,
            modes=MODES,
            current_mode=conversation.desk.permissions.mode,
        )

    def _protocol_error(self, message: str, msg_id: str | None = None) -> None:
        problem = protocol.Problem(code="protocol_error", message=message, retryable=False)
        self._emit(protocol.Error(msg_id=msg_id, error=problem))

    def _emit(self, event: protocol.Event) -> None:
        line = memoryview(protocol.encode(event))
        with self._writing:
            try:
                while line and not self._reader_gone.is_set():
                    line = line[os.write(self._stdout, line) :]
            except OSError:
                self._reader_gone.set()
                signal.raise_signal(signal.SIGTERM)  # wakes the main thread out of its read


def _terminate(_number: int, _frame: FrameType | None) -> Any:
    raise _TerminatedError


def _explained(problem: protocol.BadFrame) -> str:
    match problem.code:
        case "not_json":
            return f"Malformed JSON: {problem.detail}"
        case "not_an_object":
            return "A command is a JSON object."
        case "no_type":
            return "A command has a type."
    return f"Invalid {problem.type} command: {problem.detail}"
