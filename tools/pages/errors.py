"""docs/reference/errors.md: the categories, the exit codes, and every error code that the source can raise."""

from collections.abc import Iterable
from pathlib import Path

from operable.flow.errors import EXACT, MEANINGS, FlowError
from operable.flow.rpc.protocol import rpc_error
from operable.kernel import errors
from tools.failures import ERRNO, Failure, failures
from tools.markdown import code, table

PATH = "docs/reference/errors.md"
ROOT = Path(__file__).parents[2]

# What each category means to a caller, and what to do next. A category without a line here fails the generator.
CATEGORIES = {
    "usage": "The command line is wrong. Correct it; the hint says how.",
    "validation": "The command line is right, but the data is not. Correct the data.",
    "authn": "Credentials are missing or have expired, or a person is needed. Log in, then call again.",
    "authz": "The credentials are good, but do not allow this. Do not repeat the call.",
    "not_found": "What the call names does not exist.",
    "conflict": "Something changed, or exists already. Look at the present state before you decide.",
    "rate_limited": "Too many calls. Repeat later; `retry_after` says when, if that is known.",
    "temporary": "Something this depends on is not there at the moment. Repeat later.",
    "timeout": "It took longer than it was allowed. Repeat with a larger `--timeout`, or ask for less.",
    "cancelled": "A user or another process stopped it.",
    "partial": "Some items failed; their own errors say which.",
    "internal": "A bug in the tool. `--debug` shows the traceback on stderr.",
    "config": "The configuration or the installation is not complete. A person has to fix it.",
    "io": "Reading or writing files, stdin or stdout failed.",
}
# What each exit code means here. A code without a line here fails the generator.
EXIT_CODES = {
    "EX_OK": "Success: the summary says ok.",
    "EX_USAGE": "Category usage.",
    "EX_DATAERR": "Categories validation, not_found, conflict, partial; a summary that is not ok without an error of "
    "the whole run; a relayed stream that is incomplete or broke the protocol.",
    "EX_UNAVAILABLE": "A program that is to be called does not exist.",
    "EX_SOFTWARE": "Category internal.",
    "EX_CANTCREAT": "A file that is to be written cannot be created.",
    "EX_IOERR": "Category io; the output cannot be written.",
    "EX_TEMPFAIL": "Categories rate_limited and temporary.",
    "EX_NOPERM": "Categories authn and authz.",
    "EX_CONFIG": "Category config.",
    "EX_TIMEOUT": "Category timeout: `--timeout`, or the deadline of the caller.",
    "EX_SIGINT": "Stopped by SIGINT (Ctrl-C); category cancelled.",
    "EX_SIGPIPE": "The reader of the output went away. Nothing is printed.",
    "EX_SIGTERM": "Stopped by SIGTERM.",
}


def render() -> str:
    return "\n".join(
        [
            "# Errors and exit codes",
            "",
            "Generated from the source by `./dev fix`. Why they are as they are: [exit codes](../explain/exit-codes.md).",
            "",
            "A program decides by `category` and `retryable`. A `code` is a stable name for one condition. The `hint` is",
            "for a person; a program never runs it.",
            "",
            "## Categories",
            "",
            *table(("category", "retry", "exit code", "meaning"), map(_category, errors.CATEGORIES)),
            "",
            "`retry` is the default; an error may say otherwise in its field `retryable`.",
            "",
            "## Exit codes",
            "",
            *table(("code", "constant in `operable.kernel.errors`", "when"), _exit_codes()),
            "",
            "## Codes of the SDK, of `operable.run` and of the `operable` command",
            "",
            "`{…}` stands for what is known only at run time. `operable run`, `pipe` and `record` also report a stream that",
            "is not ok as an error; its code is then that of the [verdict](verdicts.md).",
            "",
            *_codes(failures(ROOT / "src" / "operable")),
            "",
            "## Codes of workflows",
            "",
            "A failure of a workflow has the word of the agentcli contract as `flow_code`, besides its code. JSON-RPC says",
            "the word and its type; `operable flow` ends with the exit code of the category. The code",
            f"{_joined(EXACT)} names such a failure more exactly.",
            "",
            *table(("word", "type", "JSON-RPC", "code", "category", "exit"), _words()),
            "",
            "## Codes of `outline`",
            "",
            *_codes(failures(ROOT / "src" / "operable" / "examples")),
            "",
        ]
    )


def _category(name: str) -> tuple[str, str, str, str]:
    retryable, exit_code = errors.CATEGORIES[name]
    return code(name), "yes" if retryable else "no", str(exit_code), CATEGORIES[name]


def _exit_codes() -> list[tuple[str, str, str]]:
    constants = {name: value for name, value in vars(errors).items() if name.startswith("EX_")}
    return [
        (str(value), code(name), EXIT_CODES[name])
        for name, value in sorted(constants.items(), key=lambda item: item[1])
    ]


def _words() -> list[tuple[str, ...]]:
    return [
        (
            code(word),
            code(meaning.error_type),
            str(rpc_error(FlowError(word, ""))["code"]),
            code(meaning.code),
            code(meaning.category),
            str(errors.CATEGORIES[meaning.category][1]),
        )
        for word, meaning in sorted(MEANINGS.items())
    ]


def _joined(exact: dict[str, str]) -> str:
    named = [f"{code(name)} ({category})" for name, category in exact.items()]
    return f"{', '.join(named[:-1])} or {named[-1]}"


def _codes(found: Iterable[Failure]) -> list[str]:
    rows = {(_name(item), code(item.category), _exit(item), item.message, item.hint): None for item in found}
    return table(("code", "category", "exit", "message", "hint"), rows)


def _name(item: Failure) -> str:
    return "`ENOENT`, `EACCES` and other errno names" if item.code == ERRNO else code(item.code)


def _exit(item: Failure) -> str:
    if item.exit_code.startswith("EX_"):
        return str(getattr(errors, item.exit_code))
    return "as it asked" if item.exit_code else str(errors.CATEGORIES[item.category][1])
