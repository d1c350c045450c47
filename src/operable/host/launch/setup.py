"""The setup of a manifest: its steps in order, each once per (bundle, workspace, user), before the program is started.

Theory of operation. A step is settled when the ledger has it with the digest of what the manifest says now, or when its
`skip_if` matches (which is then also remembered); a step that was rewritten is open again. `pending` finds what is open
without running anything but `skip_if`; `run` does it, one step after the other, and stops at the first that fails or needs a
person who is not there. Values go only to the store of secrets: the ledger and every message know a slug only.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

import msgspec

from operable.host.launch.installer import InstallProgress, Report
from operable.host.launch.ledger import Ledger, Scope, StepRecord
from operable.host.launch.login.oauth import Client
from operable.host.launch.places import Places, exclusive
from operable.host.launch.process import CommandSurroundings
from operable.host.launch.step import OWN, Person, StepFailed, StepJob, ValueStore, step_kind
from operable.host.launch.words import references
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.manifest.blocks import Persist, SetupStep

# As long as a person may take over all steps in another window.
LOCK_TIMEOUT = 3600.0
# A command that keeps a value is like a step that runs one.
_PERSIST_TIMEOUT = 60.0


class Pending(NamedTuple):
    """A step that is still to be done."""

    id: str
    kind: str
    description: str
    needs_person: bool


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of one manifest for one scope. `answers` (by step id) stand for a person where they can."""

    name: str
    steps: tuple[SetupStep, ...]
    scope: Scope
    places: Places
    ledger: Ledger
    surroundings: CommandSurroundings
    store: ValueStore | None = None
    person: Person | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    client: Callable[[str], Client | None] = lambda _: None
    report: Report = lambda _: None
    stop: threading.Event | None = None

    def pending(self) -> list[Pending]:
        """What is still to be done, in order."""
        return [_described(step) for step in self.steps if not self._settled(step)]

    def require(self) -> None:
        """Fail setup_required unless everything is done."""
        open_steps = self.pending()
        if open_steps:
            raise self._required(open_steps)

    def run(self) -> None:
        """Do what is still to be done. Fail setup_failed with the step, or setup_required if a person is needed."""
        if not any(not self._recorded(step) for step in self.steps):
            return
        with exclusive(
            self.places.lock(f"setup-{digest(list(self.scope))[7:39]}"),
            timeout=LOCK_TIMEOUT,
            what=f"setting up {self.name}",
            stop=self.stop,
        ):
            for step in self.steps:
                if self._settled(step):
                    continue
                if self._needs_somebody(step):
                    raise self._required(self.pending())
                self.report(InstallProgress("setup", step.description or step.id))
                self._do(step)

    def environment(self) -> dict[str, str]:
        """The variables that completed steps want in every start of the program."""
        records = self.ledger.steps(self.scope)
        found: dict[str, str] = {}
        for step in self.steps:
            record = records.get(step.id)
            if record is not None and record.env is not None and record.slug is not None:
                value = self._stored(record.slug)
                if value is not None:
                    found[record.env] = value
        return found

    # --- one step

    def _recorded(self, step: SetupStep) -> bool:
        record = self.ledger.steps(self.scope).get(step.id)
        return record is not None and record.digest == _digest(step)

    def _settled(self, step: SetupStep) -> bool:
        if self._recorded(step):
            return True
        if step.skip_if is None:
            return False
        try:
            values = self._values(step.skip_if.cmd)
            timeout = step.skip_if.timeout_ms / 1000
            done = self.surroundings.ask(step.skip_if.cmd, timeout=timeout, values=values)
        except Fail as fail:
            if fail.category == "cancelled":
                raise
            return False  # what cannot be asked does not match: the step is to be done
        if done.status != step.skip_if.exit_code:
            return False
        self.ledger.completed(self.scope, step.id, StepRecord(_digest(step), "skipped"))
        return True

    def _needs_somebody(self, step: SetupStep) -> bool:
        kind = step_kind(step)
        answered = kind.takes_answer and step.id in self.answers
        return kind.needs_person(step) and not answered and self.person is None

    def _do(self, step: SetupStep) -> None:
        values: dict[str, str] = {}
        try:
            values = self._values(*_texts(step))
            job = StepJob(
                step,
                self.surroundings,
                self.person,
                self.answers.get(step.id) if step_kind(step).takes_answer else None,
                values,
                self.client(step.secret_slug) if hasattr(step, "secret_slug") else None,
            )
            value = step_kind(step).run(job)
            record = self._kept(step, value, values)
        except (StepFailed, Fail) as problem:
            if isinstance(problem, Fail) and problem.category == "cancelled":
                raise
            raise self._failed(step, problem, values) from problem
        self.ledger.completed(self.scope, step.id, record)

    def _kept(self, step: SetupStep, value: str | None, values: Mapping[str, str]) -> StepRecord:
        """Bring the value where the manifest wants it, and say where that is."""
        persist: Persist = getattr(step, "persist", None) or Persist()
        named = getattr(step, "secret_slug", None) or persist.secret_slug
        wanted_later = any(
            f"input.{step.id}" in references(text) for each in self.steps for text in _texts(each)
        )
        if persist != Persist() and value is None:
            raise StepFailed("it gave no value to keep")
        if value is not None and named is not None:
            if named.startswith(OWN):
                raise StepFailed(f"a manifest cannot use the name {named!r}")
            self._vault(named).store(named, value)
        # What has a name is only ours to read again by that name's own rules, so a later use has a copy of its own.
        slug = _slug(self.scope, step.id) if value is not None and (persist.env or wanted_later) else None
        if value is not None and slug is not None:
            self._vault(slug).store(slug, value)
        if persist.cmd is not None and value is not None:
            self._run_persist(persist.cmd, value, values)
        return StepRecord(_digest(step), "done", persist.env, slug)

    def _run_persist(self, text: str, value: str, values: Mapping[str, str]) -> None:
        given = {**values, "value": value}
        done = self.surroundings.run(text, timeout=_PERSIST_TIMEOUT, values=given)
        if done.status != 0:
            said = redact_text(done.said(1000), [value])
            raise StepFailed(f"the command that keeps its value ended with {done.status}: {said}")

    def _values(self, *texts: str) -> dict[str, str]:
        """What the placeholders of these texts mean now; what has no value is left out, and is missed when it is used."""
        records = self.ledger.steps(self.scope)
        found: dict[str, str] = {}
        for name in {name for text in texts for name in references(text)}:
            kind, _, word = name.partition(".")
            if word.startswith(OWN):
                continue  # another manifest's value
            record = records.get(word)
            slug = (
                word if kind == "secrets" else record.slug if kind == "input" and record is not None else None
            )
            value = self._stored(slug) if slug is not None else None
            if value is not None:
                found[name] = value
        return found

    def _stored(self, slug: str) -> str | None:
        return None if self.store is None else self.store.get(slug)

    def _vault(self, slug: str) -> ValueStore:
        if self.store is None:
            raise StepFailed(f"there is no store of secrets that could keep {slug!r}")
        return self.store

    # --- what is said

    def _failed(self, step: SetupStep, problem: StepFailed | Fail, values: Mapping[str, str]) -> Fail:
        """What could not be written is a matter of the disk, with its own hint, and not of the configuration."""
        unwritten = problem if isinstance(problem, Fail) and problem.category == "io" else None
        answer = self.answers.get(step.id)
        hidden = [*values.values(), *([answer] if answer else [])]
        return Fail(
            "config" if unwritten is None else "io",
            "SETUP_FAILED",
            f"the setup of {self.name} stopped at {step.id!r}: {redact_text(str(problem), hidden)}",
            target=step.id,
            hint=(unwritten and unwritten.hint) or f"operable agent setup {self.name}",
            aip_code="setup_failed",
            step=step.id,
        )

    def _required(self, open_steps: list[Pending]) -> Fail:
        names = ", ".join(step.id for step in open_steps)
        return Fail(
            "config",
            "SETUP_REQUIRED",
            f"{self.name} is not set up: {names}",
            target=self.name,
            hint=f"operable agent setup {self.name}",
            aip_code="setup_required",
            pending=[step._asdict() for step in open_steps],
        )


def _described(step: SetupStep) -> Pending:
    kind = step_kind(step)
    description = step.description or getattr(step, "prompt", "")
    return Pending(step.id, kind.kind, description, kind.needs_person(step))


def _digest(step: SetupStep) -> str:
    return digest(msgspec.to_builtins(step))


def _texts(step: SetupStep) -> list[str]:
    """Everything in a step that may refer to earlier ones."""
    plain: Any = msgspec.to_builtins(step)
    blocks = [plain.get(name) for name in ("options", "persist", "skip_if")]
    nested = [block.get("cmd") for block in blocks if isinstance(block, dict)]
    return [text for text in (plain.get("cmd"), plain.get("url"), plain.get("prompt"), *nested) if text]


def _slug(scope: Scope, step: str) -> str:
    """Under which name the store keeps a value that the manifest gives no name: only its own, and no name to guess from."""
    return f"{OWN}s{digest([*scope, step])[7:39]}"
