"""The agent's end of JSON-stream: commands in on stdin, events out on stdout, one conversation per process.

The main thread reads commands and answers those that need no model; a message starts a run in a thread of its own.
Nothing that a host sends ends the conversation: a line that is not a command is a `protocol_error`, and the next line is
read. It ends when stdin does, on SIGTERM, or when the host no longer reads stdout; a run that is under way is then
stopped and the session saved.
"""

import logging
import signal
import threading
from collections.abc import Callable

from operable.agent.loop.run import AgentRun
from operable.agent.session import history
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import Block, HistoryTurn, TextBlock
from operable.agent.standard_streams import CommandLines, LineOutlet
from operable.agent.tool.mcp import McpServers
from operable.agent.tool.permissions import MODES
from operable.kernel.errors import EX_IOERR, EX_SIGPIPE, Fail
from operable.kernel.redact import redact_text
from operable.wire import json_stream as protocol
from operable.wire.lines import LineTooLong

_LOG = logging.getLogger(__name__)
_LEAVING = 2.0  # seconds; for a run that was stopped to release its session


class StreamServer:
    """Serves one conversation until its host is gone."""

    def __init__(
        self, conversation: SessionConversation, *, stdin: int, stdout: int, close: Callable[[], None]
    ) -> None:
        self._conversation = conversation
        self._lines = CommandLines(stdin)
        self._outlet = LineOutlet(stdout, self._lines.end)
        self._close = close
        self._run: AgentRun | None = None
        self._thread: threading.Thread | None = None
        self._started = False  # the first message was seen
        self._applying = threading.Lock()
        self._queued: list[protocol.SetConfigFrame] = []
        self._mcp = McpServers(conversation.toolbox, self._emit, conversation.workspace, conversation.known)
        self._mcp.taken = frozenset(conversation.project.servers)

    def serve(self) -> int:
        """Until the end; the exit status of the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end())
        # The kernel may give a signal to any thread; Python's handler runs in this one, which must wake up for it.
        signal.set_wakeup_fd(self._lines.wake, warn_on_full_buffer=False)
        session = self._conversation.session
        _LOG.info("serving %s, model %s", self._conversation.provider.name, self._conversation.tuning.model)
        threading.Thread(target=session.prepare, daemon=True, name="prepare").start()
        try:
            for line in self._lines:
                self.obey(line)
        finally:
            status = self._leave()
        return status

    def obey(self, line: bytes | LineTooLong) -> None:
        """One line of the host."""
        if isinstance(line, LineTooLong):
            self._protocol_error(f"A command has at most {line.limit} bytes; this one was ignored.")
            return
        try:
            command = protocol.decode_command(line)
        except protocol.BadFrame as problem:
            self._protocol_error(_explained(problem), problem.msg_id)
        else:
            self._do(command)

    def _do(self, command: protocol.Command | protocol.UnknownFrame) -> None:
        match command:
            case protocol.MessageFrame():
                self._message(command)
            case protocol.StopFrame():
                self._stop()
            case protocol.ToolApproveFrame(call_id=call_id, scope=scope):
                self._approve(call_id, scope)
            case protocol.ToolDenyFrame(call_id=call_id, reason=reason):
                self._answered(call_id, found=self._conversation.desk.deny(call_id, reason))
            case protocol.InitHistoryFrame(text=text):
                self._init_history(text)
            case protocol.SetModeFrame(mode=mode):
                self._set_mode(mode)
            case protocol.SetConfigFrame():
                self._set_config(command)
            case protocol.AddMcpServerFrame():
                self._add_mcp_server(command)
            case protocol.PingFrame():
                self._emit(protocol.PongFrame())
            case protocol.UnknownFrame(type=name):
                self._protocol_error(f"Unknown command type: {name[:200]}")

    def _end(self) -> None:
        self._outlet.hurry()
        self._lines.end()

    def _leave(self) -> int:
        """What is the same for every way of leaving."""
        self._outlet.hurry()
        if self._run is not None:
            self._run.stop()
        if self._thread is not None:
            self._thread.join(_LEAVING)
        self._mcp.close()
        try:
            self._close()
        except OSError as error:
            _LOG.error("the session could not be saved: %s", error.strerror)
            return EX_IOERR
        return EX_SIGPIPE if self._outlet.gone else 0

    def _busy(self) -> bool:
        return self._run is not None and not self._run.over

    def _message(self, message: protocol.MessageFrame) -> None:
        if self._busy():
            self._protocol_error("A message is being answered; send `stop` first, or wait.", message.msg_id)
            return
        self._started = True
        run, before = AgentRun(self._conversation, message.msg_id, self._emit), self._thread
        self._run = run
        self._thread = threading.Thread(
            target=self._work, args=(run, message, before), daemon=True, name="run"
        )
        self._thread.start()

    def _work(self, run: AgentRun, message: protocol.MessageFrame, before: threading.Thread | None) -> None:
        def blocks() -> list[Block]:
            if before is not None:
                before.join()  # it has emitted its end, and is about to release the conversation
            self._mcp.settle(run.cancellation)
            conversation = self._conversation
            images = conversation.tuning.image_input == "supported"
            for path in history.missing_files(message.files, conversation.workspace):
                note = f"The attached file does not exist: {path[:300]}"
                self._emit(protocol.InfoFrame(msg_id=message.msg_id, message=note))
            return history.blocks(message.text, message.files, conversation.workspace, images=images)

        run.work(blocks, at_end=self._apply_queued)

    def _stop(self) -> None:
        if self._run is not None and not self._run.over:
            self._run.stop()
        else:
            self._emit(protocol.InfoFrame(message="Nothing is running."))

    def _approve(self, call_id: str, scope: str) -> None:
        if scope not in protocol.SCOPES:
            self._protocol_error(f"scope is one of {', '.join(protocol.SCOPES)}, not {scope[:200]!r}.")
        else:
            self._answered(call_id, found=self._conversation.desk.approve(call_id, scope))

    def _answered(self, call_id: str, *, found: bool) -> None:
        if not found:
            self._protocol_error(f"No tool request waits under call_id {call_id[:200]!r}.")

    def _init_history(self, text: str) -> None:
        if self._started:
            self._protocol_error("init_history is only allowed before the first message.")
        else:
            self._conversation.add(HistoryTurn("user", (TextBlock(f"[history]\n{text}"),)))

    def _set_mode(self, mode: str) -> None:
        if mode not in MODES:
            self._protocol_error(f"mode is one of {', '.join(MODES)}, not {mode[:200]!r}.")
            return
        self._conversation.desk.permissions.mode = mode
        self._emit(protocol.InfoFrame(message=f"mode updated: {mode}"))
        self._emit(protocol.ConfigChangedFrame(capabilities=self.capabilities()))

    def _set_config(self, config: protocol.SetConfigFrame) -> None:
        if (problem := self._conversation.config_problem(config)) is not None:
            self._protocol_error(problem)
            return
        with self._applying:
            if self._busy():
                self._queued.append(config)
                self._emit(
                    protocol.InfoFrame(message="set_config: queued, will apply after current response")
                )
            else:
                self._apply_all()
                self._apply(config, "config updated")

    def _apply_queued(self) -> None:
        """In the run's thread, when its answer has ended."""
        with self._applying:
            self._apply_all()

    def _apply_all(self) -> None:
        while self._queued:
            self._apply(self._queued.pop(0), "config applied")

    def _apply(self, config: protocol.SetConfigFrame, word: str) -> None:
        changed = self._conversation.configure(config)
        note = f"{word}: {', '.join(changed)}" if changed else "set_config: no changes"
        self._emit(protocol.InfoFrame(message=note))
        self._emit(protocol.ConfigChangedFrame(capabilities=self.capabilities()))

    def _add_mcp_server(self, server: protocol.AddMcpServerFrame) -> None:
        if self._started:
            self._protocol_error(
                f"AddMcpServer '{server.name[:200]}': rejected — only allowed before first Message"
            )
            return
        try:
            self._mcp.add(server)
        except Fail as problem:
            self._protocol_error(problem.message)

    def capabilities(self) -> protocol.FrameCapabilities:
        conversation = self._conversation
        levels = conversation.provider.effort_levels
        return protocol.FrameCapabilities(
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
        _LOG.info("protocol_error: %s", message)
        problem = protocol.FrameProblem(code="protocol_error", message=redact_text(message), retryable=False)
        self._emit(protocol.ErrorFrame(msg_id=msg_id, error=problem))

    def _emit(self, event: protocol.Event) -> None:
        self._outlet.write(protocol.encode(event))


def _explained(problem: protocol.BadFrame) -> str:
    match problem.code:
        case "not_json":
            return f"Malformed JSON: {problem.detail}"
        case "not_an_object":
            return "A command is a JSON object."
        case "no_type":
            return "A command has a type."
    return f"Invalid {problem.type} command: {problem.detail}"
