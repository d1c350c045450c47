"""What a confined process may see and do, as plain values; the mechanisms that enforce it are in `sandboxes/`.

A `Confinement` says where the process works, which host folders are behind which places, which network and which limits
it has. A `Sandbox` turns a `PreparedCommand` into one that runs inside, and says for every item by what it is enforced
(`enforce`). What a mechanism cannot enforce it refuses with `Fail`, naming what is missing; it never runs the command
with less. The one exception has a name: `unconfined`, of providers that are host access by definition.
"""

from __future__ import annotations

from operable.kernel import catalogue
from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, NamedTuple, Protocol

    from operable.proc.command import PreparedCommand
    from operable.proc.sandbox.loopback import Loopback

    # enforced: as declared. narrowed: less is allowed than declared, or per process instead of for all. unconfined: not at
    # all.
    Root = Literal["host", "system", "elsewhere"]
    Outcome = Literal["enforced", "narrowed", "refused", "unconfined"]
else:
    # Five dataclasses and `typing` took 6 ms of each call in a box.
    from operable.kernel.named_tuple import NamedTuple

    Protocol, Root, Outcome = object, str, str
# The names of the standard for the providers that other people's libraries also know.
_PREFIX = "mastra-"


class Item(NamedTuple):
    """One line of an enforcement report."""

    item: str
    wanted: str
    outcome: Outcome
    mechanism: str  # by what; for what is refused: what is missing

    def as_dict(self) -> dict[str, str]:
        return self._asdict()


Enforcement = tuple[Item, ...]


class ResourceLimits(NamedTuple):
    """None: not limited."""

    cpu_ms: int | None = None
    memory_mb: int | None = None
    pids: int | None = None
    timeout_ms: int | None = (
        None  # enforced by the caller that starts the command, with the deadline of `Child`
    )


class Tunnel(NamedTuple):
    """The only way out of a network namespace: a relay inside, to the socket of a filtering proxy outside (`egress`)."""

    socket: str  # on the host
    port: int  # where the proxy is seen inside, on 127.0.0.1
    forwards: tuple[
        str, ...
    ] = ()  # "127.0.0.1:8399": loopback services of the host that are seen under their own number
    allowed: tuple[str, ...] = ()  # for the report only: the proxy holds the list

    def environment(self) -> dict[str, str]:
        """How programs inside learn of it."""
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        # Loopback services that were allowed are there under their own number, so nothing local goes through the proxy.
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1")
        return {**dict.fromkeys(names, f"http://127.0.0.1:{self.port}"), **local, "NODE_USE_ENV_PROXY": "1"}


class Confinement(NamedTuple):
    """`/tmp` and `/run` are empty except for what is named here; nothing can be written but `writable`."""

    cwd: str
    # Place inside -> folder of the host: its real path. One that leads through a link when a command starts is refused.
    writable: Mapping[str, str] = {}
    readable: Mapping[str, str] = {}  # the same, read-only
    # Place inside -> content of a file that exists only there: not on disk, not visible from outside, gone with the command.
    contents: Mapping[str, bytes] = {}
    hidden: tuple[str, ...] = ()  # files and folders that are there and empty, whatever else is shown
    network: bool = False  # the host's own, unrestricted
    loopback: Loopback | None = None  # one of this sandbox's own that other commands also join
    # Root of the user namespace that owns that network, with no right over anything else: what is read-only stays so.
    rooted: bool = False
    gate: int | None = (
        None  # a descriptor: the command starts when there is something to read from it, or its end
    )
    outlive: bool = (
        False  # descendants stay after the leader's end, for the caller to see; else they are killed
    )
    # "host": the whole file system, read-only; for tools that are only observed. "system": programs and libraries of the
    # system (/usr, certificates, …) and what is named here; no home of a user, no configuration of the host.
    # "elsewhere": a machine of its own, with whatever is installed there.
    root: Root = "host"
    home: str | None = None  # an empty folder inside, gone with the process
    limits: ResourceLimits = ResourceLimits()
    groups: Mapping[str, str] = {}  # controller -> prepared control group (`cgroup`)
    tunnel: Tunnel | None = None
    # Unix sockets: every socket file in what is shown, and new ones. Without, only connected pairs.
    sockets: bool = False
    # Namespaces of its own, and mounts in them: for programs that have a sandbox of their own.
    namespaces: bool = False
    config: Mapping[str, object] = {}  # of a cloud provider, as the manifest has it
    credential: str | None = None  # of a cloud provider; None: the operator's own

    def __repr__(self) -> str:
        """Without what is secret."""
        shown = {
            name: value for name, value in self._asdict().items() if name not in ("contents", "credential")
        }
        return f"Confinement({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class AvailabilityCheck(Protocol):
    """Why a mechanism cannot be used here with this root; None: it can."""

    def __call__(self, root: Root = "host") -> str | None: ...


class Sandbox(NamedTuple):
    """One mechanism. `isolates_env`: what it gives to the command cannot be read from outside, nor the other way round."""

    name: str
    missing: AvailabilityCheck
    wrap: Callable[[PreparedCommand, Confinement], PreparedCommand]
    leader: Callable[
        [int], int | None
    ]  # pid of the started process -> pid of the command inside, when it runs
    init: Callable[[int], int | None]  # -> pid whose death ends everything inside
    enforce: Callable[
        [Confinement], Enforcement
    ]  # the report; items that are refused are in it, and `wrap` raises them
    # Makes a network that several commands can be put into; None: this mechanism has none.
    loopback: Callable[[], Loopback] | None = None
    isolates_env: bool = False
    elsewhere: bool = False  # another machine: no program, folder or process of this one is there
    # Values of its own (the key of a provider) that are to be masked in whatever comes out of it.
    secrets: Callable[[Confinement], tuple[str, ...]] = lambda _: ()


def sandbox(name: str) -> Sandbox:
    """The mechanism of this name (`mastra-e2b` is e2b); Raises Fail if it does not exist."""
    found: Sandbox = catalogue.load(
        "operable.proc.sandboxes", name.removeprefix(_PREFIX), "SANDBOX", kind="sandbox"
    )
    return found


def refuse(name: str, enforcement: Enforcement) -> None:
    """Fail when the report refuses anything: all of it in one message."""
    refused = [item for item in enforcement if item.outcome == "refused"]
    if refused:
        raise Fail(
            "config",
            "SANDBOX_CANNOT_ENFORCE",
            f"{name} cannot enforce "
            + "; ".join(f"{item.item} ({item.wanted}): {item.mechanism}" for item in refused),
            target=name,
            hint="declare less, or use a sandbox that can",
            refused=[item.as_dict() for item in refused],
        )
