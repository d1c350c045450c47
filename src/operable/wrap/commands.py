"""A command of a wrapped tool: the SDK's `Command`, made of a plan instead of a written function.

Reading: the parser's rows go out, then the end of the program is judged. Changing: phase one makes the plan, with the
program's own dry run where it has one; phase two runs the program, with the inputs that are in the confirmed plan.
"""

from __future__ import annotations

import os
import sys

from operable.kernel.errors import Fail
from operable.tool.signature import Command
from operable.wrap.schemas import event_class, inputs, params
from operable.wrap.upstream import GRACE, Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType
    from typing import Any

    from operable.tool.framework import Change
    from operable.tool.kinds import Page
    from operable.tool.records import Event
    from operable.tool.run.context import Context
    from operable.tool.signature import Param
    from operable.wrap.plan.model import WrapCommandPlan, WrapPlan

# As much of what an exception of a parser says.
_SHOWN = 300


class WrappedCommand(Command):
    """One subcommand of a wrapped tool."""

    def __init__(
        self, plan: WrapPlan, command: WrapCommandPlan, made: dict[str, tuple[Any, type[Event]]]
    ) -> None:
        self._plan, self._command, self._classes = plan, command, made
        super().__init__(self._function(), command.name, _options(command))
        if self.mutates:
            self.apply(self._apply_function())
        else:
            self.injected["_page"] = "Page"
        self.injected["_context"] = "Context"

    @property
    def params(self) -> tuple[Param, ...]:
        if self._params is None:
            command = self._command
            self._params = tuple(params(command.inputs, operands=command.operands, secrets=command.secrets))
        return self._params

    def event_classes(self) -> list[type[Event]]:
        return [event_class(schema, self._classes) for schema in self._command.events]

    def assurances(self) -> dict[str, Any]:
        from operable.wrap.assurance import assurance, sentence

        found = assurance(self._plan, self._command)
        return {**found, "explained": sentence(found)}

    def _function(self) -> Callable[..., Any]:
        plan, command = self._plan, self._command

        # Inputs may be called `context` or `page`, but never so.
        def perform(*, _context: Context, _page: Page | None = None, **values: Any) -> Any:
            given = inputs(command.inputs, values)
            if (
                command.unordered
            ):  # a page of results in no fixed order has no place where the next one goes on
                self.cursor = () if given[command.unordered] else tuple(command.cursor)
                require_order(command, given, _page)
            if command.mutates:
                return planned(plan, command, given, _context)
            return results(Upstream(plan, command, given, _context, _page))

        perform.__doc__ = _documentation(command)
        perform.__wrapped__ = _declared  # type: ignore[attr-defined]  # what the SDK describes is in the manifest
        return perform

    def _apply_function(self) -> Callable[..., Any]:
        plan, command = self._plan, self._command

        def apply(changes: list[Change[dict[str, Any]]], context: Context) -> Iterator[Any]:
            from operable.wrap.rows import single

            yield from single(results(Upstream(plan, command, changes[0].payload, context)))

        return apply


def require_order(command: WrapCommandPlan, given: dict[str, Any], page: Page | None) -> None:
    """Fail for a cursor where the results come in no fixed order."""
    if page is None or page.after is None or not given[command.unordered]:
        return
    message = f"--cursor and --{command.unordered.replace('_', '-')} exclude each other"
    raise Fail("usage", "CONFLICTING_OPTIONS", message, target="--cursor")


def _declared() -> None:
    """Stands for the signature of a wrapped command, which its manifest has."""


def _options(command: WrapCommandPlan) -> dict[str, Any]:
    options: dict[str, Any] = {
        "mutates": command.mutates,
        "destructive": command.destructive,
        "bulk": bool(command.bulk),
        "unbounded": bool(command.unbounded),
        "cursor": command.cursor,
        "columns": command.columns,
        "examples": command.examples,
        "secrets": [name.replace("-", "_") for name in command.secrets],
        "short": command.short,
        "timeout": None if command.unbounded else command.timeout,
        "grace": GRACE if command.argv else None,
    }
    if command.limit is not None:
        options["limit"] = command.limit
    if command.heartbeat is not None:
        options["heartbeat"] = command.heartbeat
    return options


def _documentation(command: WrapCommandPlan) -> str:
    """A docstring as the SDK reads it: the description, then a line for each input."""
    lines = [command.description.strip(), ""]
    for name, schema in command.inputs.get("properties", {}).items():
        text = " ".join(schema.get("description", "").split())
        lines.append(f"{name.replace('-', '_')}: {text}")
        if schema.get("format") == "path" or schema.get("items", {}).get("format") == "path":
            lines.append(f"{name.replace('-', '_')}_b64: the same as base64, for bytes that are not UTF-8")
    return "\n".join(lines)


def results(upstream: Upstream) -> Iterator[Any]:
    """The rows of one call, then the judgement of how it ended."""
    from operable.wrap.rows import cleaned, eased, sought

    command = upstream.command
    if upstream.plan.configured_names is not None:
        from operable.wrap.plan.settings import strays

        yield from strays(upstream.plan.configured_names)
    if command.stdin is not None:
        upstream.stdin = function(upstream.plan, command.stdin)(upstream.inputs)
    rows = guarded(_parsed(upstream), upstream.plan)
    if upstream.after is not None and command.resume == "seek":
        rows = sought(rows, command.cursor, upstream.after)
    yield from eased(cleaned(rows, upstream.plan))
    yield from upstream.settle()


def _parsed(upstream: Upstream) -> Iterator[Any]:
    command = upstream.command
    if command.function is not None:
        found: Iterator[Any] = function(upstream.plan, command.function)(upstream)
        return found
    from operable.kernel.catalogue import load

    parse = command.parse
    parser: Callable[[Upstream, Mapping[str, Any]], Iterator[Any]] = load(
        "operable.wrap.parsers", parse["kind"], "PARSER", kind="parser"
    )
    return parser(upstream, parse)


def guarded(rows: Iterator[Any], plan: WrapPlan) -> Iterator[Any]:
    """The same rows; where the parser fails, the error names its file, its line and the call."""
    from operable.wrap.rows import close

    try:
        yield from rows
    except (Fail, OSError):
        raise
    except Exception as problem:
        raise _parser_failed(problem, plan) from problem
    finally:
        close(rows)


def _parser_failed(problem: Exception, plan: WrapPlan) -> Fail:
    from operable.kernel.redact import redact_text

    place, frame = f"the parser of {plan.name}", problem.__traceback__
    homes = (os.path.join(plan.folder, ""), os.path.join(os.path.dirname(__file__), "parsers", ""))
    while frame is not None:
        code = frame.tb_frame.f_code
        if code.co_filename.startswith(homes):
            file = os.path.basename(code.co_filename)
            place = f"{file} of the wrapper {plan.name}, line {frame.tb_lineno}, in {code.co_name}"
        frame = frame.tb_next
    message = f"{place}: {type(problem).__name__}: {redact_text(str(problem))[:_SHOWN]}"
    hint = f"the parser does not understand what {plan.bin} printed; --debug shows the traceback"
    return Fail("internal", "PARSER_FAILED", message, hint=hint, target=plan.name)


def planned(
    plan: WrapPlan, command: WrapCommandPlan, given: dict[str, Any], context: Context
) -> Iterator[Any]:
    """The changes that a call would make, each with the inputs that the second phase gets."""
    rule = command.plan
    consented = _consented(given, context)
    if rule.project_code and not consented and not rule.plans_without_code:
        from operable.wrap.needs import consent_missing

        raise consent_missing(plan.bin, rule.project_code)
    if not (consented and rule.project_code):
        command = command.replace(sandbox=command.plan_sandbox, reads=True)
    upstream = Upstream(plan, command, given, context)
    upstream.project_code = consented
    if rule.function is not None:
        from operable.wrap.rows import cleaned

        for change in cleaned(guarded(function(plan, rule.function)(upstream), plan), plan):
            yield _planned_change(change, given)
        return
    from operable.manifest.argv import expand
    from operable.tool.framework import Change

    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    flat = {name: value for name, value in given.items() if not isinstance(value, list)}
    (target,) = expand([rule.target if rule.target is not None else plan.name], flat)
    yield _planned_change(Change(rule.action or command.name, target), given)


def _consented(given: dict[str, Any], context: Context) -> bool:
    """Whether the caller lets the plan run code of the project. How a plan was made is not part of the plan."""
    asked = bool(given.pop("run_project_code", False))  # needs.CONSENT
    return asked or context.confirmed


def _planned_change(item: Any, given: dict[str, Any]) -> Any:
    """What a planning function yields: a change gets its inputs, a notice passes.

    The inputs are shown redacted, as part of what is confirmed; the program gets them as they were given.
    """
    from operable.kernel.redact import redact_value
    from operable.tool.framework import Change

    if not isinstance(item, Change):
        return item
    shown = redact_value({name: value for name, value in given.items() if value not in (None, False, [])})
    fields = _reported(item.fields)
    own = ("type", "action", "target")
    details = {name: value for name, value in fields.items() if name not in own and value is not None}
    return Change(item.action, fields.get("target"), **details, input=_reported(shown)).carry(given)


def _reported(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields, with the bytes of each path that is not UTF-8 beside it."""
    from operable.wrap.fields import base64, put_path

    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            put_path(found, name, value)
        elif isinstance(value, list) and any(isinstance(one, str) and not _is_text(one) for one in value):
            raws = [str(one).encode("utf-8", "surrogateescape") for one in value]
            found[name] = [raw.decode("utf-8", "replace") for raw in raws]
            found[f"{name}_b64"] = [base64(raw) for raw in raws]
        else:
            found[name] = value
    return found


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


_packages: dict[str, str] = {}  # folder of a wrapper -> name of its package


def function(plan: WrapPlan, name: str) -> Callable[..., Any]:
    """A function of a file beside the manifests, loaded when it is first needed: FILE.NAME, or NAME of parser.py."""
    file, _, called = name.rpartition(".")
    path = os.path.join(plan.folder, f"{file or 'parser'}.py")
    module = _module(_package(plan), file or "parser", path)
    found: Callable[..., Any] | None = getattr(module, called, None)
    if found is None:
        from operable.wrap.places import invalid

        raise invalid(path, f"there is no function {called}")
    return found


def _package(plan: WrapPlan) -> str:
    """The folder of a wrapper as a package, so that its files import each other (`from .refs import tags`).

    Each folder has a package of its own: a user's wrapper may have the name of a bundled one.
    """
    folder = plan.folder
    if folder not in _packages:
        from types import ModuleType

        package = ModuleType(f"operable_wrapper_{plan.name.replace('-', '_')}_{len(_packages)}")
        package.__path__ = [folder]
        sys.modules[package.__name__] = package
        _packages[folder] = package.__name__
    return _packages[folder]


def _module(package: str, file: str, path: str) -> ModuleType:
    name = f"{package}.{file}"
    if name not in sys.modules:
        from importlib.machinery import SourceFileLoader
        from types import ModuleType

        module = ModuleType(name)
        module.__file__, module.__package__ = path, package
        sys.modules[name] = module  # annotations of classes are looked up there
        try:
            SourceFileLoader(name, path).exec_module(module)
        except BaseException as problem:
            del sys.modules[name]
            if not isinstance(problem, OSError):
                raise
            from operable.wrap.places import invalid

            raise invalid(path, f"there is no parser: {problem.strerror}") from problem
    return sys.modules[name]
