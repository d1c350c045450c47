"""What a command that changes nothing needs nevertheless, and the sandbox that follows from it.

The sandbox block of a CLI.md or TOOL.md says what the program may do at most. A command without `mutates`, and the dry run
of one with it, get less: no writing, no network, no other programs, no signals to other processes. Of these a manifest
gives back only what it names, each with the reason (`metadata.operable.needs`, and `plan.needs` for the dry run). `scratch`
is a folder of the call's own: it is the only place that can be written, and it is removed with the call.

Code of the project is not a need: what runs it is a change (`project_code`), and a dry run that cannot do without it
asks for consent first.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.manifest.blocks import ToolExec, ToolFiles, ToolNetwork, ToolSandbox
from operable.wrap.enclosure import wanted
from operable.wrap.places import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from operable.wrap.plan.model import SandboxPlan

# The words of `needs`, and what each gives back.
NEEDS = {
    "network": "the hosts that the sandbox block names",
    "programs": "starting other programs",
    "scratch": "a folder of its own, removed afterwards",
    "sockets": "sockets of local services",
    "write": "the folders that the sandbox block names",
}
# The option by which a caller consents to a dry run that runs code of the project.
CONSENT = "run_project_code"
_EVERYWHERE = ("**", "/**")


def read_needs(path: str, given: Any) -> dict[str, str]:
    """The needs of one command or dry run, each with its reason; Fail WRAPPER_INVALID if they are not that."""
    if not isinstance(given, dict):
        raise invalid(path, "needs is a mapping from a need to the reason for it")
    for name, reason in given.items():
        if name not in NEEDS:
            raise invalid(path, f"there is no need {name!r}; there are {', '.join(NEEDS)}")
        if not isinstance(reason, str) or not reason.strip():
            raise invalid(path, f"the need {name!r} has no reason")
    return dict(given)


def read_only_sandbox(path: str, block: ToolSandbox, needs: Mapping[str, str]) -> SandboxPlan:
    """What a command that changes nothing gives up: everything that its needs do not give back."""
    everywhere = any(pattern in _EVERYWHERE for pattern in block.fs.write)
    if everywhere and "write" in needs:
        raise invalid(
            path, "a command that changes nothing cannot write everywhere: name folders in fs.write"
        )
    writes = block.fs.write if "write" in needs else ()
    narrow = ToolSandbox(
        network=block.network if "network" in needs else ToolNetwork(),
        # Who may write everywhere may also read there.
        fs=ToolFiles(read=("**",) if everywhere else block.fs.read, write=writes, deny=block.fs.deny),
        exec=block.exec if "programs" in needs else ToolExec(allow=False),
        env=block.env,
        tty=block.tty,
    )
    found = wanted(narrow)
    if found is None:  # it gives up at least writing
        raise invalid(path, "a command that changes nothing has no sandbox")
    gives_up = [*found.gives_up, "signals", *(() if "sockets" in needs else ("sockets",))]
    return found.replace(gives_up=gives_up, scratch="scratch" in needs, needs=dict(needs))


def consent_missing(program: str, reason: str) -> Fail:
    """The refusal of a dry run that would run code of the project."""
    return Fail(
        "authz",
        "PROJECT_CODE",
        f"planning this runs code of the project: {reason}",
        hint="--run-project-code (or --confirm) runs it",
        target=program,
    )
