"""`prompt`: ask a person for a value: `text`, one of several (`select`), yes or no (`boolean`), or hidden (`secret`).

The choices of a `select` are listed in the manifest or printed by a command, one a line, as `value` or `value<tab>label`. An
empty answer means the default. An answer that is none of the choices is asked for again, twice; one that was given
beforehand fails the step.
"""

from operable.host.launch.step import Question, StepFailed, StepJob, StepKind
from operable.host.launch.words import show
from operable.kernel.errors import Fail
from operable.manifest.blocks import OptionsCmd

_ATTEMPTS = 3
_CHOICES = 1000
_BOOLEANS = {"true": "true", "yes": "true", "y": "true", "1": "true"} | {
    "false": "false",
    "no": "false",
    "n": "false",
    "0": "false",
}


def _run(job: StepJob) -> str:
    question = Question(
        job.step.id,
        show(job.step.prompt, job.values),
        job.step.type,
        job.step.default,
        _options(job),
        job.step.description,
    )
    if job.answer is not None:
        return _accepted(question, job.answer)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _accepted(question, job.required_person.ask(question))
        except StepFailed:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _options(job: StepJob) -> tuple[tuple[str, str], ...]:
    declared = job.step.options
    if not isinstance(declared, OptionsCmd):
        return tuple((value, value) for value in declared)
    try:
        done = job.surroundings.ask(declared.cmd, timeout=declared.timeout_ms / 1000, values=job.values)
    except Fail as fail:
        if fail.category == "cancelled":
            raise
        raise StepFailed(f"the choices cannot be listed: {fail.message}") from fail
    if done.status != 0:
        raise StepFailed(f"the choices cannot be listed: the command ended with {done.status}")
    pairs = [line.partition("\t") for line in done.text.splitlines() if line.strip()]
    if not pairs or len(pairs) > _CHOICES:
        raise StepFailed(f"the command printed {len(pairs)} choices; 1 to {_CHOICES} can be shown")
    return tuple((value.strip(), label.strip() or value.strip()) for value, _, label in pairs)


def _accepted(question: Question, answer: str) -> str:
    answer = answer if question.type == "secret" else answer.strip()
    if not answer:
        answer = question.default or ""
    if not answer:
        raise StepFailed("there was no answer")
    if question.type == "boolean":
        if answer.lower() not in _BOOLEANS:
            raise StepFailed("the answer is neither yes nor no")
        return _BOOLEANS[answer.lower()]
    if question.type == "select" and answer not in [value for value, _ in question.options]:
        raise StepFailed("the answer is not one of the choices")
    return answer


STEP = StepKind("prompt", _run, needs_person=lambda _: True, takes_answer=True)
