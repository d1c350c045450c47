"""`external`: open an address for a person, and take what comes back.

With `callback`, the browser comes back to an address on this machine that is valid once and for `timeout_ms`; it stands for
`${callback_url}` in `url`, and is added as `redirect_uri` where the url has no such place. The value is the query parameter
`param`. Without `callback`, the person is asked to paste the value when `persist` wants one, else to say when it is done.
"""

from urllib.parse import urlencode, urlsplit

from operable.host.launch.login.callback import Receiver, origin
from operable.host.launch.step import Question, StepFailed, StepJob, StepKind
from operable.host.launch.words import fill, references
from operable.kernel.errors import Fail


def _run(job: StepJob) -> str | None:
    if job.answer is not None:
        return job.answer
    return _paste(job) if job.step.callback is None else _come_back(job)


def _come_back(job: StepJob) -> str | None:
    callback = job.step.callback
    with Receiver([origin(job.step.url)]) as receiver:
        _open(job, fill(_with_place(job.step.url), {**job.values, "callback_url": receiver.url}))
        try:
            answer = receiver.wait(callback.timeout_ms / 1000, job.surroundings.stop)
        except Fail as fail:
            if fail.category == "cancelled":
                raise
            raise StepFailed(fail.message) from fail
    if callback.param is None:
        return None
    if not answer.get(callback.param):
        raise StepFailed(f"the browser came back without {callback.param!r}")
    return answer[callback.param]


def _paste(job: StepJob) -> str | None:
    step = job.step
    _open(job, fill(step.url, job.values))
    wanted = step.persist is not None
    prompt = "Paste what the page shows" if wanted else "Is it done?"
    kind = "boolean" if not wanted else "secret" if step.persist.env is None else "text"
    answer = job.required_person.ask(Question(step.id, prompt, kind, description=step.description)).strip()
    if not wanted:
        if answer.lower() not in ("true", "yes", "y", "1"):
            raise StepFailed("it was not done")
        return None
    if not answer:
        raise StepFailed("there was no answer")
    return answer


def _with_place(url: str) -> str:
    """The address with a place for the callback."""
    if "callback_url" in references(url):
        return url
    whole, _, fragment = url.partition("#")
    joint = "&" if urlsplit(whole).query else "?"
    return f"{whole}{joint}{urlencode({'redirect_uri': ''})}${{callback_url}}" + (
        f"#{fragment}" if fragment else ""
    )


def _open(job: StepJob, url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise StepFailed("its url is not a web address")
    job.required_person.open_url(url, job.step.description or f"setup step {job.step.id}")


STEP = StepKind("external", _run, needs_person=lambda _: True, takes_answer=True)
