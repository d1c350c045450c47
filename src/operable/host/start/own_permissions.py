"""What a user has allowed an agent in its own settings: calls that the agent then makes without asking the host.

`metadata.operable.own_permissions` names these settings: a file, as in `login_files`, and members in it, where `*` stands
for any name. A session whose rules deny or ask is refused while one of them is set, because the rules would not be asked.
A file that cannot be read as what its name says counts as set if it contains the last word of a member. Settings that an
organisation puts elsewhere, and what an agent asks its own server, are not seen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from operable.gate.policy.rules import Policy
from operable.host.start.choices import quirks_of
from operable.host.start.placement import expanded_path
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli

_LIMIT = 1 << 20  # a file of settings is smaller; a larger one counts as unreadable
_UNREADABLE = object()


class OwnPermission(NamedTuple):
    path: str
    member: str


def refuse_own_permissions(
    manifest: AgentCli, policy: Policy, variables: Mapping[str, str], homes: Sequence[str], workspace: str
) -> None:
    """Raises Fail if the agent's settings allow what the rules want to be asked about."""
    found = find_own_permission(manifest, variables, homes, workspace) if policy.asks else None
    if found is not None:
        message = f"{manifest.id} has permissions of its own in {found.path} ({found.member})"
        raise Fail(
            "authz",
            "AGENT_ALLOWS_ITSELF",
            f"{message}: it does not ask about what they allow, so that {policy.restrictions[0]} cannot be enforced",
            target=found.path,
            hint="remove them there and allow the same calls with --allow, or give it another home with --env",
        )


def find_own_permission(
    manifest: AgentCli, variables: Mapping[str, str], homes: Sequence[str], workspace: str
) -> OwnPermission | None:
    """The first declared setting that is set; the variables and homes are those that the agent gets."""
    declared = quirks_of(manifest).get("own_permissions")
    for text, members in declared.items() if isinstance(declared, dict) else ():
        for place in expanded_path(text, variables, tuple(homes)):
            path = os.path.join(workspace, place)
            for member in members:
                if _is_set(path, member):
                    return OwnPermission(path, member)
    return None


def _is_set(path: str, member: str) -> bool:
    try:
        with open(path, "rb") as file:
            data = file.read(_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    found = _UNREADABLE if len(data) > _LIMIT else _decoded(data, os.path.splitext(path)[1])
    if found is _UNREADABLE:
        return member.rpartition(".")[2].encode() in data
    return any(value not in (None, False, [], {}, "") for value in _values(found, member.split(".")))


def _decoded(data: bytes, suffix: str) -> Any:
    text = data.decode("utf-8", "replace")
    if suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError):  # comments, or not JSON at all
            return _UNREADABLE
    from operable.manifest.part import DocumentSource
    from operable.manifest.yaml_tree import read

    value, _, problems = read(text, DocumentSource("settings", {}))
    return _UNREADABLE if problems else value


def _values(found: Any, names: list[str]) -> Iterator[Any]:
    if not names:
        yield found
    elif isinstance(found, dict):
        for name, value in found.items():
            if names[0] in ("*", name):
                yield from _values(value, names[1:])
