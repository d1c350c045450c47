"""What a command of an application gave: a value, a stream of its own, or a failure, judged by exit status and stdout alone.

Success is status 0 with one JSON document that is not an error, or an AOI stream whose verdict is ok. JSON that says ok with
another status is a failure, and so is an error with status 0.

Nothing of an answer is lost. The document is one result, unless the package says which list of which command holds the
results (`metadata.operable.lists`); a list is cut at a limit only where the package says that the command changes nothing
(`metadata.operable.reads`). All fields of an error are passed on. The application's own words are shown as far as people
should see them: bounded, redacted, without traces of the stack and without the folder it lives in. stderr is kept for
debugging, and its last line is the reason of a failure that gives no other.
"""

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from operable.app.packages import Package
from operable.kernel.data_class import dataclass
from operable.kernel.errors import CATEGORIES, CATEGORY_OF_STATUS, EX_DATAERR, EX_SOFTWARE, Fail
from operable.kernel.json import parse
from operable.kernel.redact import Known, redact_text
from operable.tool.records import json_text
from operable.wire.lines import first_line

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict

_WORDS = 500  # characters of an application's own words that are passed on
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_TRACE = re.compile(r"Traceback \(most recent|^\s*at .+[:(]\d+|^\s*File \".+\", line \d+|goroutine \d+ \[")
# Of the fields of an error: more than this is not what explains it.
_ERROR_ROOM = 32 * 1024
_ITSELF = "."  # the list is the document
# Fields that have a meaning for every reader of an error, and so a place of their own.
_KNOWN = ("code", "message", "category", "hint", "retryable", "target")
# Fields in which applications put what only their authors need.
_INTERNAL = ("stack", "stacktrace", "stack_trace", "trace", "traceback")
# The word of a code, looked for in this order -> its category, where neither the error nor the status says one.
_CATEGORY_WORDS = {
    "not_found": "NOT_FOUND NOTFOUND MISSING_ITEM UNKNOWN_ID NO_SUCH",
    "conflict": "CONFLICT EXISTS DUPLICATE STALE LOCKED",
    "authn": "UNAUTHENTICATED UNAUTHORIZED LOGIN TOKEN_EXPIRED",
    "authz": "FORBIDDEN PERMISSION DENIED",
    "rate_limited": "RATE_LIMIT TOO_MANY_REQUESTS QUOTA",
    "timeout": "TIMEOUT TIMED_OUT DEADLINE",
    "temporary": "UNAVAILABLE TEMPORARY TRY_AGAIN BUSY",
    "usage": "USAGE MISSING_ARGUMENT MISSING_OPERAND UNKNOWN_COMMAND UNKNOWN_OPTION CONFIRMATION_REQUIRED",
    "validation": "INVALID VALIDATION MALFORMED",
    "config": "CONFIG",
}


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
    hint: str | None = None
    """What the application says to do about a failure."""
    retryable: bool | None = None
    """Whether the application says that the same call may succeed later; None: it does not say."""
    list_name: str | None = None
    """The list of the document that holds the results; None: the document is the result."""
    reads: bool = False
    """Whether the package says that the command changes nothing: else its answer is never cut."""

    def entries(self) -> tuple[list[Any], dict[str, Any]]:
        """The results, one by one, and what the application says beside them."""
        value, name = self.value, self.list_name
        if name == _ITSELF and isinstance(value, list):
            return value, {}
        if name is None or not isinstance(value, dict) or not isinstance(value.get(name), list):
            return [value], {}
        return value[name], {other: each for other, each in value.items() if other != name}

    def shown(self, limit: int | None) -> list[Any]:
        """The results that a caller with this limit gets: all of them, unless the command only reads."""
        entries, _ = self.entries()
        return entries if limit is None or not self.reads else entries[:limit]

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
            hint=self.hint,
            retryable=self.retryable,
            target=source,
            exit_code=EX_DATAERR if status == 0 else status if 0 < status < 126 else EX_SOFTWARE,
            **details,
        )


def answer_rules(package: Package, command: str) -> tuple[str | None, bool]:
    """(the list that holds the results of this command, whether it only reads), as the package declares them."""
    lists, reads = package.extension.get("lists", {}), package.extension.get("reads", [])
    good = isinstance(lists, dict) and all(isinstance(each, str) and each for each in lists.values())
    if not good or not isinstance(reads, list):
        raise Fail(
            "validation",
            "APP_ANSWERS_INVALID",
            f"metadata.operable of {package.slug}: lists maps commands to names of lists, reads is a list of commands",
            target=package.slug,
            hint="lists: {list: items}, reads: [list]",
        )
    return lists.get(command), command in reads


def judged(
    package: Package, stdout: bytes, status: int | None, stderr: str, known: Known, command: str = ""
) -> Answer:
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
        list_name, reads = answer_rules(package, command)
        return Answer(
            ok=True, value=value, status=status, diagnostics=diagnostics, list_name=list_name, reads=reads
        )
    if declared is None:
        code, message = (
            ("APP_OUTPUT_NOT_JSON", "the command did not print JSON")
            if status == 0
            else ("APP_FAILED", _fallback(stdout, status, package, diagnostics, is_json=is_json))
        )
        category = "validation" if status == 0 else _category(None, status)
        declared = {}
    else:
        code = _code(declared.get("code"))
        message = (
            _shown(declared.get("message"), package) or _reason(diagnostics, package) or "the command failed"
        )
        category = _category(declared.get("category"), status, code)
    hint, retryable = _shown(declared.get("hint"), package), declared.get("retryable")
    return Answer(
        ok=False,
        value=value,
        status=status,
        code=code,
        category=category,
        message=message,
        diagnostics=diagnostics,
        details=_details(declared, value, package),
        hint=hint or None,
        retryable=retryable if isinstance(retryable, bool) else None,
    )


def _details(declared: dict[str, Any], value: Any, package: Package) -> dict[str, Any]:
    """Every other field of the error, and what the document says beside it (`answer`)."""
    found = {name: each for name, each in declared.items() if name not in _KNOWN}
    if isinstance(declared.get("target"), str):
        found["app_target"] = declared["target"]
    beside = (
        {}
        if not isinstance(value, dict)
        else {n: each for n, each in value.items() if n not in ("ok", "error")}
    )
    if isinstance(value, dict) and "error" in value and not isinstance(value["error"], dict):
        beside = {name: each for name, each in beside.items() if name not in ("code", "message")}
    if beside and "error" in value:
        found["answer"] = beside
    cleaned = {name: _clean(each, package) for name, each in found.items() if name.lower() not in _INTERNAL}
    if len(json_text(cleaned)) > _ERROR_ROOM:
        return {"details_left_out": f"the fields of the error are longer than {_ERROR_ROOM} characters"}
    return cleaned


def _clean(value: Any, package: Package) -> Any:
    """The same value as people may see it. Without recursion in depth: documents are at most 200 levels deep."""
    if isinstance(value, str):
        return (
            "[trace left out]"
            if _TRACE.search(value)
            else redact_text(value).replace(package.root, package.slug)
        )
    if isinstance(value, list):
        return [_clean(each, package) for each in value]
    if isinstance(value, dict):
        return {name: _clean(each, package) for name, each in value.items() if name.lower() not in _INTERNAL}
    return value


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
    if isinstance(error, str):
        return {"code": value.get("code"), "message": error}
    return {name: each for name, each in value.items() if name not in ("ok", "error")}


def _code(given: Any) -> str:
    """A code that is one; anything else could be a text for people, or an attack on their terminal."""
    return given if isinstance(given, str) and _CODE.fullmatch(given) else "APP_FAILED"


def _category(declared: Any, status: int | None, code: str = "") -> str:
    """What the error says itself, else its status, else the words of its code."""
    if isinstance(declared, str) and declared in CATEGORIES:
        return declared
    if status in CATEGORY_OF_STATUS:
        return CATEGORY_OF_STATUS[status]
    upper = code.upper().replace("-", "_").replace(".", "_")
    for category, words in _CATEGORY_WORDS.items():
        if any(word in upper for word in words.split()):
            return category
    return "internal"


def _fallback(stdout: bytes, status: int | None, package: Package, diagnostics: str, *, is_json: bool) -> str:
    """Whatever there is to be said: the first line of a text on stdout, else the last one on stderr, else the status."""
    how = "was ended by a signal" if status is None or status < 0 else f"failed with status {status}"
    text = "" if is_json else _shown(stdout[: 4 * _WORDS].decode("utf-8", "replace"), package)
    text = text or _reason(diagnostics, package)
    return f"the command {how}: {text}" if text else f"the command {how}"


def _reason(diagnostics: str, package: Package) -> str:
    """The last line on stderr, which is where programs and interpreters say why they gave up."""
    lines = [line for line in diagnostics.splitlines() if line.strip()]
    return _shown(lines[-1], package) if lines else ""


def _shown(text: Any, package: Package) -> str:
    """An application's words for people."""
    if not isinstance(text, str):
        return ""
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines or _TRACE.search(lines[0]):
        return ""
    line = redact_text(lines[0]).replace(package.root, package.slug)
    return "".join(letter if letter.isprintable() else "�" for letter in line)[:_WORDS]
