"""What a module declares, read from its source: signatures, docstrings, fields with the words beside them.

Read, not imported, because the source says more: names of types as the author wrote them, the string below a field, the
comment behind an attribute. The order is that of the source.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Member(NamedTuple):
    """A field or an attribute: its type and default as they are written, and what is said about it."""

    name: str
    type: str
    default: str
    text: str


class Declared(NamedTuple):
    """A class or a function of a module."""

    name: str
    node: ast.ClassDef | Function
    module: "Module"

    @property
    def text(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def function(self) -> Function | None:
        """The function itself, or what makes an instance; None for a class whose fields do."""
        return self.node if isinstance(self.node, Function) else self.method("__init__")

    def method(self, name: str) -> Function | None:
        """A method of the class, or of the first base of ours that has it."""
        own = [part for part in self._body() if isinstance(part, Function) and part.name == name]
        inherited = (found for base in self._bases() if (found := base.method(name)) is not None)
        return own[0] if own else next(inherited, None)

    def methods(self) -> Iterator[Function]:
        """Public methods and properties, own ones first, then those that bases of ours add."""
        seen = set()
        own = (part for part in self._body() if isinstance(part, Function) and not part.name.startswith("_"))
        for part in chain(own, *(base.methods() for base in self._bases())):
            if part.name not in seen:
                seen.add(part.name)
                yield part

    def _body(self) -> list[ast.stmt]:
        return self.node.body if isinstance(self.node, ast.ClassDef) else []

    def _bases(self) -> Iterator["Declared"]:
        """The bases that other modules of ours declare."""
        for base in self.node.bases if isinstance(self.node, ast.ClassDef) else ():
            home = self.module.imported.get(ast.unparse(base), "")
            if home.startswith("operable."):
                yield module(home).find(ast.unparse(base))

    def fields(self) -> Iterator[Member]:
        """Annotated names of the class body, with the string below or the comment behind them."""
        body = self._body()
        for part, following in zip_longest(body, body[1:]):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                if part.target.id.startswith("_"):
                    continue
                text = _string(following) or self.module.comment(part.end_lineno or part.lineno)
                default = ast.unparse(part.value) if part.value is not None else ""
                yield Member(part.target.id, ast.unparse(part.annotation), default, text)

    def attributes(self) -> Iterator[Member]:
        """What the constructor stores under a public name, with the string below or the comment behind it.

        The constructors of bases of ours that it calls come first.
        """
        made = self.method("__init__")
        own = list(self._stored(made)) if made is not None and made in self._body() else []
        if made is not None and made not in self._body():
            yield from chain.from_iterable(base.attributes() for base in self._bases())
        elif made is not None and "super().__init__(" in ast.unparse(made):
            names = {member.name for member in own}
            for base in self._bases():
                # Whatever has no words there is explained where the base is.
                yield from (each for each in base.attributes() if each.text and each.name not in names)
        yield from own

    def _stored(self, made: Function) -> Iterator[Member]:
        for part, following in zip_longest(made.body, made.body[1:]):
            target: ast.expr | None = part.target if isinstance(part, ast.AnnAssign) else None
            if isinstance(part, ast.Assign) and len(part.targets) == 1:
                target = part.targets[0]
            if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
                text = _string(following) or self.module.comment(part.end_lineno or part.lineno)
                annotation = ast.unparse(part.annotation) if isinstance(part, ast.AnnAssign) else ""
                yield Member(target.attr, annotation, "", text)


class Module:
    """The source of one module."""

    def __init__(self, name: str) -> None:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise LookupError(f"there is no module {name}")
        self.name = name
        self.path = Path(spec.origin)
        source = self.path.read_text("utf-8")
        self.tree = ast.parse(source)
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        self._comments = {
            token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT
        }

    @property
    def text(self) -> str:
        return ast.get_docstring(self.tree) or ""

    @property
    def imported(self) -> dict[str, str]:
        """Name -> the module that it is imported from, for the imports of the module itself."""
        imports = [node for node in self.tree.body if isinstance(node, ast.ImportFrom) and node.module]
        return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}

    def comment(self, line: int) -> str:
        """The comment behind the code of a line; notes to linters and type checkers do not count."""
        text = self._comments.get(line, "")
        return "" if text.startswith(("noqa", "type:")) else text

    def find(self, name: str) -> Declared:
        """A class or function by name; of two (one for type checkers, one for real) the one with a docstring."""
        found = [item for item in self.declared() if item.name == name]
        if not found:
            raise LookupError(f"{self.name} declares no {name}")
        return next((item for item in found if item.text), found[0])

    def declared(self) -> Iterator[Declared]:
        for node in _statements(self.tree.body):
            if isinstance(node, ast.ClassDef | Function):
                yield Declared(node.name, node, self)


@cache
def module(name: str) -> Module:
    return Module(name)


def parameters(function: Function) -> list[str]:
    """The parameters as they are written, without `self`."""
    arguments = function.args
    words = [_parameter(item, default) for item, default in _positional(arguments)]
    only = [item for item in arguments.posonlyargs if item.arg not in ("self", "cls")]
    if only:
        words.insert(len(only), "/")
    if arguments.vararg:
        words.append("*" + _parameter(arguments.vararg, None))
    elif arguments.kwonlyargs:
        words.append("*")
    words += [
        _parameter(item, default)
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        words.append("**" + _parameter(arguments.kwarg, None))
    return words


def result(function: Function) -> str:
    written = ast.unparse(function.returns) if function.returns is not None else ""
    return written.strip("'\"")


def is_property(function: Function) -> bool:
    return any(isinstance(name, ast.Name) and name.id == "property" for name in function.decorator_list)


def _positional(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    every = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(every) - len(arguments.defaults))
    for item, default in zip(every, [*defaults, *arguments.defaults], strict=True):
        if item.arg not in ("self", "cls"):
            yield item, default


def _parameter(item: ast.arg, default: ast.expr | None) -> str:
    annotation = (
        "" if item.annotation is None else f": {ast.unparse(item.annotation).strip(chr(34) + chr(39))}"
    )
    if default is None:
        return f"{item.arg}{annotation}"
    return f"{item.arg}{annotation}{' = ' if annotation else '='}{ast.unparse(default)}"


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those inside `if TYPE_CHECKING:` and its `else:`."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])


def _string(node: ast.stmt | None) -> str:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return node.value.value
    return ""
