"""What is known of a call when it has ended: the same for blocking and asynchronous ones."""

from __future__ import annotations

from operable.run.chain import Chain
from operable.run.session import CallSession, Stage, decisive, exit_code
from operable.wire.verdict import Verdict


class Outcome:
    """The read-only face of a call. Not for users to make: `call` and its kin do."""

    def __init__(self, session: CallSession) -> None:
        self._session = session
        self._chain: Chain | None = None
        self._stages: tuple[Stage, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: of the only stage, or of the last one that is not ok."""
        return decisive(self.stages).verdict

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One result per process, when the call has ended."""
        if self._stages is None:
            raise RuntimeError("the call has not ended: iterate to its end, or close it")
        return self._stages

    @property
    def violated(self) -> bool:
        """Whether the stream has broken the protocol: then no more events come, though the tool may still be running."""
        return bool(self._session.judges) and self._session.judge.violated

    @property
    def ok(self) -> bool:
        return all(stage.ok for stage in self.stages)

    @property
    def exit_code(self) -> int:
        """The status that a command which relays this call should exit with."""
        return exit_code(self.stages)

    @property
    def stderr(self) -> str:
        """What the (last) tool wrote to its stderr: bounded, redacted."""
        return self.stages[-1].stderr

    @property
    def pids(self) -> list[int]:
        """The process groups that are running now."""
        return self._chain.pids if self._chain is not None else []
