"""The words of the agentcli command line: which commands and flags there are, and how a line of them is read.

Long flags only, `--name value` or `--name=value`, before or after the other words; `--` ends them. Everything that is wrong
has the message that callers of that program know, and the code `invalid_argument`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from operable.flow.errors import FlowError, invalid_argument

GLOBAL_FLAGS = frozenset("json pretty ndjson version".split())
GLOBAL_VALUES = frozenset({"home"})


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: its flags, and how many other words it takes."""

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    least: int = 0
    most: int | None = 0
    usage: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was understood."""

    command: str  # "" when there is none; "registry add" for commands of a group
    words: list[str]
    flags: frozenset[str] = frozenset()
    values: dict[str, str] = field(default_factory=dict)


def _verb(usage: str = "", least: int = 0, most: int | None = 0, values: str = "", flags: str = "") -> Verb:
    return Verb(frozenset(flags.split()), frozenset(values.split()), least, most, usage)


_SIGNING = "signer signing-key instance-id"
_EXEC = f"workflow timeout evidence-provider {_SIGNING}"
_DEBUG = "dry-run require-evidence require-authorization identity-debug presentation-debug"
_SCHEDULER = "db scheduler-prefix scheduler-bin"

# What only asks runs nothing of a manifest and asks no server, unless it is told to.
_ASKED = _verb("<manifest> <task>", 2, 2, values="workflow", flags="allow-commands allow-network")

VERBS: dict[str, Verb] = {
    "version": _verb(),
    "help": _verb(most=None),
    "schema": _verb("[target]", most=1, flags="legacy"),
    "describe": _verb("[topic]", most=1),
    "validate": _verb("<manifest>", 1, 1),
    "compile": _verb("<manifest>", 1, 1, values="target write", flags="explain"),
    "convert": _verb("<manifest>", 1, 1, values="output write"),
    "apply": _verb(
        "<manifest>",
        1,
        1,
        values=f"{_SCHEDULER} adopt-by",
        flags="dry-run explain check-capabilities allow-proof-command allow-network",
    ),
    "inspect": _verb("[entity]", most=1, values="db fields limit sanitize"),
    "targets": _verb(),
    "paths": _verb(),
    "init": _verb(values="tool output workflow-id task-id"),
    "exec": _verb("<manifest> <task>", 2, 2, values=f"{_EXEC} approval-id {_SCHEDULER}", flags=_DEBUG),
    "run": _verb("<manifest>", 1, 1, values=f"{_EXEC} root", flags=f"{_DEBUG} all-roots"),
    "identity providers": _verb(),
    "identity schema": _verb("<provider>", 1, 1),
    "identity resolve": _ASKED,
    "identity validate-delegation": _ASKED,
    "authorization-proof methods": _verb(),
    "authorization-proof schema": _verb("<method>", 1, 1),
    "authorization-proof verify": _ASKED,
    "authorization providers": _verb(),
    "authorization schema": _verb("<provider>", 1, 1),
    "authorization evaluate": _ASKED,
    "evidence providers": _verb(),
    "evidence schema": _verb("<provider>", 1, 1),
    "audit": _verb(values="limit"),
    "approve": _verb("<manifest> <task>", 2, 2, values=f"workflow by reason ttl-s timeout {_SIGNING}"),
    "approvals list": _verb(values="status workflow task"),
    "approvals revoke": _verb("<approval-id>", 1, 1, values="by reason"),
    "signing providers": _verb(),
    "verify": _verb("<execution-id>", 1, 1, values="allowed-signers"),
    "whoami": _ASKED,
    "skill-path": _verb(),
    "registry list": _verb(),
    "registry add": _verb("<manifest>", 1, 1, values="name"),
    "registry show": _verb("<name>", 1, 1),
    "registry remove": _verb("<name>", 1, 1),
    "import": _verb("<folder>", 1, 1, values="name"),
    "merge": _verb("<manifest> <manifest> ...", 2, None, values="output"),
    "serve": _verb(values="db"),
}
GROUPS = sorted({name.split()[0] for name in VERBS if " " in name})


def read_line(argv: list[str]) -> Line:
    """The line as one of the commands; FlowError with the message that fits."""
    command = _command_of(argv)
    if command and command not in GROUPS and command not in VERBS:
        raise FlowError("unknown_command", f"Unknown command: {command}")
    members = {name: verb for name, verb in VERBS.items() if name.split()[0] == command}
    # A flag may stand before the second word of a group, so the flags of all its commands are read first.
    known_flags = GLOBAL_FLAGS.union(*(verb.flags for verb in members.values()))
    known_values = GLOBAL_VALUES.union(*(verb.values for verb in members.values()))
    words, flags, values = _parts(argv, command, known_flags, known_values)
    if "version" in flags and not command:
        return Line("version", [], flags, values)
    if not command:
        return Line("", [], flags, values)
    words = words[1:]
    if command in GROUPS:
        command, words = _member(command, words)
    verb = VERBS[command]
    for name in sorted((flags | values.keys()) - verb.flags - verb.values - GLOBAL_FLAGS - GLOBAL_VALUES):
        raise invalid_argument(f"Unknown flag for {command}: --{name}")
    _check_count(command, verb, words)
    return Line(command, words, flags, values)


def _command_of(argv: list[str]) -> str:
    """The first word that is no long flag, nor the value of a global one."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == "--":
            return ""
        elif word in ("-v", "-h"):
            return {"-v": "version", "-h": "help"}[word]
        elif word.startswith("--"):
            skip = word[2:] in GLOBAL_VALUES
        else:
            return word
    return ""


def _parts(
    argv: list[str], command: str, known_flags: frozenset[str], known_values: frozenset[str]
) -> tuple[list[str], frozenset[str], dict[str, str]]:
    words: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("--"):
            if word.startswith("-") and word not in ("-", "-v", "-h"):
                raise invalid_argument(f"Unexpected argument: {word}")
            words.append(word)
            continue
        name, equals, value = word[2:].partition("=")
        if name not in known_flags | known_values:
            raise invalid_argument(f"Unknown flag for {command or 'help'}: --{name}")
        if name in flags or name in values:
            raise invalid_argument(f"Flag may only be specified once: --{name}")
        if name in known_flags:
            if equals:
                raise invalid_argument(f"Boolean flag --{name} does not accept a value")
            flags.add(name)
            continue
        values[name] = _value(name, value, rest, inline=bool(equals))
    return words, frozenset(flags), values


def _value(name: str, value: str, rest: list[str], *, inline: bool) -> str:
    if inline:
        if not value:
            raise invalid_argument(f"--{name} requires a non-empty value")
        return value
    if not rest or rest[0].startswith("--"):
        raise invalid_argument(f"--{name} requires a value")
    return rest.pop(0)


def _member(group: str, words: list[str]) -> tuple[str, list[str]]:
    name = f"{group} {words[0]}" if words else group
    if name not in VERBS:
        known = ", ".join(other.split()[1] for other in VERBS if other.split()[0] == group)
        said = f": {words[0]}" if words else ""
        raise invalid_argument(f"Unknown {group} subcommand{said}. Available: {known}")
    return name, words[1:]


def _check_count(command: str, verb: Verb, words: list[str]) -> None:
    if verb.least <= len(words) and (verb.most is None or len(words) <= verb.most):
        return
    if not words and verb.least:
        if verb.usage.startswith("<manifest>") and verb.least == 1:
            raise invalid_argument("Missing input. Pass a file path or JSON string.")
        raise invalid_argument(f"Usage: agentcli {command} {verb.usage}")
    if verb.least == verb.most:
        raise invalid_argument(
            f'Command "{command}" expects {verb.least} positional argument(s); received {len(words)}'
        )
    raise invalid_argument(f'Command "{command}" received an invalid number of positional arguments')
