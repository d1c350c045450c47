"""The public interface: a manifest becomes a handle, a handle starts sessions.

    async with await agent("hermes").start(workspace=".") as session:
        async for event in session.send("Say hello"):
            ...

`start` goes the way of AIP-45, each step before the next and all refusals before anything runs: first the choices
(mode, options, model, continuation) against the manifest, and the rules against what can be enforced. Then readiness
(installed, version, set up, logged in), confinement, spawn, and the handshake within its limit. Last, what the agent
says about itself against what the manifest promises.

Everything heavy is imported when it is first needed: a program that may drive an agent does not pay for it at its start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from operable.host.continuation import Conversations
    from operable.host.session.session import Session
    from operable.host.start.options import StartOptions
    from operable.host.sync import SyncSession
    from operable.manifest.kinds.agent_cli import AgentCli
    from operable.manifest.loader import Loaded
    from operable.wire.events import Usage


class AgentCliHandle:
    """A validated manifest that can be started."""

    def __init__(self, loaded: Loaded, *, trusted: bool | None = None) -> None:
        self.loaded = loaded
        self._trusted = trusted
        self.manifest: AgentCli = loaded.value

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def names(self) -> tuple[str, ...]:
        """The names that rules may have for it: that of its folder, as in the catalog, and its id."""
        folder, file = os.path.split(os.path.abspath(self.loaded.path))
        return (os.path.basename(folder), self.id) if file == "AGENT-CLI.md" else (self.id,)

    async def start(self, options: StartOptions | None = None, /, **fields: Any) -> Session:
        """Start the agent; `fields` replace fields of `options`. Fail says what is missing or refused."""
        from operable.host.start.options import start_options
        from operable.host.start.sequence import begin

        return await begin(self.loaded, start_options(options, fields), trusted=self._require_trust())

    def _require_trust(self) -> bool:
        """A manifest says what is downloaded and run: one that came with a project is acted on only when approved."""
        if self._trusted is None:
            from operable.host.launch.discover import Discovery
            from operable.host.launch.ledger import Ledger
            from operable.host.launch.places import Places

            ledger = Ledger(Places.default().ledger)
            Discovery.default(ledger).find(os.path.abspath(self.loaded.path)).require_trusted()
        elif not self._trusted:
            raise Fail(
                "authz", "MANIFEST_NOT_APPROVED", f"the manifest of {self.id} is not trusted", target=self.id
            )
        return True

    def start_sync(self, options: StartOptions | None = None, /, **fields: Any) -> SyncSession:
        """`start` for callers without a loop: a session whose methods block. An interrupt stops what was being started."""
        from operable.host.start.options import start_options
        from operable.host.sync import SyncSession, interruptible

        return SyncSession(interruptible(self.start(start_options(options, fields))))

    async def complete(
        self, options: StartOptions | None = None, /, *, prompt: str, system: str = "", **fields: Any
    ) -> Completion:
        """One question, one answer: an ephemeral session in which every ask is denied."""
        from operable.host.start.options import start_options

        return await complete(self, start_options(options, fields), prompt=prompt, system=system)

    def conversations(
        self, options: StartOptions | None = None, /, *, at_most: int = 1000, **fields: Any
    ) -> Conversations:
        """Conversations by key, in the manifest's continuation strategy or the one that is chosen.

        `at_most` are remembered: a new one takes the place of the one that has had no turn for longest.
        """
        from operable.host.continuation import Conversations
        from operable.host.start.options import start_options

        return Conversations(self, start_options(options, fields), at_most=at_most)


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer. `reason` is the turn-end's: a refusal or a cut answer is one that says so."""

    result: str
    reason: str
    usage: Usage | None = None


async def complete(
    agent: AgentCliHandle,
    options: StartOptions | None = None,
    /,
    *,
    prompt: str,
    system: str = "",
    **fields: Any,
) -> Completion:
    """An agent as a model: one prompt, one answer, nothing remembered. Fail io/COMPLETION_FAILED for a turn that failed.

    Each question of the agent is denied, unless a policy says otherwise: a completion has no effects that were not
    allowed.
    """
    from operable.host.start.options import start_options

    text = f"{system.strip()}\n\n{prompt}" if system.strip() else prompt
    async with await agent.start(start_options(options, fields)) as session:
        turn = await session.send(text).result()
    if turn.reason in ("error", "timeout", "cancelled"):
        message = turn.errors[-1].message if turn.errors else f"the turn ended as {turn.reason}"
        raise Fail("io", "COMPLETION_FAILED", message, target=agent.id, reason=turn.reason)
    return Completion(turn.text, turn.reason, turn.usage)


def agent(name: str, *, workspace: str | os.PathLike[str] = ".") -> AgentCliHandle:
    """The agent of this name, id or path, as `operable agent list` shows it: of the workspace, of the user, or bundled.

    Raises Fail not_found for a name that is not known, and authz/MANIFEST_NOT_APPROVED for a manifest that came with the
    workspace and was not approved as it is now.
    """
    from operable.host.launch.discover import Discovery
    from operable.host.launch.ledger import Ledger
    from operable.host.launch.places import Places

    discovery = Discovery.default(Ledger(Places.default().ledger), os.path.realpath(workspace))
    found = discovery.find(name)
    found.require_trusted()
    handle = define_agent_cli(found.path, trusted=True)
    if (
        found.origin == "project"
    ):  # judged once more: it may have been written between the judgement and the load
        discovery.find(found.path).require_trusted()
    return handle


def define_agent_cli(
    manifest: Mapping[str, Any] | str | os.PathLike[str],
    *,
    strict: bool = True,
    workspace: str | os.PathLike[str] | None = None,
    trusted: bool | None = None,
) -> AgentCliHandle:
    """Validate a manifest (a mapping, or the path of an AGENT-CLI.md); ManifestError has all of its problems.

    `workspace` is the folder inside which its references (ACP.md, SECRETS.md …) may be; by default the manifest's own.
    `trusted`: whether it may be acted on. By default a mapping is, since it is part of the calling program; a file is when
    it comes with Operable, is kept by the user, or was approved as it is now (`operable.host.launch.trust`).
    """
    from operable.manifest.loader import from_mapping, load

    if isinstance(manifest, Mapping):
        loaded = from_mapping(manifest, "agent-cli", strict=strict)
        return AgentCliHandle(loaded, trusted=trusted is not False)
    path = os.fspath(manifest)
    folder = os.path.dirname(os.path.abspath(path)) if workspace is None else os.fspath(workspace)
    return AgentCliHandle(load(path, kind="agent-cli", strict=strict, workspace=folder), trusted=trusted)
