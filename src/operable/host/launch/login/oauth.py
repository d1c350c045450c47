"""Authorization code with PKCE, for a program on a person's machine (RFC 6749, 7636, 8252): consent there, token here.

What a provider needs is declared with the secret, in `metadata.oauth` of its SECRETS.md entry: `authorization_url`,
`token_url`, `client_id`, and perhaps `scopes`. Programs on people's machines have no client secret. The result has the shape
that secrets of kind `oauth` have: accessToken, refreshToken, expiresAt. Neither it nor the code is ever shown or logged.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from operable.host.launch.login.callback import Receiver, origin
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

# A person reads, logs in, looks for the second factor.
CONSENT_TIMEOUT = 600.0
_TOKEN_TIMEOUT = 30.0
_TOKEN_LIMIT = 256 * 1024
# Of RFC 6749, section 4.1.2.1. Whatever else an answer says may repeat the code.
_ERRORS = (
    *("nothing", "invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type"),
    *("invalid_scope", "server_error", "temporarily_unavailable"),
)
_LONGEST_LIFE = (
    100 * 366 * 24 * 3600
)  # of a token, in seconds: a larger number is not one that a provider means
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Client:
    """How a provider is asked."""

    authorization_url: str
    token_url: str
    client_id: str
    scopes: tuple[str, ...] = ()

    @classmethod
    def declared(cls, metadata: Mapping[str, Any]) -> "Client | None":
        """From the metadata of a secret; None when it declares none. Fail when what it declares cannot be used."""
        block = metadata.get("oauth")
        if not isinstance(block, Mapping):
            return None
        words = [str(block.get(name) or "") for name in ("authorization_url", "token_url", "client_id")]
        scopes = block.get("scopes", [])
        if not all(words) or not isinstance(scopes, (list, tuple)):
            raise _unusable("it needs authorization_url, token_url and client_id")
        for url in words[:2]:
            parts = urlsplit(url)
            if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in _LOOPBACK):
                raise _unusable(f"{parts.scheme}://{parts.hostname} is not encrypted")
        return cls(words[0], words[1], words[2], tuple(str(scope) for scope in scopes))


def authorize(
    client: Client,
    open_url: Callable[[str], object],
    *,
    timeout: float = CONSENT_TIMEOUT,
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """Let a person consent, and fetch the token."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    with Receiver([origin(client.authorization_url)]) as receiver:
        open_url(_question(client, receiver.url, verifier, state))
        answer = receiver.wait(timeout, stop)
        if not secrets.compare_digest(answer.get("state", "").encode(), state.encode()):
            raise _refused("the answer does not belong to this question (state)")
        if "code" not in answer:
            said = answer.get("error", "nothing")
            raise _refused(f"the provider said {said if said in _ERRORS else 'something else'!r}")
        return _token(client, answer["code"], verifier, receiver.url)


def _question(client: Client, redirect: str, verifier: str, state: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    question = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if client.scopes:
        question["scope"] = " ".join(client.scopes)
    joint = "&" if urlsplit(client.authorization_url).query else "?"
    return f"{client.authorization_url}{joint}{urlencode(question)}"


def _token(client: Client, code: str, verifier: str, redirect: str) -> dict[str, Any]:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect,
        "client_id": client.client_id,
        "code_verifier": verifier,
    }
    request = Request(  # noqa: S310 - `declared` has looked at the scheme
        client.token_url, data=urlencode(form).encode(), headers={"Accept": "application/json"}
    )
    try:
        with urlopen(request, timeout=_TOKEN_TIMEOUT) as response:  # noqa: S310
            token = json.loads(response.read(_TOKEN_LIMIT))
    except HTTPError as problem:
        problem.close()  # it is also the answer, and keeps the connection
        raise _refused(f"no token was given: the provider answered {problem.code}") from None
    except (HTTPException, ValueError, RecursionError):
        raise _refused("no token was given: the provider's answer cannot be read") from None
    except OSError as problem:
        raise _refused(f"no token was given: {problem}") from problem
    if not isinstance(token, dict) or not isinstance(token.get("access_token"), str):
        raise _refused("no token was given")
    return {
        "accessToken": token["access_token"],
        "refreshToken": token.get("refresh_token"),
        "expiresAt": _expiry(token.get("expires_in")),
    }


def _expiry(life: Any) -> int | None:
    """When the token ends, in seconds since 1970; None if the provider does not say so."""
    if life is None:
        return None
    try:
        seconds = float(life) if isinstance(life, int | float | str) else -1.0
    except (ValueError, OverflowError):
        seconds = -1.0
    if isinstance(life, bool) or not 0 <= seconds <= _LONGEST_LIFE:
        raise _refused("no token was given: `expires_in` of the provider's answer is not a number of seconds")
    return int(time.time() + seconds)


def _refused(why: str) -> Fail:
    return Fail("authn", "OAUTH_REFUSED", f"the authorization did not succeed: {why}")


def _unusable(why: str) -> Fail:
    return Fail("config", "OAUTH_CLIENT_INVALID", f"metadata.oauth of the secret cannot be used: {why}")
