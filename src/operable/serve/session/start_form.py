"""What can be chosen at the start of an agent's session: a JSON Schema of the request body, from the agent's manifest.

It names only what this agent offers and this caller may choose: a sandbox is the choice of an admin, a provider that this
machine lacks is not listed. The start itself enforces the same manifest (`operable.manifest.patches`), so a form that is
older than the manifest is refused, never obeyed in part.
"""

from collections.abc import Iterator
from typing import Any, Final

from operable.host.start.placement import NONE, is_unconfined, sandbox_of
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.manifest.rules.agent_blocks import OptionBlock
from operable.proc.sandbox.confinement import sandbox
from operable.serve.session.ground import OWNER, GroundRef
from operable.serve.session.workspaces import WorkspaceList

# The sandbox of this machine that encloses any agent. The others need settings that only a manifest has.
_GENERAL: Final = "bubblewrap"
_MODEL: Final = "model"
_RECOVERIES: Final = ("native-resume", "transcript")


def start_schema(loaded: Loaded, name: str, known: WorkspaceList, *, sandboxes: bool) -> dict[str, Any]:
    """The schema for the agent `name`. `sandboxes`: the caller may choose one.

    It looks for the sandboxes of this machine, which can take a moment the first time.
    """
    manifest = loaded.as_(AgentCli)
    properties: dict[str, Any] = {
        "adapter": {"const": name},
        "ground": _grounds(known),
        "worktree": {
            "type": ["boolean", "string"],
            "default": False,
            "description": "work in a git worktree of its own, on a new branch; a text is the name of the branch",
        },
        "prompt": {"type": "string", "description": "the first message"},
        "label": {"type": "string", "maxLength": 200, "description": "a name for people"},
    }
    for key, schema in (
        ("mode", _modes(manifest)),
        (_MODEL, _model(manifest)),
        ("options", _options(manifest)),
        ("recover", _recover(manifest)),
        ("sandbox", _sandbox(loaded) if sandboxes else None),
    ):
        if schema is not None:
            properties[key] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": ["adapter"],
        "additionalProperties": False,
    }


def _grounds(known: WorkspaceList) -> dict[str, Any]:
    """Every registered folder is an example."""
    slugs = [each.slug for each in known.workspaces]
    schema: dict[str, Any] = {
        "type": "string",
        "description": f"where it works: ws://workspaces/@{OWNER}/SLUG, with a path below it if needed",
        "examples": [str(GroundRef(OWNER, slug)) for slug in slugs],
    }
    if known.active in slugs:
        schema["default"] = str(GroundRef(OWNER, str(known.active)))
    return schema


def _modes(manifest: AgentCli) -> dict[str, Any] | None:
    if not manifest.modes:
        return None
    return _one_of([(mode.id, mode.description) for mode in manifest.modes], "how far it goes without asking")


def _model(manifest: AgentCli) -> dict[str, Any] | None:
    """None if the manifest says nothing about models: what the agent would make of a name is not known."""
    option = next((each for each in manifest.options if each.id == _MODEL), None)
    models = manifest.models
    if option is None and not models.allowed and models.default is None:
        return None
    schema: dict[str, Any] = (
        _option(option) if option is not None else {"type": "string", "description": "the model"}
    )
    if models.allowed:
        schema["enum"] = list(models.allowed)
    if models.default is not None:
        schema.setdefault("default", models.default)
    return schema


def _options(manifest: AgentCli) -> dict[str, Any] | None:
    own = {each.id: _option(each) for each in manifest.options if each.id != _MODEL}
    if not own:
        return None
    return {
        "type": "object",
        "properties": own,
        "additionalProperties": False,
        "description": "what only this agent has",
    }


def _option(option: OptionBlock) -> dict[str, Any]:
    return dict(_facts(option))


def _facts(option: OptionBlock) -> Iterator[tuple[str, Any]]:
    yield "type", "string" if option.type == "enum" else option.type
    for name, value in (
        ("description", option.description or None),
        ("enum", list(option.enum) or None),
        ("default", option.default),
        ("minimum", option.min),
        ("maximum", option.max),
    ):
        if value is not None:
            yield name, value


def _recover(manifest: AgentCli) -> dict[str, Any] | None:
    supported = () if manifest.continuation is None else manifest.continuation.supported
    ways = [way for way in _RECOVERIES if way in supported]
    if not ways:
        return None
    return {
        "type": "string",
        "enum": ["", *ways],
        "default": "",
        "description": "how a daemon that was killed goes on with it when it starts again; empty: it does not",
    }


def _sandbox(loaded: Loaded) -> dict[str, Any]:
    """The manifest's own is the default. Without a sandbox is always a choice, and it is called by what it means."""
    own = sandbox_of(loaded).provider
    default = NONE if is_unconfined(own) else own
    rows = {default: "", NONE: "no sandbox: the agent has all rights of the user who runs the daemon"}
    if sandbox(_GENERAL).missing("system") is None:
        rows[_GENERAL] = "it sees its folder and the system, and reaches the hosts of its manifest"
    rows[default] = f"{rows[default]} (as its manifest says)".strip()
    return {**_one_of(list(rows.items()), "what confines it"), "default": default}


def _one_of(rows: list[tuple[str, str]], description: str) -> dict[str, Any]:
    """A choice of texts, with what each of them means where a client shows that."""
    return {
        "type": "string",
        "enum": [name for name, _ in rows],
        "oneOf": [{"const": name, "description": text} for name, text in rows],
        "description": description,
    }
