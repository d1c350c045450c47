"""Reads and judges the manifests of a wrapper, and makes its plan of them.

The manifests are plain CLI.md and TOOL.md files (`operable.manifest` judges them). What those standards have no word for
is under `metadata.operable`; its keys are listed below and an unknown one is refused, because a misspelt guard would
otherwise guard nothing. docs/guides/wrap-a-tool.md explains each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from operable.manifest import Loaded, ManifestError, load
from operable.manifest.argv import mistakes, names
from operable.manifest.blocks import ToolSandbox
from operable.manifest.kinds.cli import Cli
from operable.manifest.kinds.tool import ToolManifest
from operable.wrap.enclosure import wanted
from operable.wrap.native import read_native
from operable.wrap.needs import CONSENT, read_needs, read_only_sandbox
from operable.wrap.places import MARKER, invalid
from operable.wrap.plan.model import (
    ChangeRule,
    LoginPlace,
    SandboxPlan,
    WrapCommandPlan,
    WrapPlan,
    WrapVersionCheck,
)

# CLI.md: metadata.operable
_CLI_KEYS = frozenset(
    "default elsewhere exits native read_env replaces stderr subcommands syscalls unverified".split()
)
# TOOL.md: metadata.operable
_TOOL_KEYS = frozenset(
    "bulk columns cursor exits function heartbeat limit native needs operands options parse plan project_code"
    " resume secrets short stderr stdin terminal unbounded unordered".split()
)
# metadata.operable.plan
_PLAN_KEYS = frozenset(("action", "function", "needs", "plans_without_code", "project_code", "target"))
# Kinds of parsers that are data; `python` is the function that `function` names, of a file beside them.
_RESUMES = ("seek", "native")
_DESTRUCTIVE_RISK = 3
# What an exit status means; and which of its reasons the program's own words give.
_REASON_KEYS = frozenset(("match", "category", "code", "hint", "retryable"))
_EXIT_KEYS = _REASON_KEYS - {"match"} | {"ok", "reasons", "word"}


def read(folder: str) -> WrapPlan:
    """The plan of a wrapper; Fail WRAPPER_INVALID when its manifests cannot be used."""
    path = os.path.join(folder, MARKER)
    try:
        loaded = load(path, kind="cli", workspace=folder)
    except ManifestError as error:
        problems = "; ".join(map(str, error.problems[:20]))
        raise invalid(path, f"the wrapper cannot be used: {problems}") from error
    cli = loaded.as_(Cli)
    extra = _extra(path, cli.metadata, _CLI_KEYS)
    commands = {
        " ".join(words): _command(
            " ".join(words), loaded.bound[".".join(("commands", *words))], path, cli, extra
        )
        for words, _ in cli.leaves()
    }
    default = extra.get("default")
    if default is not None and default not in commands:
        raise invalid(path, f"metadata.operable.default names no command: {default!r}")
    return WrapPlan(
        name=os.path.basename(folder),
        folder=folder,
        version=cli.version,
        summary=cli.description,
        bin=cli.bin,
        bin_args=list(cli.bin_args),
        install=[
            each.method if each.package is None else f"{each.method} install {each.package}"
            for each in cli.install
        ],
        version_check=WrapVersionCheck(
            cmd=cli.version_check.cmd,
            parse=cli.version_check.parse,
            range=cli.version_check.range,
            timeout=cli.version_check.timeout_ms / 1000,
        ),
        os=list(cli.requires.os),
        env_pass=list(cli.sandbox.env.pass_),
        env_set=dict(cli.sandbox.env.set),
        read_env=_texts(path, "read_env", extra.get("read_env", {})),
        auth=cli.auth is not None,
        login=_login(cli),
        default=default,
        elsewhere=_texts(path, "elsewhere", extra.get("elsewhere", {})),
        subcommands=bool(extra.get("subcommands", False)),
        replaces=bool(extra.get("replaces", False)),
        syscalls=bool(extra.get("syscalls", False)),
        unverified=bool(extra.get("unverified", False)),
        commands=commands,
    )


def _login(cli: Cli) -> LoginPlace:
    """Where a login is kept, and whether the program itself can be asked about it."""
    if cli.auth is None:
        return LoginPlace(env=[], paths=[], can_be_asked=False)
    login, state = cli.auth.login, cli.auth.state
    can_be_asked = login is not None and login.completes_when is not None
    return LoginPlace(env=list(state.env), paths=list(state.paths), can_be_asked=can_be_asked)


def _command(
    name: str, loaded: Loaded, bundle_path: str, cli: Cli, shared: Mapping[str, Any]
) -> WrapCommandPlan:
    """`shared` is what the wrapper declares for all of its commands."""
    tool = loaded.as_(ToolManifest)
    extra = _extra(loaded.path, tool.metadata, _TOOL_KEYS)
    _check(loaded.path, tool, extra)
    block = cli.sandbox if tool.sandbox is None else tool.sandbox
    # A wrapper that asks the system itself has no program to confine.
    sandbox, plan_sandbox = (
        (None, None) if shared.get("syscalls") else _rights(loaded.path, tool, extra, block)
    )
    extra.pop("needs", None)
    rule = extra.get("plan", {})
    if rule:
        extra["plan"] = ChangeRule(**rule)
    exits = _exits(bundle_path, cli.output.exit_codes, shared.get("exits", {}))
    properties = tool.inputs.get("properties", {})
    tables = (shared.get("native", {}), extra.pop("native", {}))
    native = {
        name: each for table in tables for name, each in read_native(loaded.path, table, properties).items()
    }
    if native:
        extra["native"] = native
    destructive = tool.approval == "always" or tool.risk_level >= _DESTRUCTIVE_RISK
    return WrapCommandPlan(
        name=name,
        description=tool.description,
        inputs=_inputs(loaded.path, tool.inputs, rule),
        events=list(_events(loaded.path, tool.outputs)),
        mutates=bool(tool.mutates),
        destructive=bool(tool.mutates) and destructive,
        timeout=tool.timeout_ms / 1000,
        argv=list(tool.runner.argv),
        sandbox=sandbox,
        plan_sandbox=plan_sandbox,
        reads=not tool.mutates,
        project_code=extra.pop("project_code", ""),
        examples=[example.note for example in tool.examples if example.note],
        exits={**exits, **_exits(loaded.path, {}, extra.pop("exits", {}))},
        stderr=extra.pop("stderr", shared.get("stderr", "warn")),
        **extra,
    )


def _rights(
    path: str, tool: ToolManifest, extra: dict[str, Any], block: ToolSandbox
) -> tuple[SandboxPlan | None, SandboxPlan | None]:
    """What the program may not do, and what it may not do in the dry run of a command that changes things."""
    needs = read_needs(path, extra.pop("needs", {}))
    if not tool.mutates:
        return read_only_sandbox(path, block, needs), None
    if needs:
        raise invalid(path, "needs is for commands that change nothing; a dry run has plan.needs")
    plan_needs = read_needs(path, extra["plan"].get("needs", {}))
    return wanted(block), read_only_sandbox(path, block, plan_needs)


def _inputs(path: str, inputs: dict[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, with the consent to code of the project where planning runs some."""
    if not rule.get("project_code"):
        return inputs
    properties = inputs.get("properties", {})
    if CONSENT in properties:
        raise invalid(path, f"the input {CONSENT} is added by plan.project_code")
    consent = {"type": "boolean", "description": f"plan with code of the project: {rule['project_code']}"}
    return {**inputs, "properties": {**properties, CONSENT: consent}}


def _texts(path: str, key: str, given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise invalid(path, f"metadata.operable.{key} is a mapping from names to texts")
    return dict(given)


def _check(path: str, tool: ToolManifest, extra: Mapping[str, Any]) -> None:
    """What the schema of a TOOL.md cannot know of `metadata.operable`."""
    known = tool.inputs.get("properties", {})
    unordered = [extra["unordered"]] if "unordered" in extra else []
    for name in (
        *extra.get("operands", ()),
        *extra.get("options", {}),
        *extra.get("secrets", ()),
        *unordered,
    ):
        if name not in known:
            raise invalid(path, f"metadata.operable names the input {name!r}, which is not declared")
    for elements in extra.get("options", {}).values():
        for element in elements:
            wrong = next(mistakes(element), None) or next(
                (f"the input {name!r} is not declared" for name in names([element]) if name not in known),
                None,
            )
            if wrong is not None:
                raise invalid(path, f"metadata.operable.options: {wrong}")
    _check_functions(path, extra)
    if not tool.runner.argv and "function" not in extra:
        raise invalid(path, "a command has runner.argv, or a function of parser.py that needs no program")
    if "function" not in extra and "parse" not in extra:
        raise invalid(path, "metadata.operable needs parse (jsonl, json, nul) or a function of parser.py")
    if tool.mutates and "plan" not in extra:
        raise invalid(path, "a command that changes things needs metadata.operable.plan")
    if extra.get("resume", "seek") not in _RESUMES:
        raise invalid(path, f"resume is one of {', '.join(_RESUMES)}")
    if extra.get("project_code") and not tool.mutates:
        raise invalid(path, "a command that runs code of the project is a change: it needs mutates")
    _check_plan(path, extra.get("plan", {}))


def _check_functions(path: str, extra: Mapping[str, Any]) -> None:
    plan = extra.get("plan")
    used = (
        extra.get("function"),
        extra.get("stdin"),
        plan.get("function") if isinstance(plan, dict) else None,
    )
    for name in used:
        parts = str(name).split(".")
        if name is not None and (len(parts) > 2 or not all(part.isidentifier() for part in parts)):
            raise invalid(path, f"a function is NAME, of parser.py, or FILE.NAME, not {name!r}")


def _check_plan(path: str, rule: Any) -> None:
    unknown = sorted(rule.keys() - _PLAN_KEYS) if isinstance(rule, dict) else ["plan"]
    if unknown:
        raise invalid(
            path, f"metadata.operable.plan has no key {unknown[0]!r}; it has {', '.join(sorted(_PLAN_KEYS))}"
        )
    if rule.get("plans_without_code") and not rule.get("project_code"):
        raise invalid(path, "plans_without_code needs the key project_code")


def _extra(path: str, metadata: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    extra = metadata.get("operable", {})
    if not isinstance(extra, dict):
        raise invalid(path, "metadata.operable is not a mapping")
    unknown = sorted(extra.keys() - known)
    if unknown:
        raise invalid(path, f"metadata.operable has no key {unknown[0]!r}; it has {', '.join(sorted(known))}")
    return dict(extra)


def _exits(path: str, words: Mapping[str, str], rules: Mapping[str, Any]) -> dict[int | None, dict[str, Any]]:
    """Exit status -> what it means: a word, and whether it is a success or which error it is."""
    found: dict[int | None, dict[str, Any]] = {int(code): {"word": word} for code, word in words.items()}
    for code, rule in rules.items():
        if not isinstance(rule, dict) or rule.keys() - _EXIT_KEYS:
            raise invalid(
                path,
                f"metadata.operable.exits: {code} needs {', '.join(sorted(_EXIT_KEYS))}, and nothing else",
            )
        for reason in rule.get("reasons", ()):
            _check_reason(path, code, reason)
        found.setdefault(int(code), {}).update(rule)
    return found


def _check_reason(path: str, code: str, reason: Any) -> None:
    import re

    if not isinstance(reason, dict) or "match" not in reason or reason.keys() - _REASON_KEYS:
        raise invalid(
            path, f"metadata.operable.exits: a reason of {code} has {', '.join(sorted(_REASON_KEYS))}"
        )
    try:
        re.compile(reason["match"])
    except (re.error, TypeError) as error:
        raise invalid(
            path, f"metadata.operable.exits: a reason of {code} is not an expression: {error}"
        ) from error


def _events(path: str, outputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events that the outputs describe: one schema, or several below `oneOf`, each with the const of its type."""
    for schema in outputs.get("oneOf", [outputs]):
        kind = schema.get("properties", {}).get("type", {}).get("const")
        if not isinstance(kind, str):
            raise invalid(path, "outputs describes an event: an object whose property `type` has a const")
        yield schema
