"""Running a program for a tool: in its own process group, bounded in time and output, gone when the run is cancelled."""

from dataclasses import dataclass

from operable.agent.ability import Scene
from operable.agent.secrecy import without_secrets
from operable.proc.child import Child, End
from operable.proc.excerpt import Excerpt
from operable.proc.ladder import Graces
from operable.proc.reactor import SelectorReactor
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.spawn import prepare

# A stopped run has a second to end; a program that does not listen gets a part of it.
_GRACES = Graces(interrupt=0.2, terminate=0.2)
_HOME = "/home/agent"  # inside a sandbox: empty, and gone with the command
_HEAD = _TAIL = 128 * 1024  # more than any tool's cap, so that what is cut is cut by the cap's own rule


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended. `status` follows subprocess; `timed_out` and `stopped` say that we ended it."""

    stdout: str
    stderr: str
    status: int | None
    timed_out: bool = False
    stopped: bool = False


def run_program(argv: list[str], scene: Scene, *, timeout: float, tree: bool = False) -> Ran:
    """Run and wait; Fail when the program cannot be started or the sandbox cannot be had. `tree`: it may start others,
    which end with it, whatever they do to get away.
    """
    command = prepare(argv, cwd=scene.workspace, env=without_secrets(scene.environment))
    command = command._replace(tree=tree)
    if scene.sandbox is not None:
        confinement = Confinement(
            cwd=scene.workspace,
            writable={path: path for path in (scene.workspace, *sorted(scene.granted))},
            root="system",
            home=_HOME,
        )
        command = command._replace(env={**command.env, "HOME": _HOME})
        command = sandbox(scene.sandbox).wrap(command, confinement)
    reactor = SelectorReactor()
    kept, ended = Excerpt(_HEAD, _TAIL), list[End]()
    err = Excerpt(_HEAD, _TAIL)
    try:
        child = Child(
            reactor,
            command,
            on_stdout=kept.feed,
            on_stderr=err.feed,
            on_end=ended.append,
            timeout=timeout,
            graces=_GRACES,
        )
        with scene.cancellation.waking(lambda: reactor.call_soon_threadsafe(child.cancel)):
            reactor.run(lambda: bool(ended))
    finally:
        reactor.close()
    end = ended[0]
    return Ran(kept.text(), err.text(), end.status, end.cause == "deadline", end.cause == "cancelled")
