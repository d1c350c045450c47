"""Going on with a session that has ended, or beside one: resume, fork, and what a daemon does after its predecessor died.

AIP-46 knows no way back from an end, so going on makes a new session that names the one before (`continues`). The agent's
own resume is used where its manifest says so and the agent reported an id; else the transcript, quoted before the first
prompt, where the manifest supports that. A fork is always by transcript: two processes in one native session would write
into each other's.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from operable.host.session.log_files import read_log
from operable.host.session.registry import ERROR, SessionHome, SessionMeta
from operable.host.session.transcript import Said, spoken
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.patches import strategy_for
from operable.serve.session.prompt_queue import QueuedPrompt, queued_prompts
from operable.serve.session.spawn import SpawnRequest, kept_request
from operable.serve.session.view import SessionView

NATIVE: Final = "native-resume"
TRANSCRIPT: Final = "transcript"
_INTERRUPTED = "interrupted"  # what `operable.host.session.registry` says of a session whose owner died


class Predecessor(NamedTuple):
    """The session that a new one goes on from. `how` None: as its manifest says."""

    home: SessionHome
    how: str | None = None
    is_fork: bool = False

    def request(self) -> SpawnRequest:
        """What was asked for when it began; of a session that no daemon started, what its meta data says."""
        meta = self.home.meta
        kept = kept_request(self.home.folder)
        if kept is not None:
            return kept
        return SpawnRequest(
            adapter=meta.adapter_slug,
            agent=meta.agent_slug,
            label=meta.label,
            mode=meta.mode,
            model=meta.model,
            sandbox=meta.sandbox,
        )

    def strategy(self, manifest: AgentCli) -> str:
        """Fail usage/CONTINUATION_UNSUPPORTED or usage/NOT_RESUMABLE if there is no way that the manifest supports."""
        own_id = self.home.meta.agent_session_id
        if self.is_fork:
            return strategy_for(manifest, TRANSCRIPT)
        supported = () if manifest.continuation is None else manifest.continuation.supported
        chosen = self.how
        if chosen is None:
            chosen = NATIVE if own_id and NATIVE in supported else TRANSCRIPT
        strategy_for(manifest, chosen)
        if chosen == NATIVE and not own_id:
            message = f"the agent of session {self.home.meta.id} never reported an id of its own"
            raise Fail("usage", "NOT_RESUMABLE", message, target=self.home.meta.id)
        return chosen

    def history(self) -> list[Said]:
        return spoken(read_log(self.home.folder))

    @property
    def waiting(self) -> list[QueuedPrompt]:
        """The prompts that a resumed session takes over."""
        return [] if self.is_fork else queued_prompts(self.home.folder)


class RecoveredSession(NamedTuple):
    """A session of a dead daemon that asked to be resumed: the new one, or why it was not resumed."""

    id: str
    view: SessionView | None = None
    problem: Fail | None = None


def to_recover(homes: Iterable[SessionHome]) -> list[Predecessor]:
    """The sessions that a restarted daemon resumes: interrupted, asked for at their start, and not continued yet."""
    known = list(homes)
    continued = {home.meta.continues for home in known}
    found = []
    for home in known:
        if not _was_interrupted(home.meta) or home.meta.id in continued:
            continue
        request = kept_request(home.folder)
        if request is not None and request.recover:
            found.append(Predecessor(home, request.recover))
    return found


def _was_interrupted(meta: SessionMeta) -> bool:
    return meta.status == ERROR and meta.error == _INTERRUPTED
