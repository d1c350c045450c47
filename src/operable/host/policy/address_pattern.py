"""Whether a pattern of addresses matches an address: scheme, host and what follows are compared each for itself.

So `*` in the host of a pattern reaches no path, and a name before `@` is not a host. Schemes and hosts have no case, a
default port and a dot at the end of a host say nothing. A pattern without `://` is compared with the text as it is.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

_FORM: Final = re.compile(r"([A-Za-z*?][A-Za-z0-9+.*?-]*)://([^/?#\\]*)(.*)", re.DOTALL)
_PATTERN: Final = re.compile(r"([A-Za-z*?][A-Za-z0-9+.*?-]*)://([^/#\\]*)(.*)", re.DOTALL)
_PORTS: Final = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443", "ftp": ":21"}
_DOUBTFUL: Final = re.compile(r"[\\\x00-\x20\x7f-\xa0\u2028\u2029]")

_LEAD: Final = re.compile(r"^\s*(https?|wss?|ftp):/*", re.IGNORECASE)

Glob = Callable[[str], str]


class _Address(NamedTuple):
    scheme: str
    host: str  # and its port, where that is not the default
    rest: str
    has_user: bool


def _parts(text: str, form: re.Pattern[str]) -> _Address | None:
    found = form.fullmatch(text.strip())
    if found is None:
        return None
    scheme, (user, _, host) = found[1].lower(), found[2].rpartition("@")
    host = host.lower().removesuffix(_PORTS.get(scheme, ":"))
    name, colon, port = host.partition(":") if not host.startswith("[") else (host, "", "")
    return _Address(scheme, name.removesuffix(".") + colon + port, found[3], bool(user))


def allows(pattern: str, text: str, glob: Glob) -> bool:
    """For a rule that allows: the address is what the pattern says, in every reading."""
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return re.fullmatch(glob(pattern), text, re.DOTALL) is not None
    given = _parts(text, _FORM)
    if given is None or given.has_user or _DOUBTFUL.search(text):
        return False
    return _same(wanted, given, glob)


def touches(pattern: str, text: str, glob: Glob) -> bool:
    """For a rule that denies or asks: the address may be what the pattern says."""
    if re.fullmatch(glob(pattern), text, re.DOTALL):
        return True
    wanted = _parts(pattern, _PATTERN)
    if wanted is None:
        return re.fullmatch(glob(pattern.lower()), text.lower(), re.DOTALL) is not None
    spelled = _LEAD.sub(r"\1://", text.replace("\\", "/"), count=1)  # as browsers forgive it
    tried = [spelled] if "://" in spelled else [f"{wanted.scheme}://{spelled.lstrip('/')}"]
    return any(
        given is not None and _same(wanted, given, glob) for given in (_parts(each, _FORM) for each in tried)
    )


def _same(wanted: _Address, given: _Address, glob: Glob) -> bool:
    rest = wanted.rest or ("*" if wanted.host.endswith("*") else "/")
    return all(
        re.fullmatch(glob(pattern), text, re.DOTALL)
        for pattern, text in (
            (wanted.scheme, given.scheme),
            (wanted.host, given.host),
            (rest, given.rest if given.rest.startswith("/") else f"/{given.rest}"),
        )
    )
