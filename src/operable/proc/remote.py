"""Sandboxes that are machines of a cloud provider: what is sent there, what is refused, and how the bridge is started.

A conversation with an agent is bytes on standard input and output. The command that `wrap` makes is therefore the bridge
(`operable.proc.bridge`), a local process that carries them to a command on a machine of its own and ends with it; keeper,
ladder and pipes supervise it as they do any agent. What one provider can hold is in its file in `sandboxes`.

Carried: arguments, the given variables and nothing of this machine's environment, read-only mounts as copies, and no
network or a list of host names if the provider enforces one. Refused, because nothing would hold it: read-write mounts
(what is written there does not come back), ports, limits that the provider does not know, settings that it would not
see. The provider's key goes to the bridge only in the SDK's own variable; it never reaches the machine.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.extras import EXTRAS, install_hint, installed, require
from operable.proc.command import PreparedCommand
from operable.proc.environment import environment, is_encodable
from operable.proc.machine import COPY_LIMIT, LIFETIME, to_variables
from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, Outcome, Sandbox, refuse
from operable.proc.sandbox.egress.rules import address, parse

# What an SDK needs to reach its provider from a network like the operator's. None of it goes to the machine.
_REACHING = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy"),
    *("no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
# The host's own packages, wherever it found them; -I keeps the operator's PYTHONPATH and user site out.
_PROGRAM = "import sys; sys.path[:] = {path!r}; from operable.proc.bridge import main; main(sys.argv[1], sys.argv[2:])"
# SDKs look there for files with credentials and settings of the person who runs the host: those were not given.
_NO_HOME = "/nonexistent"


@dataclass(frozen=True, slots=True)
class Cloud:
    """One provider."""

    name: str
    module: str  # its SDK, as it is imported; its extra is in `kernel.extras`
    key: tuple[str, ...]  # the SDK's variables for the credential; more than one: joined by ":" in the secret
    settings: tuple[str, ...] = ()  # the SDK's variables that say where the provider is
    config: tuple[
        str, ...
    ] = ()  # what it takes of `sandbox.config`; the reference to the key is taken by the host
    refused: Mapping[str, str] | None = (
        None  # what the standard has in `config` and cannot be done, with the reason
    )
    network: Callable[[tuple[str, ...]], str | None] = lambda _: None  # hosts -> why they cannot be held
    memory: str | None = None  # by what a limit of memory is held; None: by nothing
    end: str = f"by the provider, {LIFETIME} s after the last message"  # of a machine whose bridge was killed


def remote(cloud: Cloud) -> Sandbox:
    """The provider as a sandbox."""

    def missing() -> str | None:
        if installed(cloud.module):
            return None
        return f"its SDK is not installed ({install_hint(EXTRAS[cloud.module])})"

    def wrap(command: PreparedCommand, confinement: Confinement) -> PreparedCommand:
        require(cloud.module)
        given_up = [
            Item(f"without {what}", "restricted", "refused", "nothing restricts a process there")
            for what in sorted(command.gives_up)
        ]
        refuse(cloud.name, (*_enforce(cloud, confinement), *given_up))
        return _bridge(cloud, command, confinement)

    return Sandbox(
        name=cloud.name,
        missing=lambda root="host": missing(),  # noqa: ARG005 - its root is elsewhere
        wrap=wrap,
        leader=lambda _: None,
        init=lambda _: None,
        enforce=lambda confinement: _enforce(cloud, confinement),
        isolates_env=True,  # of a machine on which nothing else runs
        elsewhere=True,
        secrets=lambda confinement: _values(cloud, confinement),
    )


def remote_command(argv: Sequence[str], env: Mapping[str, str]) -> PreparedCommand:
    """A command for another machine: nothing of it is looked up here, and no variable is inherited."""
    for position, argument in enumerate(argv):
        if "\0" in argument or not is_encodable(argument):
            raise Fail("usage", "ARGV_INVALID", f"argument {position} contains a NUL, or is not valid UTF-8")
    return PreparedCommand(tuple(argv), argv[0], environment(env, source={}), None)


def plain_hosts(egress: tuple[str, ...], *, wildcards: bool) -> str | None:
    """Why a provider that knows host names, on the ports of the web, cannot hold this list; None: it can."""
    for host in egress:
        rule = parse(host)
        if rule.host == "*":
            return f"it needs a list of hosts, not every host ({host})"
        if address(rule.host) is not None:
            return f"it supports names, not addresses ({host})"
        if rule.port not in (None, 80, 443):
            return f"it does not support ports ({host})"
        if rule.host.startswith("*.") and not wildcards:
            return f"it does not support wildcards ({host})"
    return None


def names_only(egress: tuple[str, ...]) -> list[str]:
    """The hosts without their ports."""
    return list(dict.fromkeys(parse(host).host for host in egress))


def _bridge(cloud: Cloud, command: PreparedCommand, confinement: Confinement) -> PreparedCommand:
    job = {
        "env": dict(command.env),
        "cwd": confinement.cwd,
        "config": {key: str(confinement.config[key]) for key in cloud.config if key in confinement.config},
        "egress": () if confinement.tunnel is None else confinement.tunnel.allowed,
        "memory_mb": confinement.limits.memory_mb,
        "files": list(confinement.readable.items()),
        "contents": [(place, b64encode(held).decode()) for place, held in confinement.contents.items()],
        "secrets": _values(cloud, confinement),
    }
    env = environment({"HOME": _NO_HOME, "DO_NOT_TRACK": "1"}, inherit=(*_REACHING, *cloud.settings))
    env |= to_variables(json.dumps(job, ensure_ascii=False)) | _credential(cloud, confinement)
    program = _PROGRAM.format(path=sys.path)
    argv = (sys.executable, "-I", "-c", program, cloud.name, *command.argv)
    # In the root: an SDK that reads settings from its working directory (.env) must not find a project's.
    return PreparedCommand(argv, sys.executable, env, "/", tree=command.tree)


def _credential(cloud: Cloud, confinement: Confinement) -> dict[str, str]:
    """The SDK's variables: of the secret that the manifest names, else of the operator's environment."""
    if confinement.credential is not None:
        return dict(zip(cloud.key, confinement.credential.split(":", len(cloud.key) - 1), strict=False))
    return {name: os.environ[name] for name in cloud.key if os.environ.get(name)}


def _values(cloud: Cloud, confinement: Confinement) -> tuple[str, ...]:
    return tuple(value for value in _credential(cloud, confinement).values() if value)


def _enforce(cloud: Cloud, confinement: Confinement) -> Enforcement:
    alone = f"a machine of {cloud.name} for this command alone"
    found = [
        Item("processes", "sees and signals only its own", "enforced", alone),
        Item("env", "only what the host gives", "enforced", f"allow-list; {alone}"),
        Item("files", "declared mounts only", "enforced", alone),
        Item(
            "end", "with the session", "enforced", f"destroyed by the bridge; if that is killed, {cloud.end}"
        ),
    ]
    if len(_credential(cloud, confinement)) < len(cloud.key):
        lacking = f"neither a reference to a secret in `config` nor {' and '.join(cloud.key)} is there"
        found.append(Item("credential", "of the provider", "refused", lacking))
    found += _settings(cloud, confinement)
    copied = f"a copy of at most {COPY_LIMIT} bytes; changes do not come back"
    shown = (*confinement.readable, *confinement.contents)
    found += [Item(f"mount {place}", "read-only", "enforced", copied) for place in shown]
    away = "what is written on that machine does not come back; declare it read-only"
    found += [Item(f"mount {place}", "read-write", "refused", away) for place in confinement.writable]
    found += [
        Item(f"hidden {path}", "neither read nor written", "enforced", alone) for path in confinement.hidden
    ]
    return (*found, _network(cloud, confinement), *_limits(cloud, confinement))


def _settings(cloud: Cloud, confinement: Confinement) -> list[Item]:
    found = []
    for key, value in confinement.config.items():
        if key not in cloud.config:
            reason = (cloud.refused or {}).get(key, "it is not a setting of this provider")
            found.append(Item(f"config.{key}", str(value), "refused", reason))
    return found


def _network(cloud: Cloud, confinement: Confinement) -> Item:
    if confinement.network:
        return Item("network", "the host's", "refused", "that machine is not in the host's network")
    allowed = () if confinement.tunnel is None else confinement.tunnel.allowed
    reason = cloud.network(allowed)
    wanted = ", ".join(allowed) or "none"
    if reason is not None:
        return Item("network.egress", wanted, "refused", reason)
    return Item("network.egress", wanted, "enforced", f"the network rules of {cloud.name}")


def _limits(cloud: Cloud, confinement: Confinement) -> list[Item]:
    limits = confinement.limits
    found = []
    if limits.memory_mb is not None:
        held = cloud.memory or "the size of its machines is their template's"
        outcome: Outcome = "enforced" if cloud.memory else "refused"
        found.append(Item("limits.memory_mb", str(limits.memory_mb), outcome, held))
    for name, value in (("cpu_ms", limits.cpu_ms), ("pids", limits.pids)):
        if value is not None:
            found.append(Item(f"limits.{name}", str(value), "refused", "it has no such limit"))
    if limits.timeout_ms is not None:
        found.append(Item("limits.timeout_ms", str(limits.timeout_ms), "enforced", "deadline of the host"))
    return found
