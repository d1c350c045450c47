"""What crosses the fields that a CLI.md and an AGENT-CLI.md share: name, install, version_check, setup, auth (AIP-29)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from operable.kernel.catalogue import nearest
from operable.manifest.blocks import INSTALL_METHODS
from operable.manifest.durations import seconds
from operable.manifest.kind import Rule
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem
from operable.manifest.rules.sandbox import variable, variables
from operable.manifest.versions import check_range, expression

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Where a package manager exists; those that run everywhere are not here.
_SYSTEMS = {
    "apt": {"linux"},
    "dnf": {"linux"},
    "pacman": {"linux"},
    "brew": {"darwin", "linux"},
    "choco": {"windows"},
    "scoop": {"windows"},
}
_SHA256 = re.compile(r"[a-f0-9]{64}")
_PERSIST = ("env", "secret_slug", "cmd")
_EARLIER = re.compile(r"\$\{input\.([^}]*)\}")


def _name(root: ManifestPart) -> Iterator[Problem]:
    name = root.at("name")
    if name.text is None:
        return
    if not _KEBAB.fullmatch(name.text):
        yield name.problem("NAME_NOT_KEBAB", f"the name {name.text[:80]!r} is not in kebab-case")
    directory = root.source.directory
    if directory is not None and directory != name.text:
        yield name.problem(
            "NAME_NOT_DIRECTORY",
            f"the name {name.text[:80]!r} is not that of its folder ({directory!r})",
            "rename one of them",
        )


def _install(root: ManifestPart) -> Iterator[Problem]:
    systems = {text for _, text in root.at("requires", "os").texts()}
    known = 0
    for entry in root.at("install").items():
        method = entry.at("method")
        if method.text is None:
            continue
        if method.text not in INSTALL_METHODS:
            yield _unknown_method(entry, method)
            continue
        known += 1
        fitting = _SYSTEMS.get(method.text)
        if fitting and systems and not systems & fitting:
            message = f"{method.text} does not exist on {', '.join(sorted(systems))}"
            yield method.problem("INSTALL_SYSTEM", message, "take it out, or extend requires.os")
        yield from _install_fields(entry, method.text)
    if not known and root.at("install").value:
        yield root.at("install").problem(
            "INSTALL_IMPOSSIBLE", "none of the install methods is one that we know"
        )


def _unknown_method(entry: ManifestPart, method: ManifestPart) -> Problem:
    # Point 4 of the decision on manifest contradictions: `experimental` announces a method that others may not know.
    near = nearest(method.text or "", list(INSTALL_METHODS), limit=1)
    announced = entry.at("experimental").value is True
    return method.problem(
        "INSTALL_METHOD_UNKNOWN",
        f"the install method {(method.text or '')[:80]!r} is not known and is skipped",
        f"did you mean {near[0]}?" if near else f"known: {', '.join(INSTALL_METHODS)}",
        "warning" if announced else "error",
    )


def _install_fields(entry: ManifestPart, method: str) -> Iterator[Problem]:
    package = entry.at("package")
    if package.text is not None and package.text.startswith("-"):
        yield package.problem("INSTALL_PACKAGE", f"the package {package.text[:80]!r} reads as an option")
    url = entry.at("url")
    if url.text is not None and not url.text.startswith("https://"):
        yield url.problem("INSTALL_URL", "what is installed should come over https", level="warning")
    digest = entry.at("verify_sha256")
    if digest.text is not None and not _SHA256.fullmatch(digest.text):
        yield digest.problem(
            "PLACEHOLDER" if not re.fullmatch(r"[0-9A-Fa-f]{64}", digest.text) else "SHA256_FORM",
            "verify_sha256 is not a SHA-256 digest",
            "write 64 lower-case hexadecimal digits; `sha256sum FILE` prints them",
        )
    if method in ("curl", "download") and not digest.present:
        yield entry.at("verify_sha256").problem(
            "INSTALL_UNPINNED",
            f"what {method} fetches is not pinned; hosts refuse it unless they are configured otherwise",
            "add verify_sha256",
            "warning",
        )
    path = entry.at("path")
    if (
        method == "vendored"
        and path.text is not None
        and (path.text.startswith(("/", "~")) or ".." in path.text.split("/"))
    ):
        yield path.problem(
            "PATH_OUTSIDE", f"{path.text[:80]!r} is not inside the bundle", "write a relative path"
        )


def _version_check(root: ManifestPart) -> Iterator[Problem]:
    check = root.at("version_check")
    for field, judge, rule in (
        ("parse", expression, "VERSION_EXPRESSION"),
        ("range", check_range, "VERSION_RANGE"),
    ):
        part = check.at(field)
        if part.text is None:
            continue
        try:
            judge(part.text)
        except ValueError as error:
            yield part.problem(rule, str(error))


def _setup(root: ManifestPart) -> Iterator[Problem]:
    earlier: set[str] = set()
    for step in root.at("setup").items():
        name = step.at("id")
        if name.text in earlier:
            yield name.problem("ID_TWICE", f"two setup steps have the id {name.text!r}")
        yield from _persist(step.at("persist"))
        yield from _options(step)
        for part in (
            step.at("cmd"),
            step.at("url"),
            step.at("prompt"),
            step.at("persist", "cmd"),
            step.at("skip_if", "cmd"),
        ):
            for wanted in _EARLIER.findall(part.text or ""):
                if wanted not in earlier:
                    message = f"${{input.{wanted[:40]}}} names no earlier step"
                    yield part.problem(
                        "SETUP_INPUT_UNKNOWN", message, f"earlier: {', '.join(sorted(earlier)) or 'none'}"
                    )
        if name.text is not None:
            earlier.add(name.text)


def _persist(part: ManifestPart) -> Iterator[Problem]:
    if not isinstance(part.value, dict):
        return
    given = [word for word in _PERSIST if part.at(word).present]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        yield part.problem(
            "PERSIST_ONE", f"persist needs exactly one of {', '.join(_PERSIST)}; here is {found}"
        )
    command, name = part.at("cmd"), part.at("env")
    if command.text is not None and "${value}" not in command.text:
        yield command.problem(
            "PERSIST_VALUE", "persist.cmd does not use ${value}", "put ${value} where the result goes"
        )
    if name.text is not None:
        yield from variable(name, name.text)


def _options(step: ManifestPart) -> Iterator[Problem]:
    if step.at("kind").text != "prompt":
        return
    choices, kind = step.at("options"), step.at("type").text or "text"
    if kind == "select" and not choices.present:
        yield choices.problem("PROMPT_OPTIONS", "a prompt of type select needs options", near=step)
    if kind != "select" and choices.present:
        yield choices.problem("PROMPT_OPTIONS", f"options have no meaning for a prompt of type {kind}")
    default = step.at("default")
    allowed = [text for _, text in choices.texts()]
    if kind == "select" and allowed and default.text is not None and default.text not in allowed:
        yield default.problem("PROMPT_OPTIONS", f"the default {default.text[:80]!r} is not among the options")


def _auth(root: ManifestPart) -> Iterator[Problem]:
    auth = root.at("auth")
    every = auth.at("refresh", "every")
    if every.text is not None:
        try:
            length = seconds(every.text)
        except ValueError as error:
            yield every.problem("DURATION", str(error))
        else:
            if length <= 0:
                yield every.problem("DURATION", "a refresh every 0 seconds would never end")
    yield from variables(auth.at("state", "env"))
    for part, path in auth.at("state", "paths").texts():
        if ".." in path.split("/"):
            yield part.problem("PATH_OUTSIDE", f"{path[:80]!r} leaves its place with '..'")
    for key, part in auth.entries():
        if key == "ref" and part.text is not None and auth.at("state", "env").value == []:
            yield part.problem(
                "AUTH_STATE_EMPTY", "auth.state.env is empty: no secret is handed over", level="warning"
            )


def secrets_declared(root: ManifestPart, bound: Mapping[str, ManifestPart]) -> Iterator[Problem]:
    """What setup stores or uses as a secret is declared in the SECRETS.md that auth refers to."""
    if "secrets" not in bound:
        return
    kinds = {entry.at("slug").text: entry.at("kind").text for entry in bound["secrets"].at("secrets").items()}
    for step in root.at("setup").items():
        for part in (step.at("secret_slug"), step.at("persist", "secret_slug")):
            if part.text is not None and part.text not in kinds:
                near = nearest(part.text, [slug for slug in kinds if slug], limit=1)
                hint = f"did you mean {near[0]}?" if near else None
                yield part.problem(
                    "SECRET_UNDECLARED", f"the SECRETS.md has no secret {part.text[:80]!r}", hint
                )
        slug = step.at("secret_slug")
        if slug.text in kinds and kinds[slug.text] != "oauth":
            yield slug.problem("SECRET_NOT_OAUTH", f"the secret {slug.text!r} is not of the kind oauth")


BUNDLE_RULES: tuple[Rule, ...] = (_name, _install, _version_check, _setup, _auth)
