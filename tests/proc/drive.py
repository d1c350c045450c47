"""Run one scenario on either kind of reactor, with a limit on the whole."""

import asyncio
import sys
from collections.abc import Callable, Sequence

from operable.proc.child import Child, ChildEnd
from operable.proc.reactor import Reactor, SelectorReactor
from operable.proc.spawn import prepare
from operable.proc.tree.escalation import Graces

BACKENDS = ("selectors", "asyncio")
LIMIT = 200.0
# Long enough for a loaded machine to start an interpreter, short enough to climb the whole ladder in a test.
SHORT = Graces(interrupt=0.3, terminate=0.3, kill=5.0, drain=0.3)


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def drive(backend: str, scenario: Callable[[Reactor, Callable[..., None]], object]) -> None:
    """`scenario(reactor, finish)` starts things; the reactor runs until `finish` was called."""
    if backend == "asyncio":
        asyncio.run(_on_asyncio(scenario))
        return
    reactor = SelectorReactor()
    state = {"done": False, "late": False}
    timer = reactor.call_later(LIMIT, lambda: state.update(done=True, late=True))
    try:
        scenario(reactor, lambda *_: state.update(done=True))
        reactor.run(lambda: state["done"])
    finally:
        timer.cancel()
        reactor.close()
    assert not state["late"], "the scenario did not finish"


async def _on_asyncio(scenario: Callable[[Reactor, Callable[..., None]], object]) -> None:
    done = asyncio.Event()
    scenario(asyncio.get_running_loop(), lambda *_: done.set())
    await asyncio.wait_for(done.wait(), LIMIT)


class Ran:
    """A child that was run to its end."""

    def __init__(self, stdout: bytes, end: ChildEnd, pid: int) -> None:
        self.stdout = stdout
        self.end = end
        self.pid = pid


def ran(
    backend: str,
    argv: Sequence[str],
    *,
    when_it_says: Callable[[Child, bytes], object] | None = None,
    env: dict[str, str] | None = None,
    **options,
) -> Ran:
    """Run to the end. `when_it_says(child, output so far)` is called at each chunk."""
    collected = bytearray()
    ends: list[ChildEnd] = []
    children: list[Child] = []
    options.setdefault("timeout", LIMIT)
    options.setdefault("graces", SHORT)

    def scenario(reactor: Reactor, finish: Callable[..., None]) -> None:
        def took(chunk: bytes) -> None:
            collected.extend(chunk)
            if when_it_says is not None:
                when_it_says(children[0], bytes(collected))

        def ended(end: ChildEnd) -> None:
            ends.append(end)
            finish()

        children.append(Child(reactor, prepare(argv, env=env), on_stdout=took, on_end=ended, **options))

    drive(backend, scenario)
    assert len(ends) == 1
    return Ran(bytes(collected), ends[0], children[0].pid)
