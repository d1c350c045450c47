r"""offline: a scripted model. It needs no network, always answers the same, and plays what the user's message says.

A message that begins with `script:` is a script, one step a line; any other message is answered with "You said: …". A
script can also be named by OPERABLE_OFFLINE_SCRIPT (a file), which then answers every message.

    say TEXT                 text of the answer; \n is a line end, {result} the output of the last tool call
    think TEXT               reasoning
    call TOOL {ARGUMENTS}    a tool call; calls on consecutive lines are made at once
    malformed TOOL TEXT      a tool call whose arguments are not JSON
    wait SECONDS             nothing comes for a while
    fail MESSAGE             the provider fails; `fail! MESSAGE` may be retried
    repeat N                 the following line is played N times, with {n} counting from 1

After a round of calls the script goes on with the line after them. Every word counts as a token.
"""

import json
from collections.abc import Iterator, Sequence

from operable.agent.loop.cancellation import Cancellation, Cancelled
from operable.agent.provider.model import (
    ConfigurationError,
    Finished,
    Model,
    ModelCall,
    ModelError,
    ModelRequest,
    ModelText,
    ModelThought,
    Piece,
    ProviderSettings,
)
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens, ToolOutputBlock

_SCRIPT_VARIABLE = "OPERABLE_OFFLINE_SCRIPT"
_MARK = "script:"
_CALLS = ("call", "malformed")
_REPEATS = 200_000  # a soak is longer than any script that a person would write


class _Offline:
    """One configured script, or none."""

    def __init__(self, script: str | None) -> None:
        self._script = script

    def prepare(self) -> None:
        return

    def close(self) -> None:
        return

    def stream(self, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        message, rounds, result = _situation(request.turns)
        script = self._script
        if script is None and message.lstrip().startswith(_MARK):
            script = message.lstrip().removeprefix(_MARK)
        if script is None:
            said = message.replace("\n", "\\n")
            script = f"say You said: {said}" if message else "say Nothing was said."
        spoken, called = 0, 0
        for verb, rest in _block(_steps(script), rounds):
            cancellation.check()
            match verb:
                case "say" | "think":
                    text = rest.replace("\\n", "\n").replace("{result}", result)
                    spoken += len(text.split())
                    yield ModelText(text) if verb == "say" else ModelThought(text)
                case "wait":
                    _wait(float(rest or "0"), cancellation)
                case "fail" | "fail!":
                    raise ModelError(rest or "scripted failure", retryable=verb == "fail!")
                case _:
                    yield _called(verb, rest, len(request.turns), called)
                    called += 1
        tokens = Tokens(input_tokens=_words(request.turns), output_tokens=spoken + called)
        yield Finished("tools" if called else "end", tokens)


def _situation(turns: Sequence[HistoryTurn]) -> tuple[str, int, str]:
    """The last message of the user, how many rounds of calls came after it, and the output of the last call."""
    rounds, result = 0, ""
    for turn in reversed(turns):
        if turn.role != "user":
            continue
        texts = [block.text for block in turn.blocks if isinstance(block, TextBlock)]
        said = [text for text in texts if not text.startswith("[notice]")]
        if said:  # the last of what was said without an answer, also behind the results of a round
            return said[-1], rounds, result
        outputs = [block for block in turn.blocks if isinstance(block, ToolOutputBlock)]
        rounds += bool(outputs)
        result = result or (outputs[-1].text if outputs else "")
    return "", rounds, result


def _steps(script: str) -> Iterator[tuple[str, str]]:
    times = 1
    for line in script.splitlines():
        verb, _, rest = line.strip().partition(" ")
        if not verb or verb.startswith("#"):
            continue
        if verb == "repeat":
            times = min(int(rest), _REPEATS)
            continue
        for count in range(1, times + 1):
            yield verb, rest.replace("{n}", str(count))
        times = 1


def _block(steps: Iterator[tuple[str, str]], rounds: int) -> Iterator[tuple[str, str]]:
    """The steps of one model call: those after `rounds` runs of calls, up to and with the next run of calls."""
    seen, in_calls = 0, False
    for verb, rest in steps:
        is_call = verb in _CALLS
        if in_calls and not is_call:
            seen += 1
        in_calls = is_call
        if seen > rounds:
            return
        if seen == rounds:
            yield verb, rest


def _called(verb: str, rest: str, turns: int, index: int) -> ModelCall:
    name, _, arguments = rest.partition(" ")
    call_id = f"call-{turns}-{index + 1}"
    if verb not in _CALLS:
        raise ModelError(f"The script has an unknown step: {verb}")
    if verb == "malformed":
        return ModelCall(call_id, name, {}, malformed=arguments)
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return ModelCall(call_id, name, {}, malformed=arguments)
    return ModelCall(call_id, name, parsed)


def _wait(seconds: float, cancellation: Cancellation) -> None:
    from threading import Event

    woken = Event()
    with cancellation.waking(woken.set):
        woken.wait(min(seconds, 3600.0))
    if cancellation.cancelled:
        raise Cancelled


def _words(turns: Sequence[HistoryTurn]) -> int:
    return sum(
        len(block.text.split()) for turn in turns for block in turn.blocks if isinstance(block, TextBlock)
    )


def _configure(settings: ProviderSettings) -> _Offline:
    path = settings.environment.get(_SCRIPT_VARIABLE)
    if not path:
        return _Offline(None)
    try:
        with open(path, encoding="utf-8") as file:
            return _Offline(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{_SCRIPT_VARIABLE}={path} cannot be read: {error}") from error


MODEL = Model(
    name="offline",
    default_model="offline-script",
    configure=_configure,
    context_window=lambda _model: 200_000,
    images=lambda _model: "supported",
    thinking=True,
    price=lambda _model: (0.0, 0.0, 0.0, 0.0),
)
