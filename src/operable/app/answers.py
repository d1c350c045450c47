"""What a command of an application gave: a value, a stream of its own, or a failure, judged by exit status and stdout alone.

Success is status 0 with one JSON document that is not an error, or an AOI stream whose verdict is ok. JSON that says ok with
another status is a failure, and so is an error with status 0. The application's own words are shown as far as people
should see them: one line, bounded, redacted, without traces of the stack and without the folder it lives in. stderr is
kept for debugging and never interpreted.
"""

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from operable.app.packages import Package
from operable.kernel.data_class import dataclass
from operable.kernel.errors import CATEGORIES, CATEGORY_OF_STATUS, EX_DATAERR, EX_SOFTWARE, Fail
from operable.kernel.json import parse
from operable.kernel.redact import Known, redact_text
from operable.wire.lines import first_line

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict

_WORDS = 500  # characters of an application's own words that are passed on
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_TRACE = re.compile(r"Traceback \(most recent|^\s*at .+[:(]\d+|^\s*File \".+\", line \d+|goroutine \d+ \[")
# The lists that applications call so hold their results; see docs/decisions/0018.
_LISTS = ("items", "entries", "results", "data")


@dataclass(frozen=True, slots=True)
class Answer:
    """`code`, `category` and `message` are of a failure, `verdict` is of an app that speaks AOI; so is `stream`, unless it
    was passed on as it came.
    """

    ok: bool
    value: Any
    status: int | None
    code: str = ""
    category: str = ""
    message: str = ""
    diagnostics: str = ""
    stream: bytes | None = None
    verdict: "Verdict | None" = None
    details: dict[str, Any] = field(default_factory=dict)

    def entries(self) -> tuple[list[Any], dict[str, Any]]:
        """The results, one by one, and what the application says beside them."""
        value = self.value
        if isinstance(value, list):
            return value, {}
        if not isinstance(value, dict):
            return [value], {}
        lists = [name for name in value if isinstance(value[name], list)]
        named = [name for name in _LISTS if name in lists] or (lists if len(lists) == 1 else [])
        if not named:
            return [value], {}
        return value[named[0]], {name: each for name, each in value.items() if name != named[0]}

    def failure(self, source: str, *, debug: bool = False) -> Fail:
        """The structured error of an answer that is not ok."""
        details: dict[str, Any] = dict(self.details)
        if debug and self.diagnostics:
            details["diagnostics"] = self.diagnostics
        status = self.status if self.status is not None else EX_SOFTWARE
        return Fail(
            self.category,
            self.code,
            f"{source}: {self.message}",
            target=source,
            exit_code=EX_DATAERR if status == 0 else status if 0 < status < 126 else EX_SOFTWARE,
            **details,
        )


def judged(package: Package, stdout: bytes, status: int | None, stderr: str, known: Known) -> Answer:
    """The answer of a command that has ended by itself, without the secrets that it was given (`known`).

    A stream of events is passed on byte for byte, as every tool's is; only what is said about it is masked.
    """
    diagnostics = redact_text(stderr, known)
    if speaks_aoi(stdout):
        answer = _stream(stdout, status, diagnostics)
        return replace(answer, message=known.text(answer.message))
    value, is_json = _parsed(stdout)
    # By value, and not in the bytes: a secret that is a number must not spoil the document.
    value, stdout = known.value(value), known.data(stdout)
    declared = _declared_error(value)
    if status == 0 and is_json and declared is None:
        return Answer(ok=True, value=value, status=status, diagnostics=diagnostics)
    if declared is None:
        code, message = (
            ("APP_OUTPUT_NOT_JSON", "the command did not print JSON")
            if status == 0
            else ("APP_FAILED", _fallback(stdout, status, package, is_json=is_json))
        )
        category = "validation" if status == 0 else _category(None, status)
    else:
        code = _code(declared.get("code"))
        message = _shown(declared.get("message"), package) or "the command failed"
        category = "usage" if code == "CONFIRMATION_REQUIRED" else _category(declared.get("category"), status)
    return Answer(
        ok=False,
        value=value,
        status=status,
        code=code,
        category=category,
        message=message,
        diagnostics=diagnostics,
    )


def speaks_aoi(stdout: bytes) -> bool:
    """Whether this output is a stream of events: its first line is `aoi:meta`."""
    first = first_line(stdout)
    if b"aoi:meta" not in first:
        return False
    value, is_json = _parsed(first)
    return is_json and isinstance(value, dict) and value.get("type") == "aoi:meta"


def _stream(stdout: bytes, status: int | None, diagnostics: str) -> Answer:
    from operable.run import check

    return replace(streamed(check([stdout], exit_status=status), status, diagnostics), stream=stdout)


def streamed(verdict: "Verdict", status: int | None, diagnostics: str) -> Answer:
    """The answer of an application that spoke AOI."""
    last = verdict.last_error
    return Answer(
        ok=verdict.ok,
        value=None,
        status=status,
        code="" if verdict.ok else _code(last.code if last is not None else verdict.code),
        category="" if verdict.ok else _category(last.category if last is not None else None, status),
        message="" if verdict.ok else verdict.reason,
        diagnostics=diagnostics,
        verdict=verdict,
    )


def _parsed(stdout: bytes) -> tuple[Any, bool]:
    """One JSON document of RFC 8259, in UTF-8, that can be passed on; NaN is none, nor is a number beyond all of them.

    Half of a surrogate pair, which is what a text cut inside of an emoji ends with, becomes a replacement character.
    """
    try:
        return parse(stdout, surrogates="replace"), True
    except ValueError:
        return None, False


def _declared_error(value: Any) -> dict[str, Any] | None:
    """The structured error in an answer, if there is one. `error: null` beside a success is none."""
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if value.get("ok") is not False and not (isinstance(error, dict) or (error and isinstance(error, str))):
        return None
    if isinstance(error, dict):
        return error
    return {"code": value.get("code"), "message": error if isinstance(error, str) else value.get("message")}


def _code(given: Any) -> str:
    """A code that is one; anything else could be a text for people, or an attack on their terminal."""
    return given if isinstance(given, str) and _CODE.fullmatch(given) else "APP_FAILED"


def _category(declared: Any, status: int | None) -> str:
    if isinstance(declared, str) and declared in CATEGORIES:
        return declared
    return CATEGORY_OF_STATUS.get(status or 0, "internal")


def _fallback(stdout: bytes, status: int | None, package: Package, *, is_json: bool) -> str:
    """Whatever there is to be said: the first line of a text on stdout, else the status."""
    how = "was ended by a signal" if status is None or status < 0 else f"failed with status {status}"
    text = "" if is_json else _shown(stdout[: 4 * _WORDS].decode("utf-8", "replace"), package)
    return f"the command {how}: {text}" if text else f"the command {how}"


def _shown(text: Any, package: Package) -> str:
    """An application's words for people."""
    if not isinstance(text, str):
        return ""
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines or _TRACE.search(lines[0]):
        return ""
    line = redact_text(lines[0]).replace(package.root, package.slug)
    return "".join(letter if letter.isprintable() else "�" for letter in line)[:_WORDS]
