"""The place where a session's agent runs: the manifest's sandbox, its secrets, and a note of each use in the audit chain.

`operable.host.start.confinement` makes the place and says what it enforces; here the manifest's words are put into its
terms: which sandbox, which secrets of which inventory, which folders hold the program. Blocking (proxies, control
groups, key rings): called in a thread.

`choose_sandbox` applies what the caller chose: another provider than the manifest's, and more hosts.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import msgspec

from operable.gate.audit.chain import Audit
from operable.gate.audit.place import workspace_slug
from operable.host.launch.places import plain
from operable.host.start.choices import quirks_of
from operable.host.start.confinement import ConfinedAgent, ConfinementRequest, confine, provider
from operable.host.start.confinement_paths import OUTSIDE, is_free, program_folders
from operable.host.start.remote import key_reference
from operable.host.start.vault import Actor, SecretUse, Vault
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.kernel.redact.credentials import read_credentials
from operable.manifest.blocks import Mount, Network, SandboxBlock
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.kinds.secrets import Secret, Secrets
from operable.manifest.loader import Loaded
from operable.proc.sandbox.egress.budget import Attempt
from operable.state.paths import make_private, make_state

SUBSTITUTE = "egress-substitute"
NONE = "none"  # no sandbox
LOCAL = "local"  # the provider that is none
# Where the workspace is seen when its own path belongs to the system inside.
_WORKSPACE = "/workspace"


@dataclass(frozen=True, slots=True)
class Placing:
    """What is asked for, beyond the manifest."""

    workspace: str
    audit: Audit
    trusted: bool = False
    home: str | None = None  # a folder of the host that is the agent's home inside; None: an empty one
    backends: tuple[str, ...] = ("environment",)
    accept_shared_env: bool = False
    known: Known = field(default_factory=Known, repr=False)  # the secrets of the session
    # Variables that contain the keys of providers whose model was not chosen: their secrets are not needed.
    unneeded: frozenset[str] = field(default_factory=frozenset)


def place(loaded: Loaded, placing: Placing, binary: str) -> ConfinedAgent:
    """Make the place; Fail says what cannot be enforced or must not be combined."""
    manifest = loaded.as_(AgentCli)
    vault = vault_of(loaded, placing)
    block = sandbox_of(loaded)
    return confine(
        ConfinementRequest(
            block,
            placing.workspace,
            trusted=placing.trusted,
            auth=manifest.auth is not None,
            vault=vault,
            secrets=tuple(entry.slug for entry in needed(vault, placing, key_reference(block))),
            home=placing.home,
            programs=program_folders(binary),
            accept_shared_env=placing.accept_shared_env,
            credential=_credential(vault, key_reference(block)),
            on_attempt=lambda attempt: _attempted(placing.audit, attempt),
            known=placing.known,
        )
    )


def sandbox_of(loaded: Loaded) -> SandboxBlock:
    """The sandbox block of a manifest, inline or in the file that it names."""
    found = loaded.as_(AgentCli).sandbox
    if isinstance(found, SandboxBlock):
        return found
    bound = loaded.bound.get("sandbox")
    if bound is None or not isinstance(bound.value, SandboxBlock):
        raise Fail(
            "config",
            "SANDBOX_REF_UNRESOLVABLE",
            f"the sandbox {found!r} cannot be followed: the manifest was loaded without its folder",
            target="sandbox",
            aip_code="sandbox_ref_unresolvable",
        )
    return bound.value


def vault_of(loaded: Loaded, placing: Placing) -> Vault | None:
    """The inventory of the manifest's SECRETS.md, with the host's backends; None when it has none."""
    bound = loaded.bound.get("secrets")
    if bound is None or not isinstance(bound.value, Secrets):
        return None
    manifest = loaded.as_(AgentCli)
    return Vault(
        bound.value,
        Actor(user_id=str(os.getuid()), owner=True, tool=manifest.id),
        backends=placing.backends,
        on_use=lambda use: _used(placing.audit, use),
        context={"agent": manifest.id},
        known=placing.known,
    )


def needed(vault: Vault | None, placing: Placing, key: str | None = None) -> list[Secret]:
    """The secrets of the inventory that the agent needs; the `key` of a cloud provider is not for it."""
    if vault is None:
        return []
    found = [entry for entry in vault.inventory.secrets if entry.slug != key]
    return [entry for entry in found if not set(entry.env_names) & placing.unneeded]


class LoginFiles:
    """The files in which the agent of a session keeps its login: what they contain is masked in all that it prints.

    They are `auth.state.paths` of the manifest and `metadata.operable.login_files`: paths that begin with `~/`, with a
    variable of the agent (`$CODEX_HOME/auth.json`), or in the workspace. `homes` are the folders of this machine that
    can be the agent's home. Agents renew their tokens: `learn` is called again when a turn begins.
    """

    def __init__(
        self,
        manifest: AgentCli,
        known: Known,
        *,
        variables: Mapping[str, str],
        homes: tuple[str, ...],
        workspace: str,
    ) -> None:
        self._known = known
        self._seen: dict[str, tuple[int, int]] = {}
        declared = [*(manifest.auth.state.paths if manifest.auth else ()), *_listed(manifest)]
        self._paths = [
            os.path.join(workspace, path)
            for text in declared
            for path in expanded_path(text, variables, homes)
        ]

    def learn(self) -> None:
        """Add what the files contain now."""
        for path in self._paths:
            try:
                found = os.stat(path)
            except OSError:
                continue
            state = found.st_mtime_ns, found.st_ino
            if self._seen.get(path) != state:
                self._seen[path] = state
                self._known.add(*read_credentials(path))


def _credential(vault: Vault | None, key: str | None) -> str | None:
    if key is None:
        return None
    if vault is None:
        message = f"the sandbox names the secret {key!r}, and the manifest has no inventory of secrets"
        raise Fail("not_found", "SECRET_UNKNOWN", message, target=key, hint="bind a SECRETS.md with auth.ref")
    return vault.reveal(key, "sandbox").reveal()


def login_variables(loaded: Loaded, placing: Placing) -> dict[str, str]:
    """The variables by which `auth` is judged: their values, or placeholders where the agent gets no more than those."""
    manifest = loaded.as_(AgentCli)
    vault = vault_of(loaded, placing)
    if vault is None or manifest.auth is None:
        return {}
    found: dict[str, str] = {}
    for entry in needed(vault, placing, key_reference(sandbox_of(loaded))):
        if any(exposure.kind == SUBSTITUTE for exposure in entry.exposures):
            found |= dict.fromkeys(entry.env_names, f"$$SECRET[{entry.env_names[0]}]$$")
        else:
            value = vault.reveal(entry.slug, "auth").reveal()
            found |= dict.fromkeys(entry.env_names, value)
    return found


def _used(audit: Audit, use: SecretUse) -> None:
    decision = "deny" if use.action.endswith("denied") else "allow"
    audit.record(
        "secret.use",
        subject={"kind": "secret", "ref": use.slug},
        output={"purpose": use.purpose, "granted_by": use.granted_by},
        decision=("secrets", decision),
    )


def _attempted(audit: Audit, attempt: Attempt) -> None:
    if not attempt.allowed:
        audit.record(
            "egress.denied",
            subject={"kind": "host", "ref": f"{attempt.host}:{attempt.port}"},
            output={"reason": attempt.reason, "count": attempt.count},
            decision=("sandbox:network.egress", "deny"),
        )


def _listed(manifest: AgentCli) -> list[str]:
    files = quirks_of(manifest).get("login_files")
    return [path for path in files if isinstance(path, str)] if isinstance(files, list) else []


def expanded_path(path: str, variables: Mapping[str, str], homes: tuple[str, ...]) -> list[str]:
    """The places that a declared path can mean; none if its variable is not set."""
    first, slash, rest = path.partition("/")
    if first == "~":
        return [home + slash + rest for home in homes]
    if first.startswith("$"):
        value = variables.get(first[1:].strip("{}"))
        return [value + slash + rest] if value else []
    return [path]


# What a caller may choose about an agent's sandbox: another provider than the manifest's, and more hosts.
# A bundled manifest says what its agent needs (hosts, variables) and leaves the provider to the person who starts it.
# With `sandbox="bubblewrap"` the same manifest runs confined: the workspace is shown at its own path, everything else
# of the host is not there. `none` is host access, said in so many words. The caller is the operator, so this choice may
# also widen what a manifest declares; a manifest that is not trusted still never gets host access (`confinement`).
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
