"""Ways to break a module: each is one small change of its source after which it does something else.

Points are found in the syntax tree and replaced in the text, so that the rest of the file stays as it is. Where a change
could not matter (docstrings, annotations, imports for type checkers, what is asserted) nothing is changed. A larger number
is multiplied: a limit that is one higher is the same limit.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_OPPOSITES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
# Of a clock or a deadline only the side matters: no test is there at the very moment.
_REVERSED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
}
_CLOCKS = {"monotonic", "time", "now", "deadline"}
_LARGE = 10


@dataclass(frozen=True)
class Break:
    """One change: what is between two places of the source, in bytes, and what is to be there."""

    line: int
    what: str
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def breaks(source: bytes) -> list[Break]:
    """Every way in which this module can be broken, in the order of its lines."""
    return [each for each in candidates(source) if compiles(each.apply(source))]


def candidates(source: bytes) -> list[Break]:
    """The same before a look at whether each compiles, which costs a parse of the whole module."""
    starts = [0, *(place + 1 for place, byte in enumerate(source) if byte == ord("\n"))]
    found = [
        Break(
            node.lineno,
            what,
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
            text,
        )
        for node, what, text in _changes(ast.parse(source))
    ]
    return sorted(found, key=lambda each: each.start)


def compiles(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """What is changed, how that is called, and the new text; of this node and of all in it that can matter."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="TYPE_CHECKING")]):
            return
        case ast.Assert() | ast.Import() | ast.ImportFrom():
            return
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, "negate a condition", f"(not ({ast.unparse(test)}))"
        case ast.Raise():
            yield node, "do not raise", "pass"
        case ast.Return(value=ast.expr() as value) if not _is_empty(value):
            yield node, "return nothing", "return None"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield node, "do not call", "pass"
        case ast.Compare(ops=[operator]):
            other_way = _REVERSED if _has_clock(node) else _OPPOSITES
            opposite = other_way.get(type(operator), _OPPOSITES[type(operator)])
            changed = ast.Compare(node.left, [opposite], node.comparators)
            yield node, "compare the other way", f"({ast.unparse(changed)})"
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, "swap and and or", f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.Constant(value=bool(value)):
            yield node, "flip a constant", repr(not value)
        case ast.Constant(value=int(value)):
            yield node, "change a number", f"({value + 1 if value < _LARGE else value * 4})"
    for child in _parts(node):
        yield from _changes(child)


def _has_clock(node: ast.AST) -> bool:
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node)}
    return not names.isdisjoint(_CLOCKS)


def _is_empty(value: ast.expr) -> bool:
    """Whether a truth test cannot distinguish it from None."""
    return isinstance(value, ast.Constant) and not value.value


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node runs, or decides what runs."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def excerpt(source: bytes, each: Break) -> str:
    """The lines that a break changes, before and after."""
    before, after = source.decode().splitlines(), each.apply(source).decode().splitlines()
    same = next((number for number, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return f"- {before[same].strip()}\n+ {after[same].strip()}"
