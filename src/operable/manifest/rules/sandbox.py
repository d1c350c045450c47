"""What crosses the fields of an AIP-36 sandbox block, whether it is in a SANDBOX.md or in another manifest.

A child may narrow what its bundle allows, never widen it (`widenings`). Patterns are compared as text: one covers another
when it is equal, or when it is a glob that takes in the other, wildcards included. That is strict on purpose: what cannot
be shown to be narrower is treated as wider.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from operable.kernel.redact.names import is_secret_name
from operable.kernel.redact.urls import redact_url
from operable.manifest.part import ManifestPart, block, one_form
from operable.manifest.problem import Problem

# provider -> the fields of `config` that it cannot do without (AIP-36, provider config shapes), then our own providers.
PROVIDERS: dict[str, tuple[str, ...]] = {
    "local": (),
    "node-permission": (),
    "mastra-e2b": ("template", "api_key_ref"),
    "mastra-modal": ("app_name", "function_name", "api_token_ref"),
    "mastra-daytona": ("workspace_id", "api_key_ref"),
    "mastra-blaxel": ("workspace", "api_key_ref"),
    "bubblewrap": (),
    "e2b": (),
    "modal": (),
    "daytona": (),
    "blaxel": (),
}
# A host name, with `*` as a whole label, optionally with a port; or `*` alone.
_EGRESS = re.compile(
    r"(\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def sandbox_tolerances() -> dict[str, str]:
    """Keys that the prose of AIP-36 uses and its schema lacks."""
    return {"lifecycle.pause_after_idle_ms": "milliseconds of idleness after which the sandbox pauses"}


def sandbox_file(root: ManifestPart) -> Iterator[Problem]:
    """Of a SANDBOX.md."""
    for rule in (_mounts, _egress, _environment, _plaintext, _provider):
        yield from rule(root)


def sandbox_inline(root: ManifestPart) -> Iterator[Problem]:
    """Of the `sandbox` of another manifest."""
    yield from one_form(root.at("sandbox"))
    found = block(root.at("sandbox"))
    if found.present:
        yield from sandbox_file(found)


def variables(part: ManifestPart) -> Iterator[Problem]:
    """A list of names of environment variables: nothing that a shell would read as more."""
    for item, name in part.texts():
        yield from variable(item, name)


def variable(part: ManifestPart, name: str) -> Iterator[Problem]:
    if not _VARIABLE.fullmatch(name):
        yield part.problem("VARIABLE_NAME", f"{name!r} is not a name of an environment variable")


def _mounts(root: ManifestPart) -> Iterator[Problem]:
    seen: set[str] = set()
    for mount in root.at("mounts").items():
        at = mount.at("at")
        if at.text is None:
            continue
        if not at.text.startswith("/"):
            yield at.problem("MOUNT_PATH", f"a mount needs an absolute path, not {at.text!r}")
        elif ".." in at.text.split("/"):
            yield at.problem("MOUNT_PATH", f"{at.text!r} leaves its place with '..'")
        elif at.text != "/" and posixpath.normpath(at.text).replace("//", "/") != at.text:
            normal = posixpath.normpath(at.text).replace("//", "/")
            yield at.problem("MOUNT_PATH", f"{at.text!r} is not normalised", f"write {normal!r}")
        if at.text in seen:
            yield at.problem("MOUNT_TWICE", f"two mounts have the path {at.text!r}")
        seen.add(at.text)
        source = mount.at("source")
        forms = [word for word, _ in source.entries()]
        if len(forms) > 1:
            yield source.problem(
                "INLINE_AND_REF", f"a source has one of ref, inline, file; not {' and '.join(forms)}"
            )


def _egress(root: ManifestPart) -> Iterator[Problem]:
    for item, host in root.at("network", "egress").texts():
        if not _EGRESS.fullmatch(host):
            yield item.problem(
                "EGRESS_HOST",
                f"{redact_url(host)[:80]!r} is not a host name",
                "write a host, `*.example.com` or `*`, without scheme and path",
            )


def _environment(root: ManifestPart) -> Iterator[Problem]:
    given = root.at("env", "set")
    if given.present:
        # Point 1 of the decision on manifest contradictions: `env.set` is what the host makes of `auth`, never input.
        yield given.problem(
            "SANDBOX_ENV_SET",
            "env.set is filled by the host from auth; a manifest cannot set it",
            "name the secret in SECRETS.md and refer to it with auth.ref, or use passthrough",
        )
    yield from variables(root.at("env", "passthrough"))
    yield from variables(root.at("env", "auth", "state", "env"))


def _plaintext(root: ManifestPart) -> Iterator[Problem]:
    for part, key in _named(root.at("config")):
        if isinstance(part.value, str | int) and not isinstance(part.value, bool) and _is_credential(key):
            yield part.problem(
                "SANDBOX_PLAINTEXT",
                f"{part.key} looks like a credential in plain text",
                f"store it as a secret and write {key}_ref with its slug",
            )


def _is_credential(key: str) -> bool:
    return is_secret_name(key) and not key.lower().endswith(("_ref", "-ref", "ref", "_slug"))


def _named(part: ManifestPart) -> Iterator[tuple[ManifestPart, str]]:
    for key, inner in part.entries():
        yield inner, key
        yield from _named(inner)
    for inner in part.items():
        yield from _named(inner)


def _provider(root: ManifestPart) -> Iterator[Problem]:
    provider = root.at("provider")
    if provider.text is None:
        return
    if provider.text not in PROVIDERS:
        yield provider.problem(
            "SANDBOX_PROVIDER_UNKNOWN",
            f"the sandbox provider {provider.text!r} is not one that we know",
            f"known: {', '.join(PROVIDERS)}; a host refuses a name that is not registered",
            "warning",
        )
    for name in PROVIDERS.get(provider.text, ()):
        if not root.at("config", name).present:
            missing = root.at("config", name)
            yield missing.problem("SANDBOX_CONFIG", f"the provider {provider.text} needs config.{name}")


# Allow-lists: every entry of the child must be covered by one of the bundle. Hosts and paths differ in what ends a `*`.
_LISTS = (
    (("network", "egress"), "."),
    (("network", "ingress"), "."),
    (("fs", "read"), "/"),
    (("fs", "write"), "/"),
    (("exec", "spawn"), "/"),
    (("env", "pass"), ""),
)

# Stand for wildcards of the narrower pattern; neither can be written in a manifest.
_ANY, _PIECE = "\x01", "\x02"


def widenings(child: ManifestPart, bundle: ManifestPart) -> Iterator[Problem]:
    """Every way in which the child's sandbox allows more than the bundle's."""
    if not isinstance(child.value, dict):
        return
    for path, separator in _LISTS:
        allowed = [text for _, text in bundle.at(*path).texts()]
        if path == ("fs", "read"):  # what may be written may be read
            allowed += [text for _, text in bundle.at("fs", "write").texts()]
        for part, text in child.at(*path).texts():
            if not any(covers(wide, text, separator) for wide in allowed):
                yield _wider(part, f"{'.'.join(path)}: {text[:80]!r}")
    if child.at("exec", "allow").value is True and bundle.at("exec", "allow").value is not True:
        yield _wider(child.at("exec", "allow"), "exec.allow")
    denied = {text for _, text in child.at("fs", "deny").texts()}
    if child.at("fs").present:
        for _, text in bundle.at("fs", "deny").texts():
            if not any(covers(mine, text, "/") for mine in denied):
                yield _wider(child.at("fs", "deny"), f"fs.deny without {text[:80]!r}", near=child.at("fs"))
    fixed = bundle.at("env", "set").value
    for name, part in child.at("env", "set").entries():
        if not isinstance(fixed, dict) or fixed.get(name) != part.value:
            yield _wider(part, f"env.set.{name}")


def covers(wide: str, narrow: str, separator: str) -> bool:
    """Whether everything that the narrow pattern matches is matched by the wide one.

    In paths `*` and `?` stop at a slash and `**` does not; in host names and variables `*` matches anything.
    """
    if wide == narrow:
        return True
    if ".." in narrow.split("/"):
        return False
    # Each wildcard of the narrow pattern becomes a character that only a wildcard of the wide one, and none that matches
    # less, can take in: then whatever it stands for is taken in too.
    crosses = separator != "/"
    reach = narrow.replace("**", _ANY).replace("*", _ANY if crosses else _PIECE).replace("?", _PIECE)
    return _expression(wide, crosses=crosses).fullmatch(reach) is not None


def _expression(pattern: str, *, crosses: bool) -> re.Pattern[str]:
    piece = "." if crosses else f"[^/{_ANY}]"
    words = {"**": ".*", "*": f"{piece}*", "?": f"[^/{_ANY}{_PIECE}]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _wider(part: ManifestPart, what: str, near: ManifestPart | None = None) -> Problem:
    return part.problem(
        "SANDBOX_WIDENED",
        f"the sandbox of this command allows more than its bundle: {what}",
        "a command may narrow the sandbox of its CLI.md, never widen it",
        near=near if not part.present else None,
    )
