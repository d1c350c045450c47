"""Which arm speaks for a manifest: `protocol` names it, and for `proprietary` the adapter does.

An adapter is `operable/<arm>`, one of the names under which an arm knows itself (`Arm.adapters`), or a third-party adapter,
which `operable.host.start.adapters` loads only when it was approved in exactly this version.
"""

from operable.host import arms
from operable.host.arm import Arm
from operable.kernel.catalogue import load, names, unknown
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli

_OWN = "operable/"


def arm_for(manifest: AgentCli) -> Arm:
    """The arm of a manifest; Fail config/PROTOCOL_UNKNOWN or usage/UNKNOWN_ADAPTER."""
    if manifest.protocol in ("acp", "mcp"):
        return arm_named(manifest.protocol)
    if manifest.protocol != "proprietary" or manifest.adapter is None:
        raise Fail(
            "config",
            "PROTOCOL_UNKNOWN",
            f"no arm speaks the protocol {manifest.protocol!r}",
            target=manifest.id,
        )
    return adapter_named(manifest.adapter)


def arm_named(name: str) -> Arm:
    arm: Arm = load("operable.host.arms", name, "ARM", kind="protocol arm")
    return arm


def adapter_named(adapter: str) -> Arm:
    """The arm that an `adapter` field means."""
    known = [name for directory in arms.__path__ for name in names(directory)]
    if adapter.startswith(_OWN):
        name = adapter.removeprefix(_OWN)
        if name in known:
            return arm_named(name)
        raise unknown("adapter", adapter, [_OWN + name for name in known])
    found = {alias: arm for arm in map(arm_named, known) for alias in arm.adapters}
    if adapter in found:
        return found[adapter]
    from operable.host.start import adapters  # reading entry points costs; only what is not ours pays for it

    foreign = adapters.available()
    if adapter in foreign:
        return adapters.load(adapter)
    raise unknown("adapter", adapter, sorted([*found, *foreign, *(_OWN + name for name in known)]))
