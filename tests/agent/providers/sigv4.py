"""AWS Signature Version 4 from the side of the service: whether a request was signed with a key.

Written after AWS's documentation ("Create a signed AWS API request"), and independent of the SDK that signs.
"""

import hashlib
import hmac
from typing import Any
from urllib.parse import quote

from operable.testing.http_edge import EdgeRequest, Reply
from operable.testing.models import ModelServer

SECRET = "wJalrXUtnFEMI-the-secret-of-this-test"


class SigningServer(ModelServer):
    """Refuses what was not signed, as Bedrock does."""

    async def _answer(self, request: EdgeRequest, reply: Reply) -> None:
        if signed(request, SECRET):
            await super()._answer(request, reply)
        else:
            await reply.whole(403, {"message": "The request signature we calculated does not match."})


def signed(request: EdgeRequest, secret: str) -> bool:
    kind, _, rest = request.headers.get("authorization", "").partition(" ")
    if kind != "AWS4-HMAC-SHA256":
        return False
    given: dict[str, Any] = dict(part.strip().split("=", 1) for part in rest.split(","))
    names = given["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            request.method,
            quote(quote(request.path, safe="/:"), safe="/"),  # encoded as sent, and once more
            "",
            *(f"{name}:{' '.join(request.headers[name].split())}" for name in names),
            "",
            given["SignedHeaders"],
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    _, *scope = given["Credential"].split("/")
    text = "\n".join(
        [kind, request.headers["x-amz-date"], "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return "host" in names and hmac.compare_digest(
        hmac.new(key, text.encode(), "sha256").hexdigest(), given["Signature"]
    )
