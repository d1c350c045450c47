"""Calling one command of an application: admitted first, then run as argv from the package's root, bounded, and judged.

    answer = call(find("todo-app"), ["add", "Write docs"])

Every front door (the command line, Python, MCP, HTTP) comes through here, so the order holds for all of them: the command
is documented, scheduling is, the package is trusted as it is now, the user has confirmed what needs it; only then is a
process started. It is started once: nothing is retried. When it ends, when its time is over, when it says too much or
when the caller goes away, everything that it started ends with it.
"""

from collections.abc import Mapping, Sequence

from operable.app.admission import require_confirmation
from operable.app.answers import Answer, judged
from operable.app.entry import command_line
from operable.app.packages import Package
from operable.app.scheduling import require_schedulable
from operable.app.trust import Approvals
from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.proc.output import aoutput, output
from operable.proc.spawn import Command

# APP.md has no rule; a command of an application that owns its data answers in seconds.
TIMEOUT = 60.0
OUTPUT_LIMIT = 16 * 1024 * 1024


def call(
    package: Package,
    words: Sequence[str],
    approvals: Approvals | None = None,
    *,
    confirmed: bool = False,
    env: Mapping[str, str] | None = None,
    inherit: Sequence[str] = (),
    timeout: float = TIMEOUT,
    limit: int = OUTPUT_LIMIT,
) -> Answer:
    """Run `words`, a command path and its arguments. Fail for what must not or cannot run or is over its limits."""
    command = admitted(package, words, approvals, confirmed=confirmed, env=env, inherit=inherit)
    try:
        ran = output(command, timeout=timeout, limit=limit)
    except Fail as problem:
        raise _named(problem, package, timeout, limit) from problem
    return judged(package, ran.stdout, ran.status, ran.stderr)


async def acall(
    package: Package,
    words: Sequence[str],
    approvals: Approvals | None = None,
    *,
    confirmed: bool = False,
    env: Mapping[str, str] | None = None,
    inherit: Sequence[str] = (),
    timeout: float = TIMEOUT,
    limit: int = OUTPUT_LIMIT,
) -> Answer:
    """`call` for asyncio. Cancelling the task ends the application before the cancellation goes on."""
    command = admitted(package, words, approvals, confirmed=confirmed, env=env, inherit=inherit)
    try:
        ran = await aoutput(command, timeout=timeout, limit=limit)
    except Fail as problem:
        raise _named(problem, package, timeout, limit) from problem
    return judged(package, ran.stdout, ran.status, ran.stderr)


def admitted(
    package: Package,
    words: Sequence[str],
    approvals: Approvals | None = None,
    *,
    confirmed: bool = False,
    env: Mapping[str, str] | None = None,
    inherit: Sequence[str] = (),
) -> Command:
    """The command that a call would run, when it may; Fail otherwise. Nothing is started."""
    require_confirmation(package, words, confirmed=confirmed)
    require_schedulable(package, words)
    (approvals if approvals is not None else Approvals()).require(package)
    return command_line(package, words, env=env, inherit=(*inherit, own_variables(package)))


def own_variables(package: Package) -> str:
    """The variables that are called after an application: `todo-app` gets TODO_APP_*."""
    return "".join(letter if letter.isalnum() else "_" for letter in package.slug).upper() + "_*"


def _named(problem: Fail, package: Package, timeout: float, limit: int) -> Fail:
    """The same failure in words that name the application and not the place where it lies."""
    if problem.code == "DEADLINE_EXCEEDED":
        return Fail(
            "timeout",
            "APP_TIMEOUT",
            f"{package.slug} did not end within {timeout:g} s",
            target=package.slug,
            retryable=False,  # what it has done until then is not known
            exit_code=EX_TIMEOUT,
        )
    if problem.code == "OUTPUT_TOO_LARGE":
        return Fail(
            "validation",
            "APP_OUTPUT_TOO_LARGE",
            f"{package.slug} printed more than {limit} bytes",
            target=package.slug,
        )
    return problem
