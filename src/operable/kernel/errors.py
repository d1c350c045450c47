"""The error taxonomy and the exit codes, once for the whole product.

Owns the 14 categories of AOI-CLI section 9.1 with their default retryability, the exit codes of section 6, the mapping
between the two, and `Fail`, the one structured error that every layer raises and every front end prints::

    Exception
    ├── Fail                       category + code + message; printed as `aoi:error`, decides the exit status
    │   ├── ManifestError          a Markdown manifest, with all of its problems
    │   ├── SelectionError         a patch that selects nothing, or too much
    │   └── FlowError              a workflow; also carries the word of the agentcli contract (`flow_code`)
    │       ├── NotAllowed         a read-only operation needs a permission that the caller can give
    │       ├── PolicyEnded        a policy exceeded a limit, which counts as a denial
    │       └── NoCanonicalTextError
    ├── OSError, ValueError        of values and files, below the layer that knows what the user asked for
    └── the peer's faults          `wire.*.Malformed`, `host.arm.PeerError`: an event or a verdict, never a `Fail`

Imports nothing: it is on the cold-start path of every tool, where an `import enum` would cost a third of the interpreter's
own start. A category is therefore a plain string, checked when a `Fail` is made.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EX_OK = 0
EX_USAGE = 64
EX_DATAERR = 65
EX_UNAVAILABLE = 69
EX_SOFTWARE = 70
EX_CANTCREAT = 73
EX_IOERR = 74
EX_TEMPFAIL = 75
EX_NOPERM = 77
EX_CONFIG = 78
EX_TIMEOUT = 124
EX_SIGINT = 130
EX_SIGPIPE = 141
EX_SIGTERM = 143

# category -> (retryable unless the error says otherwise, exit code). Where the specification says "maybe", the default is
# the cautious "no": an agent that retries by default doubles effects, one that does not asks. Reauthentication, a lost
# race or a caller's own cancel are not reasons to repeat the identical call. `not_found`, `conflict` and `partial` have no
# sysexits code of their own: they say that the data asked for does not allow the operation, which is EX_DATAERR.
CATEGORIES: dict[str, tuple[bool, int]] = {
    "usage": (False, EX_USAGE),
    "validation": (False, EX_DATAERR),
    "authn": (False, EX_NOPERM),
    "authz": (False, EX_NOPERM),
    "not_found": (False, EX_DATAERR),
    "conflict": (False, EX_DATAERR),
    "rate_limited": (True, EX_TEMPFAIL),
    "temporary": (True, EX_TEMPFAIL),
    "timeout": (True, EX_TIMEOUT),
    "cancelled": (False, EX_SIGINT),
    "partial": (False, EX_DATAERR),
    "internal": (False, EX_SOFTWARE),
    "config": (False, EX_CONFIG),
    "io": (False, EX_IOERR),
}

# What an exit status says where nothing else does; the other way round, and not the same: several categories share a status.
CATEGORY_OF_STATUS: dict[int, str] = {
    EX_USAGE: "usage",
    EX_DATAERR: "validation",
    EX_UNAVAILABLE: "temporary",
    EX_IOERR: "io",
    EX_TEMPFAIL: "temporary",
    EX_NOPERM: "authz",
    EX_CONFIG: "config",
    EX_TIMEOUT: "timeout",
}


class Fail(Exception):  # noqa: N818 - reads as a verb where it is raised: `raise Fail("not_found", ...)`
    """A structured failure: what went wrong, whose fault it is, whether to retry, what to do next."""

    def __init__(
        self,
        category: str,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        target: str | None = None,
        retryable: bool | None = None,
        exit_code: int | None = None,
        **details: "Any",
    ) -> None:
        super().__init__(message)
        if category not in CATEGORIES:
            msg = f"{category!r} is not a category of errors; known are {', '.join(CATEGORIES)}"
            raise ValueError(msg)
        retryable_by_default, default_exit_code = CATEGORIES[category]
        self.category = category
        self.code = code
        self.message = message
        self.hint = hint
        self.target = target
        self.retryable = retryable_by_default if retryable is None else retryable
        self.exit_code = default_exit_code if exit_code is None else exit_code
        self.details: dict[str, Any] = details

    def event(self) -> dict[str, object]:
        """The `aoi:error` event of this failure; absent fields are left out, not null."""
        event: dict[str, object] = {
            "type": "aoi:error",
            "category": self.category,
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
        }
        for name, given in (("hint", self.hint), ("target", self.target)):
            if given is not None:
                event[name] = given
        add_details(event, self.details, _OWN)
        return event


_OWN = ("type", "category", "code", "message", "retryable", "hint", "target")


def add_details(event: dict[str, "Any"], details: dict[str, "Any"], own: "tuple[str, ...]") -> None:
    """Put an author's details into an event. One that is named like a field of the event is in its field `details`.

    Such a name must not overwrite the framework's field, and must not be lost. None is a value.
    """
    if not any(name in own for name in details):
        event.update(details)
        return
    clashing = {name: value for name, value in details.items() if name in own or name == "details"}
    event.update((name, value) for name, value in details.items() if name not in clashing)
    event["details"] = clashing
