"""How a wrapped program ended, and what that means: the table of its manifest, and nothing else, decides.

| what happened | outcome |
|---|---|
| exit 0, or a status that the manifest calls a success | ok; the summary's `upstream` has the status and its word |
| any other status, or a signal | Fail: the category and code of the manifest, else UPSTREAM_FAILED or UPSTREAM_KILLED |
| the program printed an error of its own, whatever the status | Fail UPSTREAM_ERROR |
| its own end marker is missing, or says no | Fail UPSTREAM_INCOMPLETE or UPSTREAM_UNSUCCESSFUL |
| the deadline | Fail TIMEOUT |

With results before it, a Fail makes the summary partial: what came is there, and the stream is never ok.
"""

from __future__ import annotations

from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.wrap.enclosure import UNCONFINED, unconfined
from operable.wrap.fields import base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from operable.proc.child import ChildEnd
    from operable.tool.run.context import Context
    from operable.wrap.plan.model import WrapCommandPlan, WrapPlan

# What is shown of a program's own words: enough for a page of diagnostics, too little to flood a model.
_SHOWN = 2000
_EXCERPT = 240
# The numbers that shells and schedulers know; others are shown as they are.
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
            13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ"}  # fmt: skip


# The facts of one call of a wrapped program: what was asked for, and what is known of its end so far.
# `upstream` runs the program and notes what happens, `endings` judges it. Neither has to know the other for that.
class WrappedCall:
    """One call, from its inputs to how the program ended."""

    def __init__(
        self, plan: WrapPlan, command: WrapCommandPlan, inputs: dict[str, Any], context: Context
    ) -> None:
        self.plan = plan
        self.command = command
        self.inputs = inputs
        self.context = context
        self.end: ChildEnd | None = None  # how the program ended, once it has
        self.foreign = 0  # records that were not what was promised
        self.failure: Fail | None = None  # what the program itself reported as its error
        self.complete: bool | None = None  # what its own end marker said; None: it has none, or has not come

    def timed_out(self) -> Fail:
        self.context.conclude(reason="timeout")
        message = f"{self.command.name} did not end within {self.context.timeout:g} s"
        return Fail("timeout", "TIMEOUT", message, hint="raise --timeout", exit_code=EX_TIMEOUT)


def judged(call: WrappedCall) -> Iterator[Any]:
    """Warnings about a success; Fail for anything else."""
    end = call.end
    if end is None:
        if call.failure is not None:
            raise call.failure
        return  # nothing was run
    if end.cause == "deadline":
        raise call.timed_out()
    status, stderr = end.status, end.stderr.text()
    meaning = call.command.exits.get(status, {})
    reported: dict[str, Any] = {"program": call.plan.bin, "exit": status}
    if "word" in meaning:
        reported["meaning"] = meaning["word"]
    if call.foreign:
        reported["non_json"] = call.foreign
    if unconfined(call.command.sandbox):
        reported["sandbox"] = "none"
    call.context.conclude(upstream=reported)
    if call.failure is not None and call.failure.code == "UPSTREAM_ERROR":
        raise call.failure
    if status != 0 and not meaning.get("ok"):
        raise failed(call, status, stderr)
    if call.failure is not None:
        raise call.failure
    yield from _terminal(call)
    if stderr.strip() and call.command.stderr == "warn":
        from operable.tool.framework import Warn

        yield Warn("UPSTREAM_STDERR", shown(stderr, known_secrets(call)), source=call.plan.bin)


def _terminal(call: WrappedCall) -> Iterator[Any]:
    """Where the program has an end marker of its own, a stream without it is not whole."""
    if not call.command.terminal or call.complete:
        return
    yield from ()
    program = call.plan.bin
    if call.complete is None:
        raise Fail(
            "partial", "UPSTREAM_INCOMPLETE", f"{program} ended without its own end marker", target=program
        )
    raise Fail(
        "partial", "UPSTREAM_UNSUCCESSFUL", f"{program} says itself that it did not succeed", target=program
    )


def failed(call: WrappedCall, status: int | None, stderr: str) -> Fail:
    """The error for an end that is not a success."""
    program = call.plan.bin
    meaning = call.command.exits.get(status, {})
    details: dict[str, Any] = {"upstream_exit": status}
    text = shown(stderr, known_secrets(call))
    if text:
        details["upstream_stderr"] = text
    meaning = {**meaning, **_reason(meaning, stderr), **_denied(call, stderr)}
    if status is not None and status < 0:
        name = _SIGNALS.get(-status, f"signal {-status}")
        return Fail("partial", "UPSTREAM_KILLED", f"{program} was ended by {name}", target=program, **details)
    word = meaning.get("word", "error")
    first = _headline(text)
    message = f"{program} ended with status {status} ({word})" + (f": {first}" if first else "")
    return Fail(
        meaning.get("category", "usage" if word == "usage_error" else "internal"),
        meaning.get("code", "UPSTREAM_FAILED"),
        message,
        hint=meaning.get("hint"),
        retryable=meaning.get("retryable"),
        target=program,
        **details,
    )


def _headline(text: str) -> str:
    """The line that says what went wrong: the first that calls itself an error, before which programs say what they do."""
    import re

    found = re.search(r"(?im)^\W*(error|fatal)\b.*", text)
    return (found[0].strip() if found else text.partition("\n")[0])[:_EXCERPT]


def _reason(meaning: Mapping[str, Any], stderr: str) -> Mapping[str, Any]:
    """What the first rule says whose pattern the program's own words match: many programs know one status for all errors.

    It distinguishes errors and nothing else: no words turn a failure into a success.
    """
    import re

    for rule in meaning.get("reasons", ()):
        if re.search(rule["match"], stderr, re.MULTILINE):
            return {name: value for name, value in rule.items() if name != "match"}
    return {}


def _denied(call: WrappedCall, stderr: str) -> Mapping[str, Any]:
    """What a program says that wanted to start another one, where its wrapper does not let it: most often a shim on PATH."""
    import re

    sandbox = call.command.sandbox
    if sandbox is None or "processes" not in sandbox.gives_up or unconfined(sandbox):
        return {}
    # What comes of EPERM in shells, in Python, Go and Rust, and in JavaScript.
    if not re.search(r"(?i)cannot fork|operation not permitted|\bEPERM\b", stderr):
        return {}
    return {
        "category": "config",
        "code": "SANDBOX_DENIED",
        "retryable": False,
        "hint": f"{call.plan.bin} on your PATH starts another program, and its wrapper does not let it: "
        f"put the program itself before the script that starts it, or {UNCONFINED}=1 runs it with all of your rights",
    }


def foreign(call: WrappedCall, line: bytes) -> Any:
    """The warning for a record that is not what was promised, with its bytes if they are not text."""
    from operable.tool.framework import Warn

    program, secrets = call.plan.bin, known_secrets(call)
    try:
        seen: dict[str, Any] = {"excerpt": shown(line[:_EXCERPT].decode("utf-8"), secrets)}
    except UnicodeDecodeError:
        seen = {
            "excerpt": shown(line[:_EXCERPT].decode("utf-8", "replace"), secrets),
            "excerpt_b64": base64(line[:_EXCERPT]),
        }
    message = f"{program} printed something that is not JSON"
    return Warn("UPSTREAM_NON_JSON", message, length=len(line), number=call.foreign, **seen)


def shown(text: str, secrets: Iterable[str] = ()) -> str:
    """The words of a program with secrets removed: redacted, in bounds, without terminal controls."""
    from operable.kernel.redact import redact_text

    # Redacted before it is cut, so that a cut never leaves half a secret that no longer looks like one.
    clean = redact_text(text.strip(), secrets)
    if len(clean) > _SHOWN:
        half = _SHOWN // 2
        clean = f"{clean[:half]}\n[... {len(clean) - _SHOWN} characters left out ...]\n{clean[-half:]}"
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in clean)


def known_secrets(call: WrappedCall) -> list[str]:
    """What was given to this call and must not come back: secret inputs and variables, and passwords in addresses.

    Programs repeat their arguments in their complaints, and not always as they were given.
    """
    from operable.kernel.redact.urls import passwords
    from operable.wrap.rows import secrets

    found = secrets(call.plan.env_pass)
    for name, value in call.inputs.items():
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        if name in call.command.secrets:
            found += texts
        for text in texts:
            found += passwords(text)
    return [text for text in found if text]
