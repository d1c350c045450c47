"""`cmd`: run a command of the manifest.

A status other than 0 fails the step. Its value is what it prints, without the blanks around it, when `persist` wants one.
With `interactive: true` it runs on a terminal of its own that is joined to the person's; such a command has no value.
"""

from operable.host.launch.process import judge
from operable.host.launch.step import StepFailed, StepJob, StepKind
from operable.kernel.errors import Fail

_SAID = 2000


def _run(job: StepJob) -> str | None:
    step, seconds = job.step, job.step.timeout_ms / 1000
    if step.interactive:
        _on_terminal(job)
        return None
    try:
        done = job.surroundings.run(step.cmd, timeout=seconds, values=job.values)
    except Fail as fail:
        if fail.category == "cancelled":
            raise
        raise StepFailed(fail.message) from fail
    if done.status != 0:
        # What is to be kept may be a secret, and may be in what it printed before it failed.
        said = done.said(_SAID) if step.persist is None else "what it said is not shown, because it is kept"
        raise StepFailed(f"the command ended with {done.status}: {said or 'it said nothing'}")
    if step.persist is None:
        return None
    if done.cut:
        raise StepFailed("the command printed more than a value")
    return done.text.strip()


def _on_terminal(job: StepJob) -> None:
    terminal = job.required_person.terminal
    if terminal is None:
        raise StepFailed("it draws on a terminal, and no terminal is present")
    if job.step.persist is not None:
        raise StepFailed(
            "an interactive command has no output that could be kept; take persist out of the step"
        )
    seconds = job.step.timeout_ms / 1000
    command = job.surroundings.command(job.step.cmd, job.values)
    end = job.surroundings.converse(command, terminal, timeout=seconds)
    try:
        judge(end, command, seconds)
    except Fail as fail:
        if fail.category == "cancelled":
            raise
        raise StepFailed(fail.message) from fail
    if end.status != 0:
        raise StepFailed(f"the command ended with {end.status}")


STEP = StepKind("cmd", _run, needs_person=lambda step: bool(step.interactive))
