"""One JSON document on stdout instead of a stream (`--output json`), and discovery at the speed of the interpreter.

Nothing of the machinery of a stream (signals, deadlines, buffers) has anything to do for one write, so none is loaded.
An error is a document too.

The first answer of `schema` and `capabilities` is built from the declarations, which means importing every command. It
is then kept beside the tool's compiled files (in `__pycache__`, under the same rules: not when bytecode is not to be
written, not where one may not write). Later calls read that one file. A kept document is used only if every source file
that it was built from has the size and time it had then; anything else builds again. Tools that take events or commands
from outside their own package are never kept, because that could not be checked so cheaply.
"""

import marshal
import os
import sys

from operable.tool.process import leave, take_stdout, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.kernel.errors import Fail
    from operable.tool.arguments import ParsedCall
    from operable.tool.declaration import Declaration
    from operable.tool.records import Record

# The parts of the SDK that decide what a document says.
_SDK = (
    *(
        "tool.py",
        "annotations.py",
        "declaration.py",
        "kinds.py",
        "records.py",
        "rows.py",
        "signature.py",
        "arguments.py",
    ),
    *("values/markers.py", "values/scalars.py"),
    *("discovery/capabilities.py", "discovery/commands.py", "discovery/help_text.py", "discovery/schema.py"),
    *("discovery/versions.py", "../kernel/errors.py", "../spec/framework_events.py"),
)


def answer_discovery(tool: "Declaration", name: str) -> None:
    """Write the document and end the process; returns only when it cannot be built, for the long way to say why."""
    document = _kept(tool, name) or _build(tool, name)
    if document is None:
        return
    try:
        stdout = take_stdout()  # what the author's modules printed while they were imported goes to stderr
    except OSError:  # closed: there is no caller to answer
        from operable.kernel.errors import EX_IOERR

        leave(EX_IOERR)
    leave(write_all(stdout, document))


def _kept(tool: "Declaration", name: str) -> "bytes | None":
    """The document as it was kept, if nothing has changed since."""
    place = _place(tool, name)
    try:
        with open(place, "rb") as file:
            # What `state.cache` has written, read without loading it: this is the whole answer of a call.
            fingerprint, document = marshal.load(file)  # noqa: S302 - our own file, as bytecode is
        return document if fingerprint == _fingerprint(tool) else None
    except (OSError, EOFError, ValueError, TypeError):
        return None  # not there, or cut short: it is built again


def _build(tool: "Declaration", name: str) -> "bytes | None":
    from operable.tool.encoders import fast_encoder
    from operable.tool.records import wire_bytes

    try:
        if name == "schema":
            from operable.tool.discovery.commands import schema_document

            content = schema_document(tool, tool.schema_version)
        else:
            from operable.tool.discovery.capabilities import capabilities_document

            content = capabilities_document(tool)
        document = wire_bytes(fast_encoder()[1](content) + "\n")
        if not sys.dont_write_bytecode:
            keep(tool, name, document)
    except Exception:  # noqa: BLE001 - the ordinary way meets it again and reports it in full
        return None
    return document


def keep(tool: "Declaration", name: str, document: bytes) -> None:
    """Keep a document that was just built; like bytecode, silently not where that is impossible."""
    place = _place(tool, name)
    if not place or not _closed(tool):
        return
    from operable.state import cache

    cache.keep(place, _fingerprint(tool), document)


def _directories(tool: "Declaration") -> "list[str]":
    """Where the tool's own sources are: the folder of the module that made it, with its rooms, its commands, and those
    that it names.
    """
    folder = _folder(tool)
    if not folder:
        return []
    found = [folder, *_packages(folder)]
    if tool.catalogue:
        __import__(tool.catalogue)
        for path in sys.modules[tool.catalogue].__path__:
            found += [path, *_packages(path)]
    return list(dict.fromkeys([*found, *tool.sources]))


def _folder(tool: "Declaration") -> str:
    """The folder of the module that made the tool; "" for a loose script, which has no folder of its own."""
    module = sys.modules.get(tool.module)
    file = getattr(module, "__file__", None)
    return os.path.dirname(file) if file and getattr(module, "__package__", None) else ""


def _packages(folder: str) -> "list[str]":
    paths = (f"{folder}/{name}" for name in os.listdir(folder) if name[0] not in "._")
    return [path for path in paths if os.path.isfile(f"{path}/__init__.py")]


def _place(tool: "Declaration", name: str) -> str:
    """The file for a document, "" when there is no place for one."""
    folder = _folder(tool)
    if not folder:
        return ""
    tag = f"{sys.implementation.cache_tag}{'.opt' if sys.flags.optimize else ''}"  # -OO leaves out docstrings
    return os.path.join(folder, "__pycache__", f"{tool.name}.{name}.{tag}")


def _fingerprint(tool: "Declaration") -> str:
    """The size and time of every source, by its path. Hundreds of files for a large tool, so no path is made twice."""
    here = os.path.dirname(__file__)
    found = [(f"{here}/{name}", os.stat(f"{here}/{name}")) for name in _SDK]
    for directory in _directories(tool):
        with os.scandir(directory) as entries:
            found += [(entry.path, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    parts = [f"{path}:{status.st_size}:{status.st_mtime_ns}" for path, status in found]
    return ";".join([tool.version, tool.schema_version, *sorted(parts)])


def _closed(tool: "Declaration") -> bool:
    """Whether everything that the documents say is declared in the tool's own folders."""
    from operable.tool.discovery.schema import all_events

    folders = {os.path.realpath(directory) for directory in _directories(tool)}
    modules = {
        command.function.__module__ for name in tool.names() if (command := tool.find(name)) is not None
    }
    older = [event for events, _ in tool.older.values() for event in events]
    groups = [
        group
        for name in tool.names()
        if (command := tool.find(name)) is not None
        for group in command.option_groups()
    ]
    modules |= {model.__module__ for model in _with_nested([*all_events(tool), *older, *groups])}
    files = [
        getattr(sys.modules.get(name), "__file__", None)
        for name in modules
        if not name.startswith("operable.tool.")
    ]
    return all(file and os.path.realpath(os.path.dirname(file)) in folders for file in files)


def _with_nested(models: "list[type[Record]]") -> "list[type[Record]]":
    """Record classes with those that their fields are made of, and the classes they inherit fields from."""
    from operable.tool.annotations import field_kinds

    found: list[type[Record]] = []
    todo: list[Any] = list(models)
    while todo:
        model = todo.pop()
        if model is None or model in found or not hasattr(model, "__fields__"):
            continue
        found.append(model)
        todo += [*model.__bases__, getattr(model, "__source__", None)]
        kinds = list(field_kinds(model).values())
        while kinds:
            kind = kinds.pop()
            todo.append(kind.model)
            kinds += [*kind.options, *([kind.item] if kind.item else [])]
    return found


def answer_call(call: "ParsedCall", refusal: "Fail | None", secrets: "tuple[str, ...]") -> int:
    """Write the document that the call asks for, or the refusal; the exit code of the process."""
    try:
        stdout = take_stdout()
    except OSError:
        from operable.kernel.errors import EX_IOERR

        return EX_IOERR  # closed: there is no caller to answer
    document, exit_code = document_of(call, refusal, secrets)
    return write_all(stdout, document) or exit_code


def document_of(
    call: "ParsedCall", refusal: "Fail | None", secrets: "tuple[str, ...]"
) -> "tuple[bytes, int]":
    """The document that a call asks for, or the refusal as one; and the exit code."""
    from operable.tool.encoders import fast_encoder
    from operable.tool.records import wire_bytes
    from operable.tool.signature import SHARED

    exit_code = 0
    try:
        if refusal is not None:
            raise refusal
        own = (param for param in call.command.params if param.group != SHARED)
        keywords = {param.name: call.values[param.name] for param in own}
        document: Any = next(iter(call.command.function(**keywords))).content
    except BaseException as problem:  # noqa: BLE001 - whatever it is, it ends as a structured error
        from operable.tool.run.failure import as_fail
        from operable.tool.secrecy import shown_error

        fail = as_fail(problem, command=call.command.name)
        document, exit_code = shown_error(fail, secrets), fail.exit_code
    return wire_bytes(f"{fast_encoder()[1](document)}\n"), exit_code
