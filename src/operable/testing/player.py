"""Plays the turns of a scripted agent, one step after the other, with open ears for the host.

The script and its verbs are described in `operable.testing.scripted_agent`; here each verb is one method. A turn is an
ordinary function call: whatever waits does so in `_listen`, which also notices a cancel, so nothing needs a thread.
"""

import collections
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from operable.testing.script import ScriptError, Step, check_steps, marked, pieces, verb_of
from operable.testing.stage import HostAnswer, HostCancel, HostPrompt, StandardStreams, Voice, line_of

_TEXT = frozenset({"chunks", "delay"})
_NOTHING: frozenset[str] = frozenset()
VERBS = {
    "say": _TEXT,
    "think": _TEXT,
    "plan": _NOTHING,
    "usage": _NOTHING,
    "call": frozenset({"id", "args", "kind", "ask", "touch", "result", "fail", "denied", "silent"}),
    "flood": frozenset({"size"}),
    "wait": _NOTHING,
    "hang": _NOTHING,
    "mute": _NOTHING,
    "noise": _NOTHING,
    "raw": _NOTHING,
    "stderr": _NOTHING,
    "send": _NOTHING,
    "request": frozenset({"params"}),
    "grandchild": frozenset({"session", "stubborn", "pid_file"}),
    "end": _NOTHING,
    "error": frozenset({"code"}),
    "die": _NOTHING,
}
_FLOOD_BATCH = 512
"""Pieces per write: far more than fit a pipe, so that the reader is the slow one."""


def scripted_command(protocol: str = "acp", script: Mapping[str, Any] | None = None) -> list[str]:
    """The command line of a scripted agent. Raises ScriptError if the script cannot be played.

    The script travels on the command line, so that a test is one value.
    """
    text = json.dumps(checked(dict(script or {})))
    return [sys.executable, "-m", "operable.testing.scripted_agent", "--protocol", protocol, "--json", text]


class TurnOver(Exception):  # noqa: N818 - not a failure: how a turn ends early
    """Why the turn that is being played ends here."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Player:
    """Plays turns on a stage, through a voice; one at a time, the next prompt waits."""

    def __init__(self, script: dict[str, Any], voice: Any) -> None:
        self.script = checked(script)
        self.stage = StandardStreams(script.get("eof", "exit"))
        self.options: dict[str, Any] = script.get("options", {})
        self.voice: Voice = voice(self)
        self._prompts: collections.deque[HostPrompt] = collections.deque()
        self._answers: dict[Any, HostAnswer] = {}
        self._cancelled = False
        self._playing = False
        self._calls = 0

    def run(self) -> None:
        if self.script.get("term") == "ignore":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for step in self.script.get("start", []):
            self._play(step)
        self.voice.opened()
        while True:
            self._listen(None)
            while self._prompts:
                self._turn(self._prompts.popleft())

    def answer(self, answer: HostAnswer) -> None:
        """Take an answer that the host did not have to give."""
        self._answers[answer.question] = answer

    def _listen(self, timeout: float | None) -> None:
        for line in self.stage.lines(timeout):
            try:
                message = json.loads(line)
            except ValueError:
                self.voice.malformed()
                continue
            match self.voice.receive(message):
                case HostPrompt() as prompt:
                    self._prompts.append(prompt)
                case HostCancel():
                    # Also of a prompt that came with the same read, and has not begun.
                    concerned = self._playing or bool(self._prompts)
                    self._cancelled = concerned and self.script.get("cancel") != "ignore"
                case HostAnswer() as answer:
                    self.answer(answer)

    def _turn(self, prompt: HostPrompt) -> None:
        self._playing = True
        self.voice.begin(prompt.token)
        reason: str | None = "completed"
        try:
            for step in self._steps(prompt.text):
                if reason is not None:
                    self._pause(0)
                if "end" in step:
                    self.voice.end(step["end"])
                    reason = None
                elif "error" in step:
                    self.voice.error(step["error"], step.get("code"))
                    reason = None
                else:
                    self._play(step)
        except TurnOver as over:
            if reason is not None:
                reason = over.reason
        except ScriptError as error:
            self.voice.error(str(error), None)
            reason = None
        if reason is not None:
            self.voice.end(reason)
        self._playing = self._cancelled = False

    def _steps(self, text: str) -> list[Step]:
        wanted = marked(text)
        if isinstance(wanted, list):
            return check_steps(wanted, VERBS)
        turns = self.script.get("turns", {})
        if wanted is not None and wanted not in turns:
            raise ScriptError(f"no turn is called {wanted!r}")
        if wanted is not None:
            return check_steps(turns[wanted], VERBS)
        return check_steps(self.script.get("default", [{"say": f"You said: {text}"}]), VERBS)

    def _pause(self, seconds: float) -> None:
        """Let time pass with open ears; a cancel ends the turn."""
        deadline = time.monotonic() + seconds
        while True:
            self._listen(max(0.0, deadline - time.monotonic()))
            if self._cancelled:
                raise TurnOver("cancelled")
            if time.monotonic() >= deadline:
                return

    def _await(self, question: Any) -> HostAnswer:
        while question not in self._answers:
            self._listen(None)
            if self._cancelled:
                raise TurnOver("cancelled")
        return self._answers.pop(question)

    def _play(self, step: Step) -> None:
        verb = verb_of(step, VERBS)
        getattr(self, f"_play_{verb}")(step[verb], step)

    def _play_say(self, text: Any, step: Step) -> None:
        self._text(self.voice.say, text, step)

    def _play_think(self, text: Any, step: Step) -> None:
        self._text(self.voice.think, text, step)

    def _text(self, render: Any, text: Any, step: Step) -> None:
        for index, piece in enumerate(pieces(text, step.get("chunks", 1))):
            if index and "delay" in step:
                self._pause(step["delay"])
            self.stage.send(render(piece))

    def _play_plan(self, entries: Any, _: Step) -> None:
        self.stage.send(self.voice.plan(entries))

    def _play_usage(self, fields: Any, _: Step) -> None:
        self.stage.send(self.voice.usage(fields))

    def _play_call(self, _: str, step: Step) -> None:
        self._calls += 1
        call_id = step.get("id", f"call-{self._calls}")
        self.stage.send(self.voice.call(call_id, step))
        verdict, detail = "allow", None
        if step.get("ask"):
            question = self.voice.ask(call_id, step)
            answer = self._await(question)
            verdict, detail = answer.verdict, answer.detail
        if verdict == "allow":
            self.stage.send(self.voice.running(call_id, step))
            if "touch" in step:
                with open(step["touch"], "w") as file:
                    file.write(str(step.get("result", "")))
        if not step.get("silent"):
            self.stage.send(self.voice.result(call_id, step, verdict, detail))
        if verdict == "cancel":
            raise TurnOver("cancelled")
        if verdict == "deny":
            for inner in check_steps(step.get("denied", []), VERBS):
                self._play(inner)

    def _play_request(self, method: str, step: Step) -> None:
        answer = self._await(self.voice.request(method, step.get("params", {})))
        self.stage.send(self.voice.say(json.dumps(answer.detail, separators=(",", ":"))))

    def _play_flood(self, count: int, step: Step) -> None:
        piece = line_of(self.voice.say("x" * step.get("size", 16)))
        whole, rest = divmod(count, _FLOOD_BATCH)
        batch = piece * _FLOOD_BATCH
        for _ in range(whole):
            self.stage.write(batch)
            self._pause(0)
        self.stage.write(piece * rest)

    def _play_wait(self, seconds: float, _: Step) -> None:
        self._pause(seconds)

    def _play_hang(self, _: Any, __: Step) -> None:
        while True:
            self._pause(3600)

    def _play_mute(self, _: Any, __: Step) -> None:
        while True:
            time.sleep(3600)

    def _play_noise(self, text: str, _: Step) -> None:
        self.stage.write(text.encode() + b"\n")

    def _play_raw(self, data: Any, _: Step) -> None:
        self.stage.write(bytes.fromhex(data["hex"]) if isinstance(data, dict) else data.encode())

    def _play_stderr(self, text: str, _: Step) -> None:
        os.write(2, text.encode() + b"\n")

    def _play_send(self, message: Any, _: Step) -> None:
        self.stage.send(message)

    def _play_grandchild(self, seconds: float, step: Step) -> None:
        pid = os.fork()
        if pid == 0:
            self._outlive(seconds, step)
        if "pid_file" in step:
            with open(step["pid_file"], "a") as file:
                file.write(f"{pid}\n")

    def _outlive(self, seconds: float, step: Step) -> None:
        """In the grandchild: keep the pipes of the agent open, for that is what real ones do."""
        try:
            if step.get("session"):
                os.setsid()
            if step.get("stubborn"):
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
            time.sleep(seconds)
        finally:
            os._exit(0)

    def _play_die(self, how: Any, _: Step) -> None:
        if isinstance(how, str):
            os.kill(os.getpid(), signal.Signals[how])
        os._exit(int(how))


_KEYS = frozenset({"start", "turns", "default", "eof", "term", "cancel", "options"})


def checked(script: Any) -> dict[str, Any]:
    """The same script, known to be playable as a whole."""
    if not isinstance(script, dict) or set(script) - _KEYS:
        raise ScriptError(f"a script is an object with {', '.join(sorted(_KEYS))}; got {script!r:.200}")
    for steps in [script.get("start", []), script.get("default", []), *script.get("turns", {}).values()]:
        check_steps(steps, VERBS)
    return script
