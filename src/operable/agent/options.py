"""The command line of `operable-agent`, read without anything that must be imported first.

The flags are those of the JSON-stream protocol's section on configuration, of its session life cycle, and of the
current reference agent. Values come from a flag, else from the variable beside it. What is wrong is one `Fail` that
names all of it.
"""

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Provider -> the variable without which it cannot be used; the first one that is set decides when nothing was said.
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
# flag -> (name, kind, variable); kind: text, count (an integer from 0), or the words that are allowed
_VALUES: "dict[str, tuple[str, Any, str | None]]" = {
    "--provider": ("provider", "text", "PROVIDER"),
    "--api-key": ("api_key", "text", "API_KEY"),
    "--base-url": ("base_url", "text", "BASE_URL"),
    "--model": ("model", "text", "MODEL"),
    "--max-tokens": ("max_tokens", "count", None),
    "--thinking": ("thinking", ("enabled", "disabled"), None),
    "--thinking-budget": ("thinking_budget", "count", None),
    "--effort": ("effort", "text", None),
    "--max-turns": ("max_turns", "count", None),
    "--max-tool-call-malformed-turns": ("malformed_limit", "count", None),
    "--max-tool-call-failure-turns": ("failure_limit", "count", None),
    "--system-prompt": ("system_prompt", "text", None),
    "--workspace": ("workspace", "text", None),
    "--project-dir": ("workspace", "text", None),
    "--session-id": ("session_id", "text", None),
    "--resume": ("resume", "text", None),
    "--context-window": ("window", "count", None),
    "--compaction": ("compaction", ("off", "safe", "full"), None),
    "--sandbox": ("sandbox", "text", None),
    "--allow": ("allow", "text", None),
    "--tool": ("tools", "text", None),
    "--app": ("apps", "text", None),
    "--log-level": ("log_level", ("error", "warning", "info", "debug"), None),
}
_FLAGS = {
    "--json-stream": "json_stream",
    "--acp": "acp",
    "--auto-approve": "auto_approve",
    "--offline": "offline",
    "--no-session": "no_session",
    "--no-color": "no_color",
    "--help": "help",
    "--version": "version",
}
_SHORT = {
    "-p": "--provider",
    "-k": "--api-key",
    "-b": "--base-url",
    "-m": "--model",
    "-h": "--help",
    "-V": "--version",
}
_REPEATED = ("allow", "tools", "apps")


def read_options(argv: "Sequence[str]", environment: "Mapping[str, str]") -> "dict[str, Any]":
    """Everything that was said, by name; `words` are the operands."""
    problems: list[str] = []
    options: dict[str, Any] = {"words": []}
    arguments = list(argv)
    while arguments:
        word = arguments.pop(0)
        if word == "--":
            options["words"] += arguments
            break
        if not word.startswith("-") or word == "-":
            options["words"].append(word)
            continue
        flag, equals, value = word.partition("=")
        flag = _SHORT.get(flag, flag)
        if flag in _FLAGS and not equals:
            options[_FLAGS[flag]] = True
        elif flag in _VALUES:
            if not equals:
                if not arguments:
                    problems.append(f"a value is needed after {flag}")
                    continue
                value = arguments.pop(0)
            _take(options, flag, value, problems)
        elif flag in _FLAGS:
            problems.append(f"{flag} takes no value")
        else:
            problems.append(f"unknown option {flag}{_near(flag)}")
    _take_variables(options, environment, problems)
    if "session_id" in options and "resume" in options:
        problems.append("--session-id and --resume exclude each other")
    if problems:
        raise Fail("usage", "BAD_OPTIONS", "; ".join(problems), hint="operable-agent --help")
    return options


def _take_variables(options: "dict[str, Any]", environment: "Mapping[str, str]", problems: list[str]) -> None:
    for flag, (name, _, variable) in _VALUES.items():
        if variable and name not in options and environment.get(variable):
            _take(options, flag, environment[variable], problems)


def _take(options: "dict[str, Any]", flag: str, value: str, problems: list[str]) -> None:
    name, kind, _ = _VALUES[flag]
    if kind == "count":
        if not (value.isascii() and value.isdigit() and len(value) < 12):
            problems.append(f"a whole number is needed after {flag}")
            return
        options[name] = int(value)
    elif kind == "text":
        if not value:
            problems.append(f"a value is needed after {flag}")
        elif name in _REPEATED:
            options.setdefault(name, []).append(value)
        else:
            options[name] = value
    elif value in kind:
        options[name] = value
    else:
        problems.append(f"{flag} is one of {', '.join(kind)}")


def _near(flag: str) -> str:
    from operable.kernel.catalogue import nearest

    near = nearest(flag.lstrip("-"), [known.lstrip("-") for known in (*_VALUES, *_FLAGS)], limit=1)
    return f" (did you mean --{near[0]}?)" if near else ""


def choose_provider(options: "dict[str, Any]", environment: "Mapping[str, str]") -> None:
    """Set `options["provider"]`, unless it is set."""
    if "provider" in options:
        return
    if options.get("offline"):
        options["provider"] = "offline"
        return
    if configured := _configured_provider(options):
        options["provider"] = configured
        return
    for provider, variable in KEYS.items():
        if environment.get(variable):
            options["provider"] = provider
            return
    raise Fail(
        "config",
        "NO_PROVIDER",
        f"No provider is configured: {' or '.join(KEYS.values())} is not set",
        hint="Set one of them, name a --provider (elsewhere --option provider=NAME), or use --offline.",
    )


def _configured_provider(options: "dict[str, Any]") -> "str | None":
    from os.path import realpath

    from operable.project.places import is_configured

    workspace = realpath(options.get("workspace", "."))
    if not is_configured(workspace):
        return None
    from operable.project.settings import load_settings

    return load_settings(workspace).chosen.get("provider")
