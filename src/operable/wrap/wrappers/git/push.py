"""Plans and reads `git push`, whose lines contain nothing that could contain a line end."""

from __future__ import annotations

import re

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.fields import put

from .settings import override, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_PUSHED = {" ": "updated", "+": "forced", "-": "deleted", "*": "new", "!": "rejected", "=": "unchanged"}
# Settings whose value is a command, as far as a push meets them.
_COMMANDS = re.compile(
    r"core\.(sshcommand|askpass|gitproxy|alternaterefscommand)|credential(\..*)?\.helper|remote\..*\.vcs|gpg(\..*)?\.program",
    re.DOTALL | re.IGNORECASE,
)
# Else git fetches first, from where the repository says that the address leads, by the program that it names for it.
_NO_FETCH = ("push.negotiate", "false")
# Of the repository itself; whatever else git reads belongs to the user or the system.
_OWN = ("local", "worktree")


def plan_push(upstream: Upstream) -> Iterator[Change]:
    """Git's own dry run: what would change at the remote."""
    words = upstream.words()
    # Git runs the hook `pre-push` also in a dry run, and signs what it would send.
    words[1:1] = ["--dry-run", "--no-verify", "--no-signed", f"--receive-pack={_receiver(upstream)}"]
    distrust(upstream)
    upstream.command = upstream.command.replace(argv=words, options={})
    for event in push(upstream):
        if event["state"] != "unchanged":
            fields = {name: value for name, value in event.items() if name not in ("type", "remote_ref")}
            yield Change("push", event["remote_ref"], **fields)
    yield from upstream.settle()


def distrust(upstream: Upstream) -> None:
    """Let no command of the repository's own configuration run; those of the user and of the system stay."""
    settings = read_settings(upstream, [])
    overridden = [_NO_FETCH]
    for name in dict.fromkeys(
        name for scope, name, _ in settings if scope in _OWN and _COMMANDS.fullmatch(name)
    ):
        trusted = [value for scope, other, value in settings if other == name and scope not in _OWN]
        # An empty value ends the list of those before it.
        overridden += [(name, value) for value in ("", *trusted)]
    override(upstream, overridden)


def _receiver(upstream: Upstream) -> str:
    """The program at the other end. In a folder of this machine it obeys the configuration that it finds there."""
    remote = upstream.inputs.get("remote") or "origin"
    addresses = _addresses(upstream, remote)
    folders = [address for address in addresses if is_folder(address)]
    if not folders:
        return "git-receive-pack"
    if len(folders) < len(addresses):
        # One receiver for all: either the folder's own configuration runs, or the server is asked for what it refuses.
        raise Fail(
            "config",
            "MIXED_REMOTE",
            f"{remote} pushes to a folder and to another address; the two cannot be planned together",
            hint="name one of the addresses instead of the remote",
            target=remote[:200],
        )
    upstream.do_without("network", "sockets")
    return "git -c core.alternateRefsCommand= -c core.fsmonitor=false receive-pack"


def _addresses(upstream: Upstream, remote: str) -> list[str]:
    """Where git pushes to. For the name of a remote git says it; an address may be rewritten by the repository."""
    told = upstream.ask(["remote", "get-url", "--push", "--all", "--", remote], fine=(0, 2, 128))
    return told.decode("utf-8", "replace").split("\n")[:-1] or _rewritten(upstream, remote)


def _rewritten(upstream: Upstream, address: str) -> list[str]:
    """An address as `url.*.pushInsteadOf`, else `insteadOf`, makes it: the longest beginning counts; all of that length."""
    settings = read_settings(upstream, [])
    for key in (".pushinsteadof", ".insteadof"):
        found = [
            (len(value), name[len("url.") : -len(key)] + address[len(value) :])
            for _, name, value in settings
            if name.startswith("url.") and name.lower().endswith(key) and address.startswith(value)
        ]
        if found:
            longest = max(found)[0]
            return [rewritten for length, rewritten in found if length == longest]
    return [address]


def is_folder(address: str) -> bool:
    """Whether git takes an address for a folder: no scheme but `file`, and no colon before the first slash."""
    return address.startswith("file://") or ("://" not in address and ":" not in address.partition("/")[0])


def push(upstream: Upstream) -> Iterator[Any]:
    """`flag TAB from:to TAB summary`; refs contain neither tabs nor line ends. The address of the remote is left out."""
    for block in upstream.blocks():
        for line in block.split(b"\n"):
            fields = line.split(b"\t")
            state = _PUSHED.get(fields[0].decode("ascii", "replace"))
            if len(fields) != 3 or state is None:
                continue  # `To <address>` and `Done`
            local, _, remote = fields[1].rpartition(b":")
            event: dict[str, Any] = {"type": "pushed", "state": state}
            put(event, "local", local)
            put(event, "remote_ref", remote)
            event["summary"] = fields[2].decode("utf-8", "replace")
            yield event
