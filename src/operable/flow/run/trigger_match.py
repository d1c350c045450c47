"""Whether a trigger's condition is true for the output of its parent, in bounded time and memory.

A substring is looked for at once. A regular expression is foreign code for a backtracking engine: a dozen characters can
keep it busy for years. It is therefore run by a process of its own, which is ended at its deadline; a condition that was
not decided is an error, never an approval.
"""

import json
import os
import sys

import operable
from operable.flow.errors import FlowError
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare

# A search that is not done after this would not be done tomorrow; a loaded machine starts an interpreter in a second.
TIMEOUT = 10.0
_MEMORY = 1 << 30
_CONTAINS, _REGEX = "contains:", "regex:"
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(operable.__file__)))
_SEARCH = f"""\
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
sys.path.insert(0, sys.argv[1])
import regress
pattern, text = json.load(sys.stdin)
print(json.dumps(regress.Regex(pattern).find(text) is not None))
"""


def condition_holds(condition: str | None, stdout: str, *, timeout: float | None = None) -> bool:
    """No condition always holds. FlowError when it could not be decided."""
    if condition is None:
        return True
    if condition.startswith(_CONTAINS):
        return condition.removeprefix(_CONTAINS) in stdout
    return _search(condition.removeprefix(_REGEX), stdout, TIMEOUT if timeout is None else timeout)


def _search(pattern: str, text: str, timeout: float) -> bool:
    asked = json.dumps([pattern, text]).encode()
    command = prepare([sys.executable, "-I", "-c", _SEARCH, _HOME], env={})
    try:
        done = output(command, stdin=asked, timeout=timeout)
    except Fail as problem:
        raise _undecided(pattern, problem.code) from None
    if done.status != 0 or done.stdout.strip() not in (b"true", b"false"):
        raise _undecided(pattern, f"status {done.status}")
    return done.stdout.strip() == b"true"


def _undecided(pattern: str, why: str) -> FlowError:
    shown = pattern if len(pattern) <= 100 else pattern[:100] + "…"
    return FlowError(
        "validation_error", f"the trigger condition regex:{shown} could not be evaluated: {why}", reason=why
    )
