"""What a caller may choose about an agent's sandbox: another provider than the manifest's, and more hosts.

A bundled manifest says what its agent needs (hosts, variables) and leaves the provider to the person who starts it. With
`sandbox="bubblewrap"` the same manifest runs confined: the workspace is shown at its own path, everything else of the host
is not there. `none` is host access, said in so many words. The caller is the operator, so this choice may also widen what
a manifest declares; a manifest that is not trusted still never gets host access (`confinement`).
"""

import os
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from operable.host.launch.places import plain
from operable.host.session.registry import workspace_slug
from operable.host.start.confinement import provider
from operable.host.start.confinement_paths import OUTSIDE, is_free
from operable.host.start.placement import sandbox_of
from operable.kernel.errors import Fail
from operable.manifest.blocks import Mount, Network, SandboxBlock
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.state.paths import make_private, make_state

NONE = "none"  # no sandbox
LOCAL = "local"  # the provider that is none
# Where the workspace is seen when its own path belongs to the system inside.
_WORKSPACE = "/workspace"


def choose_sandbox(loaded: Loaded, name: str | None, egress: Sequence[str], workspace: str) -> Loaded:
    """The manifest with the sandbox that the caller chose. Fail for a provider that does not exist."""
    block = sandbox_of(loaded)
    if name is not None:
        block = _with_provider(block, LOCAL if name == NONE else name, os.path.realpath(workspace))
    remote = (mcp := loaded.as_(AgentCli).mcp) is not None and mcp.transport != "stdio"
    if egress and is_unconfined(block.provider) and not remote:  # where a remote agent is must be on the list
        raise Fail(
            "usage",
            "EGRESS_WITHOUT_SANDBOX",
            "without a sandbox every host can be reached: hosts that may be reached limit nothing",
            hint="--sandbox bubblewrap",
        )
    if egress:
        hosts = dict.fromkeys((*block.network.egress, *egress))
        block = msgspec.structs.replace(block, network=Network(egress=tuple(hosts)))
    if block is sandbox_of(loaded):
        return loaded
    return replace(loaded, value=msgspec.structs.replace(loaded.as_(AgentCli), sandbox=block))


def is_unconfined(name: str) -> bool:
    """Whether a provider gives an agent all rights of the person who starts it."""
    return provider(name).name == LOCAL


def kept_home(agent: str, workspace: str) -> str:
    """The folder that stays an agent's home between its confined sessions, one for each workspace.

    One for all would let a hostile project leave settings there for the sessions in other projects.
    """
    return make_private(os.path.join(make_state("agents"), "homes", plain(agent), workspace_slug(workspace)))


def _with_provider(block: SandboxBlock, name: str, workspace: str) -> SandboxBlock:
    box = provider(name)
    if box.name != provider(block.provider).name:
        block = msgspec.structs.replace(
            block, provider=name, config={}
        )  # the settings are the other provider's
    if box.name in OUTSIDE:
        return block
    # A variable that names a place of the host would name nothing inside, or something else.
    passed = tuple(name for name in block.env.passthrough if not os.environ.get(name, "").startswith("/"))
    block = msgspec.structs.replace(block, env=msgspec.structs.replace(block.env, passthrough=passed))
    if any(mount.source == "workspace" for mount in block.mounts):
        return block
    place = workspace if is_free(workspace) and not box.elsewhere else _WORKSPACE
    mount = Mount(source="workspace", at=place, mode="read-only" if box.elsewhere else "read-write")
    return msgspec.structs.replace(block, mounts=(*block.mounts, mount))
