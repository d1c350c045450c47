"""SECRETS.md (AIP-19): which secrets there are, who may use them and how they reach a program. Never their values.

A key that could contain a value (`value`, `token`, …) anywhere in an entry is refused: such a file must not be used, let
alone be committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from operable.manifest.blocks import Block
from operable.manifest.kind import Kind
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

VALUE_KEYS = ("value", "plaintext", "ciphertext", "secret", "data", "key", "token")
# In free-form metadata these two are everyday words; as fields of an entry they are not.
_EVERYDAY = ("data", "key")
GRANTS = ("role", "userId", "cap", "tool", "workflow")
EXPOSURES = ("env", "file", "egress-substitute")


class Grant(Block, frozen=True, kw_only=True, rename={"user_id": "userId"}):
    """Who may: exactly one is set. A grant of an unknown kind has none and grants nothing."""

    role: str | None = None
    user_id: str | None = None
    cap: str | None = None
    tool: str | None = None
    workflow: str | None = None


class Access(Block, frozen=True, kw_only=True):
    """Any one of a list suffices; an empty list means no caller."""

    reveal: tuple[Grant, ...] = ()
    bind: tuple[Grant, ...] = ()
    rotate: tuple[Grant, ...] = ()


class SecretAudit(Block, frozen=True, kw_only=True):
    retention: str | None = None
    pii: bool = False
    classification: tuple[str, ...] = ()


class Exposure(Block, frozen=True, kw_only=True, rename="camel"):
    """How the value reaches the program; which fields are set follows from `kind`. Unknown kinds are to be ignored."""

    kind: str
    name: str | None = None
    field: str | None = None
    path: str | None = None
    mode: int = 0o600
    placeholder_name: str | None = None
    allowed_by_default: bool | None = None
    intended_providers: tuple[str, ...] = ()


class Secret(Block, frozen=True, kw_only=True):
    """One secret of an inventory: never its value."""

    slug: str
    name: str
    description: str
    kind: Literal["opaque", "oauth", "keypair", "json"] = "opaque"
    backend: str | None = None
    access: Access = Access()
    audit: SecretAudit = SecretAudit()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    exposures: tuple[Exposure, ...] = ()

    @property
    def env_names(self) -> tuple[str, ...]:
        """The variables that contain it: as exposed, else as bound in metadata, else from the slug (`gh-token`:
        GH_TOKEN).
        """
        exposed = tuple(each.name for each in self.exposures if each.kind == "env" and each.name)
        bindings = self.metadata.get("bindings")
        bound = bindings.get("env") if isinstance(bindings, dict) else None
        if exposed:
            return exposed
        if isinstance(bound, list):
            return tuple(name for name in bound if isinstance(name, str))
        return (re.sub(r"[-/]", "_", self.slug).upper(),)


class Secrets(Block, frozen=True, kw_only=True):
    """The frontmatter of a SECRETS.md: an inventory of secrets."""

    secrets: tuple[Secret, ...]

    def by_slug(self, slug: str) -> Secret | None:
        return next((secret for secret in self.secrets if secret.slug == slug), None)


def _no_values(root: ManifestPart) -> Iterator[Problem]:
    for entry in root.at("secrets").items():
        for key, part in _keys(entry):
            nested = len(part.path) > len(entry.path) + 1
            if key.lower() in VALUE_KEYS and not (nested and key.lower() in _EVERYDAY):
                yield part.problem(
                    "SECRET_VALUE",
                    f"a secret's manifest must not contain its value: the key {key!r} is refused",
                    "put the value into the vault, and take it out of the history of this file",
                )


def _keys(part: ManifestPart) -> Iterator[tuple[str, ManifestPart]]:
    """Every key of an entry, whatever is nested in it."""
    for key, inner in part.entries():
        yield key, inner
        yield from _keys(inner)
    for inner in part.items():
        yield from _keys(inner)


def _unique_slugs(root: ManifestPart) -> Iterator[Problem]:
    seen = set()
    for entry in root.at("secrets").items():
        slug = entry.at("slug")
        if slug.text in seen:
            yield slug.problem("ID_TWICE", f"the slug {slug.text!r} is declared twice")
        seen.add(slug.text)


def _unknown_words(root: ManifestPart) -> Iterator[Problem]:
    for entry in root.at("secrets").items():
        for exposure in entry.at("exposures").items():
            word = exposure.at("kind")
            if word.text is not None and word.text not in EXPOSURES:
                message = f"the exposure {word.text!r} is not known and is ignored"
                yield word.problem("EXPOSURE_UNKNOWN", message, f"known: {', '.join(EXPOSURES)}", "warning")
        for right, grants in entry.at("access").entries():
            for grant in grants.items():
                unknown = [name for name, _ in grant.entries() if name not in GRANTS]
                if unknown and len(unknown) == len(grant.value):
                    message = f"a grant of the kind {unknown[0]!r} is not known and grants nothing ({right})"
                    yield grant.problem("GRANT_UNKNOWN", message, f"known: {', '.join(GRANTS)}", "warning")


def _backends(root: ManifestPart) -> Iterator[Problem]:
    for entry in root.at("secrets").items():
        backend = entry.at("backend")
        if backend.text:
            message = f"the backend {backend.text.partition('://')[0]}:// of this secret is written into the manifest"
            yield backend.problem("SECRET_BACKEND", message, "let the host find it by its slug", "warning")


def _recognise(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("secrets"), list)


KIND = Kind(
    name="secrets",
    file_name="SECRETS.md",
    schema="manifest-secrets",
    model=Secrets,
    summary="Secrets by name: access, audit, exposure; never values.",
    recognise=_recognise,
    rules=(_no_values, _unique_slugs, _unknown_words, _backends),
)
