"""Which module owns each mechanism, and how a second copy of it is recognised in the source.

A mechanism is written once, in the lowest layer that can hold it (CONTRIBUTING.md, "Finding your way"). Each entry names its
owners, the syntax that gives a copy away, and what to use instead. `tools.shape` reports every place outside the owners.
An owner is a module, or a package with everything in it.

To add a mechanism, add an entry. Recognition is by syntax, so it sees the copy and not the intent: an entry whose syntax
has other honest uses names those modules as owners, with the reason beside them.
"""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One thing that the project does in one place."""

    name: str
    owners: tuple[str, ...]
    hint: str
    matches: Callable[[ast.AST], bool]

    def count(self, module: str, nodes: Iterable[ast.AST]) -> int:
        """The copies among the nodes of a module; none in an owner."""
        if any(module == owner or module.startswith(f"{owner}.") for owner in self.owners):
            return 0
        return sum(self.matches(node) for node in nodes)


def calls(*names: str) -> Callable[[ast.AST], bool]:
    """Calls of these functions, written as `module.function` or `Name`."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and _dotted(node.func) in wanted

    return matches


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
    return ""


def reads_variables(*names: str) -> Callable[[ast.AST], bool]:
    """`environ["NAME"]` and `environ.get("NAME")`, whatever the mapping is called."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                return name in wanted
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
                return name in wanted
        return False

    return matches


def writes_keys(*names: str) -> Callable[[ast.AST], bool]:
    """Object literals with one of these keys."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.Dict) and any(
            isinstance(key, ast.Constant) and key.value in wanted for key in node.keys
        )

    return matches


def passes_keywords(*names: str) -> Callable[[ast.AST], bool]:
    """Calls with one of these keyword arguments."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and any(keyword.arg in wanted for keyword in node.keywords)

    return matches


def splits_bytes(node: ast.AST) -> bool:
    """Lines out of a stream of bytes: `split`, `find` and their like at a newline."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attribute), args=[ast.Constant(value=b"\n"), *_]):
            return attribute in ("split", "rsplit", "find", "rfind", "partition", "rpartition", "index")
    return False


def replaces_in_json(node: ast.AST) -> bool:
    """`json.dumps(value).encode("utf-8", "replace")`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=inner), attr="encode"),
            args=[*_, ast.Constant(value="replace")],
        ):
            return _dotted(inner) == "json.dumps"
    return False


def masks_text(node: ast.AST) -> bool:
    """`text.replace(secret, MASK)`, `pattern.sub(MASK, text)` and their like."""
    match node:
        case ast.Call(func=ast.Attribute(attr="replace" | "sub" | "subn" | "translate"), args=arguments):
            return any(isinstance(each, ast.Name) and each.id == "MASK" for each in arguments)
    return False


def declares_fields(*alternatives: frozenset[str]) -> Callable[[ast.AST], bool]:
    """Classes whose body declares all the fields of one of these sets."""

    def matches(node: ast.AST) -> bool:
        if not isinstance(node, ast.ClassDef):
            return False
        fields = {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        return any(wanted <= fields for wanted in alternatives)

    return matches


def spreads_into(*names: str) -> Callable[[ast.AST], bool]:
    """Calls of these methods with `**`."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(attr=name), keywords=keywords):
                return name in wanted and any(keyword.arg is None for keyword in keywords)
        return False

    return matches


def imports_names(*names: str) -> Callable[[ast.AST], bool]:
    """Imports of these names from anywhere."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.ImportFrom) and any(alias.name in wanted for alias in node.names)

    return matches


def subclasses(*names: str) -> Callable[[ast.AST], bool]:
    """Classes that inherit from one of these."""
    wanted = frozenset(names)

    def matches(node: ast.AST) -> bool:
        return isinstance(node, ast.ClassDef) and any(_dotted(base) in wanted for base in node.bases)

    return matches


def compares_approved_digests(node: ast.AST) -> bool:
    """`approved["digest"] == digest` and its like: whether content is still what was approved."""
    match node:
        case ast.Compare(left=ast.Call(func=function)) if _dotted(function) == "compare":
            return False
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            text = f"{ast.unparse(left)} {ast.unparse(right)}".lower()
            return "approv" in text and "digest" in text
    return False


MECHANISMS = (
    Mechanism(
        "masking secrets",
        ("operable.kernel.redact",),
        "use operable.kernel.redact (Known for values, Redactor for texts)",
        masks_text,
    ),
    Mechanism(
        "fetching secrets",
        ("operable.host.secret_backend", "operable.host.secrets"),
        "use operable.host.secret_backend (fetch, keep)",
        calls("backend", "secret_backend.backend", "keyring.get_password", "keyring.set_password"),
    ),
    Mechanism(
        "locks",
        # The SDK locks a byte for each key and waits in the kernel; `state.lock` would load threads and more for it.
        ("operable.state.lock", "operable.tool.run.idempotency"),
        "use operable.state.lock",
        calls("fcntl.flock", "fcntl.lockf", "flock", "lockf"),
    ),
    Mechanism(
        "whole-file writes",
        # `state.cache` and the sealed log have reasons of their own, in their docstrings, for what they leave out.
        ("operable.state",),
        "use operable.state.atomic",
        calls("os.replace", "os.rename", "os.renames", "os.link", "shutil.move"),
    ),
    Mechanism(
        "paths",
        ("operable.state.paths",),
        "use operable.state.paths",
        reads_variables(
            "OPERABLE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"
        ),
    ),
    Mechanism(
        "running a child to its end",
        # `proc.run` for a call; these have children that outlive one: transports of sessions, terminals, pipelines,
        # servers, and the experiments of the linter, which look at their child from outside while it runs.
        (
            *(
                "operable.proc",
                "operable.host.session.transport",
                "operable.host.session.terminals",
                "operable.run.chain",
            ),
            *("operable.run.mcp", "operable.lint.lab.trial", "operable.lint.lab.companions"),
        ),
        "use operable.proc.run",
        calls("Child", "subprocess.run", "subprocess.Popen", "subprocess.check_output"),
    ),
    Mechanism(
        "results of children",
        # The task of a workflow may be the turn of an agent; the linter's is a timeline, seen from outside.
        ("operable.proc.run", "operable.flow.run.process", "operable.lint.evidence"),
        "use operable.proc.run.CommandOutput",
        declares_fields(*(frozenset({"stdout", status}) for status in ("status", "exit_code", "returncode"))),
    ),
    Mechanism(
        "enclosures",
        ("operable.proc.sandbox",),
        "use operable.proc.sandbox.enclosure.enclose, which starts the proxy and ends it",
        calls("Proxy", "Authority"),
    ),
    Mechanism(
        "changes with a payload",
        ("operable.tool.framework",),
        "use operable.tool.Change.carry",
        subclasses("Change"),
    ),
    Mechanism(
        "options of a start",
        ("operable.host.start.options",),
        "pass one operable.host.start.options.StartOptions",
        spreads_into("start", "start_sync", "complete", "conversations"),
    ),
    Mechanism(
        "states of a session",
        ("operable.host.session.turn_table",),
        "add a row to operable.host.session.turn_table; feed it and carry out its actions",
        imports_names("TurnState"),
    ),
    Mechanism(
        "consent to content",
        ("operable.state.consent",),
        "use operable.state.consent (ConsentFile, compare)",
        compares_approved_digests,
    ),
    Mechanism(
        "JSON-RPC envelopes",
        # A JSON Schema of the protocol has the member as a property. The scripted peer of tests is written apart from
        # what it tests, and starts without msgspec.
        ("operable.wire.jsonrpc", "operable.flow.manifest.json_schema", "operable.testing.voices.acp"),
        "use operable.wire.jsonrpc",
        writes_keys("jsonrpc"),
    ),
    Mechanism(
        "caches by fingerprint",
        # The SDK reads what `state.cache` has written without loading it; the keeper of trees talks to its host so.
        (
            *("operable.state.cache", "operable.tool.document"),
            *("operable.proc.tree.session_process", "operable.proc.tree.keeper"),
        ),
        "use operable.state.cache",
        calls(
            "marshal.load", "marshal.loads", "marshal.dump", "marshal.dumps", "pickle.load", "pickle.loads"
        ),
    ),
    Mechanism(
        "JSON lines that survive lone surrogates",
        ("operable.kernel.json",),
        "use operable.kernel.json.json_line",
        replaces_in_json,
    ),
    Mechanism(
        "strict JSON reading",
        ("operable.kernel.json",),
        "use operable.kernel.json",
        passes_keywords("parse_constant", "parse_float", "object_pairs_hook"),
    ),
    Mechanism(
        "lines out of bytes",
        # A file is searched from its end and by offsets; `state` is below `wire`.
        ("operable.wire.lines", "operable.state.line_file"),
        "use operable.wire.lines, or operable.state.line_file for a file from its end",
        splits_bytes,
    ),
)
