"""docs/reference/manifest.md: manifests as typed values, from the signatures and docstrings of operable.manifest."""

from tools.api import gaps, page

PATH = "docs/reference/manifest.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Reading": ("load", "parse", "from_mapping", "Loaded", "Workspace"),
    "What is wrong": ("ManifestError", "Problem"),
    "Kinds": ("Kind", "all_kinds", "kind_named"),
    "Manifests of agents": ("AgentCli", "AcpProfile", "RunnerFile", "Secrets", "Secret"),
    "Manifests of programs and applications": ("Cli", "ToolManifest", "App"),
    "Starting an agent": ("Spawn", "spawn_for", "strategy_for", "SelectionError"),
    "Writing": ("render",),
}
_IDENTITY = {
    "name": "What people call it.",
    "id": "Its identity, stable between versions.",
    "description": "What it is, in a sentence.",
    "version": "The version of the manifest, `MAJOR.MINOR.PATCH`.",
    "tags": "Words to find it by.",
    "metadata": "What the standard has no key for, by vendor.",
}
_PROGRAM = _IDENTITY | {
    "bin": "The name of the program.",
    "bin_args": "Arguments that come before all others.",
    "install": "How the program is installed, in the order of preference.",
    "version_check": "How the program is asked for its version, and which versions fit.",
    "sandbox": "What the program may do.",
    "setup": "Steps that a user completes once.",
    "auth": "How a user logs in. None: no login.",
    "runner": "Where the program runs. None: on this machine.",
    "requires": "The systems and programs that it needs.",
    "examples": "Goals, and how they are reached.",
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "Loaded": {
        "kind": "The name of its kind, such as `agent_cli`.",
        "body": "The text below the frontmatter.",
        "lines": "Where each field is in the file.",
        "path": "The file.",
    },
    "Workspace": {
        "root": "The folder that no reference leaves.",
        "shared": "Its folders that contain what `@owner/slug` names.",
    },
    "Problem": {
        "path": "The file.",
        "line": "The line, from 1.",
        "column": "The column, from 1.",
        "rule": "The rule that it breaks (reference/manifest-problems.md).",
        "message": "What is wrong, as a sentence.",
        "hint": "What to do about it.",
        "level": "`error`, or `warning` for what does not prevent use.",
    },
    "Kind": {
        "name": "Its name, and that of its module.",
        "file_name": "What its files are called.",
        "schema": "The name of its JSON Schema.",
        "model": "The class of its values.",
        "summary": "What it describes.",
        "recognise": "Whether a frontmatter is of this kind.",
        "rules": "What the schema cannot say about one document.",
        "body_rules": "What is asked of the text below the frontmatter.",
        "references": "The fields that name other manifests.",
        "bound_rules": "What is asked of a manifest together with those that it names.",
    },
    "AgentCli": _PROGRAM
    | {
        "protocol": "How a host speaks with it.",
        "acp": "The path of its ACP.md, for the protocol `acp`.",
        "mcp": "Its server, for the protocol `mcp`.",
        "adapter": "The arm that speaks with it, for the protocol `proprietary`.",
        "session": "How sessions are kept and resumed.",
        "models": "The models that it knows, and how one is chosen.",
        "capabilities": "What it can do.",
        "modes": "Its modes, and what each adds to the start.",
        "options": "Its options, and what each adds to the start.",
        "continuation": "How a conversation goes on in another agent.",
    },
    "AcpProfile": _IDENTITY
    | {
        "aip44": "The part of the metadata that AIP-44 defines.",
        "kind": "Which side of the protocol it is.",
        "transport": "What the protocol travels on.",
    },
    "RunnerFile": _IDENTITY,
    "Secrets": {
        "by_slug": "The secret of this slug. Returns None if it does not exist.",
        "secrets": "Every entry.",
    },
    "Secret": _IDENTITY
    | {
        "slug": "The name by which manifests refer to it.",
        "kind": "The form of its value.",
        "backend": "Where it is kept. None: where the host looks.",
        "access": "Who may reveal, bind and rotate it.",
        "audit": "How its uses are recorded.",
        "exposures": "How its value reaches a program.",
    },
    "Cli": _PROGRAM
    | {
        "output": "What the program prints, and what its exit statuses mean.",
        "intents": "Manifests of intents.",
        "actions": "Manifests of actions.",
    },
    "ToolManifest": _IDENTITY
    | {
        "inputs": "The JSON Schema of its inputs.",
        "outputs": "The JSON Schema of its outputs.",
        "idempotent": "Whether a second call changes nothing more.",
        "mutates": "What it changes; empty: nothing.",
        "requires": "The network, secrets and tools that it needs.",
        "approval": "Who approves a call.",
        "risk_level": "How much can go wrong, from 0.",
        "cost_class": "What a call costs.",
        "timeout_ms": "How long a call may take.",
        "retry": "How often a failed call is repeated. None: not at all.",
        "default_implementation": "The driver that is used unless a caller chooses.",
        "implements": "The abstract tool that it implements.",
        "driver_constraints": "Which drivers may implement it.",
        "runner": "The program that it calls, and with which arguments.",
        "sandbox": "What a call may do. None: what its CLI.md says.",
        "secrets": "The secrets that it gets, by variable.",
        "examples": "Inputs, with what comes of them.",
    },
    "App": {key: text for key, text in _IDENTITY.items() if key != "id"}
    | {
        "entry": "The command that starts it.",
        "skills": "Its skills, as paths.",
        "schema": "The version of the format.",
        "kind": "Always `app`.",
        "slug": "The name by which it is called; that of its folder if left out.",
        "license": "Its license.",
        "authors": "Who wrote it.",
        "scheduling": "Whether it can run on a schedule.",
        "confirmation_required": "The commands that a user must confirm.",
    },
    "Spawn": {"env": "The variables that it gets."},
}


def render() -> str:
    return page(
        "operable.manifest", PARTS, TEXTS, "[write an agent's manifest](../guides/write-an-agent-manifest.md)"
    )


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.manifest", PARTS, TEXTS)
