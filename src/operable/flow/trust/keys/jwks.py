"""Key sets (RFC 7517): fetching, keeping for a while, and choosing the one key that a token means.

A set is kept for five minutes or what the server's max-age says, at most a day. A token whose key is not in a kept set
fetches it once more, because keys rotate. More than one key that fits is an error: guessing would make "who signed" a
matter of order.
"""

import re
import threading
import time
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.flow.trust.proof_verification import Unproven

_TIMEOUT = 5.0
_KEPT = 300.0
_LONGEST = 86_400.0
_SETS = 64
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=(\d{1,9})")

_kept: dict[str, tuple[float, list[Mapping[str, Any]]]] = {}
_lock = threading.Lock()


def key_for(uri: str, header: Mapping[str, Any], around: Surroundings) -> Any:
    """The joserfc key that this token's header means; Raises Unproven with the reason if there is no key."""
    keys, fresh = _keys(uri, around)
    found = _candidates(keys, header)
    if not found and not fresh:
        found = _candidates(_fetched(uri, around), header)
    return _chosen(found)


def _chosen(candidates: list[Mapping[str, Any]]) -> Any:
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    if not candidates:
        raise Unproven("no key of the key set fits the token")
    if len(candidates) > 1:
        raise Unproven("several keys of the key set fit the token; it needs a kid")
    try:
        key = import_key(dict(candidates[0]))
    except (JoseError, ValueError, TypeError, KeyError):
        raise Unproven("the key of the key set cannot be read") from None
    if key.is_private:
        raise Unproven("the key set publishes a private key")
    return key


def _candidates(keys: list[Mapping[str, Any]], header: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    algorithm = str(header["alg"])
    kind = _KEY_TYPES.get(algorithm[:2])
    fitting = [
        key
        for key in keys
        if key.get("use") in (None, "sig")
        and (key.get("key_ops") is None or _verifies(key["key_ops"]))
        and key.get("kty") == kind
        and key.get("alg") in (None, algorithm)
    ]
    kid = header.get("kid")
    return fitting if kid is None else [key for key in fitting if key.get("kid") == kid]


def _verifies(operations: Any) -> bool:
    return isinstance(operations, list) and "verify" in operations


def _keys(uri: str, around: Surroundings) -> tuple[list[Mapping[str, Any]], bool]:
    with _lock:
        kept = _kept.get(uri)
    if kept is not None and kept[0] > time.monotonic():
        return kept[1], False
    return _fetched(uri, around), True


def _fetched(uri: str, around: Surroundings) -> list[Mapping[str, Any]]:
    try:
        answer = exchange("GET", uri, around=around, timeout=_TIMEOUT)
        if not answer.ok:
            raise Unproven(f"the key set could not be fetched: HTTP {answer.status}")
        document = answer.json()
    except ExchangeFailed as failed:
        raise Unproven(f"the key set could not be fetched: {failed}") from None
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        raise Unproven("the key set is not a JWKS document")
    found = [key for key in keys if isinstance(key, Mapping)]
    age = _MAX_AGE.search(answer.headers.get("cache-control", ""))
    ends = time.monotonic() + (min(float(age[1]), _LONGEST) if age else _KEPT)
    with _lock:
        if len(_kept) >= _SETS:
            _kept.clear()  # far more sets than any manifest names; start over rather than grow
        _kept[uri] = (ends, found)
    return found
