"""`oauth`: let a person consent in a browser, and keep the tokens under `secret_slug`.

How the provider is asked is with the secret, in `metadata.oauth` of the SECRETS.md entry (authorization_url, token_url,
client_id, scopes). A secret without that cannot be authorized here, and the step fails saying so.
"""

import json

from operable.host.launch.login.oauth import authorize
from operable.host.launch.step import StepFailed, StepJob, StepKind
from operable.kernel.errors import Fail


def _run(job: StepJob) -> str:
    slug, person = job.step.secret_slug, job.required_person
    if job.client is None:
        raise StepFailed(
            f"the secret {slug!r} does not say how its provider is asked: it needs metadata.oauth in SECRETS.md"
        )
    why = job.step.description or f"authorize {slug}"
    try:
        token = authorize(job.client, lambda url: person.open_url(url, why), stop=job.surroundings.stop)
    except Fail as fail:
        if fail.category == "cancelled":
            raise
        raise StepFailed(fail.message) from fail
    return json.dumps(token)


STEP = StepKind("oauth", _run, needs_person=lambda _: True)
