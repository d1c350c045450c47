"""Every structured error that the source can raise, collected without running it: each call `Fail(category, code, …)`.

Category and code are nearly always written out. Where they are not, they are followed as far as a reader would: a choice
between two, a piece of text around a local name, a parameter of the function that makes the error (then each call of that
function in the same module is one way to fail). What cannot be followed is an error of this module, so that no code
stays unlisted.
"""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Made at run time from what the system reports; the word stands for all of them.
ERRNO = "errno name"
# Functions that pass on a code which was listed where it was made: of a recorded error, of another tool, of a verdict.
_PASS_ON = {"_as_fail", "foreign_error", "failure", "reason_of"}


class Failure(NamedTuple):
    """One way to fail: where it is raised, and what it says; `{…}` stands for what is known only then."""

    code: str
    category: str
    message: str
    hint: str
    exit_code: str
    place: str


class _Scope(NamedTuple):
    """What the names around an expression mean: the function it is in, and what its caller passed."""

    function: Function | None
    passed: dict[str, tuple[ast.expr, "_Scope"]]


@cache
def failures(root: Path) -> tuple[Failure, ...]:
    """Of all modules below a folder, sorted by code."""
    found = [
        failure
        for path in sorted(root.rglob("*.py"))
        for failure in _of_module(ast.parse(path.read_text("utf-8")), path.relative_to(root).as_posix())
    ]
    return tuple(sorted(set(found)))


class _Constants(ast.NodeTransformer):
    """Puts the texts that a module names once at its top in the place of their names."""

    def __init__(self, tree: ast.Module) -> None:
        self._texts = {
            to.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for to in node.targets
            if isinstance(to, ast.Name)
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._texts:
            return ast.copy_location(ast.Constant(self._texts[node.id].value), node)
        return node


def _of_module(tree: ast.Module, place: str) -> Iterator[Failure]:
    tree = _Constants(tree).visit(tree)
    calls = list(_calls(tree, None))
    for each, function in calls:
        call = _as_fail_call(each)
        if call is None or len(call.args) < 3:
            continue
        if function is not None and function.name in _PASS_ON:
            continue
        for scope in _scopes(call.args[:2], function, calls):
            yield from _of_call(call, scope, place)


def _as_fail_call(call: ast.Call) -> ast.Call | None:
    """`Fail(category, …)`; `Fail.__init__(self, category, …)` of a class of errors is the same."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="Fail"), attr="__init__"), args=[_, *args]):
            return ast.Call(call.func, args, call.keywords)
    return call if _callee(call) == "Fail" else None


def _of_call(call: ast.Call, scope: _Scope, place: str) -> Iterator[Failure]:
    category, code, message = call.args[:3]
    given = {word.arg: word.value for word in call.keywords}
    for kind, name in product(_texts(category, scope), _texts(code, scope)):
        yield Failure(
            code=name,
            category=kind,
            message=_template(message, scope),
            hint=_template(given.get("hint"), scope),
            exit_code=ast.unparse(given["exit_code"]) if "exit_code" in given else "",
            place=place,
        )


def _calls(node: ast.AST, function: Function | None) -> Iterator[tuple[ast.Call, Function | None]]:
    """Every call with the function it is in."""
    if isinstance(node, Function):
        function = node
    if isinstance(node, ast.Call):
        yield node, function
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, function)


def _scopes(
    needed: list[ast.expr], function: Function | None, calls: list[tuple[ast.Call, Function | None]]
) -> Iterator[_Scope]:
    """One scope; where what is needed comes from the caller, one for each call in the module."""
    parameters = {} if function is None else _parameters(function)
    names = {part.id for node in needed for part in ast.walk(node) if isinstance(part, ast.Name)}
    if function is None or not names & parameters.keys():
        yield _Scope(function, {})
        return
    here = _Scope(function, {})
    defaults = {name: (value, here) for name, value in parameters.items() if value is not None}
    if names & parameters.keys() <= defaults.keys():
        yield _Scope(function, defaults)
    for call, caller in calls:
        if _callee(call) == function.name:
            given = dict(zip(parameters, call.args, strict=False))
            given |= {word.arg: word.value for word in call.keywords if word.arg}
            outside = _Scope(caller, {})
            if names & parameters.keys() <= given.keys():
                yield _Scope(function, defaults | {name: (value, outside) for name, value in given.items()})


def _parameters(function: Function) -> dict[str, ast.expr | None]:
    """The parameters by name, with their defaults."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args]
    positional = [argument.arg for argument in every if argument.arg != "self"]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    named = zip((argument.arg for argument in arguments.kwonlyargs), arguments.kw_defaults, strict=True)
    return dict(zip(positional, [*missing, *arguments.defaults], strict=True)) | dict(named)


def _callee(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _texts(node: ast.expr, scope: _Scope) -> list[str]:
    """The strings that an expression can be."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp(body=body, orelse=otherwise):
            return [*_texts(body, scope), *_texts(otherwise, scope)]
        case ast.JoinedStr(values=parts):
            return ["".join(words) for words in product(*(_texts(part, scope) for part in parts))]
        case ast.FormattedValue(value=value):
            return _texts(value, scope)
        case ast.Call(func=ast.Attribute(value=value, attr="upper")):
            return [text.upper() for text in _texts(value, scope)]
        case ast.Call(
            func=ast.Attribute(value=value, attr="replace"), args=[ast.Constant(old), ast.Constant(new)]
        ):
            return [text.replace(str(old), str(new)) for text in _texts(value, scope)]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="errorcode"), attr="get"), args=[_, default]):
            return [ERRNO, *_texts(default, scope)]
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            return _texts(default, scope)  # what a wrapper's manifest says instead is listed with the wrapper
        case ast.BoolOp(op=ast.Or(), values=[*_, default]):
            return _texts(default, scope)
        case ast.Name(id=name):
            meant = _meaning(name, scope)
            if meant is not None:
                return _texts(*meant)
    raise ValueError(f"line {node.lineno}: cannot see what {ast.unparse(node)} can be")


def _meaning(name: str, scope: _Scope) -> tuple[ast.expr, _Scope] | None:
    """What a name was made to mean: by the caller, by an assignment in its function, or by its default."""
    if name in scope.passed:
        return scope.passed[name]
    if scope.function is None:
        return None
    for part in ast.walk(scope.function):
        if isinstance(part, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id == name for to in part.targets
        ):
            return part.value, scope
    default = _parameters(scope.function).get(name)
    return None if default is None else (default, scope)


def _template(node: ast.expr | None, scope: _Scope) -> str:
    """A message as it is written, with `{…}` where something is put in."""
    match node:
        case None:
            return ""
        case ast.Constant(value=value):
            return "" if value is None else str(value)
        case ast.JoinedStr(values=parts):
            return "".join(_template(part, scope) for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)):
            meant = _meaning(name, scope)
            if meant is not None and _is_text(meant[0]):
                return _template(*meant)
        case ast.Name(id=name):
            meant = _meaning(name, scope)
            if meant is not None:
                return _template(*meant)
        case ast.IfExp(body=body, orelse=otherwise):
            return " / ".join(filter(None, [_template(body, scope), _template(otherwise, scope)]))
    return "{" + _shown(node) + "}"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _shown(node: ast.AST) -> str:
    """A short name for what is put in: the last word of a dotted name, else three dots."""
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(inner, ast.Name):
        return inner.id
    return inner.attr if isinstance(inner, ast.Attribute) else "…"
